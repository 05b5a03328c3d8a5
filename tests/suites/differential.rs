//! Every classic policy of Kyverno's own policies and suites against every object in them, and against objects made from
//! these, through the real Kyverno CLI and through the binary, under both semantics. Runs when `KYV_REAL_PROGRAMS` is 1 and `KYV_CONFORMANCE` points to a
//! folder of them.
//!
//! Under `kyverno` each object must come out as the CLI prints it, but for the artefacts of the CLI itself, which are
//! [`ARTEFACTS`] and no more; under `documented` as well, or a divergence is announced for that object.
#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use kyv::policy::{DocumentKind, kind_of};
use kyv::value::{ObjectRef, Value};
use kyv::yaml::{Limits, Source, print, read};
use test_support::conformance_folder;
use test_support::files::files_below;
use test_support::kyverno_cli::Applied;
use test_support::kyverno_cli::artefacts::{ARTEFACTS, with_whole_numbers};
use test_support::normalize::without_empty;

use super::generated_objects::Generator;

/// What the folder holds at least; with less there, the test compares too little to mean anything.
const MIN_POLICIES: usize = 30;
const MIN_OBJECTS: usize = 150;
const MIN_MUTATED: usize = 1000;
const MIN_ERRORS: usize = 50;

/// Half a second to start the CLI, a hundredth for each pair: two minutes on two cores that have nothing else to do,
/// and this with patience for a busy machine.
const BUDGET: Duration = Duration::from_secs(1800);

/// How many CLIs run at a time.
const WORKERS: usize = 2;

/// A policy and the values of its own suite.
struct Policy {
    file: PathBuf,
    document: Value,
    values: Option<PathBuf>,
}

/// The objects in layers: no two of one layer have one identity, which the CLI cannot take.
#[derive(Default)]
struct Objects {
    layers: Vec<Vec<Value>>,
    identities: Vec<BTreeSet<String>>,
}

impl Objects {
    /// Adds an object unless an equal one is there.
    fn add(&mut self, object: &Value, name: &ObjectRef) {
        let namespace = name.namespace.as_deref().unwrap_or("default");
        let identity = format!("{}/{namespace}/{}", name.kind.kind, name.name);
        let mut free = self.layers.len();
        for (at, layer) in self.layers.iter().enumerate() {
            if layer.contains(object) {
                return;
            }
            if free == self.layers.len() && !self.identities[at].contains(&identity) {
                free = at;
            }
        }
        if free == self.layers.len() {
            self.layers.push(Vec::new());
            self.identities.push(BTreeSet::new());
        }
        self.layers[free].push(object.clone());
        self.identities[free].insert(identity);
    }
}

/// The policies and objects of the folder, and what is skipped, by reason.
#[derive(Default)]
struct Pool {
    policies: Vec<Policy>,
    objects: Objects,
    skipped: BTreeMap<&'static str, usize>,
}

impl Pool {
    fn of(folder: &Path) -> Self {
        let (mut pool, files) = (Self::default(), files_below(folder, &["yaml", "yml"]));
        let suites: Vec<&PathBuf> =
            files.iter().filter(|file| file.file_name().unwrap() == "kyverno-test.yaml").collect();
        for file in &files {
            let Ok(documents) = documents(file) else {
                pool.skip("files that are no YAML");
                continue;
            };
            for document in documents {
                pool.add_document(file, document, &suites);
            }
        }
        pool
    }

    fn add_document(&mut self, file: &Path, document: Value, suites: &[&PathBuf]) {
        let group = document.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
        match kind_of(&document) {
            DocumentKind::Policy => match beyond(&document) {
                Some(reason) => self.skip(reason),
                None if self.policies.iter().any(|other| other.document == document) => {}
                None => {
                    let values = suites.iter().find_map(|suite| values_of(suite, file));
                    self.policies.push(Policy { file: file.to_owned(), document, values });
                }
            },
            DocumentKind::NotAPolicy if group.contains("kyverno.io/") => {}
            DocumentKind::NotAPolicy => match ObjectRef::of(&document) {
                Some(name) if !name.name.is_empty() => self.objects.add(&document, &name),
                _ => self.skip("documents that are no named objects"),
            },
            _ => self.skip("policies of other kinds, with CEL"),
        }
    }

    fn skip(&mut self, reason: &'static str) {
        *self.skipped.entry(reason).or_default() += 1;
    }
}

/// Why a classic policy cannot be compared one object at a time.
fn beyond(policy: &Value) -> Option<&'static str> {
    let rules = policy.path(&["spec", "rules"]).and_then(Value::as_array).unwrap_or_default();
    let some = |field: &[&str]| rules.iter().any(|rule| rule.path(field).is_some());
    if some(&["mutate", "targets"]) {
        Some("policies with targets")
    } else if some(&["mutate", "overlay"]) || some(&["mutate", "patches"]) {
        Some("policies in legacy syntax")
    } else if !some(&["mutate"]) {
        Some("policies that mutate nothing")
    } else {
        None
    }
}

/// The values file of a suite that is about the policy file.
fn values_of(suite: &Path, policy: &Path) -> Option<PathBuf> {
    let folder = suite.parent()?;
    let same = |path: &str| folder.join(path).canonicalize().ok() == policy.canonicalize().ok();
    documents(suite).ok()?.iter().find_map(|document| {
        let policies = document.get("policies")?.as_array()?;
        let concerned = policies.iter().filter_map(Value::as_str).any(same);
        let values = document.get("variables")?.as_str()?;
        concerned.then(|| folder.join(values))
    })
}

fn documents(path: &Path) -> Result<Vec<Value>, String> {
    parse(path.display().to_string(), fs::read_to_string(path).map_err(|error| error.to_string())?)
}

fn parse(name: String, text: String) -> Result<Vec<Value>, String> {
    let documents = read(&Arc::new(Source::new(name, text)), &Limits::default())
        .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
    Ok(documents.iter().filter_map(|document| document.value().cloned()).collect())
}

fn write(file: &Path, documents: &[Value]) {
    let mut text = String::new();
    for document in documents {
        text.push_str("---\n");
        print(document, &mut text);
    }
    fs::write(file, text).unwrap();
}

/// The outcome of one object.
struct Outcome {
    object: Value,
    /// A rule could not be evaluated, and why.
    error: Option<String>,
    /// The differences of the table that were announced.
    announced: BTreeSet<String>,
}

/// What the binary makes of all objects.
fn ours(
    policy: &Path,
    objects: &Path,
    values: Option<&Path>,
    semantics: &str,
) -> Result<Vec<Outcome>, String> {
    let run = |command: &[&str]| {
        let mut kyv = Command::new(env!("CARGO_BIN_EXE_kubectl-kyv"));
        kyv.args(command).arg("-p").arg(policy).arg("-f").arg(objects).args([
            "--semantics",
            semantics,
            "--view",
            "written",
        ]);
        if let Some(values) = values {
            kyv.arg("--values").arg(values);
        }
        let ended = kyv.env_clear().stdin(Stdio::null()).output().unwrap();
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        match ended.status.code() {
            Some(0 | 3) => Ok(text(&ended.stdout)),
            _ => Err(format!("{}: {}", ended.status, text(&ended.stderr))),
        }
    };
    let mutated = parse("ours".to_owned(), run(&["mutate"])?)?;
    let explained = Value::from_json(&run(&["explain", "-o", "json"])?).unwrap();
    let explained = explained.get("objects").and_then(Value::as_array).unwrap();
    assert_eq!(mutated.len(), explained.len(), "each object is printed and explained");
    let list = |row: &Value, field: &str| row.get(field).and_then(Value::as_array).unwrap().to_vec();
    let text = |row: &Value, field: &str| row.get(field).and_then(Value::as_str).map(str::to_owned);
    let outcomes = mutated.into_iter().zip(explained).map(|(object, row)| {
        let failed =
            list(row, "rules").into_iter().find(|rule| text(rule, "outcome").as_deref() == Some("error"));
        let announced =
            list(row, "divergences").iter().filter_map(|difference| text(difference, "id")).collect();
        let error = failed.map(|rule| rule.to_json());
        Outcome { object, error, announced }
    });
    Ok(outcomes.collect())
}

/// What the comparisons of one policy, or of all, found.
#[derive(Default)]
struct Found {
    pairs: usize,
    mutated: usize,
    errors: usize,
    artefacts: BTreeMap<&'static str, usize>,
    announced: BTreeMap<String, usize>,
    faults: Vec<String>,
    seconds: u64,
}

impl Found {
    fn add(&mut self, other: Self) {
        self.pairs += other.pairs;
        self.mutated += other.mutated;
        self.errors += other.errors;
        self.faults.extend(other.faults);
        for (name, count) in other.artefacts {
            *self.artefacts.entry(name).or_default() += count;
        }
        for (name, count) in other.announced {
            *self.announced.entry(name).or_default() += count;
        }
    }

    fn compare(
        &mut self,
        policy: &Policy,
        given: &Value,
        applied: Applied,
        kyverno: &Outcome,
        documented: &Outcome,
    ) {
        self.pairs += 1;
        let Applied { object: mut theirs, failed } = applied;
        for artefact in ARTEFACTS {
            let undone = (artefact.undo)(theirs.clone(), given);
            if undone.to_json() != theirs.to_json() {
                *self.artefacts.entry(artefact.name).or_default() += 1;
            }
            theirs = undone;
        }
        let normalized = |object: &Value| without_empty(&with_whole_numbers(object.clone()));
        let theirs = normalized(&theirs);
        self.errors += usize::from(failed);
        self.mutated += usize::from(theirs != normalized(given));

        let mut fault = |semantics: &str, what: &str, ours: &Outcome| {
            let json = |object: &Option<Value>| object.as_ref().map(Value::to_go_json).unwrap_or_default();
            let mut text = format!(
                "{}: {} under {semantics}: {what}\n  given   {}\n  Kyverno {}\n  ours    {}",
                policy.file.display(),
                ObjectRef::of(given).unwrap(),
                given.to_go_json(),
                json(&theirs),
                json(&normalized(&ours.object)),
            );
            if let Some(error) = &ours.error {
                write!(text, "\n  error   {error}").unwrap();
            }
            self.faults.push(text);
        };
        let same = |ours: &Outcome| normalized(&ours.object) == theirs;
        if !same(kyverno) {
            fault("kyverno", "another object", kyverno);
        } else if kyverno.error.is_some() != failed {
            fault("kyverno", if failed { "no error" } else { "an error" }, kyverno);
        }
        if !same(documented) || documented.error.is_some() != failed {
            if documented.announced.is_empty() {
                fault("documented", "a difference that is not announced", documented);
            }
            for difference in &documented.announced {
                *self.announced.entry(difference.clone()).or_default() += 1;
            }
        }
    }
}

/// Runs one policy through both programs, over all objects.
fn compare(program: &Path, policy: &Policy, objects: &[Vec<Value>]) -> Result<Found, String> {
    let folder = tempfile::tempdir().unwrap();
    let [file, all] = ["policy.yaml", "all.yaml"].map(|name| folder.path().join(name));
    write(&file, std::slice::from_ref(&policy.document));
    let given: Vec<&Value> = objects.iter().flatten().collect();
    write(&all, &objects.concat());
    let kyverno = ours(&file, &all, policy.values.as_deref(), "kyverno")?;
    let documented = ours(&file, &all, policy.values.as_deref(), "documented")?;
    assert_eq!((kyverno.len(), documented.len()), (given.len(), given.len()), "each object comes out");
    let mut theirs = Vec::new();
    for layer in objects {
        theirs.extend(test_support::kyverno_cli::apply(program, &file, layer, policy.values.as_deref())?);
    }
    let mut found = Found::default();
    let outcomes = theirs.into_iter().zip(kyverno.iter().zip(&documented));
    for (given, (applied, (kyverno, documented))) in given.into_iter().zip(outcomes) {
        found.compare(policy, given, applied, kyverno, documented);
    }
    Ok(found)
}

/// Runs policies through both programs, each over objects of its own.
fn compare_all(policies: &[Policy], objects: impl Fn(&Policy) -> Vec<Vec<Value>> + Sync) -> Found {
    let (program, next, all) =
        (test_support::tool("kyverno"), AtomicUsize::new(0), Mutex::new(Found::default()));
    let start = Instant::now();
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some(policy) = policies.get(next.fetch_add(1, Ordering::Relaxed)) {
                    assert!(start.elapsed() < BUDGET, "more than {} s", BUDGET.as_secs());
                    let found = compare(&program, policy, &objects(policy)).unwrap_or_else(|error| Found {
                        faults: vec![format!("{}: {error}", policy.file.display())],
                        ..Found::default()
                    });
                    all.lock().unwrap().add(found);
                }
            });
        }
    });
    Found { seconds: start.elapsed().as_secs(), ..all.into_inner().unwrap() }
}

/// How many objects are generated for each policy: with `KYV_ALL_PAIRS`, and in every run.
const GENERATED: [usize; 2] = [1000, 40];

/// The policies and objects of the folder; `None` where the test is skipped.
fn pool(what: &str) -> Option<Pool> {
    if test_support::skip_without_real_programs(what) {
        return None;
    }
    Some(Pool::of(&conformance_folder(what)?))
}

/// Tells what was found with so many objects for each policy, and fails if anything differs.
fn check(found: &Found, pool: &Pool, objects: usize) {
    let mut told = format!(
        "{} pairs: {} policies × {objects} objects in {} s; Kyverno changes {} and fails at {}; {} faults\n",
        found.pairs,
        pool.policies.len(),
        found.seconds,
        found.mutated,
        found.errors,
        found.faults.len(),
    );
    for (difference, pairs) in &found.announced {
        writeln!(told, "announced under documented: {pairs} × {difference}").unwrap();
    }
    for artefact in ARTEFACTS {
        let pairs = found.artefacts.get(artefact.name).copied().unwrap_or_default();
        writeln!(told, "artefact of the CLI: {pairs} × {}: {}", artefact.name, artefact.reason).unwrap();
    }
    for (reason, count) in &pool.skipped {
        writeln!(told, "skipped: {count} × {reason}").unwrap();
    }
    std::io::stderr().write_all(told.as_bytes()).unwrap();
    assert!(found.faults.is_empty(), "{}", found.faults.join("\n"));
    assert_eq!(found.pairs, pool.policies.len() * objects, "each policy meets each object");
    assert!(pool.policies.len() >= MIN_POLICIES, "too few policies");
}

#[test]
fn every_policy_on_generated_objects_matches_the_kyverno_cli() {
    let Some(pool) = pool("generated objects through Kyverno's CLI") else { return };
    let are_all = std::env::var_os("KYV_ALL_PAIRS").is_some_and(|value| value == "1");
    let number = if are_all { GENERATED[0] } else { GENERATED[1] };
    let seed = std::env::var("KYV_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let of_policy = |policy: &Policy| {
        let mut hasher = DefaultHasher::new();
        policy.document.to_json().hash(&mut hasher);
        let objects = pool.objects.layers.iter().flatten();
        vec![Generator::new(objects, seed ^ hasher.finish()).objects(&policy.document, number)]
    };
    let found = compare_all(&pool.policies, of_policy);
    eprintln!("objects generated by KYV_SEED={seed}");
    check(&found, &pool, number);
    assert!(5 * found.mutated >= found.pairs, "too few pairs in which something happens");
    assert!(20 * found.errors >= found.pairs, "too few pairs in which a rule fails");
}

#[test]
fn every_policy_on_every_object_matches_the_kyverno_cli() {
    let Some(pool) = pool("Kyverno's policies through Kyverno's CLI") else { return };
    let objects = &pool.objects.layers;
    let found = compare_all(&pool.policies, |_| objects.clone());
    let count: usize = objects.iter().map(Vec::len).sum();
    check(&found, &pool, count);
    assert!(count >= MIN_OBJECTS, "too few objects");
    assert!(found.mutated >= MIN_MUTATED, "too few pairs in which something happens");
    assert!(found.errors >= MIN_ERRORS, "too few pairs in which a rule fails");
}
