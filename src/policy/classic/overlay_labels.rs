//! Labels and annotations in overlays, which must be strings.

use crate::diagnostics::Code;
use crate::semantics::{Divergence, DivergenceTracker, Semantics};
use crate::value::{Map, Pointer, Value};

use crate::policy::error::PolicyError;

/// Where overlays may have labels and annotations.
const PLACES: [&[&str]; 4] = [
    &["metadata", "labels"],
    &["metadata", "annotations"],
    &["spec", "template", "metadata", "labels"],
    &["spec", "template", "metadata", "annotations"],
];

const MESSAGE: &str =
    "labels and annotations supports only string values, \"use double quotes around the non string values\"";

/// Makes the labels and annotations of a rule's overlay into strings on the documented side, and reports what cannot be
/// one.
pub(super) fn as_texts(
    rule: &mut Value,
    at: &Pointer,
    tracker: &DivergenceTracker,
    errors: &mut Vec<PolicyError>,
) {
    let at = at.key("mutate");
    let Some(mutate) = mutate_of(rule) else { return };
    if let Some(overlay) = mutate.get_mut("patchStrategicMerge") {
        overlay_as_texts(overlay, &at.key("patchStrategicMerge"), tracker, errors);
    } else if let Some(entries) = mutate.get_mut("foreach").and_then(Value::as_array_mut) {
        // Kyverno checks only the first overlay of a foreach.
        let first = entries
            .iter_mut()
            .enumerate()
            .find_map(|(index, entry)| Some((index, entry.as_object_mut()?.get_mut("patchStrategicMerge")?)));
        if let Some((index, overlay)) = first {
            let at = at.key("foreach").index(index).key("patchStrategicMerge");
            overlay_as_texts(overlay, &at, tracker, errors);
        }
    }
}

/// The same for a legacy `overlay` that is read as a strategic merge patch.
pub(super) fn legacy_as_texts(
    rule: &mut Value,
    at: &Pointer,
    tracker: &DivergenceTracker,
    errors: &mut Vec<PolicyError>,
) {
    if let Some(overlay) = mutate_of(rule).and_then(|mutate| mutate.get_mut("overlay")) {
        overlay_as_texts(overlay, &at.key("mutate").key("overlay"), tracker, errors);
    }
}

fn mutate_of(rule: &mut Value) -> Option<&mut Map> {
    rule.as_object_mut()?.get_mut("mutate")?.as_object_mut()
}

fn overlay_as_texts(
    overlay: &mut Value,
    at: &Pointer,
    tracker: &DivergenceTracker,
    errors: &mut Vec<PolicyError>,
) {
    for place in PLACES {
        // Checked first: a change copies what is shared.
        if !overlay.path(place).is_some_and(has_other_than_texts) {
            continue;
        }
        let at = place.iter().fold(at.clone(), |at, key| at.key(*key));
        let found = place.iter().try_fold(&mut *overlay, |node, key| node.as_object_mut()?.get_mut(key));
        for (key, value) in
            found.and_then(Value::as_object_mut).into_iter().flat_map(|labels| labels.iter_mut())
        {
            let text = match value {
                Value::String(_) => continue,
                Value::Bool(flag) => Some(flag.to_string()),
                Value::Number(number) => Some(number.to_string()),
                Value::Null | Value::Array(_) | Value::Object(_) => None,
            };
            let error = PolicyError::new(Code::InvalidOverlay, at.key(key.clone()), MESSAGE);
            match text {
                None => errors.push(error),
                Some(text) if tracker.documented(Divergence::TypedLabel) => *value = Value::from(text),
                Some(_) => errors.push(error.because_of(Divergence::TypedLabel)),
            }
        }
    }
}

/// Makes the labels and annotations of an overlay into strings after its variables were replaced. Kyverno writes a
/// number or a boolean from a variable as it is.
pub fn labels_as_texts(overlay: &mut Value, tracker: &DivergenceTracker) {
    let mut errors = Vec::new();
    if tracker.semantics() == Semantics::Documented {
        overlay_as_texts(overlay, &Pointer::ROOT, tracker, &mut errors);
    } else if PLACES.iter().any(|place| overlay.path(place).is_some_and(has_typed)) {
        tracker.reach(Divergence::TypedLabel);
    }
}

fn has_typed(map: &Value) -> bool {
    let typed = |value: &Value| matches!(value, Value::Bool(_) | Value::Number(_));
    map.as_object().is_some_and(|members| members.values().any(typed))
}

fn has_other_than_texts(map: &Value) -> bool {
    map.as_object().is_some_and(|members| members.values().any(|value| value.as_str().is_none()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(mutate: &str, semantics: Semantics) -> (String, Vec<PolicyError>, DivergenceTracker) {
        let mut rule = Value::from_json(&format!(r#"{{"mutate":{mutate}}}"#)).unwrap();
        let tracker = DivergenceTracker::new(semantics);
        let mut errors = Vec::new();
        as_texts(&mut rule, &Pointer::ROOT, &tracker, &mut errors);
        (rule.get("mutate").unwrap().to_json(), errors, tracker)
    }

    #[test]
    fn scalars_become_strings_or_errors() {
        for (overlay, expected) in [
            (
                r#"{"metadata":{"labels":{"a":1.50,"+(b)":true,"c":"x"}}}"#,
                r#"{"metadata":{"labels":{"a":"1.50","+(b)":"true","c":"x"}}}"#,
            ),
            (
                r#"{"spec":{"template":{"metadata":{"annotations":{"a":false}}}}}"#,
                r#"{"spec":{"template":{"metadata":{"annotations":{"a":"false"}}}}}"#,
            ),
        ] {
            let mutate = format!(r#"{{"patchStrategicMerge":{overlay}}}"#);
            let (after, errors, tracker) = run(&mutate, Semantics::Documented);
            assert_eq!(after, format!(r#"{{"patchStrategicMerge":{expected}}}"#));
            assert!(errors.is_empty() && tracker.reached().contains(Divergence::TypedLabel));
            let (after, errors, _) = run(&mutate, Semantics::Kyverno);
            assert_eq!(after, mutate);
            assert!(errors.iter().all(|error| error.divergence == Some(Divergence::TypedLabel)));
            assert!(!errors.is_empty());
        }
    }

    #[test]
    fn other_values_are_errors_on_both_sides() {
        for semantics in [Semantics::Documented, Semantics::Kyverno] {
            for value in ["null", "{}", "[]"] {
                let (_, errors, _) = run(
                    &format!(r#"{{"patchStrategicMerge":{{"metadata":{{"labels":{{"a":{value}}}}}}}}}"#),
                    semantics,
                );
                assert_eq!(errors.len(), 1);
                assert_eq!(errors[0].pointer.to_string(), "mutate.patchStrategicMerge.metadata.labels.a");
                assert_eq!(errors[0].divergence, None);
            }
        }
    }

    #[test]
    fn other_places_are_not_checked() {
        for overlay in [
            r#"{"metadata":{"+(labels)":{"a":1},"annotations":null}}"#,
            r#"{"metadata":{"labels":"a","annotations":[1]}}"#,
            r#"{"spec":{"jobTemplate":{"spec":{"template":{"metadata":{"labels":{"a":1}}}}}}}"#,
        ] {
            let mutate = format!(r#"{{"patchStrategicMerge":{overlay}}}"#);
            let (after, errors, tracker) = run(&mutate, Semantics::Documented);
            assert_eq!((after, errors.len(), tracker.reached().is_empty()), (mutate, 0, true));
        }
    }

    #[test]
    fn the_first_overlay_of_a_foreach_is_checked() {
        let entry = r#"{"list":"x","patchStrategicMerge":{"metadata":{"labels":{"a":1}}}}"#;
        let mutate = format!(r#"{{"foreach":[{{"patchesJson6902":"x"}},{entry},{entry}]}}"#);
        let (_, errors, _) = run(&mutate, Semantics::Kyverno);
        assert_eq!(errors.len(), 1);
        assert!(errors[0].pointer.to_string().starts_with("mutate.foreach[1]."));
    }
}
