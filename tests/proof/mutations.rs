//! Small faults that are put into policies: a proof against the original has to find them.
#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use kyv::admission::KindSchemas;
use kyv::convert::{Comments, Outcome, convert};
use kyv::patch::Schemas;
use kyv::policy::{Policy, parse};
use kyv::proof::{Answer, Counterexample, Input, Options, Proof, prove};
use kyv::semantics::Semantics;
use kyv::value::{Pointer, Segment, Value};
use kyv::yaml::{Limits, Source, read};
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};
use test_support::{conformance_folder, log};

/// The share of faults that must be found, in percent.
const FOUND_PERCENT: usize = 98;

/// How many conversions get faults if `KYV_ALL_PAIRS` is set.
const CONVERSIONS: usize = 200;

/// The most faults of one sort for each policy.
const MAX_OF_SORT: usize = 4;

/// Faults that change nothing that a request could show, with the reason: part of the name of the policy, part of the
/// fault.
const WITHOUT_EFFECT: [(&str, &str); 1] = [
    // The name of a type in the value of a JSON patch.
    ("a-json-patch-with-joined-lists", "`containers` to `initContainers` at 93"),
];

/// A policy with a fault.
struct Mutant {
    policy: String,
    fault: String,
    pair: Arc<Pair>,
    new: Vec<Value>,
}

/// Policies, and those that get faults.
struct Pair {
    old: Vec<Value>,
    new: Vec<Value>,
    /// What proofs say of them without a fault, the fast one and the full one.
    proofs: OnceLock<[WithoutFault; 2]>,
}

/// What a proof says of a pair without a fault.
struct WithoutFault {
    /// Whether the policies change an object: else no fault can show.
    acts: bool,
    /// Whether something could not be compared.
    is_unknown: bool,
    /// How the sides differ in manifests as they are written.
    as_written: BTreeSet<String>,
}

impl Pair {
    fn new(old: &[Value], new: &[Value]) -> Arc<Self> {
        Arc::new(Self { old: old.to_vec(), new: new.to_vec(), proofs: OnceLock::new() })
    }
}

/// Replacements of texts in expressions: operators and paths.
const REPLACEMENTS: [(&str, &str); 13] = [
    (" == ", " != "),
    (" != ", " == "),
    (" && ", " || "),
    (" || ", " && "),
    (" > ", " <= "),
    (" < ", " >= "),
    ("!has(", "has("),
    ("startsWith(", "endsWith("),
    ("endsWith(", "startsWith("),
    (".exists(", ".all("),
    (".labels", ".annotations"),
    ("containers", "initContainers"),
    ("op: \"add\"", "op: \"remove\""),
];

/// The faults of a policy, each compared with the policy.
fn mutants(name: &str, policy: &Value) -> Vec<Mutant> {
    let pair = std::slice::from_ref(policy);
    mutants_of(name, &Pair::new(pair, pair), 0)
}

/// The faults of one of the new policies of a pair.
fn mutants_of(name: &str, pair: &Arc<Pair>, number: usize) -> Vec<Mutant> {
    let policy = &pair.new[number];
    let mut found = Vec::new();
    let mut add = |fault: String, mutated: Value| {
        if mutated != *policy {
            let mut new = pair.new.clone();
            new[number] = mutated;
            found.push(Mutant { policy: name.to_owned(), fault, pair: Arc::clone(pair), new });
        }
    };
    for (at, text) in expressions(policy) {
        for (from, to) in REPLACEMENTS {
            let places: Vec<usize> = text.match_indices(from).map(|(index, _)| index).collect();
            for index in places.into_iter().take(MAX_OF_SORT) {
                let changed = format!("{}{to}{}", &text[..index], &text[index + from.len()..]);
                add(format!("{at}: `{from}` to `{to}` at {index}"), with(policy, &at, Some(changed.into())));
            }
        }
        for (start, end) in literals(&text).into_iter().take(MAX_OF_SORT) {
            let changed = format!("{}x{}", &text[..end], &text[end..]);
            add(
                format!("{at}: literal {} with x", &text[start..end]),
                with(policy, &at, Some(changed.into())),
            );
        }
        for (start, end) in members(&text).into_iter().take(MAX_OF_SORT) {
            let changed = format!("{}{}", &text[..start], &text[end..]);
            add(
                format!("{at}: without {}", text[start..end].trim()),
                with(policy, &at, Some(changed.into())),
            );
        }
    }
    for list in ["matchConditions", "mutations"] {
        let at = Pointer::ROOT.key("spec").key(list);
        let count = policy.pointed(&at).and_then(Value::as_array).map_or(0, <[Value]>::len);
        for index in 0..count {
            add(format!("without {list}[{index}]"), with(policy, &at.index(index), None));
        }
    }
    let rules = Pointer::ROOT.key("spec").key("matchConstraints").key("resourceRules");
    let count = policy.pointed(&rules).and_then(Value::as_array).map_or(0, <[Value]>::len);
    for index in 0..count {
        for field in ["resources", "operations"] {
            let at = rules.index(index).key(field);
            let values = policy.pointed(&at).and_then(Value::as_array).map_or(0, <[Value]>::len);
            if values > 1 {
                add(format!("without {at}[0]"), with(policy, &at.index(0), None));
            }
        }
    }
    for field in ["objectSelector", "namespaceSelector"] {
        let at = Pointer::ROOT.key("spec").key("matchConstraints").key(field);
        add(format!("without {field}"), with(policy, &at, None));
    }
    found
}

/// The expressions of a policy with their places.
fn expressions(policy: &Value) -> Vec<(Pointer, String)> {
    let mut found = Vec::new();
    let mut open = vec![(Pointer::ROOT, policy)];
    while let Some((at, node)) = open.pop() {
        match node {
            Value::Object(members) => {
                for (key, member) in members.iter().rev() {
                    let below = at.key(key.clone());
                    match member.as_str().filter(|_| **key == *"expression") {
                        Some(text) => found.push((below, text.to_owned())),
                        None => open.push((below, member)),
                    }
                }
            }
            Value::Array(items) => {
                open.extend(items.iter().enumerate().map(|(index, item)| (at.index(index), item)));
            }
            _ => {}
        }
    }
    found.retain(|(at, _)| !at.to_string().contains("auditAnnotations"));
    found
}

/// The contents of the double-quoted strings of an expression that are not empty.
fn literals(text: &str) -> Vec<(usize, usize)> {
    let quotes: Vec<usize> = text.match_indices('"').map(|(index, _)| index).collect();
    let pairs = quotes.chunks_exact(2).map(|pair| (pair[0] + 1, pair[1]));
    pairs.filter(|(start, end)| end > start && !text[*start..*end].starts_with('/')).collect()
}

/// The members `"key": "value",` and `key: "value",` of maps and objects.
fn members(text: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for (colon, _) in text.match_indices(": \"") {
        let Some(close) = text[colon + 3..].find('"').map(|end| colon + 3 + end + 1) else { continue };
        let rest = text[close..].trim_start();
        let Some(end) = rest.starts_with(',').then(|| text.len() - rest.len() + 1) else { continue };
        let is_key = |c: char| c.is_alphanumeric() || "\"_-./".contains(c);
        let start = text[..colon].rfind(|c| !is_key(c)).map_or(0, |index| index + 1);
        if !text[start..colon].contains("op") && !text[start..colon].contains("path") {
            found.push((start, end));
        }
    }
    found
}

/// A copy with another value at a place, or without the place.
fn with(value: &Value, at: &Pointer, new: Option<Value>) -> Value {
    let mut copy = value.clone();
    let Some((last, above)) = at.segments().split_last() else { return copy };
    let mut node = &mut copy;
    for segment in above {
        let below = match segment {
            Segment::Key(key) => node.as_object_mut().and_then(|members| members.get_mut(key)),
            Segment::Index(index) => node.as_array_mut().and_then(|items| items.get_mut(*index)),
        };
        match below {
            Some(below) => node = below,
            None => return value.clone(),
        }
    }
    match (last, new) {
        (Segment::Key(key), Some(new)) => node.insert(key.clone(), new),
        (Segment::Key(key), None) => drop(node.remove(key)),
        (Segment::Index(index), None) => drop(node.as_array_mut().map(|items| items.remove(*index))),
        (Segment::Index(index), Some(new)) => {
            if let Some(items) = node.as_array_mut() {
                items[*index] = new;
            }
        }
    }
    copy
}

fn policies_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(path) = open.pop() {
        for entry in fs::read_dir(&path).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && !name.starts_with('.') {
                open.push(path);
            } else if name.ends_with(".yaml") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The CEL policies of a file.
fn cel_policies(file: &Path) -> Vec<Value> {
    let Ok(text) = fs::read_to_string(file) else { return Vec::new() };
    if !text.contains("kind: MutatingPolicy") {
        return Vec::new();
    }
    let documents = read(&Source::new("policy.yaml", text).into(), &Limits::default());
    let documents = documents.into_iter().flatten();
    let values: Vec<Value> = documents.filter_map(|document| document.value().cloned()).collect();
    values.into_iter().filter(|value| matches!(parsed(value), Some(Policy::Cel(_)))).collect()
}

/// What policies of the corpus and, where it is at hand, the catalogue are converted to, with a fault each.
fn faulty_conversions() -> Vec<Mutant> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")];
    folders.extend(conformance_folder("faults in conversions").map(|root| root.join("policies")));
    let mut found = Vec::new();
    for file in folders.iter().flat_map(|folder| policies_below(folder)) {
        let text = fs::read_to_string(&file).unwrap_or_default();
        let documents = read(&Source::new("policy.yaml", text).into(), &Limits::default());
        for document in documents.into_iter().flatten() {
            let Some(value) = document.value() else { continue };
            let Some(Policy::Classic(policy)) = parsed(value) else { continue };
            let comments = Comments::of(&document, &Pointer::ROOT);
            let conversion = convert(value, &policy, &comments, &kyv::convert::Options::default());
            let is_whole = conversion.rules.iter().all(|rule| matches!(rule.outcome, Outcome::Converted(_)));
            if is_whole && !conversion.documents.is_empty() {
                let name = file.parent().unwrap().file_name().unwrap().to_string_lossy().into_owned();
                let parse = |text: &String| kyv::yaml::parse_value(text).unwrap();
                let new: Vec<Value> = conversion.documents.iter().map(parse).collect();
                found.push((name, Pair::new(std::slice::from_ref(value), &new)));
            }
        }
    }
    assert!(found.len() >= CONVERSIONS, "{} conversions", found.len());
    // From all of them, evenly.
    let chosen = (0..CONVERSIONS).map(|number| &found[number * found.len() / CONVERSIONS]);
    let faults =
        chosen.flat_map(|(name, pair)| (0..pair.new.len()).flat_map(|number| mutants_of(name, pair, number)));
    faults.collect()
}

fn parsed(value: &Value) -> Option<Policy> {
    parse(value, Semantics::Documented).ok()
}

/// How many requests the proofs have for each rule: most faults are found by a fast proof.
const REQUESTS: [usize; 2] = [60, Options::FULL];

/// `None` where nothing can be compared.
fn proof(old: &[Value], new: &[Value], requests_per_rule: usize) -> Option<Proof> {
    let [old, new] = [old, new].map(|side| side.iter().map(parsed).collect::<Option<Vec<Policy>>>());
    let (old, new) = (old?, new?);
    if old.iter().any(Policy::has_targets) || new.iter().any(|policy| !policy.meta().refused.is_empty()) {
        return None;
    }
    let input =
        Input { old: &old, new: &new, new_in_kyverno: None, given: &[], world: None, is_world_of_all: false };
    let options = Options {
        schemas: Schemas::kubernetes(),
        kind_schemas: KindSchemas::default(),
        requests_per_rule,
        ..Options::default()
    };
    let proof = prove(&input, &options, &mut |_| {});
    (proof.requests > 0).then_some(proof)
}

/// How the sides differ in manifests as they are written, in words.
fn as_written(proof: &Proof) -> BTreeSet<String> {
    let words = |example: &Counterexample| match &example.new {
        Answer::Denied { message, .. } => format!("{:?}: {message}", example.kind),
        _ => format!("{:?}", example.kind),
    };
    proof.as_written.iter().map(words).collect()
}

impl Pair {
    fn without_fault(&self) -> &[WithoutFault; 2] {
        self.proofs.get_or_init(|| {
            REQUESTS.map(|requests| {
                let proof = proof(&self.old, &self.new, requests).unwrap_or_default();
                WithoutFault {
                    acts: proof.changed > 0,
                    is_unknown: !proof.unknown.is_empty(),
                    as_written: as_written(&proof),
                }
            })
        })
    }
}

/// What a proof says of a mutant that it does not say of its original.
#[derive(Clone, Copy, PartialEq)]
enum Found {
    No,
    Differs,
    DiffersAsWritten,
    NotCompared,
}

/// How a proof tells a mutant from its original. `None` where the mutant is no valid policy, nothing can be compared, or the
/// original changes nothing.
fn found(mutant: &Mutant) -> Option<Found> {
    let originals = mutant.pair.without_fault();
    let found = |number: usize| {
        let original = &originals[number];
        let proof = proof(&mutant.pair.old, &mutant.new, REQUESTS[number])?;
        Some(if !proof.is_equal() {
            Found::Differs
        } else if !as_written(&proof).is_subset(&original.as_written) {
            Found::DiffersAsWritten
        } else if !proof.unknown.is_empty() && !original.is_unknown {
            Found::NotCompared
        } else {
            Found::No
        })
    };
    originals.iter().any(|original| original.acts).then_some(())?;
    match found(0) {
        Some(Found::No) => found(1),
        found => found,
    }
}

#[test]
fn small_faults_are_found() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/cel");
    let mut files = policies_below(&corpus);
    files.retain(|file| file.ends_with("policy.yaml"));
    let is_whole = std::env::var_os("KYV_ALL_PAIRS").is_some();
    // Of the others a sample.
    files.truncate(if is_whole { usize::MAX } else { 24 });
    let mut all: Vec<Mutant> = Vec::new();
    for file in &files {
        let name = file.parent().unwrap().file_name().unwrap().to_string_lossy().into_owned();
        for policy in cel_policies(file) {
            all.extend(mutants(&name, &policy));
        }
    }
    if is_whole {
        all.extend(faulty_conversions());
    }
    let is_without_effect = |mutant: &Mutant| {
        WITHOUT_EFFECT
            .iter()
            .any(|(policy, fault)| mutant.policy.contains(policy) && mutant.fault.contains(fault))
    };
    all.retain(|mutant| !is_without_effect(mutant));
    let compared: Vec<(&Mutant, Found)> =
        all.par_iter().filter_map(|mutant| Some((mutant, found(mutant)?))).collect();
    let missed: Vec<String> = compared
        .iter()
        .filter(|(_, found)| *found == Found::No)
        .map(|(mutant, _)| format!("{}: {}", mutant.policy, mutant.fault))
        .collect();
    let count = |sort| compared.iter().filter(|(_, found)| *found == sort).count();
    let found = compared.len() - missed.len();
    log(&format!(
        "{found} of {} faults are found: {} differ, {} as written, {} are not compared",
        compared.len(),
        count(Found::Differs),
        count(Found::DiffersAsWritten),
        count(Found::NotCompared)
    ));
    assert!(compared.len() > 20, "only {} faults", compared.len());
    assert!(found * 100 >= compared.len() * FOUND_PERCENT, "not found:\n{}", missed.join("\n"));
}
