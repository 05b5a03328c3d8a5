//! The limit of work for one proof.
#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

use jiff::Timestamp;
use kyv::admission::KindSchemas;
use kyv::patch::Schemas;
use kyv::policy::{Policy, parse};
use kyv::proof::{Creations, Input, Options, Proof, prove};
use kyv::semantics::Semantics;
use kyv::source::OfflineWorld;
use kyv::value::Value;

const REQUESTS: usize = 6;

/// A policy with two loops of so many elements, one in the other.
fn policy_with_loops(elements: usize) -> Policy {
    let list: Vec<String> = (0..elements).map(|number| format!("\"e{number}\"")).collect();
    let policy = format!(
        r#"{{"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": {{"name": "loops"}}, "spec": {{"rules": [{{
            "name": "r", "match": {{"any": [{{"resources": {{"kinds": ["ConfigMap"]}}}}]}},
            "context": [{{"name": "list", "variable": {{"value": [{}]}}}}],
            "mutate": {{"foreach": [{{"list": "list", "foreach": [{{"list": "list",
                "patchStrategicMerge": {{"metadata": {{"labels": {{"last": "{{{{element}}}}"}}}}}}}}]}}]}}}}]}}}}"#,
        list.join(", ")
    );
    parse(&Value::from_json(&policy).unwrap(), Semantics::Documented).unwrap()
}

fn options() -> Options {
    Options {
        schemas: Schemas::kubernetes(),
        kind_schemas: KindSchemas::default(),
        requests_per_rule: REQUESTS,
        ..Options::default()
    }
}

/// A proof that such a policy does the same as itself.
fn proof_with_loops(elements: usize, given: &[Value]) -> Proof {
    let policy = [policy_with_loops(elements)];
    let input = Input {
        old: &policy,
        new: &policy,
        new_in_kyverno: None,
        given,
        world: None,
        is_world_of_all: false,
    };
    prove(&input, &options(), &mut |_| {})
}

#[test]
fn long_loops_end_a_proof_early_but_not_before_given_objects() {
    let short = proof_with_loops(2, &[]);
    assert!(
        short.is_equal() && !short.stopped_early && short.requests >= REQUESTS,
        "{} requests",
        short.requests
    );

    let long = proof_with_loops(60, &[]);
    assert!(long.is_equal() && long.stopped_early, "{} requests", long.requests);
    assert!((1..short.requests).contains(&long.requests), "{} requests", long.requests);
    assert_eq!(long.requests, proof_with_loops(60, &[]).requests, "the same each time");

    let object = |number: usize| {
        let text = format!(
            r#"{{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {{"name": "given-{number}"}}}}"#
        );
        Value::from_json(&text).unwrap()
    };
    let given: Vec<Value> = (0..REQUESTS).map(object).collect();
    assert!(proof_with_loops(60, &given).requests > REQUESTS);
}

#[test]
fn objects_made_for_other_questions_end_early_too() {
    let world = OfflineWorld::new(Timestamp::UNIX_EPOCH, 0);
    let options = options();
    for (elements, expected) in [(2, false), (80, true)] {
        let policy = policy_with_loops(elements);
        let creations = Creations::new(std::slice::from_ref(&policy), &options, (&world, false));
        assert!(!creations.of(&policy).is_empty());
        assert_eq!(creations.have_stopped_early(), expected, "{elements} elements");
    }
}
