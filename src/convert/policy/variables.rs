//! The variables of the new policy.

use crate::convert::cel_text::Cel;
use crate::convert::context::{Variable, variable_name};
use crate::convert::kinds::Kind;
use crate::convert::path::TEMPLATE;
use crate::convert::rule::Converted;
use crate::convert::workloads::template_of;

use super::Mutation;

/// A variable is computed once. A mutation that must see the changes of those before it has a variable of its own.
pub(super) fn number_templates(
    kinds: &[Kind],
    conditions: &[(String, Cel)],
    variables: &mut Vec<Variable>,
    mutations: &mut [Mutation],
    taken: &mut Vec<String>,
) {
    let template = Cel::atom("variables").member(TEMPLATE);
    let reads = |cel: &Cel| cel.any_part(&|part| *part == template);
    let mut first = true;
    let insert = |name: String, variables: &mut Vec<Variable>| {
        variables.insert(0, Variable { name, cel: template_of(kinds) });
    };
    let early =
        conditions.iter().any(|(_, cel)| reads(cel)) || variables.iter().any(|variable| reads(&variable.cel));
    if early {
        insert(TEMPLATE.to_owned(), variables);
    }
    for (index, mutation) in mutations.iter_mut().enumerate() {
        if !reads(&mutation.expression) {
            continue;
        }
        let is_shared = first && index == 0;
        if is_shared || (first && !early) {
            if !early {
                insert(TEMPLATE.to_owned(), variables);
            }
            first = false;
            continue;
        }
        first = false;
        let name = variable_name(TEMPLATE, taken);
        taken.push(name.clone());
        let own = Cel::atom("variables").member(&name);
        mutation.expression = mutation.expression.replaced(&template, &own);
        insert(name, variables);
    }
}

/// Gives the variables of a later rule a template of their own: that of an earlier rule is of the object before.
pub(super) fn renew_template(
    rule: &Converted,
    start: usize,
    variables: &mut Vec<Variable>,
    taken: &mut Vec<String>,
) {
    let template = Cel::atom("variables").member(TEMPLATE);
    let own = variables.get(start..).unwrap_or_default();
    if !own.iter().any(|variable| variable.cel.any_part(&|part| *part == template)) {
        return;
    }
    let name = variable_name(TEMPLATE, taken);
    taken.push(name.clone());
    let renewed = Cel::atom("variables").member(&name);
    for variable in variables.iter_mut().skip(start) {
        variable.cel = variable.cel.replaced(&template, &renewed);
    }
    variables.insert(start, Variable { name, cel: template_of(&rule.selection.kinds) });
}

/// Variables that something uses, in an order in which each may use those before it.
pub(super) fn used(
    variables: Vec<Variable>,
    conditions: &[(String, Cel)],
    mutations: &[Mutation],
    of_targets: &[&Cel],
) -> Vec<Variable> {
    let mut needed: Vec<String> = Vec::new();
    let names = |cel: &Cel, needed: &mut Vec<String>| {
        for variable in &variables {
            let name = Cel::atom("variables").member(&variable.name);
            if !needed.contains(&variable.name) && cel.any_part(&|part| *part == name) {
                needed.push(variable.name.clone());
            }
        }
    };
    conditions.iter().for_each(|(_, cel)| names(cel, &mut needed));
    of_targets.iter().for_each(|cel| names(cel, &mut needed));
    mutations.iter().for_each(|mutation| names(&mutation.expression, &mut needed));
    let mut index = 0;
    while let Some(name) = needed.get(index).cloned() {
        if let Some(variable) = variables.iter().find(|variable| variable.name == name) {
            names(&variable.cel, &mut needed);
        }
        index += 1;
    }
    variables.into_iter().filter(|variable| needed.contains(&variable.name)).collect()
}

/// Without variables: the API server has none in conditions.
pub(super) fn inlined(condition: &Cel, variables: &[Variable]) -> Cel {
    variables.iter().rev().fold(condition.clone(), |condition, variable| {
        condition.replaced(&Cel::atom("variables").member(&variable.name), &variable.cel)
    })
}
