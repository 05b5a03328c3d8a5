//! All of Kyverno's own policies together on objects made from its own, where `KYV_CONFORMANCE` points to a folder of
//! them: each pair that is noted as dependent on its order alone has another result in the other order, and where the
//! reverse order of all policies has another result, something is noted.
#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use kyv::engine::{EmptyWorld, Engine, Settings};
use kyv::policy::{Policy, PolicySet, parse};
use kyv::report::ObjectReport;
use kyv::semantics::Semantics;
use kyv::value::{ObjectRef, Text, Value};
use test_support::conformance_folder;
use test_support::kyverno_samples::{Generator, KyvernoSamples};

/// How many objects are made: with `KYV_ALL_PAIRS`, and in every run.
const OBJECTS: [usize; 2] = [4000, 300];

/// The most places in which one differs from a given one.
const CHANGES: usize = 3;

/// Two cores have something to do.
const WORKERS: usize = 2;

/// What was found.
#[derive(Default)]
struct Found {
    dependent: usize,
    pairs: usize,
    faults: Vec<String>,
}

/// The policies that a set may have, under names of their own.
fn policies(samples: &KyvernoSamples) -> Vec<(Value, Policy)> {
    let own = samples.policies.iter().filter(|policy| policy.values.is_none());
    let named = own.enumerate().map(|(number, policy)| {
        let mut document = policy.document.clone();
        let metadata = document.as_object_mut().and_then(|policy| policy.get_mut("metadata")).unwrap();
        metadata.insert("name", format!("p{number:02}").into());
        let policy = parse(&document, Semantics::Documented).unwrap();
        (document, policy)
    });
    named.collect()
}

fn mutate(policies: impl IntoIterator<Item = Policy>, checks_order: bool, object: &Value) -> ObjectReport {
    let settings = Settings { checks_order, ..Settings::default() };
    Engine::new(PolicySet::new(policies.into_iter().collect()), settings).mutate(object, None, &EmptyWorld)
}

/// The object after the policies, and those that fail.
fn ending(policies: impl IntoIterator<Item = Policy>, object: &Value) -> (Value, BTreeSet<Text>) {
    let report = mutate(policies, false, object);
    let failed = report.policies.iter().filter(|policy| policy.has_error());
    let failed = failed.map(|policy| policy.policy.clone()).collect();
    (report.after, failed)
}

/// Checks what is noted for one object.
fn check(policies: &[Policy], object: &Value, found: &mut Found) {
    let report = mutate(policies.to_vec(), true, object);
    let name = ObjectRef::of(object).unwrap();
    let reversed = ending(policies.iter().rev().cloned(), object);
    if report.order.is_empty() && reversed != ending(policies.to_vec(), object) {
        found.faults.push(format!("{name}: the reverse order is another, and nothing is noted"));
    }
    found.dependent += usize::from(!report.order.is_empty());
    for order in report.order.iter().filter(|order| order.policies.len() == 2) {
        found.pairs += 1;
        let is_of_pair = |policy: &&Policy| order.policies.contains(&policy.full_name());
        let pair: Vec<Policy> = policies.iter().filter(is_of_pair).cloned().collect();
        assert_eq!(pair.len(), 2);
        if ending(pair.clone(), object) == ending(pair.into_iter().rev(), object) {
            let fields = order.fields.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            let object = object.to_json();
            found.faults.push(format!(
                "{name}: {:?} have the same result in both orders, and not other {fields}\n{object}",
                order.policies
            ));
        }
    }
}

#[test]
fn what_is_noted_on_generated_objects_depends_on_the_order() {
    let Some(folder) = conformance_folder("the order of Kyverno's policies on generated objects") else {
        return;
    };
    let samples = KyvernoSamples::of(&folder);
    let are_all = std::env::var_os("KYV_ALL_PAIRS").is_some_and(|value| value == "1");
    let number = if are_all { OBJECTS[0] } else { OBJECTS[1] };
    let seed = std::env::var("KYV_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let (documents, policies): (Vec<Value>, Vec<Policy>) = policies(&samples).into_iter().unzip();
    assert!(policies.len() >= 30, "too few policies");
    let mut generator = Generator::new(samples.objects.layers.iter().flatten(), seed);
    let objects: Vec<Value> =
        (0..number).map(|at| generator.object(&documents[at % documents.len()], CHANGES)).collect();
    let (next, all) = (AtomicUsize::new(0), Mutex::new(Found::default()));
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some(object) = objects.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let mut found = Found::default();
                    check(&policies, object, &mut found);
                    let mut all = all.lock().unwrap();
                    all.dependent += found.dependent;
                    all.pairs += found.pairs;
                    all.faults.extend(found.faults);
                }
            });
        }
    });
    let found = all.into_inner().unwrap();
    test_support::log(&format!(
        "{number} objects by KYV_SEED={seed}: the order matters for {}, by {} pairs; {} faults",
        found.dependent,
        found.pairs,
        found.faults.len()
    ));
    assert!(found.faults.is_empty(), "{}", found.faults.join("\n"));
    assert!(2 * found.dependent >= number, "too few objects for which the order matters");
}
