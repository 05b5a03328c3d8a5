//! What suites reach of the conditions and anchors of a rule.

use std::collections::BTreeSet;

use crate::patch::{Anchor, anchors};
use crate::policy::Policy;
use crate::report::{ObjectReport, PartCoverage, RuleReport, Trace};
use crate::value::{Pointer, Segment, Text, Value};

/// A condition or anchor, before it is looked at.
struct Part {
    path: Text,
    /// Its place in the rule, or in the policy.
    pointer: Pointer,
}

/// The conditions and anchors of a rule, and what the reports of objects show of them. `line` is that of a place in the rule.
pub(super) fn parts<'r>(
    policy: &Policy,
    index: usize,
    reports: impl Iterator<Item = &'r ObjectReport>,
    line: impl Fn(&Pointer) -> usize,
) -> Vec<PartCoverage> {
    let rule = Rule::of(policy, index);
    let new = |part: Part| PartCoverage { line: line(&part.pointer), path: part.path, held: 0, failed: 0 };
    let mut all: Vec<PartCoverage> = rule.parts().into_iter().map(new).collect();
    let (name, rules) = (policy.full_name(), policy.rules());
    let Some(rule_name) = rules.get(index).map(|rule| rule.name) else { return all };
    for report in reports {
        let mut seen: BTreeSet<(Text, bool)> = BTreeSet::new();
        for (of_policy, of_rule) in report.rules() {
            if of_policy.policy == name && of_rule.rule == *rule_name {
                rule.look_at(of_rule, &mut seen);
            }
        }
        for part in &mut all {
            let has = |wanted: bool| seen.contains(&(part.path.clone(), wanted));
            part.held += usize::from(has(true));
            part.failed += usize::from(has(false));
        }
    }
    all
}

/// A rule of a policy of either family.
enum Rule<'a> {
    Classic(&'a Value),
    Cel(Vec<(&'a Text, &'a Pointer)>),
    Unknown,
}

impl<'a> Rule<'a> {
    fn of(policy: &'a Policy, index: usize) -> Self {
        match policy {
            Policy::Classic(policy) => {
                policy.rules.get(index).map_or(Self::Unknown, |rule| Self::Classic(&rule.raw))
            }
            Policy::Cel(policy) => policy.variants.get(index).map_or(Self::Unknown, |variant| {
                let conditions = variant.conditions.iter();
                Self::Cel(conditions.map(|condition| (&condition.name, &condition.pointer)).collect())
            }),
            #[cfg(test)]
            Policy::FixedLabel(_) => Self::Unknown,
        }
    }

    fn parts(&self) -> Vec<Part> {
        match self {
            Self::Classic(rule) => {
                let conditions =
                    condition_blocks(rule).into_iter().flat_map(|(at, block)| conditions(&at, block));
                conditions
                    .chain(anchors_of_rule(rule))
                    .map(|pointer| Part { path: path(&pointer), pointer })
                    .collect()
            }
            Self::Cel(conditions) => {
                let part = |(name, pointer): &(&Text, &Pointer)| Part {
                    path: condition_name(name),
                    pointer: (*pointer).clone(),
                };
                conditions.iter().map(part).collect()
            }
            Self::Unknown => Vec::new(),
        }
    }

    /// Adds what a report on the rule shows.
    fn look_at(&self, report: &RuleReport, seen: &mut BTreeSet<(Text, bool)>) {
        let empty = Trace::default();
        let trace = report.trace.as_deref().unwrap_or(&empty);
        match self {
            Self::Classic(_) => {
                for condition in &trace.conditions {
                    let iteration = condition.iteration.and_then(|number| trace.iterations.get(number));
                    let block = match (trace.target, iteration) {
                        (Some(target), _) => Pointer::ROOT.key("mutate").key("targets").index(target),
                        (None, Some(iteration)) => Pointer::ROOT.key("mutate").join(&iteration.place),
                        (None, None) => Pointer::ROOT,
                    };
                    seen.insert((path(&block.key("preconditions").join(&condition.pointer)), condition.met));
                }
                for (place, anchor) in &trace.anchors {
                    let outcomes = [(anchor.held, true), (anchor.failed, false)];
                    let shown = outcomes.into_iter().filter(|(is_shown, _)| *is_shown);
                    seen.extend(shown.map(|(_, outcome)| (path(place), outcome)));
                }
            }
            Self::Cel(_) => {
                for expression in &trace.expressions {
                    if let (Ok(Value::Bool(met)), Some(name)) = (&expression.value, &expression.name) {
                        seen.insert((condition_name(name), *met));
                    }
                }
            }
            Self::Unknown => {}
        }
    }
}

fn path(pointer: &Pointer) -> Text {
    pointer.to_string().into()
}

fn condition_name(name: &str) -> Text {
    format!("matchConditions.{name}").into()
}

/// The blocks of preconditions: of the rule, of its loops and of its targets, with their paths.
fn condition_blocks(rule: &Value) -> Vec<(Pointer, &Value)> {
    let mut found = vec![(Pointer::ROOT, rule)];
    found.extend(loops(rule));
    let mutate = Pointer::ROOT.key("mutate");
    let targets = rule.path(&["mutate", "targets"]).and_then(Value::as_array).unwrap_or_default();
    let targets = targets.iter().enumerate();
    found.extend(targets.map(|(index, target)| (mutate.key("targets").index(index), target)));
    found
        .into_iter()
        .filter_map(|(at, node)| Some((at.key("preconditions"), node.get("preconditions")?)))
        .collect()
}

/// The anchors of the overlays of a rule and of its loops, with their paths.
fn anchors_of_rule(rule: &Value) -> Vec<Pointer> {
    let Some(mutate) = rule.get("mutate") else { return Vec::new() };
    let at = Pointer::ROOT.key("mutate");
    let mut nodes = loops(rule);
    nodes.push((at.clone(), mutate));
    let mut found = Vec::new();
    for (at, node) in nodes {
        let overlay = node.get("patchStrategicMerge");
        let at = at.key("patchStrategicMerge");
        found.extend(overlay.into_iter().flat_map(anchors).map(|one| at.join(&one)));
    }
    // In a condition of a legacy overlay, anchors are keys like others.
    let is_outside = |one: &Pointer| {
        let is_condition =
            |segment: &Segment| matches!(segment, Segment::Key(key) if Anchor::is_test_key(key));
        one.segments().split_last().is_none_or(|(_, above)| !above.iter().any(is_condition))
    };
    let legacy = mutate.get("overlay").into_iter().flat_map(anchors).filter(is_outside);
    found.extend(legacy.map(|one| at.key("overlay").join(&one)));
    found
}

/// The loops of a rule, also those in loops, with their paths.
fn loops(rule: &Value) -> Vec<(Pointer, &Value)> {
    let mut open: Vec<(Pointer, &Value)> =
        rule.get("mutate").map(|mutate| (Pointer::ROOT.key("mutate"), mutate)).into_iter().collect();
    let mut found = Vec::new();
    while let Some((at, node)) = open.pop() {
        let inner = node.get("foreach").and_then(Value::as_array).unwrap_or_default();
        for (index, one) in inner.iter().enumerate() {
            let at = at.key("foreach").index(index);
            found.push((at.clone(), one));
            open.push((at, one));
        }
    }
    found
}

/// The conditions of a block: those of `all` and `any`, or of a list.
fn conditions(at: &Pointer, block: &Value) -> Vec<Pointer> {
    let of_list = |at: &Pointer, list: Option<&Value>| -> Vec<Pointer> {
        let items = list.and_then(Value::as_array).unwrap_or_default();
        (0..items.len()).map(|index| at.index(index)).collect()
    };
    let mut found = of_list(at, Some(block));
    for key in ["all", "any"] {
        found.extend(of_list(&at.key(key), block.get(key)));
    }
    // A list of blocks.
    for (index, inner) in block.as_array().unwrap_or_default().iter().enumerate() {
        let at = at.index(index);
        let blocks = ["all", "any"].map(|key| of_list(&at.key(key), inner.get(key))).concat();
        if !blocks.is_empty() {
            found.retain(|known| *known != at);
            found.extend(blocks);
        }
    }
    found
}
