//! Which anchors of an overlay hold on an object, as far as they need no variables.

use crate::pattern::is_wildcard;
use crate::semantics::{DivergenceTracker, Semantics};
use crate::value::{Pointer, Text, Value};

use super::anchor::Anchor;
use super::matcher::{AddAnchors, MatchContext, Matcher};
use crate::patch::limits::StepCounter;

/// What an object shows of an anchor. Of a list, elements may show both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnchorOutcome {
    /// Its path in the overlay.
    pub at: Pointer,
    /// Whether a condition holds somewhere, or a field to add is missing.
    pub held: bool,
    /// Whether a condition does not hold somewhere, or a field to add is there.
    pub failed: bool,
}

/// A node of an overlay, and the nodes of the object that it is for; `None` where the object has none.
struct Node<'a> {
    at: Pointer,
    overlay: &'a Value,
    nodes: Vec<Option<&'a Value>>,
}

/// The outcomes of all condition anchors and add anchors of an overlay as written. Without an object nothing is shown.
/// Anchors whose value or key has variables or wildcards in keys are left out.
pub fn anchor_outcomes(overlay: &Value, object: Option<&Value>) -> Vec<AnchorOutcome> {
    let nodes = object.map_or_else(Vec::new, |object| vec![Some(object)]);
    let mut open = vec![Node { at: Pointer::ROOT, overlay, nodes }];
    let mut found = Vec::new();
    while let Some(Node { at, overlay, nodes }) = open.pop() {
        match overlay {
            Value::Object(_) => add_map(&at, overlay, nodes, &mut found, &mut open),
            Value::Array(items) => {
                let elements: Vec<Option<&Value>> =
                    nodes.iter().flatten().filter_map(|node| node.as_array()).flatten().map(Some).collect();
                let item = |(index, overlay)| Node { at: at.index(index), overlay, nodes: elements.clone() };
                open.extend(items.iter().enumerate().map(item));
            }
            _ => {}
        }
    }
    found.sort_by(|one, other| one.at.cmp(&other.at));
    found
}

/// The members of a map: first its conditions, then what is for the nodes on which these hold.
fn add_map<'a>(
    at: &Pointer,
    overlay: &'a Value,
    mut nodes: Vec<Option<&'a Value>>,
    found: &mut Vec<AnchorOutcome>,
    open: &mut Vec<Node<'a>>,
) {
    let members = || overlay.as_object().into_iter().flatten();
    let mut add = |key: &Text, held: bool, failed: bool| {
        found.push(AnchorOutcome { at: at.key(key.clone()), held, failed });
    };
    for (key, condition) in members() {
        let Some((Anchor::Condition | Anchor::Global, name)) = Anchor::parse(key) else { continue };
        if is_open(name) || has_variable(condition) {
            continue;
        }
        let matcher = Matcher::compile(condition, AddAnchors::Omit);
        let (holding, others): (Vec<_>, Vec<_>) = nodes.into_iter().partition(|node| {
            node.and_then(|node| node.get(name)).is_some_and(|value| holds(&matcher, value))
        });
        add(key, !holding.is_empty(), !others.is_empty());
        nodes = holding;
    }
    for (key, member) in members() {
        match Anchor::parse(key) {
            None => {
                let nodes = nodes.iter().map(|node| node.and_then(|node| node.get(key))).collect();
                open.push(Node { at: at.key(key.clone()), overlay: member, nodes });
            }
            Some((Anchor::Add, name)) if !is_open(name) => {
                let is_there = |node: &Option<&Value>| node.and_then(|node| node.get(name)).is_some();
                add(key, !nodes.iter().all(is_there), nodes.iter().any(is_there));
            }
            Some(_) => {}
        }
    }
}

fn holds(matcher: &Matcher, value: &Value) -> bool {
    let tracker = DivergenceTracker::new(Semantics::Documented);
    let mut steps = StepCounter::default();
    matcher.check(value, &mut MatchContext { tracker: &tracker, steps: &mut steps }).is_ok()
}

/// Whether a name may stand for several.
fn is_open(name: &str) -> bool {
    is_wildcard(name) || is_variable(name)
}

fn is_variable(text: &str) -> bool {
    text.contains("{{") || text.contains("$(")
}

fn has_variable(value: &Value) -> bool {
    super::any_node(None, value, &|key, node| {
        key.is_some_and(|key| is_variable(key)) || node.as_str().is_some_and(is_variable)
    })
}

#[cfg(test)]
mod tests {
    use crate::yaml;

    use super::*;

    #[test]
    fn anchors_hold_on_some_elements_and_not_on_others() {
        let overlay = yaml::parse_value(
            "spec: {containers: [{(name): 'web*', +(image): x, (x): '{{ a }}'}]}\nmetadata: {labels: {+(a): b}}",
        );
        let overlay = overlay.unwrap();
        let shown = |object: Option<&str>| {
            let object = object.map(|text| yaml::parse_value(text).unwrap());
            let text = |one: &AnchorOutcome| {
                let mark = |is: bool, mark| if is { mark } else { "" };
                format!("{}{}{}", one.at, mark(one.held, " held"), mark(one.failed, " failed"))
            };
            anchor_outcomes(&overlay, object.as_ref()).iter().map(text).collect::<Vec<_>>().join("; ")
        };
        let line = |outcomes: [&str; 3]| {
            let anchors =
                ["metadata.labels.+(a)", "spec.containers[0].(name)", "spec.containers[0].+(image)"];
            let shown = anchors.iter().zip(outcomes).map(|(at, outcome)| format!("{at}{outcome}"));
            shown.collect::<Vec<_>>().join("; ")
        };
        assert_eq!(shown(None), line(["", "", ""]));
        assert_eq!(shown(Some("{}")), line([" held", "", ""]));
        let object = "metadata: {labels: {a: c}}\nspec: {containers: [{name: web1}, {name: db, image: y}]}";
        assert_eq!(shown(Some(object)), line([" failed", " held failed", " held"]));
    }
}
