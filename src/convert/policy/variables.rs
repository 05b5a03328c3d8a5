//! The variables of the new policy.

use crate::convert::cel_text::{Cel, Operator};
use crate::convert::context::{Variable, variable_name};
use crate::convert::kinds::Kind;
use crate::convert::path::{AT, TEMPLATE, is_template};
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

/// The templates come first: they read nothing but the object.
pub(super) fn in_order(variables: Vec<Variable>) -> Vec<Variable> {
    let (mut templates, others): (Vec<_>, Vec<_>) =
        variables.into_iter().partition(|variable| is_template(&variable.name));
    templates.sort_by_key(|variable| (variable.name.len(), variable.name.clone()));
    templates.into_iter().chain(others).collect()
}

/// Where nothing but the `spec` of the templates is read and written, the variables hold that.
pub(super) fn name_pod_specs(
    variables: &mut [Variable],
    conditions: &mut [(String, Cel)],
    mutations: &mut [Mutation],
) {
    let is_moved = |variable: &Variable| is_template(&variable.name) || variable.name == AT;
    let mut expressions: Vec<&mut Cel> = Vec::new();
    let (moved, others): (Vec<_>, Vec<_>) = variables.iter_mut().partition(|variable| is_moved(variable));
    if others.iter().any(|other| moved.iter().any(|variable| spec_name(&variable.name) == other.name)) {
        return;
    }
    expressions.extend(others.into_iter().map(|variable| &mut variable.cel));
    expressions.extend(conditions.iter_mut().map(|(_, cel)| cel));
    expressions.extend(mutations.iter_mut().map(|mutation| &mut mutation.expression));
    let rewritten: Vec<Cel> = expressions.iter().map(|cel| cel.rewritten(&spec_of)).collect();
    let names_template = |cel: &Cel| {
        matches!(cel, Cel::Member { of, name, .. }
            if **of == Cel::atom("variables") && (is_template(name) || name == AT))
    };
    if moved.is_empty() || rewritten.iter().any(|cel| cel.any_part(&names_template)) {
        return;
    }
    for (expression, new) in expressions.into_iter().zip(rewritten) {
        *expression = new;
    }
    for variable in moved {
        variable.cel = leaves(&variable.cel, &|leaf| match leaf.as_text() {
            Some(path) => Cel::text(format!("{path}/spec")),
            None => leaf.clone().member("spec"),
        });
        variable.name = spec_name(&variable.name);
    }
}

/// `podSpec2` for `podTemplate2`, and `podSpecPath` for its place.
fn spec_name(name: &str) -> String {
    match name.strip_prefix(TEMPLATE) {
        Some(rest) => format!("podSpec{rest}"),
        None => name.to_owned(),
    }
}

/// The `spec` of a template, or a place below it, by the other variable.
fn spec_of(cel: &Cel) -> Option<Cel> {
    let variables = Cel::atom("variables");
    match cel {
        Cel::Member { of, name, .. } if name == "spec" => match &**of {
            Cel::Member { of, name, .. } if **of == variables && is_template(name) => {
                Some(variables.member(&spec_name(name)))
            }
            _ => None,
        },
        Cel::Chain { operator: Operator::Plus, operands } => {
            let [first, Cel::Text(path), rest @ ..] = operands.as_slice() else { return None };
            let below = path.strip_prefix("/spec").filter(|below| below.starts_with('/'))?;
            (*first == variables.clone().member(AT)).then(|| {
                let place = vec![variables.member(&spec_name(AT)), Cel::text(below)];
                let rest = rest.iter().map(|part| part.rewritten(&spec_of));
                Cel::joined(Operator::Plus, place.into_iter().chain(rest).collect())
            })
        }
        _ => None,
    }
}

/// A choice by the kind with other values.
fn leaves(cel: &Cel, new: &dyn Fn(&Cel) -> Cel) -> Cel {
    match cel {
        Cel::If { condition, then, otherwise } => {
            Cel::if_else((**condition).clone(), leaves(then, new), leaves(otherwise, new))
        }
        leaf => new(leaf),
    }
}

/// Without variables: the API server has none in conditions.
pub(super) fn inlined(condition: &Cel, variables: &[Variable]) -> Cel {
    variables.iter().rev().fold(condition.clone(), |condition, variable| {
        condition.replaced(&Cel::atom("variables").member(&variable.name), &variable.cel)
    })
}
