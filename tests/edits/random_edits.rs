//! Random changes of documents: whatever does not change stays byte for byte.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kyv::engine::{EmptyWorld, Engine, Settings};
use kyv::policy::{self, DocumentKind, Policy, PolicySet};
use kyv::semantics::Semantics;
use kyv::value::{Pointer, Segment, Value};
use kyv::yaml::{Document, Limits, Source, parse_value, read};
use proptest::prelude::*;
use test_support::files::files_below;

use crate::nodes::{all_pointers, is_shared, lines_of, lost_comments, node_mut, with_above, with_below};
use crate::random_documents::{Dice, Generator, write_document};
use test_support::conformance_folder;

fn document(text: &str) -> Result<Document, TestCaseError> {
    let source = Arc::new(Source::new("t", text));
    let documents = read(&source, &Limits::default())
        .map_err(|errors| TestCaseError::fail(format!("{}\n{text}", errors[0])))?;
    prop_assert_eq!(documents.len(), 1, "{}", text);
    documents.into_iter().next().ok_or_else(|| TestCaseError::fail("no document"))
}

/// The lines of a text, each without indentation and dashes.
fn lines(text: &str) -> BTreeSet<&str> {
    text.lines().map(|line| line.trim_start_matches([' ', '-'])).collect()
}

fn check(seed: u64) -> Result<(), TestCaseError> {
    let mut generator = Generator::new(seed);
    generator.dice.roll(2);
    let before = generator.root();
    let writer = write_document(&mut generator, &before, seed);
    let mut text = writer.out.clone();
    if generator.dice.one_in(8) && !text.ends_with("\n\n") {
        text = text.trim_end_matches('\n').to_owned();
    }
    if generator.dice.one_in(6) {
        text.insert_str(
            0,
            ["---\n", "--- # head\n", "\u{feff}", "# head\n---\n", "%YAML 1.1\n---\n"]
                [generator.dice.roll(5)],
        );
    }
    if generator.dice.one_in(6) {
        text = text.replace('\n', "\r\n");
    }
    let original = document(&text)?;
    prop_assert_eq!(original.value(), Some(&before.value()), "{}", text);
    prop_assert_eq!(&original.edited(&before.value()).text, &text);

    let mut after = before.clone();
    for _ in 0..=generator.dice.roll(4) {
        generator.change(&mut after, true);
    }
    let edited = original.edited(&after.value());
    let shown = format!(
        "seed {seed}\n--- before\n{text}\n--- after\n{}\n--- wanted\n{}",
        original.edited_unchecked(&after.value()).text,
        after.value().to_json()
    );
    prop_assert_eq!(edited.fallback, None, "{}", shown);
    let again = document(&edited.text)?;
    prop_assert_eq!(again.value(), Some(&after.value()), "{}", shown);
    prop_assert_eq!(&again.edited(&after.value()).text, &edited.text, "{}", shown);
    // kubectl gives the last line of a file a line break if it has none; other readers say the same unless they
    // said something else before.
    if parse_value(&text).ok().as_ref() == Some(&before.value()) {
        prop_assert_eq!(parse_value(&edited.text).ok(), Some(after.value()), "{}", shown);
    }
    prop_assert!(text.contains("\r\n") || !edited.text.contains("\r\n"), "{}", shown);
    prop_assert!(!edited.text.replace("\r\n", "").contains('\r'), "{}", shown);
    prop_assert!(!text.contains("\r\n") || !edited.text.replace("\r\n", "").contains('\n'), "{}", shown);

    let (mut old, mut new) = (BTreeMap::new(), BTreeMap::new());
    before.nodes(&mut Vec::new(), &mut old);
    after.nodes(&mut Vec::new(), &mut new);
    // Which elements without names are the same is for nobody to say.
    let is_unclear =
        |list: &usize| new.get(list).map(|(value, _)| value) != old.get(list).map(|(value, _)| value);
    let is_clear =
        |id: &usize| new.get(id).is_some_and(|(_, lists)| !old[id].1.iter().chain(lists).any(is_unclear));
    for (id, comment) in &writer.comments {
        prop_assert!(!is_clear(id) || edited.text.contains(comment), "{} is lost, {}", comment, shown);
    }
    let result = lines(&edited.text);
    for line in text.lines() {
        // A line with a scalar of its own that is still there and still says the same.
        let Some(id) = line.split_once('v').and_then(|(_, rest)| {
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            digits.parse::<usize>().ok()
        }) else {
            continue;
        };
        let said = old.get(&id).map(|(value, _)| value);
        let same = said.is_some_and(|value| value.as_str().is_some())
            && new.get(&id).map(|(value, _)| value) == said;
        if same && is_clear(&id) && !line.contains(['{', '[']) && !writer.in_brackets.contains(&id) {
            let line = line.trim_start_matches([' ', '-']);
            let line = line.strip_prefix("\u{feff}").unwrap_or(line);
            let there = result.contains(line) || result.iter().any(|other| other.ends_with(line));
            prop_assert!(there, "{:?} is not there, {}", line, shown);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn edits_keep_the_rest_of_generated_documents(seed in any::<u64>()) {
        check(seed)?;
    }
}

/// A kind of change.
#[derive(Clone, Copy, Debug)]
enum Edit {
    Label,
    Scalar,
    Remove,
    Append,
    Move,
}

/// A value after a change.
struct Edited {
    after: Value,
    /// How many lines of the document may be removed.
    lines: usize,
    /// The part whose comments may be removed.
    gone: Range<usize>,
    /// Whether other aliases of an anchor are affected.
    is_shared: bool,
}

fn edited(edit: Edit, document: &Document, value: &Value, dice: &mut Dice) -> Option<Edited> {
    let mut after = value.clone();
    if matches!(edit, Edit::Label) {
        let metadata = value.get("metadata")?.as_object()?;
        let mut metadata = Value::object(metadata.clone());
        let mut labels = metadata.get("labels").filter(|labels| labels.as_object().is_some()).cloned();
        // Flow collections and scalars are written anew.
        let of = |pointer: &Pointer| document.span(pointer).map_or(0, |span| rewritten(document, span));
        let metadata_at = Pointer::ROOT.key("metadata");
        let may_go = of(&metadata_at) + of(&metadata_at.key("labels"));
        let labels = labels.get_or_insert_with(Value::empty_object);
        labels.insert("kyv.dev/edited", Value::from("yes"));
        metadata.insert("labels", labels.clone());
        after.insert("metadata", metadata);
        let part = lines_of(document, &metadata_at)?;
        let is_shared = is_shared(document, &metadata_at, &part);
        return Some(Edited { after, lines: may_go, gone: 0..0, is_shared });
    }
    let pointers = all_pointers(value);
    let fits = |pointer: &&Pointer| {
        let node = value.pointed(pointer);
        match edit {
            Edit::Label => false,
            Edit::Scalar => node.is_some_and(|node| node.as_array().is_none() && node.as_object().is_none()),
            Edit::Remove => !pointer.is_root(),
            Edit::Append => node.and_then(Value::as_array).is_some_and(|items| !items.is_empty()),
            Edit::Move => node
                .and_then(Value::as_array)
                .is_some_and(|items| items.len() > 1 && items.first() != items.last()),
        }
    };
    let fitting: Vec<&Pointer> = pointers.iter().filter(fits).collect();
    let pointer = *fitting.get(dice.roll(fitting.len().max(1)))?;
    let span = |pointer: &Pointer| {
        let span = document.span(pointer).unwrap_or(0..0);
        document.source().text()[span].lines().count().max(1)
    };
    let length = value.pointed(pointer).and_then(Value::as_array).map_or(0, <[Value]>::len);
    let lines = match edit {
        Edit::Label => 0,
        Edit::Append => document.span(pointer).map_or(0, |span| rewritten(document, span)),
        // The header of a block scalar is on the line above it.
        Edit::Scalar => span(pointer) + 1,
        Edit::Remove => usize::MAX,
        Edit::Move => span(&pointer.index(length - 1)) + 1,
    };
    let parent = pointer.parent();
    match edit {
        Edit::Remove => {
            let holder = node_mut(&mut after, &parent)?;
            match pointer.segments().last()? {
                Segment::Key(key) => drop(holder.remove(key)),
                Segment::Index(index) => drop(holder.as_array_mut()?.remove(*index)),
            }
        }
        Edit::Scalar => *node_mut(&mut after, pointer)? = Value::from("edited: #1"),
        Edit::Append => node_mut(&mut after, pointer)?
            .as_array_mut()?
            .push([("name", Value::from("new"))].into_iter().collect()),
        Edit::Move => {
            let items = node_mut(&mut after, pointer)?.as_array_mut()?;
            let last = items.pop()?;
            items.insert(0, last);
        }
        Edit::Label => {}
    }
    let part = lines_of(document, pointer)?;
    let is_shared = is_shared(document, pointer, &part);
    // An element with another name is another element.
    let names_element = matches!(pointer.segments(), [.., Segment::Index(_), Segment::Key(_)]);
    let gone = match edit {
        Edit::Remove => with_below(document, with_above(document, part)),
        Edit::Scalar if names_element => {
            with_below(document, with_above(document, lines_of(document, &parent)?))
        }
        Edit::Scalar => part,
        Edit::Label | Edit::Append | Edit::Move => 0..0,
    };
    Some(Edited { after, lines, gone, is_shared })
}

/// How many lines of a node go when something is added to it: none of one that consists of lines.
fn rewritten(document: &Document, span: Range<usize>) -> usize {
    let text = &document.source().text()[span];
    let in_lines = text.starts_with("- ") || (!text.starts_with(['{', '[']) && text.contains(": "));
    if in_lines || text.contains(":\n") { 0 } else { text.lines().count().max(1) }
}

fn documents_below(folder: &Path) -> Vec<PathBuf> {
    files_below(folder, &["yaml", "yml", "json"])
}

#[test]
fn edits_keep_the_rest_of_real_documents() {
    let mut files = Vec::new();
    for folder in ["corpus", "suites", "cli/explain_cases"] {
        files.extend(documents_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder)));
    }
    if let Some(folder) = conformance_folder("edits of Kyverno's documents") {
        files.extend(documents_below(&folder));
    }
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut faults = Vec::new();
    let mut dice = Dice(7);
    for path in files {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let source = Arc::new(Source::new(path.display().to_string(), text));
        let Ok(documents) = read(&source, &Limits::default()) else { continue };
        for original in &documents {
            let Some(value) =
                original.value().filter(|value| value.as_object().is_some_and(|map| !map.is_empty()))
            else {
                continue;
            };
            let all = [Edit::Label, Edit::Scalar, Edit::Remove, Edit::Append, Edit::Move];
            let edits = [all[dice.roll(5)], all[dice.roll(5)]];
            for edit in edits {
                let Some(Edited { after, lines: may_go, gone: part, is_shared }) =
                    edited(edit, original, value, &mut dice)
                else {
                    continue;
                };
                let edited = original.edited(&after);
                *counts
                    .entry(edited.fallback.map_or("edited".into(), |class| class.to_string()))
                    .or_default() += 1;
                if edited.fallback.is_some() {
                    if counts.len() < 30 {
                        writeln!(std::io::stderr(), "{}: {edit:?}: {:?}", path.display(), edited.fallback)
                            .ok();
                    }
                    continue;
                }
                let diff = similar::TextDiff::from_lines(original.text(), &edited.text);
                let gone = diff
                    .iter_all_changes()
                    .filter(|change| change.tag() == similar::ChangeTag::Delete)
                    .count();
                let new = diff
                    .iter_all_changes()
                    .filter(|change| change.tag() == similar::ChangeTag::Insert)
                    .count();
                let again = Arc::new(Source::new("t", edited.text.as_str()));
                let again = read(&again, &Limits::default()).map_err(|errors| errors[0].to_string());
                let again = again.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
                let again: Vec<_> = again.iter().filter(|document| document.value().is_some()).collect();
                assert_eq!(again.len(), 1, "{}", path.display());
                assert_eq!(again[0].value(), Some(&after), "{}", path.display());
                assert_eq!(again[0].edited(&after).text, again[0].text(), "{}", path.display());
                let lost = lost_comments(original, again[0], &part);
                // A last line without an end may get one.
                let may_go = may_go.saturating_add(usize::from(!original.text().ends_with('\n')));
                let much = gone > may_go || (matches!(edit, Edit::Remove) && new > 2);
                // Where an anchor changes, its other users do, too.
                if !lost.is_empty() || much && !is_shared {
                    faults.push(format!(
                        "{}: {edit:?}: {gone} of {may_go} gone, {new} new, {lost:?} lost\n{}",
                        path.display(),
                        diff.unified_diff().context_radius(3)
                    ));
                }
            }
        }
    }
    for (class, count) in &counts {
        writeln!(std::io::stderr(), "{count:6} {class}").ok();
    }
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
}

/// How far the lists of a document are indented behind their keys, if all of them equally.
fn list_step(document: &Document, value: &Value) -> Option<usize> {
    let text = document.source().text();
    let column = |at: usize| {
        let line = text[..at].rfind('\n').map_or(0, |line| line + 1);
        (line, at - line)
    };
    let mut steps = BTreeSet::new();
    for at in all_pointers(value) {
        let Some(Segment::Key(_)) = at.segments().last() else { continue };
        if value.pointed(&at).and_then(Value::as_array).is_none_or(<[Value]>::is_empty) {
            continue;
        }
        let (key, first) = (document.key_span(&at)?, document.span(&at.index(0))?);
        let ((key_line, key_column), (line, _)) = (column(key.start), column(first.start));
        let dash = text[line..].trim_start_matches(' ');
        let behind = dash.strip_prefix('-').map(|rest| rest.trim_start_matches(' ').len());
        // Brackets, and elements that start below their dash.
        if line <= key_line || behind != Some(text.len() - first.start) {
            return None;
        }
        steps.insert((text.len() - dash.len() - line).checked_sub(key_column)?);
    }
    steps.first().copied().filter(|_| steps.len() == 1)
}

#[test]
fn new_lists_follow_the_indentation_of_the_document() {
    let mut files = documents_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus"));
    if let Some(folder) = conformance_folder("new lists in Kyverno's documents") {
        files.extend(documents_below(&folder));
    }
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    for path in files {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let source = Arc::new(Source::new(path.display().to_string(), text));
        let Ok(documents) = read(&source, &Limits::default()) else { continue };
        for original in documents.iter().filter(|document| !document.is_json()) {
            let Some(value) = original.value() else { continue };
            let Some(step) = list_step(original, value) else { continue };
            let mut after = value.clone();
            after.insert("new lists", [("of", Value::array(vec![Value::from(1)]))].into_iter().collect());
            let edited = original.edited(&after);
            let (_, new) = edited.text.split_once("new lists").unwrap_or_default();
            let column = |sign: &str| {
                let (above, _) = new.split_once(sign)?;
                Some(above.len() - above.rfind('\n')? - 1)
            };
            let found = column("-").zip(column("of:")).map(|(dash, key)| dash.wrapping_sub(key));
            assert_eq!((edited.fallback, found), (None, Some(step)), "{}\n{}", path.display(), edited.text);
            *counts.entry(step).or_default() += 1;
        }
    }
    writeln!(std::io::stderr(), "documents by the step of their lists: {counts:?}").ok();
    assert!(counts.values().sum::<usize>() > 100, "{counts:?}");
}

/// The policies of a text that can be evaluated.
fn compiled(text: &str) -> Vec<Policy> {
    let Ok(documents) = read(&Arc::new(Source::new("", text)), &Limits::default()) else { return Vec::new() };
    let values = documents.iter().filter_map(Document::value);
    let classic = values.filter(|value| policy::kind_of(value) == DocumentKind::Policy);
    classic.filter_map(|value| policy::parse(value, Semantics::Documented).ok()).collect()
}

/// What came of running policies twice.
#[derive(Debug, Default)]
struct Runs {
    edited: usize,
    /// How many results a second evaluation leaves as they are.
    at_rest: usize,
    printed: Vec<String>,
    faults: Vec<String>,
}

impl Runs {
    /// Runs policies on a document and on what came of it.
    fn run(&mut self, name: &str, engine: &Engine, document: &Document) {
        let Some(value) = document.value() else { return };
        let first = engine.mutate(value, None, &EmptyWorld);
        if !first.is_changed() {
            return;
        }
        let edited = document.edited(&first.after);
        if let Some(fallback) = edited.fallback {
            self.printed.push(format!("{name}: {fallback}"));
            return;
        }
        self.edited += 1;
        let source = Arc::new(Source::new("", edited.text.as_str()));
        let documents = read(&source, &Limits::default()).unwrap_or_default();
        let mut again = documents.iter().filter(|document| document.value().is_some());
        let (Some(again), None) = (again.next(), again.next()) else {
            return self.faults.push(format!("{name}: not one document\n{}", edited.text));
        };
        let said = again.value();
        let is_at_rest = !engine.mutate(&first.after, None, &EmptyWorld).is_changed();
        let changes = said.is_none_or(|said| engine.mutate(said, None, &EmptyWorld).is_changed());
        self.at_rest += usize::from(is_at_rest);
        if said != Some(&first.after)
            || is_at_rest == changes
            || again.edited(&first.after).text != again.text()
        {
            self.faults.push(format!("{name}: at rest: {is_at_rest}, changes: {changes}\n{}", edited.text));
        }
        let lost = lost_comments(document, again, &(0..0));
        if !lost.is_empty() {
            self.faults.push(format!("{name}: {lost:?} is lost\n{}", edited.text));
        }
    }

    fn finish(self, what: &str) {
        let Self { edited, at_rest, printed, faults } = self;
        let canonical = printed.len();
        writeln!(
            std::io::stderr(),
            "{what}: {edited} edited, {at_rest} at rest, {canonical} printed canonically"
        )
        .ok();
        assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
        assert!(at_rest > 0 && printed.is_empty(), "{}", printed.join("\n"));
    }
}

#[test]
fn mutating_real_documents_twice_changes_nothing() {
    let Some(root) = conformance_folder("a second run on Kyverno's documents") else { return };
    let files = documents_below(&root);
    let texts: Vec<(String, String)> = files
        .iter()
        .filter_map(|path| Some((path.display().to_string(), fs::read_to_string(path).ok()?)))
        .collect();
    let policies: Vec<Policy> = texts.iter().flat_map(|(_, text)| compiled(text)).collect();
    let engine = |some: &[Policy]| Engine::new(PolicySet::new(some.to_vec()), Settings::default());
    let engines: Vec<Engine> = policies.chunks(20).map(engine).collect();
    assert!(engines.len() > 1, "{} policies", policies.len());
    let mut dice = Dice(11);
    let mut runs = Runs::default();
    for (name, text) in &texts {
        let Ok(documents) = read(&Arc::new(Source::new(name.as_str(), text.as_str())), &Limits::default())
        else {
            continue;
        };
        for document in &documents {
            for _ in 0..4 {
                runs.run(name, &engines[dice.roll(engines.len())], document);
            }
        }
    }
    runs.finish("documents of people");
}

const POLICIES: &str = r#"
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: labels}
spec:
  rules:
  - name: labels
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    mutate:
      patchStrategicMerge:
        metadata: {labels: {+(team): shop, "a/b": "yes", tier: "back: end"}, annotations: {note: "one\ntwo\n"}}
        other: {+(list): [{name: a, value: 1}]}
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: patches}
spec:
  rules:
  - name: replace
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    mutate:
      patchesJson6902: |-
        - {op: replace, path: /metadata/name, value: other}
        - {op: add, path: /data, value: {x: "1", z: "a: b"}}
        - {op: add, path: /immutable, value: true}
"#;

#[test]
fn mutating_generated_documents_twice_changes_nothing() {
    let engine = Engine::new(PolicySet::new(compiled(POLICIES)), Settings::default());
    let mut runs = Runs::default();
    for seed in 0..1000 {
        let mut generator = Generator::new(seed);
        generator.dice.roll(2);
        let tree = generator.root();
        let body = write_document(&mut generator, &tree, seed).out;
        let head = [
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x # name\n",
            "kind: ConfigMap\napiVersion: v1\nmetadata: {name: x, labels: {app: y}}\n",
            "# head\nmetadata:\n    # labels\n    labels:\n        # app\n        app: x\n    name: x\nkind: ConfigMap\napiVersion: v1\n",
        ][generator.dice.roll(3)];
        let mut text =
            if generator.dice.one_in(2) { format!("{head}{body}") } else { format!("{body}{head}") };
        if generator.dice.one_in(4) {
            text = text.replace('\n', "\r\n");
        }
        let documents = read(&Arc::new(Source::new("", text.as_str())), &Limits::default());
        let documents = documents.unwrap_or_else(|errors| panic!("{}\n{text}", errors[0]));
        documents.iter().for_each(|document| runs.run(&format!("seed {seed}"), &engine, document));
    }
    runs.finish("generated documents");
}
