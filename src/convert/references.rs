//! References `$(…)` to other fields of a rule.

use crate::semantics::Semantics;
use crate::value::{Pointer, Value};
use crate::variables::with_references;

/// The fields of a rule whose references start at the rule. Those in loops and in the context start at other places.
const FIELDS: [&[&str]; 4] = [
    &["mutate", "patchStrategicMerge"],
    &["mutate", "patchesJson6902"],
    &["mutate", "targets"],
    &["preconditions"],
];

/// A rule with the values of its references. Those without a value stay.
pub(super) fn replaced(rule: &Value, semantics: Semantics) -> Value {
    let mut replaced = rule.clone();
    for field in FIELDS {
        // In Kyverno, those of a condition start at its side.
        if field == ["preconditions"] && semantics == Semantics::Kyverno {
            continue;
        }
        let at = field.iter().fold(Pointer::ROOT, |at, name| at.key(*name));
        let Ok(value) = with_references(rule, &at, semantics) else { continue };
        if let Some(place) = replaced.pointed_mut(at.segments()) {
            *place = value;
        }
    }
    replaced
}
