//! Mutations that do the same to the template of the Pods, which is at another place for each kind: they become one, with
//! the template and its place as variables.

use crate::convert::cel_text::{Cel, Operator};
use crate::convert::kinds::Kind;
use crate::convert::path::{AT, TEMPLATE, Workload};

use super::Mutation;
use super::by_kind::{for_other_kinds, joined_comments};

/// Joins mutations that are all that a policy does. `None` if one does something else, or not to a template.
pub(super) fn join_by_template(mutations: &[Mutation], kinds: &[Kind]) -> Option<Mutation> {
    let parts = for_other_kinds(mutations);
    let is_for_all = kinds.iter().all(|kind| parts.iter().any(|part| part.kinds.contains(&&*kind.kind.kind)));
    let first = mutations.first()?;
    if parts.len() < 2 || parts.len() < mutations.len() || first.is_apply || !is_for_all {
        return None;
    }
    let mut changes = parts.iter().map(|part| {
        let of_part = kinds.iter().filter(|kind| part.kinds.contains(&&*kind.kind.kind));
        let workloads: Vec<Workload> =
            of_part.map(|kind| Workload::of_kind(&kind.kind.group, &kind.kind.kind)).collect();
        let (workload, others) = workloads.split_first()?;
        let has_template = !workload.template().is_empty() && others.iter().all(|other| other == workload);
        has_template.then(|| part.change.rewritten(&|cel| of_template(cel, *workload)))
    });
    let expression = changes.next()??;
    changes.all(|change| change.as_ref() == Some(&expression)).then(|| Mutation {
        is_apply: false,
        expression,
        comments: joined_comments(mutations),
        explained: mutations.iter().find_map(|mutation| mutation.explained),
    })
}

/// The template of an object, or a place below it in a JSON patch, by its variable.
fn of_template(cel: &Cel, workload: Workload) -> Option<Cel> {
    let variable = |name| Cel::atom("variables").member(name);
    let below = |text: &str| {
        let place: String = workload.template().iter().map(|name| format!("/{name}")).collect();
        text.strip_prefix(&place).filter(|below| below.starts_with('/')).map(Cel::text)
    };
    match cel {
        Cel::Member { .. } => {
            let template = workload.template().iter().fold(Cel::atom("object"), |of, name| of.member(name));
            (*cel == template).then(|| variable(TEMPLATE))
        }
        Cel::Text(text) => below(text).map(|below| Cel::joined(Operator::Plus, vec![variable(AT), below])),
        Cel::Chain { operator: Operator::Plus, operands } => {
            let (first, rest) = operands.split_first()?;
            let below = below(first.as_text()?)?;
            let rest = rest.iter().map(|part| part.rewritten(&|part| of_template(part, workload)));
            Some(Cel::joined(Operator::Plus, [variable(AT), below].into_iter().chain(rest).collect()))
        }
        _ => None,
    }
}
