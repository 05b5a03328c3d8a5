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
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use kyv::value::{ObjectRef, Value};
use kyv::yaml::print;
use test_support::conformance_folder;
use test_support::kyverno_cli::Applied;
use test_support::kyverno_cli::artefacts::{ARTEFACTS, with_whole_numbers};
use test_support::kyverno_samples::{ClassicPolicy, Generator, KyvernoSamples, parse};
use test_support::normalize::without_empty;

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
        policy: &ClassicPolicy,
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
fn compare(program: &Path, policy: &ClassicPolicy, objects: &[Vec<Value>]) -> Result<Found, String> {
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
fn compare_all(
    policies: &[ClassicPolicy],
    objects: impl Fn(&ClassicPolicy) -> Vec<Vec<Value>> + Sync,
) -> Found {
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

/// The most places in which a generated object differs from a given one.
const CHANGES: usize = 3;

/// How many objects are generated for each policy: with `KYV_ALL_PAIRS`, and in every run.
const GENERATED: [usize; 2] = [1000, 40];

/// The policies and objects of the folder; `None` where the test is skipped.
fn pool(what: &str) -> Option<KyvernoSamples> {
    if test_support::skip_without_real_programs(what) {
        return None;
    }
    Some(KyvernoSamples::of(&conformance_folder(what)?))
}

/// Tells what was found with so many objects for each policy, and fails if anything differs.
fn check(found: &Found, pool: &KyvernoSamples, objects: usize) {
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
    let of_policy = |policy: &ClassicPolicy| {
        let mut hasher = DefaultHasher::new();
        policy.document.to_json().hash(&mut hasher);
        let objects = pool.objects.layers.iter().flatten();
        let mut generator = Generator::new(objects, seed ^ hasher.finish());
        vec![(0..number).map(|_| generator.object(&policy.document, CHANGES)).collect()]
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
