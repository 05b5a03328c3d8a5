//! The cases of the corpus against Kyverno's real controllers. Runs when `KYV_REAL_PROGRAMS` is 1; `KYV_CASES`
//! is a text that the names of the cases must contain.
//!
//! The policies of each case are installed alone and its objects sent; the API server must answer what the case
//! expects under `--semantics kyverno`. A webhook sees objects with the server's defaults, and the objects of a case
//! have none; where the defaults change what a policy does, the answer must be what `mutate` prints for the object with
//! its defaults. Both are always compared.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::corpus_case::{self, Case, completed};
use super::mutate_output::{MutateCall, MutateOutcome};
use test_support::api_server::ApiServer;
use test_support::kyverno::Kyverno;
use test_support::log;
use test_support::objects::{differing_paths, without_server_fields};
use test_support::policy_installer::PolicyInstaller;
use test_support::rest::{Answer, Refusal, Rest};

/// Fewer would mean that something was not compared at all.
const MIN_CASES: usize = 300;

/// How long an answer may differ from what is expected before it counts: some things have no mark of their own that
/// shows when they are in installer.
const RETRY_TIMEOUT: Duration = Duration::from_secs(4);

/// Differences where Kyverno panics: a webhook that does has no words.
const PANICS: [&str; 3] = ["KYV-D10", "KYV-D38", "KYV-D70"];

/// A case with everything that is known before Kyverno runs.
struct Prepared<'a> {
    case: &'a Case,
    objects: Vec<Prediction>,
    /// What our program says when it refuses the policies.
    refused: Option<String>,
}

/// An object that is to be sent.
struct Prediction {
    raw: Value,
    /// What is stored before, where the request is an update.
    old: Option<Value>,
    ours: MutateOutcome,
    /// What the server makes of what we said.
    said: Answer,
    /// What the server makes of what the case expects.
    expected: Option<Answer>,
    /// Whether the server accepts the object unchanged.
    taken: bool,
    /// What a policy sees of it.
    seen: Value,
}

/// How often the cluster did what was expected.
#[derive(Default)]
struct Count {
    as_expected: usize,
    by_defaults: BTreeSet<String>,
    denied: usize,
    invalid: usize,
    not_taken: BTreeSet<String>,
    refused: usize,
}

#[test]
fn admission_gives_what_corpus_cases_expect() {
    if test_support::skip_without_real_programs("the cases of the corpus against Kyverno's controllers") {
        return;
    }
    let start = Instant::now();
    let cases = Case::all();
    let mut left: BTreeMap<&str, usize> = BTreeMap::new();
    let mut within = Vec::new();
    for case in &cases {
        match case.out_of_reach() {
            Some(reason) => *left.entry(reason).or_default() += 1,
            None if case.has_targets() => *left.entry("rules with targets").or_default() += 1,
            None => within.push(case),
        }
    }
    log(&format!("{} cases, {} of them for a cluster; not the others: {left:?}", cases.len(), within.len()));
    assert!(within.len() >= MIN_CASES || std::env::var_os("KYV_CASES").is_some(), "too few cases");

    let server = ApiServer::start();
    let rest = Rest::open(&server);
    let namespaces = corpus_case::make_namespaces(&rest, &within);
    let prepared: Vec<Prepared> = within.iter().map(|case| prepare(&rest, case, &namespaces)).collect();
    log(&format!("prepared after {:?}", start.elapsed()));

    let _kyverno = Kyverno::start(&server);
    let mut installer = PolicyInstaller::new(&rest);
    let mut count = Count::default();
    let mut faults = Vec::new();
    for prepared in &prepared {
        run(prepared, &rest, &mut installer, &mut count, &mut faults);
    }
    log(&format!(
        "{} cases, {:?}: {} objects as the case expects, {} denied as expected, {} refused by the server as \
         expected, {} policies refused as expected",
        prepared.len(),
        start.elapsed(),
        count.as_expected,
        count.denied,
        count.invalid,
        count.refused
    ));
    log(&format!(
        "{} as we say of the object with its defaults: {:?}",
        count.by_defaults.len(),
        count.by_defaults
    ));
    log(&format!("{} not taken by the server: {:?}", count.not_taken.len(), count.not_taken));
    assert!(faults.is_empty(), "{} disagreements:\n{}", faults.len(), faults.join("\n"));
}

/// Asks the server and our program, while there is no policy.
fn prepare<'a>(rest: &Rest, case: &'a Case, namespaces: &[Value]) -> Prepared<'a> {
    let inputs: Vec<Value> = case.inputs.iter().cloned().map(completed).collect();
    let old: Vec<Option<Value>> =
        inputs.iter().map(|object| stored_before(case, object).map(completed)).collect();
    let held: Vec<Option<Value>> =
        old.iter().map(|old| old.as_ref().and_then(|old| rest.create(old, UNVALIDATED).ok())).collect();
    let answers: Vec<Answer> =
        inputs.iter().zip(&held).map(|(object, held)| send(rest, object, held.as_ref())).collect();
    let seen: Vec<Value> = inputs
        .iter()
        .zip(&answers)
        .map(|(raw, answer)| answer.as_ref().map_or_else(|_| raw.clone(), |object| as_seen(object, raw)))
        .collect();
    let stored: Vec<Value> = held.iter().flatten().cloned().collect();
    let question = MutateCall { case, update: old.iter().any(Option::is_some), namespaces };
    let (ours, refused) = match question.ask(&seen, &stored) {
        Ok(ours) => (ours, None),
        Err(message) => (vec![MutateOutcome::Failed(message.clone()); seen.len()], Some(message)),
    };
    let mut objects = Vec::new();
    for (index, raw) in inputs.iter().enumerate() {
        let held = held[index].as_ref();
        let said = match &ours[index] {
            MutateOutcome::Object(object) => send(rest, object, held),
            MutateOutcome::Failed(_) => Err(Refusal { code: 0, message: "a rule fails".into() }),
        };
        let expected = case.expected.as_ref().and_then(|all| all.get(index));
        objects.push(Prediction {
            raw: raw.clone(),
            old: old[index].clone(),
            ours: ours[index].clone(),
            said: said.map(|object| as_seen(&object, raw)),
            expected: expected.map(|object| send(rest, object, held).map(|object| as_seen(&object, raw))),
            taken: answers[index].is_ok(),
            seen: seen[index].clone(),
        });
    }
    held.iter().flatten().for_each(|object| rest.remove(object));
    Prepared { case, objects, refused }
}

/// Fields that a schema does not know are the server's to drop.
const UNVALIDATED: &str = "fieldValidation=Ignore";

fn send(rest: &Rest, object: &Value, held: Option<&Value>) -> Answer {
    let query = "dryRun=All&fieldValidation=Ignore";
    if held.is_some() { rest.replace(object, query) } else { rest.create(object, query) }
}

/// What is stored before an object is sent, where the request is an update.
fn stored_before(case: &Case, object: &Value) -> Option<Value> {
    let same = |old: &&Value| {
        let namespace =
            |object: &Value| object["metadata"]["namespace"].as_str().unwrap_or("default").to_owned();
        old["kind"] == object["kind"]
            && old["metadata"]["name"] == object["metadata"]["name"]
            && namespace(old) == namespace(object)
    };
    case.old.iter().find(same).or_else(|| case.updates().then_some(object)).cloned()
}

/// An answer of the server as a webhook sees the object: without what is made of it only when it is stored.
fn as_seen(object: &Value, raw: &Value) -> Value {
    let mut object = without_server_fields(object);
    if raw["metadata"]["name"].is_null()
        && let Some(metadata) = object["metadata"].as_object_mut()
    {
        metadata.remove("name");
    }
    match object["kind"].as_str() {
        Some("Job") => {
            if raw["spec"]["selector"].is_null() {
                forget(&mut object["spec"], &["selector"]);
            }
            forget_labels_of_job(&mut object["metadata"]);
            forget_labels_of_job(&mut object["spec"]["template"]["metadata"]);
        }
        Some("Service") if raw["spec"]["clusterIP"].is_null() => {
            forget(&mut object["spec"], &["clusterIP", "clusterIPs"]);
        }
        _ => {}
    }
    object
}

fn forget_labels_of_job(metadata: &mut Value) {
    if metadata["labels"].is_null() {
        return;
    }
    let own =
        ["controller-uid", "job-name", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name"];
    forget(&mut metadata["labels"], &own);
    if metadata["labels"].as_object().is_some_and(serde_json::Map::is_empty) {
        forget(metadata, &["labels"]);
    }
}

fn forget(object: &mut Value, fields: &[&str]) {
    if let Some(members) = object.as_object_mut() {
        fields.iter().for_each(|field| drop(members.remove(*field)));
    }
}

/// Installs a case and sends its objects.
fn run(
    prepared: &Prepared,
    rest: &Rest,
    installer: &mut PolicyInstaller,
    count: &mut Count,
    faults: &mut Vec<String>,
) {
    let case = prepared.case;
    if prepared.objects.iter().any(|object| object.old.is_some()) {
        // The policies that were here before must be gone.
        installer.settle();
    }
    let held: Vec<Option<Value>> = prepared
        .objects
        .iter()
        .map(|object| object.old.as_ref().and_then(|old| rest.create(old, UNVALIDATED).ok()))
        .collect();
    let exempted = case
        .exceptions
        .iter()
        .try_for_each(|exception| rest.create(exception, "fieldValidation=Strict").map(drop));
    match (exempted.and_then(|()| installer.install(&case.policies)), &prepared.refused) {
        (Err(_), Some(_)) => count.refused += 1,
        (Err(refusal), None) => {
            faults.push(format!("{}: refused, but we take it: {}", case.name, refusal.message));
        }
        // Under load a webhook that checks policies may be too late; then the server takes them unseen.
        (Ok(()), Some(_)) if refused_at_last(case, rest) => count.refused += 1,
        (Ok(()), Some(ours)) => faults.push(format!("{}: installed, but we refuse it: {ours}", case.name)),
        (Ok(()), None) => {
            for (index, object) in prepared.objects.iter().enumerate() {
                let name = format!("{}[{index}]", case.name);
                let held = held[index].as_ref();
                let ask = || send(rest, &object.raw, held).map(|answer| as_seen(&answer, &object.raw));
                let verdict = settled(case, object, ask);
                match verdict {
                    Ok(verdict) => verdict.add(name, count),
                    Err(fault) => {
                        log(&format!("{name}: {fault}"));
                        faults.push(format!("{name}: {fault}"));
                    }
                }
            }
        }
    }
    held.iter().flatten().for_each(|object| rest.remove(object));
    case.policies.iter().chain(&case.exceptions).for_each(|object| rest.remove(object));
}

/// Whether policies that were taken are refused when they come again.
fn refused_at_last(case: &Case, rest: &Rest) -> bool {
    (0..3).any(|_| {
        case.policies.iter().for_each(|policy| rest.remove(policy));
        case.policies.iter().any(|policy| rest.create(policy, "fieldValidation=Strict").is_err())
    })
}

/// How an answer agrees.
enum Verdict {
    AsExpected,
    ByDefaults,
    Denied,
    Invalid,
    NotTaken,
}

impl Verdict {
    fn add(self, name: String, count: &mut Count) {
        match self {
            Self::AsExpected => count.as_expected += 1,
            Self::ByDefaults => drop(count.by_defaults.insert(name)),
            Self::Denied => count.denied += 1,
            Self::Invalid => count.invalid += 1,
            Self::NotTaken => drop(count.not_taken.insert(name)),
        }
    }
}

/// The verdict over the first answer that agrees, or over the last one.
fn settled(case: &Case, object: &Prediction, ask: impl Fn() -> Answer) -> Result<Verdict, String> {
    let start = Instant::now();
    loop {
        let verdict = judge(case, object, &ask());
        if verdict.is_ok() || start.elapsed() > RETRY_TIMEOUT {
            return verdict;
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

fn judge(case: &Case, object: &Prediction, did: &Answer) -> Result<Verdict, String> {
    let expected = object.expected.as_ref();
    match did {
        Err(denial) if denial.is_of_kyverno() => {
            let MutateOutcome::Failed(ours) = &object.ours else {
                return Err(format!("we said nothing of a failure, but it was denied: {}", denial.message));
            };
            let panicked = denial.message.contains("INTERNAL_ERROR")
                && PANICS.iter().any(|number| case.announced.contains(*number));
            if panicked
                || case.errors.iter().any(|error| names(&denial.message, error))
                || repeats(ours, &denial.message)
            {
                return Ok(Verdict::Denied);
            }
            Err(format!("denied with other words: {} instead of {:?} {ours}", denial.message, case.errors))
        }
        // The API server evaluates the conditions of a webhook itself.
        Err(refusal)
            if refusal.message.contains("' resulted in error: ")
                && matches!(&object.ours, MutateOutcome::Failed(ours) if ours.contains("matchConditions")) =>
        {
            Ok(Verdict::Denied)
        }
        Err(refusal) => match &object.said {
            Err(_) if !object.taken => Ok(Verdict::NotTaken),
            Err(said) if said.code != 0 => Ok(Verdict::Invalid),
            Err(_) => Err(format!("we said a rule fails, but the server refuses: {}", refusal.message)),
            Ok(_) => Err(format!("the server refuses it: {}", refusal.message)),
        },
        Ok(did) => {
            let said = match &object.said {
                Err(said) if said.code == 0 && case.ignores_failures() => {
                    let is_untouched = did == &object.seen;
                    return is_untouched
                        .then_some(Verdict::AsExpected)
                        .ok_or(differing_paths(&object.seen, did));
                }
                Err(said) => return Err(format!("it was taken, but we said: {}", said.message)),
                Ok(said) => said,
            };
            // What the server adds when it is sent once more.
            let as_it_is = matches!(&object.ours, MutateOutcome::Object(ours) if ours == did)
                || without_tolerations(said) == without_tolerations(did);
            if said != did && !as_it_is {
                return Err(differing_paths(said, did));
            }
            if matches!(expected, Some(Ok(expected)) if expected == did) {
                return Ok(Verdict::AsExpected);
            }
            if case.is_for_admission {
                return Err("it is not as expected.admitted.yaml says".to_owned());
            }
            Ok(Verdict::ByDefaults)
        }
    }
}

/// An object without the tolerations that the server gives every Pod before the webhooks, and again when what we say
/// is sent.
fn without_tolerations(object: &Value) -> Value {
    let mut object = object.clone();
    let given = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];
    if let Some(tolerations) = object["spec"]["tolerations"].as_array_mut() {
        tolerations.retain(|entry| !entry["key"].as_str().is_some_and(|key| given.contains(&key)));
        if tolerations.is_empty() {
            forget(&mut object["spec"], &["tolerations"]);
        }
    }
    object
}

/// Whether a denial is what an error of a case means.
fn names(denial: &str, error: &str) -> bool {
    // Our limits are our own, and so are their words.
    error.contains("limit") || error.contains("result-bytes") || denial.contains(error)
}

/// Whether a denial has our message of a failed rule, after the names that each puts in front, or what we say that
/// Kyverno says.
fn repeats(ours: &str, denial: &str) -> bool {
    let mut originals = ours.lines().filter_map(|line| line.strip_prefix("  Kyverno: "));
    if originals.any(|original| denial.contains(original.split(" at `").next().unwrap_or(original))) {
        return true;
    }
    let is_message = |line: &&str| line.starts_with("error[") || line.starts_with("  Kyverno: ");
    let errors = ours.lines().filter(is_message);
    let mut tails = errors.flat_map(|line| line.match_indices(": ").map(move |(at, _)| &line[at + 2..]));
    // Only our message has the position in the patch.
    tails.any(|tail| {
        let tail = tail.split(" at `").next().unwrap_or(tail);
        tail.len() >= MIN_WORDS && denial.replace('"', "").contains(&tail.replace('"', ""))
    })
}

/// Less is no message, but a name.
const MIN_WORDS: usize = 15;
