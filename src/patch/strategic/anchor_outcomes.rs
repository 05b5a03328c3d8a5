//! The anchors of an overlay, and which of them hold on an object.

use std::collections::BTreeMap;

use crate::value::{Pointer, Segment, Value};

use super::anchor::Anchor;

/// What an object shows of an anchor. Of a list, elements may show both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnchorOutcome {
    /// Whether a condition holds somewhere, or a field to add is missing.
    pub held: bool,
    /// Whether a condition does not hold somewhere, or a field to add is there.
    pub failed: bool,
}

/// The anchors that were decided, by their place in the overlay.
#[derive(Clone, Debug, Default)]
pub struct AnchorOutcomes(BTreeMap<Pointer, AnchorOutcome>);

impl AnchorOutcomes {
    /// Adds an outcome.
    pub(in crate::patch) fn add(&mut self, at: &Pointer, is_held: bool) {
        let outcome = self.0.entry(at.clone()).or_default();
        outcome.held |= is_held;
        outcome.failed |= !is_held;
    }

    /// The outcomes by the places in the overlay as it was before its variables were replaced. What a variable brought with it
    /// has none.
    pub fn as_written(&self, overlay: &Value, written: &Value) -> Vec<(Pointer, AnchorOutcome)> {
        let of_anchor = |(at, outcome): (&Pointer, &AnchorOutcome)| {
            Some((place_as_written(at, overlay, written)?, *outcome))
        };
        self.0.iter().filter_map(of_anchor).collect()
    }
}

/// A place in an overlay before its variables were replaced: members keep their order.
fn place_as_written(at: &Pointer, mut overlay: &Value, mut written: &Value) -> Option<Pointer> {
    let mut place = Pointer::ROOT;
    for segment in at.segments() {
        match segment {
            Segment::Key(key) => {
                let (index, _, below) = overlay.as_object()?.get_full(key)?;
                let members = written.as_object()?;
                // Two keys may have become one.
                let index = if members.len() == overlay.as_object()?.len() {
                    index
                } else {
                    members.get_index_of(key)?
                };
                let (key, below_written) = members.get_index(index)?;
                place.push_key(key.clone());
                (overlay, written) = (below, below_written);
            }
            Segment::Index(index) => {
                place.push_index(*index);
                (overlay, written) = (overlay.at(*index)?, written.at(*index)?);
            }
        }
    }
    Some(place)
}

/// The places of the anchors of an overlay as written: conditions and add anchors, and any anchor in a condition. Elsewhere
/// `=( )`, `^( )` and `X( )` are keys like others.
pub fn anchors(overlay: &Value) -> Vec<Pointer> {
    let mut found = Vec::new();
    find(&mut Pointer::default(), overlay, false, &mut found);
    found.sort_unstable();
    found
}

fn find(at: &mut Pointer, node: &Value, is_in_condition: bool, found: &mut Vec<Pointer>) {
    match node {
        Value::Object(members) => {
            for (key, member) in members.iter() {
                at.push_key(key.clone());
                let anchor = Anchor::parse(key).map(|(anchor, _)| anchor);
                let is_test = anchor.is_some_and(Anchor::is_test);
                if is_test || anchor == Some(Anchor::Add) || anchor.is_some() && is_in_condition {
                    found.push(at.clone());
                }
                let is_in_condition = is_test || is_in_condition && anchor != Some(Anchor::Add);
                find(at, member, is_in_condition, found);
                at.pop();
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                at.push_index(index);
                find(at, item, is_in_condition, found);
                at.pop();
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use crate::patch::{MergeContext, Overlay, Schemas};
    use crate::semantics::{DivergenceTracker, Semantics};
    use crate::yaml;

    use super::*;

    /// The anchors of an overlay, each with what an object shows of it.
    fn shown(overlay: &str, object: &str) -> Vec<String> {
        let [overlay, object] = [overlay, object].map(|text| yaml::parse_value(text).unwrap());
        let prepared = Overlay::prepare(&overlay, &DivergenceTracker::default()).unwrap();
        let schemas = Schemas::kubernetes();
        let context = MergeContext::new(&schemas);
        let outcomes = prepared.anchor_outcomes(&object, &context, Semantics::Documented, None);
        let outcomes = outcomes.as_written(&overlay, &overlay);
        let listed = anchors(&overlay);
        assert!(outcomes.iter().all(|(at, _)| listed.contains(at)), "{outcomes:?}");
        let text = |at: &Pointer| {
            let AnchorOutcome { held, failed } = outcomes
                .iter()
                .find(|(known, _)| known == at)
                .map(|(_, outcome)| *outcome)
                .unwrap_or_default();
            format!("{at}{}{}", if held { " held" } else { "" }, if failed { " failed" } else { "" })
        };
        listed.iter().map(text).collect()
    }

    #[test]
    fn anchors_hold_on_some_elements_and_not_on_others() {
        let overlay = "spec: {containers: [{(name): 'web*', +(image): x}]}\nmetadata: {labels: {+(a): b}}";
        for (object, expected) in [
            ("{}", ["metadata.labels.+(a) held", "spec.containers[0].(name)", "spec.containers[0].+(image)"]),
            (
                "metadata: {labels: {a: c}}\nspec: {containers: [{name: web1}, {name: db, image: y}]}",
                [
                    "metadata.labels.+(a) failed",
                    "spec.containers[0].(name) held failed",
                    "spec.containers[0].+(image) held",
                ],
            ),
        ] {
            assert_eq!(shown(overlay, object), expected, "{object}");
        }
    }

    #[test]
    fn what_follows_a_condition_that_does_not_hold_is_not_decided() {
        let overlay = "{(a): x, (b): x, <(z): x, c: {(d): x, +(e): x}, f: {+(g): x}}";
        let all = |outcomes: [&str; 6]| {
            let anchors = ["(a)", "(b)", "<(z)", "c.(d)", "c.+(e)", "f.+(g)"];
            anchors.iter().zip(outcomes).map(|(at, outcome)| format!("{at}{outcome}")).collect::<Vec<_>>()
        };
        for (object, expected) in [
            ("{a: x, b: x}", ["", "", " failed", "", "", ""]),
            ("{a: y, b: x, z: x}", [" failed", "", " held", "", "", ""]),
            ("{a: x, b: x, z: x}", [" held", " held", " held", " failed", "", ""]),
            ("{a: x, b: x, z: x, c: {d: x}}", [" held", " held", " held", " held", " held", " held"]),
        ] {
            assert_eq!(shown(overlay, object), all(expected), "{object}");
        }
    }

    #[test]
    fn a_missing_list_fails_global_anchors_alone() {
        let overlay = "{l: [{(name): x, <(image): x, a: 1}]}";
        for object in ["{}", "{l: []}"] {
            assert_eq!(shown(overlay, object), ["l[0].(name)", "l[0].<(image) failed"], "{object}");
        }
    }

    #[test]
    fn anchors_in_conditions_are_decided_one_by_one() {
        let overlay = "(spec): {=(a): '>0', X(b): 'null', <(c): 1, (d): '*', +(e): 5, ^(l): [{name: x}], m: [{(name): x, =(v): 1}]}";
        let all = |outcomes: [&str; 9]| {
            let anchors = [
                "(spec)",
                "(spec).(d)",
                "(spec).+(e)",
                "(spec).<(c)",
                "(spec).=(a)",
                "(spec).X(b)",
                "(spec).^(l)",
                "(spec).m[0].(name)",
                "(spec).m[0].=(v)",
            ];
            anchors.iter().zip(outcomes).map(|(at, outcome)| format!("{at}{outcome}")).collect::<Vec<_>>()
        };
        for (object, expected) in [
            ("{}", [" failed", "", "", "", "", "", "", "", ""]),
            ("spec: {a: 0, d: x}", [" failed", "", "", "", " failed", "", "", "", ""]),
            ("spec: {a: 1, b: 1, d: x}", [" failed", "", "", "", " held", " failed", "", "", ""]),
            ("spec: {c: 2, d: x}", [" failed", "", "", " failed", " held", " held", "", "", ""]),
            (
                "spec: {l: [{name: y}], d: x}",
                [" failed", " held", "", " held", " held", " held", " failed", "", ""],
            ),
            (
                "spec: {l: [{name: y}, {name: x}], d: x, e: 1, m: [{name: y}, {name: x}]}",
                [" held", " held", " failed", " held", " held", " held", " held", " held failed", " held"],
            ),
        ] {
            assert_eq!(shown(overlay, object), all(expected), "{object}");
        }
    }

    #[test]
    fn places_are_those_before_variables_were_replaced() {
        let [written, overlay] = [
            "{a: {'({{ x }})': 1, b: '{{ y }}'}, l: [{(k): 1}]}",
            "{a: {(c): 1, b: {(d): 1}}, l: [{(k): 1}]}",
        ]
        .map(|text| yaml::parse_value(text).unwrap());
        let mut outcomes = AnchorOutcomes::default();
        for at in anchors(&overlay) {
            outcomes.add(&at, true);
        }
        let places: Vec<Pointer> =
            outcomes.as_written(&overlay, &written).into_iter().map(|(at, _)| at).collect();
        assert_eq!(places, anchors(&written));
    }
}
