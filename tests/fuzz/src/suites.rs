//! Test suites: read or refused with reasons, and the same rows each time.

use std::collections::BTreeMap;

use kyv::engine::{EmptyWorld, Engine, Settings};
use kyv::policy::{self, Policy, PolicySet};
use kyv::report::ObjectReport;
use kyv::semantics::Semantics;
use kyv::suite::{Evaluation, ExpectedFiles, Suite, SuiteRun, check, unmatched_names};
use kyv::value::{MAX_DEPTH, Value};

use super::engine::limits;
use super::input::Input;
use super::policy::RICH;
use super::values;

const SUITE: &str = include_str!("rich-suite.yaml");
const OBJECT: &str = include_str!("rich-object.yaml");

/// Checks one input.
pub fn run(data: &[u8]) {
    let documents = match Input::new(data) {
        Input::Text(parts) => [0, 1, 2].map(|index| values::parsed(parts.at(index))),
        Input::Choices(mut choices) => {
            let edited =
                |text, choices: &mut _| values::parsed(text).map(|value| values::edited(value, choices));
            [edited(SUITE, &mut choices), values::parsed(RICH), edited(OBJECT, &mut choices)]
        }
    };
    let [Some(suite), Some(policy), Some(object)] = documents else { return };
    if [&suite, &policy, &object].iter().any(|value| value.depth() > MAX_DEPTH) {
        return;
    }
    let suite = match Suite::read(&suite) {
        Ok(suite) => suite,
        Err(faults) => {
            assert!(!faults.is_empty(), "refused without a reason");
            return assert!(faults.iter().all(|fault| !fault.to_string().is_empty()));
        }
    };
    let Ok(policy) = policy::parse(&policy, Semantics::Documented) else { return };
    let policies = [policy];
    let run = SuiteRun { operation: None, reports: vec![report(&policies, &object)], targets: Vec::new() };
    let names = suite.results.iter().filter_map(|expectation| expectation.patched.clone());
    let after = run.reports[0].after.clone();
    let expected: ExpectedFiles = names.map(|name| (name, Ok(vec![object.clone(), after.clone()]))).collect();
    let skipped = BTreeMap::new();
    let runs = [run];
    let evaluation = Evaluation { policies: &policies, skipped: &skipped, runs: &runs, expected: &expected };
    let rows = check(&suite, &evaluation, &EmptyWorld);
    assert_eq!(format!("{rows:?}"), format!("{:?}", check(&suite, &evaluation, &EmptyWorld)));
    assert!(rows.len() >= suite.results.len() || suite.results.is_empty(), "an expectation without a row");
    for name in unmatched_names(&suite, &evaluation, &EmptyWorld) {
        assert!(!name.is_empty());
    }
}

fn report(policies: &[Policy], object: &Value) -> ObjectReport {
    let settings = Settings { limits: limits(), ..Settings::default() };
    Engine::new(PolicySet::new(policies.to_vec()), settings).mutate(object, None, &EmptyWorld)
}
