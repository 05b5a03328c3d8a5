//! Policies on objects: the same input gives the same report, and a rule that fails leaves no trace.

use kyv::engine::{EmptyWorld, Engine, Limits, Settings};
use kyv::policy::{self, Policy, PolicySet};
use kyv::report::{ObjectReport, Outcome};
use kyv::semantics::Semantics;
use kyv::value::{MAX_DEPTH, Value};

use super::input::Input;
use super::policy::RICH;
use super::values;

const OBJECT: &str = include_str!("rich-object.yaml");

/// Checks one input.
pub fn run(data: &[u8]) {
    let (policy, object, old) = match Input::new(data) {
        Input::Text(parts) => {
            let (Some(policy), Some(object)) = (values::parsed(parts.at(0)), values::parsed(parts.at(1)))
            else {
                return;
            };
            (policy, object, values::parsed(parts.at(2)).filter(|old| !old.is_null()))
        }
        Input::Choices(mut choices) => {
            let (Some(policy), Some(object)) = (values::parsed(RICH), values::parsed(OBJECT)) else { return };
            let old = choices.once_in(3).then(|| values::edited(object.clone(), &mut choices));
            (values::edited(policy, &mut choices), values::edited(object, &mut choices), old)
        }
    };
    let deepest = object.depth().max(old.as_ref().map_or(0, Value::depth));
    if deepest > MAX_DEPTH {
        return;
    }
    let run = |semantics| {
        let policy = policy::parse(&policy, semantics).ok()?;
        let report = check(&policy, &object, old.as_ref(), semantics);
        // What loading comes through is named there.
        (policy.meta().refused.is_empty() && policy.meta().divergences.is_empty()).then_some(report)
    };
    let (Some(documented), Some(kyverno)) = (run(Semantics::Documented), run(Semantics::Kyverno)) else {
        return;
    };
    if documented.after != kyverno.after {
        let named = !documented.divergences().is_empty() && !kyverno.divergences().is_empty();
        assert!(
            named,
            "the sides differ, unnamed:\n{}\n{}",
            documented.after.to_json(),
            kyverno.after.to_json()
        );
    }
}

fn check(policy: &Policy, object: &Value, old: Option<&Value>, semantics: Semantics) -> ObjectReport {
    let before = object.to_json();
    let mutate = |trace| {
        let settings = Settings { semantics, trace, limits: limits(), ..Settings::default() };
        Engine::new(PolicySet::new(vec![policy.clone()]), settings).mutate(object, old, &EmptyWorld)
    };
    let report = mutate(false);
    assert_eq!(object.to_json(), before, "the object itself was changed");
    assert_eq!(report.before.to_json(), before);
    assert_eq!(shown(&mutate(false)), shown(&report), "another report the second time");
    assert_eq!(mutate(true).after.to_json(), report.after.to_json(), "a trace changes the outcome");
    if report.has_error() {
        assert_eq!(report.after.to_json(), before, "a rule that failed left a trace");
    }
    let patched = |outcome: &Outcome| matches!(outcome, Outcome::Patched { .. });
    if !report.rules().any(|(_, rule)| patched(&rule.outcome)) {
        assert_eq!(report.after.to_json(), before, "no rule patched the object, and it is another");
    }
    assert_eq!(report.is_changed(), !report.changes().is_empty());
    for (_, rule) in report.rules() {
        match &rule.outcome {
            Outcome::Patched { before, after } => assert_ne!(before, after, "a patch that changes nothing"),
            Outcome::Error(error) => assert!(!error.message.is_empty()),
            _ => {}
        }
    }
    report
}

/// A report as bytes.
fn shown(report: &ObjectReport) -> String {
    format!("{:?} {}", report.policies, report.after.to_json())
}

/// What an evaluation may take.
pub(crate) fn limits() -> Limits {
    Limits {
        steps: 200_000,
        result_bytes: 256 * 1024,
        rounds: 16,
        foreach_iterations: 2_000,
        context_depth: 16,
        ..Limits::default()
    }
}
