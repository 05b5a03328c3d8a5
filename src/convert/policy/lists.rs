//! Lists whose other elements are listed by their keys, as variables: what is left of a mutation looks like the object.

use crate::convert::cel_text::{Cel, Operator};
use crate::convert::context::{Variable, variable_name};
use crate::convert::stages::key_of_others;

use super::Mutation;

/// Gives the lists that are no plain paths variables. Each is of one mutation: the next one sees another object. Sums of
/// the containers of a Pod have one, too, unless Kyverno's autogen has to rewrite them, which leaves variables alone.
pub(super) fn name_lists(
    variables: &mut Vec<Variable>,
    mutations: &mut [Mutation],
    has_autogen: bool,
    taken: &mut Vec<String>,
) {
    for mutation in mutations {
        let mut found = Vec::new();
        if mutation.is_apply {
            collect(&mutation.expression, &mut found);
        }
        let sums = found.len();
        if !has_autogen {
            collect_sums(&mutation.expression, &mut found);
        }
        for (index, cel) in found.into_iter().enumerate() {
            let name = if index < sums { name_of(&cel) } else { "allContainers".to_owned() };
            let name = variable_name(&name, taken);
            taken.push(name.clone());
            let variable = Cel::atom("variables").member(&name);
            mutation.expression = mutation.expression.replaced(&cel, &variable);
            variables.push(Variable { name, cel });
        }
    }
}

/// The lists, each once.
fn collect(cel: &Cel, found: &mut Vec<Cel>) {
    match key_of_others(cel) {
        Some(list) if is_computed(list) && !list.is_of_loop() => {
            if !found.contains(list) {
                found.push(list.clone());
            }
        }
        _ => cel.children().into_iter().for_each(|child| collect(child, found)),
    }
}

/// The sums of lists of containers that loops go through, each once.
fn collect_sums(cel: &Cel, found: &mut Vec<Cel>) {
    if let Cel::Call { of: Some(sum), name: "map" | "filter" | "exists" | "all" | "transformList", .. } = cel
        && let Cel::Chain { operator: Operator::Plus, operands } = &**sum
        && operands.iter().all(|list| list_of(list).0.is_some_and(|name| name.ends_with("ontainers")))
        && !sum.is_of_loop()
        && !found.contains(sum)
    {
        found.push(Cel::clone(sum));
    }
    cel.children().into_iter().for_each(|child| collect_sums(child, found));
}

fn is_computed(list: &Cel) -> bool {
    list.any_part(&|part| matches!(part, Cel::Call { name: "filter" | "map", .. }))
}

/// `volumeMountsOfProxy`: the name of a list, and of the element that it belongs to.
fn name_of(list: &Cel) -> String {
    let (name, owner) = list_of(list);
    let owner = owner.map(|owner| format!("-of-{owner}")).unwrap_or_default();
    variable_name(&format!("{}{owner}", name.unwrap_or("elements")), &[])
}

/// The name of a list or of a part of it, and of the element that it belongs to.
fn list_of(cel: &Cel) -> (Option<&str>, Option<&str>) {
    match cel {
        Cel::Member { name, .. } => (Some(name), None),
        Cel::Call { of: Some(list), name: "filter" | "orValue", .. } => list_of(list),
        Cel::Call { of: Some(lists), name: "flatten", .. } => match &**lists {
            Cel::Call { of: Some(elements), name: "map", arguments } => {
                let name = arguments.last().and_then(|list| list_of(list).0);
                (name, owner_of(elements))
            }
            _ => (None, None),
        },
        _ => (None, None),
    }
}

/// The constant key by which an element is found.
fn owner_of(elements: &Cel) -> Option<&str> {
    let Cel::Call { name: "filter", arguments, .. } = elements else { return None };
    match arguments.last()? {
        Cel::Chain { operator: Operator::Equal, operands } => operands.last()?.as_text(),
        _ => None,
    }
}
