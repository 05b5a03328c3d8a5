//! The mutations of a rule.

use super::cel_text::{Cel, Operator};
use super::conditions::Tests;
use super::overlay::Fragment;
use super::patches::{Patch, is_reordered, steps, with_escaped_keys};
use super::problem::{Problem, Refusal};
use super::written_back::with_written_back;
use crate::value::Pointer;

/// A mutation.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stage {
    /// When it applies, beside the conditions of the rule.
    pub(super) condition: Cel,
    pub(super) change: Change,
}

/// What a mutation does.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Change {
    Apply(Cel),
    Patch(Cel),
}

impl Stage {
    pub(super) fn apply(configuration: Cel) -> Self {
        Self { condition: Cel::bool(true), change: Change::Apply(configuration) }
    }

    pub(super) fn patch(patches: Vec<Patch>) -> Self {
        Self { condition: Cel::bool(true), change: Change::Patch(steps(&patches)) }
    }

    /// The mutations of an overlay whose conditions are tested elsewhere.
    pub(super) fn of_overlay(fragment: Fragment) -> Vec<Self> {
        let mut stages = Vec::new();
        let patch = |patches: Vec<Patch>, stages: &mut Vec<Self>| {
            if !patches.is_empty() {
                stages.push(Self::patch(patches));
            }
        };
        for before in fragment.before {
            patch(before, &mut stages);
        }
        stages.extend(fragment.apply.map(Self::apply));
        patch(fragment.patches, &mut stages);
        for after in fragment.after.into_iter().rev() {
            patch(after, &mut stages);
        }
        stages
    }

    /// The mutations of an overlay, under its conditions.
    pub(super) fn of_fragment(mut fragment: Fragment, at: &Pointer) -> Result<Vec<Self>, Refusal> {
        let mut tests = std::mem::take(&mut fragment.globals);
        tests.append(&mut fragment.tests);
        let condition = Cel::all(tests);
        let mut stages = Self::of_overlay(fragment);
        if stages.len() > 1 && !condition.is_true() {
            let problem = Problem::new(
                "a condition in an overlay for each element",
                "it takes several mutations, and the condition is that of the object before",
                "write it as a precondition",
            );
            return Err(problem.at(at));
        }
        for stage in &mut stages {
            stage.condition = condition.clone();
        }
        Ok(stages)
    }

    /// Leaves out steps that create what its conditions find, with those of the rule where they still hold.
    pub(super) fn leave_out_created(&mut self, of_rule: Option<&Tests>) {
        let of_rule = of_rule.into_iter().flat_map(|tests| &tests.tests).map(|test| &test.cel);
        let conditions: Vec<&Cel> = of_rule.chain([&self.condition]).collect();
        if let Change::Patch(steps) = &mut self.change {
            *steps = steps.without_created(&conditions);
        }
    }

    /// Whether it changes nothing where a test does not hold: that an element meets the condition of its loop.
    pub(super) fn asks_for(&self, test: &Cel) -> bool {
        let Cel::Call { of: Some(list), name: "exists", arguments } = test else { return false };
        let ([variable, condition], Change::Patch(steps)) = (arguments.as_slice(), &self.change) else {
            return false;
        };
        let mut steps = steps;
        while let Cel::Call { of: Some(inner), name: "flatten" | "reverse", .. } = steps {
            steps = inner;
        }
        let Cel::Call { of: Some(visited), name: "transformList", arguments } = steps else { return false };
        matches!(arguments.as_slice(), [_, element, own, _]
            if visited == list && element == variable && own.includes(condition))
    }

    /// The expression, under a condition. `writes_back` if steps may write again what is there.
    pub(super) fn expression(&self, rule: &Cel, writes_back: bool) -> Cel {
        let condition = Cel::all(vec![rule.clone(), self.condition.clone()]);
        match &self.change {
            Change::Apply(cel) => Cel::if_else(condition, cel.clone(), Cel::message("Object", Vec::new())),
            Change::Patch(steps) => {
                let steps = if writes_back { with_written_back(steps) } else { steps.clone() };
                let steps = with_escaped_keys(&steps);
                Cel::if_else(condition, steps.rewritten(&without_index), Cel::List(Vec::new()))
            }
        }
    }

    pub(super) const fn cel(&self) -> &Cel {
        match &self.change {
            Change::Apply(cel) | Change::Patch(cel) => cel,
        }
    }

    /// What a mutation of a rule with several is for; `before` are those before it.
    pub(super) fn purpose(&self, before: &[Self]) -> Option<&'static str> {
        let only_reordered = before.iter().all(Self::only_reorders);
        match &self.change {
            Change::Patch(_) if self.only_reorders() && !only_reordered => {
                Some("the elements that it names come first, as in the classic policy")
            }
            Change::Patch(_) if self.reorders() && only_reordered => {
                Some("elements that match come first, as in the classic policy")
            }
            _ if before.is_empty() => None,
            _ if only_reordered => Some("the fields"),
            Change::Patch(_) if before.iter().any(Self::is_apply) => {
                Some("what an apply configuration cannot hold")
            }
            Change::Apply(_) | Change::Patch(_) => Some("its next change, on the result of the one before"),
        }
    }

    /// What is not plain in its expression.
    pub(super) fn explained(&self, expression: &Cel) -> Option<&'static str> {
        if self.is_apply() && expression.any_part(&|part| key_of_others(part).is_some()) {
            return Some(
                "other elements are listed by their merge key: server-side apply keeps their fields, and they come after",
            );
        }
        let creates = !self.is_apply() && expression.any_part(&creates_parent);
        creates.then_some("creates missing parents; existing ones are written back unchanged")
    }

    /// Whether it writes lists of what lists have, in another order.
    pub(super) fn only_reorders(&self) -> bool {
        matches!(&self.change, Change::Patch(cel) if only_reorders(cel))
    }

    /// Whether it writes a list of what lists have, in another order, beside others.
    fn reorders(&self) -> bool {
        let is_step = |part: &Cel| matches!(part, Cel::Message { .. }) && only_reorders(part);
        matches!(&self.change, Change::Patch(cel) if cel.any_part(&is_step))
    }

    pub(super) const fn is_apply(&self) -> bool {
        matches!(self.change, Change::Apply(_))
    }
}

/// A loop that does not need the index of its elements.
fn without_index(cel: &Cel) -> Option<Cel> {
    let Cel::Call { of: Some(list), name: "transformList", arguments } = cel else { return None };
    let (index, rest) = arguments.split_first()?;
    let is_index = |part: &Cel| part == index;
    let is_used = rest.iter().any(|part| part.any_part(&is_index));
    let rest: Vec<Cel> = rest.iter().map(|part| part.rewritten(&without_index)).collect();
    (!is_used).then(|| list.rewritten(&without_index).call("map", rest))
}

/// A list of which nothing but the key of other elements is written: `list.map(e, e.name != "a", Object{name: e.name})`.
pub(super) fn key_of_others(cel: &Cel) -> Option<&Cel> {
    let Cel::Call { of: Some(list), name: "map", arguments } = cel else { return None };
    let [variable, _, Cel::Message { fields, .. }] = arguments.as_slice() else { return None };
    matches!(fields.as_slice(), [key] if key.value == variable.clone().member(&key.key)).then_some(list)
}

/// A step that adds what is there, or an empty map.
fn creates_parent(cel: &Cel) -> bool {
    let value = cel.as_step().and_then(|step| step.value);
    matches!(value, Some(Cel::Call { name: "orValue", arguments, .. })
        if arguments.as_slice() == [Cel::Map(Vec::new())])
}

/// Whether all steps of a JSON patch write lists of what lists have.
fn only_reorders(cel: &Cel) -> bool {
    match cel {
        step @ Cel::Message { .. } => step.as_step().and_then(|step| step.value).is_some_and(is_reordered),
        Cel::List(steps) => steps.iter().all(only_reorders),
        Cel::Chain { operator: Operator::Plus, operands } => operands.iter().all(only_reorders),
        Cel::Call { of: Some(_), name: "transformList", arguments } => {
            arguments.last().is_some_and(only_reorders)
        }
        Cel::Call { of: Some(of), name: "flatten" | "reverse", .. } => only_reorders(of),
        Cel::If { then, otherwise, .. } => only_reorders(then) && only_reorders(otherwise),
        _ => false,
    }
}
