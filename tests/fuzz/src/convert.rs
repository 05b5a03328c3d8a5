//! Conversions: the same each time, and what comes out is a policy that loads.

use kyv::convert::{self, Comments, Options, Outcome, Target};
use kyv::policy::{self, Policy};
use kyv::semantics::Semantics;
use kyv::value::{MAX_DEPTH, Pointer, Value};

use super::edits;
use super::input::Input;
use super::policy::RICH;
use super::values;

/// Checks one input.
pub fn run(data: &[u8]) {
    let (document, comments) = match Input::new(data) {
        Input::Text(parts) => match edits::value(parts.at(0)) {
            Some((document, value)) => (value, Comments::of(&document, &Pointer::ROOT)),
            None => return,
        },
        Input::Choices(mut choices) => match values::parsed(RICH) {
            Some(rich) => (values::edited(rich, &mut choices), Comments::default()),
            None => return,
        },
    };
    if document.depth() > MAX_DEPTH / 4 {
        return;
    }
    for (target, semantics) in [
        (Target::MutatingPolicy, Semantics::Documented),
        (Target::AdmissionPolicy, Semantics::Documented),
        (Target::MutatingPolicy, Semantics::Kyverno),
    ] {
        let Ok(Policy::Classic(policy)) = policy::parse(&document, semantics) else { continue };
        let options = Options { target, semantics, ..Options::default() };
        let conversion = convert::convert(&document, &policy, &comments, &options);
        if target == Target::AdmissionPolicy {
            let again = convert::convert(&document, &policy, &comments, &options);
            assert_eq!(conversion.documents, again.documents, "converted otherwise the second time");
        }
        for rule in &conversion.rules {
            if let Outcome::Refused(refusal) = &rule.outcome {
                assert!(!refusal.reason.is_empty(), "refused without a reason");
            }
        }
        let is_converted = |outcome: &Outcome| matches!(outcome, Outcome::Converted(_));
        let converted = conversion.rules.iter().any(|rule| is_converted(&rule.outcome));
        assert_eq!(converted, !conversion.documents.is_empty(), "rules and documents do not match");
        conversion.documents.iter().for_each(|text| check(text, semantics));
    }
}

/// A document that was written loads.
fn check(text: &str, semantics: Semantics) {
    let Some((_, value)) = edits::value(text) else { panic!("no document:\n{text}") };
    if value.get("kind").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("Binding")) {
        return;
    }
    match policy::parse(&value, semantics) {
        Ok(policy) => {
            assert!(policy.meta().refused.is_empty(), "refused: {:?}\n{text}", policy.meta().refused)
        }
        Err(faults) => panic!("not loaded: {faults:?}\n{text}"),
    }
}
