//! Mutations that stand beside each other and are for different kinds: they become one.

use crate::convert::cel_text::{Cel, Operator};

use super::Mutation;

/// What a mutation does to objects of some kinds.
pub(super) struct Part<'m> {
    pub(super) kinds: Vec<&'m str>,
    condition: &'m Cel,
    pub(super) change: &'m Cel,
}

/// Joins neighbours of which each is for other kinds. `all` are the kinds of the policy.
pub(super) fn join_by_kind(mutations: &mut Vec<Mutation>, all: &[&str]) {
    let mut index = 0;
    while index < mutations.len() {
        let mut count = mutations.get(index..).map_or(0, |rest| for_other_kinds(rest).len());
        if count > 1 {
            let joined = mutations.get(index..index + count).and_then(|some| joined(some, all));
            count = joined.map_or(count, |joined| {
                mutations.splice(index..index + count, [joined]);
                1
            });
        }
        index += count.max(1);
    }
}

/// The first mutations, of which each is for other kinds than those before it.
pub(super) fn for_other_kinds(mutations: &[Mutation]) -> Vec<Part<'_>> {
    let mut parts: Vec<Part<'_>> = Vec::new();
    for mutation in mutations {
        let is_same_type = mutations.first().is_some_and(|first| first.is_apply == mutation.is_apply);
        let Some(part) = Part::of(&mutation.expression).filter(|_| is_same_type) else { break };
        if parts.iter().any(|before| before.kinds.iter().any(|kind| part.kinds.contains(kind))) {
            break;
        }
        parts.push(part);
    }
    parts
}

fn joined(mutations: &[Mutation], all: &[&str]) -> Option<Mutation> {
    let parts = for_other_kinds(mutations);
    let is_for_all = all.iter().all(|kind| parts.iter().any(|part| part.kinds.contains(kind)));
    let (last, before) = parts.split_last()?;
    let nothing = match &mutations.first()?.expression {
        Cel::If { otherwise, .. } => (**otherwise).clone(),
        _ => return None,
    };
    let end = if is_for_all {
        last.change.clone()
    } else {
        Cel::if_else(last.condition.clone(), last.change.clone(), nothing)
    };
    let expression = before
        .iter()
        .rev()
        .fold(end, |rest, part| Cel::if_else(part.condition.clone(), part.change.clone(), rest));
    Some(Mutation {
        is_apply: mutations.first()?.is_apply,
        expression,
        comments: joined_comments(mutations),
        explained: mutations.iter().find_map(|mutation| mutation.explained),
    })
}

pub(super) fn joined_comments(mutations: &[Mutation]) -> Vec<String> {
    mutations.iter().flat_map(|mutation| mutation.comments.iter().cloned()).collect()
}

impl<'m> Part<'m> {
    /// `object.kind == "Job" ? change : Object{}`
    fn of(expression: &'m Cel) -> Option<Self> {
        let Cel::If { condition, then, otherwise } = expression else { return None };
        let is_nothing = match &**otherwise {
            Cel::List(steps) => steps.is_empty(),
            Cel::Message { fields, .. } => fields.is_empty(),
            _ => false,
        };
        let Cel::Chain { operator, operands } = &**condition else { return None };
        let [kind, names] = operands.as_slice() else { return None };
        let kinds: Vec<&str> = match (operator, names) {
            (Operator::Equal, Cel::Text(name)) => vec![name],
            (Operator::In, Cel::List(names)) => names.iter().map(Cel::as_text).collect::<Option<_>>()?,
            _ => return None,
        };
        (is_nothing && *kind == Cel::atom("object").member("kind")).then_some(Self {
            kinds,
            condition,
            change: then,
        })
    }
}
