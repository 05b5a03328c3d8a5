//! An overlay for each element of a list.

use crate::convert::cel_text::{Cel, Operator};
use crate::convert::expression::Scope;
use crate::convert::overlay::{Fragment, Loop, Overlay};
use crate::convert::patches::{self, Patch};
use crate::convert::problem::{Difference, Problem, Refusal};
use crate::convert::stages::Stage;
use crate::patch::split_anchor;
use crate::semantics::Semantics;
use crate::value::{Pointer, Value};

use super::{Body, Loops, Visited, patch_stage};

/// `patchStrategicMerge` of an entry.
pub(super) struct ElementOverlay<'e, 'a> {
    pub(super) overlay: &'e Value,
    pub(super) entry: &'e Value,
    pub(super) visited: &'e Visited<'a>,
    pub(super) scope: &'e Scope<'a>,
    pub(super) condition: Cel,
    pub(super) at: &'e Pointer,
}

impl<'a> Loops<'_, 'a> {
    pub(super) fn overlay(&self, of: &ElementOverlay<'_, 'a>) -> Result<Vec<Stage>, Refusal> {
        let exact = self.ordered(of, true);
        if !self.options.accepts.contains(&Difference::Order) {
            return exact;
        }
        let shorter = self.ordered(of, false)?;
        let texts = |stages: &[Stage]| stages.iter().map(|stage| stage.cel().to_string()).collect::<Vec<_>>();
        match exact {
            // Init containers run one after the other.
            Ok(exact)
                if texts(&exact) == texts(&shorter)
                    || of.visited.names.iter().flatten().any(|name| name == "initContainers") =>
            {
                Ok(exact)
            }
            _ => {
                of.scope
                    .accept(Difference::Order, "an overlay for each element", "it moves the elements")
                    .map_err(|problem| problem.at(of.at))?;
                Ok(shorter)
            }
        }
    }

    fn ordered(&self, of: &ElementOverlay<'_, 'a>, keeps_order: bool) -> Result<Vec<Stage>, Refusal> {
        let start = of.scope.noted();
        let stages = self.stages_of_overlay(of, keeps_order)?;
        let missing = of.scope.values_since(start).into_iter().find(|(_, fails)| *fails);
        if let Some((value, _)) = missing.filter(|_| has_other_anchors(of.overlay)) {
            return Err(Problem::new(
                format!("the variable `{value}` beside an anchor in `foreach`"),
                "where it has no value the classic rule fails, also if the anchor does not hold",
                "give it a default with `||`, or write the anchor as a precondition",
            )
            .at(of.at));
        }
        Ok(stages)
    }

    fn stages_of_overlay(
        &self,
        of: &ElementOverlay<'_, 'a>,
        keeps_order: bool,
    ) -> Result<Vec<Stage>, Refusal> {
        let ElementOverlay { overlay, entry, visited, scope, condition, at } = of;
        if entry.get("order").and_then(Value::as_str) == Some("Ascending") && keeps_order {
            return Err(Problem::new(
                "an overlay for each element in ascending order",
                "it reverses the elements that it changes",
                "leave `order` out",
            )
            .at(at));
        }
        let loops: Vec<Loop> = visited
            .names
            .iter()
            .map(|names| Loop {
                names: names.clone(),
                variable: visited.variable.clone(),
                condition: condition.clone(),
            })
            .collect();
        let (lists, rest) = (split(overlay, true), split(overlay, false));
        let translate = |value: &Value, is_patched: bool, scope: &Scope<'a>, used: Vec<String>| {
            let overlay = Overlay {
                scope,
                kinds: self.kinds,
                schemas: &self.options.schemas,
                loops: &loops,
                depth: usize::from(is_patched),
                used,
                keeps_order,
                is_legacy: false,
                lists_others: true,
                around: None,
                follows_kyverno: self.options.semantics == Semantics::Kyverno,
            };
            let mut root = self.root.clone();
            root.is_patched |= is_patched;
            overlay.map(value, &root, at)
        };
        let mut stages = Vec::new();
        if let Some(lists) = lists.filter(|_| !loops.is_empty()) {
            // The loop of the configuration binds the variable again.
            let fragment = translate(&lists, false, scope, Vec::new())?;
            if fragment_uses(&fragment, &visited.variable) {
                return Err(Problem::new(
                    "an overlay for elements of another list",
                    "its list is not the one that `foreach` visits",
                    "visit the list that it changes",
                )
                .at(at));
            }
            stages.extend(Stage::of_fragment(fragment, at)?);
        } else if split(overlay, true).is_some() {
            return Err(Problem::new(
                "an overlay for elements of a computed list",
                "elements are found again by their key, which other elements may have",
                "visit the list of the object, and test its elements in `preconditions`",
            )
            .at(at));
        }
        let Some(rest) = rest else { return Ok(stages) };
        let fragment = translate(&rest, false, scope, scope.loop_variables())?;
        if !fragment_uses(&fragment, &visited.variable) && !fragment_uses(&fragment, &visited.index) {
            stages.extend(same_for_each(fragment, visited, condition.clone(), at)?);
            return Ok(stages);
        }
        let fragment = translate(&rest, true, scope, scope.loop_variables())?;
        if !fragment.tests.is_empty() || !fragment.globals.is_empty() || fragment.apply.is_some() {
            return Err(Problem::new(
                "a condition in an overlay for each element",
                "it is tested again after each change",
                "write it as a precondition of the entry",
            )
            .at(at));
        }
        let (guards, patches) = fragment
            .patches
            .into_iter()
            .partition(|patch| matches!(patch, Patch::Step { guards: Some(_), .. }));
        let body = Body { guards, patches, reversed: false };
        stages.push(patch_stage(visited.without_names(), condition.clone(), body));
        Ok(stages)
    }
}

/// What is the same for each element: once, if there is one.
fn same_for_each<'a>(
    fragment: Fragment,
    visited: &Visited<'a>,
    condition: Cel,
    at: &Pointer,
) -> Result<Vec<Stage>, Refusal> {
    let name = Cel::atom(&*visited.variable);
    let exists = if !condition.is_true() {
        visited.list.clone().call("exists", [name, condition])
    } else if visited.is_filled {
        Cel::bool(true)
    } else {
        visited.list.clone().call("size", []).compare(Operator::Greater, Cel::int(0))
    };
    let mut once = Stage::of_fragment(fragment, at)?;
    if once.len() > 1 && !exists.is_true() {
        return Err(Problem::new(
            "a part of the overlay that is the same for each element",
            "it takes several mutations, and its condition is that of the object before",
            "write a rule of its own for it",
        )
        .at(at));
    }
    for stage in &mut once {
        stage.condition = Cel::all(vec![exists.clone(), stage.condition.clone()]);
    }
    Ok(once)
}

/// Whether expressions of a fragment use a variable of a loop outside of it.
fn fragment_uses(fragment: &Fragment, variable: &str) -> bool {
    let patches = patches::steps(&fragment.patches);
    fragment.apply.iter().chain([&patches]).chain(&fragment.tests).any(|cel| cel.is_free(variable))
}

/// The part of an overlay with the lists that name the visited element, or the part without them.
fn split(value: &Value, lists: bool) -> Option<Value> {
    match value {
        Value::Object(members) => {
            let members: Vec<_> = members
                .iter()
                .filter_map(|(key, member)| Some((key.clone(), split(member, lists)?)))
                .collect();
            (!members.is_empty()).then(|| members.into_iter().collect())
        }
        Value::Array(items) if items.iter().any(names_element) => lists.then(|| value.clone()),
        other => (!lists).then(|| other.clone()),
    }
}

fn names_element(item: &Value) -> bool {
    let Some(members) = item.as_object() else { return false };
    members.iter().any(|(key, value)| {
        let name = split_anchor(key).map_or(&**key, |(name, _)| name);
        let text = value.as_str().unwrap_or_default().replace(' ', "");
        text == format!("{{{{element.{name}}}}}") || text == format!("{{{{element0.{name}}}}}")
    })
}

/// Whether there is an anchor beside those that name the visited element.
fn has_other_anchors(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.iter().any(|(key, member)| {
            let own: Value = [(&**key, member.clone())].into_iter().collect();
            (split_anchor(key).is_some() && !names_element(&own)) || has_other_anchors(member)
        }),
        Value::Array(items) => items.iter().any(has_other_anchors),
        _ => false,
    }
}
