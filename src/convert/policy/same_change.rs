//! Rules that make the same change: they become one mutation.

use crate::convert::cel_text::{Cel, Operator};
use crate::convert::dependence;
use crate::convert::rule::Converted;

/// The rules in order, neighbours that make the same change together.
pub(super) fn groups<'r>(rules: &[&'r Converted]) -> Vec<Vec<&'r Converted>> {
    let mut groups: Vec<Vec<&Converted>> = Vec::new();
    for rule in rules {
        match groups.last_mut() {
            Some(group) if group.first().is_some_and(|first| is_same(first, rule)) => group.push(rule),
            _ => groups.push(vec![rule]),
        }
    }
    groups
}

/// Whether one of the rules applies. Tests that several have are asked once, those of elements of one list together.
pub(super) fn either(conditions: Vec<Cel>) -> Cel {
    let operands = conditions.into_iter().flat_map(|condition| match condition {
        Cel::Chain { operator: Operator::Or, operands } => operands,
        other => vec![other],
    });
    let mut found: Vec<Cel> = Vec::new();
    for operand in operands {
        if found.contains(&operand) {
            continue;
        }
        match found.iter_mut().find_map(|known| Some((exists_either(known, &operand)?, known))) {
            Some((joined, known)) => *known = joined,
            None => found.push(operand),
        }
    }
    Cel::any(found)
}

/// Two tests that an element of the same list exists, as one.
fn exists_either(one: &Cel, other: &Cel) -> Option<Cel> {
    let parts = |cel: &Cel| match cel {
        Cel::Call { of: Some(list), name: "exists", arguments } => match arguments.as_slice() {
            [variable, test] => Some(((**list).clone(), variable.clone(), test.clone())),
            _ => None,
        },
        _ => None,
    };
    let ((list, variable, test), (other_list, other_variable, other_test)) = (parts(one)?, parts(other)?);
    (list == other_list && variable == other_variable)
        .then(|| list.call("exists", [variable, Cel::any(vec![test, other_test])]))
}

/// Whether the change of the first rule, where one of both applies, is what they do one after the other.
fn is_same(first: &Converted, other: &Converted) -> bool {
    let ([change], [other_change]) = (first.stages.as_slice(), other.stages.as_slice()) else { return false };
    let is_plain = |rule: &Converted| {
        rule.targets.is_none() && rule.autogen.is_none() && !rule.tests.tests.iter().any(|test| test.fails)
    };
    let conditions = other.tests.tests.iter().map(|test| &test.cel);
    change == other_change
        && is_plain(first)
        && is_plain(other)
        && first.selection.kinds == other.selection.kinds
        && first.selection.namespace_selector == other.selection.namespace_selector
        && first.tests.operations == other.tests.operations
        && first.is_templated == other.is_templated
        && first.variables == other.variables
        && dependence::is_repeatable(change)
        && !dependence::change_conditions(conditions, &[change.clone(), change.clone()], &first.variables)
}
