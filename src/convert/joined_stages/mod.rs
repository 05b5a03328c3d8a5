//! Mutations of a rule that can be one.

mod reordered;

use super::cel_text::{Cel, joined_lists};
use super::context::Variable;
use super::dependence::depend;
use super::stages::{Change, Stage};

/// As few mutations as do the same: one joins an earlier one where neither, nor one between them, changes what the other
/// reads or writes.
pub(super) fn joined(stages: Vec<Stage>, variables: &[Variable]) -> Vec<Stage> {
    let mut found: Vec<Stage> = Vec::with_capacity(stages.len());
    for stage in stages {
        let passed = found.iter().rev().take_while(|earlier| !depend(earlier, &stage, variables));
        let start = found.len() - passed.count();
        let place = (start..found.len()).find_map(|index| Some((index, both(&found[index], &stage)?)));
        match place {
            Some((index, joined)) => found[index] = joined,
            None => match found.last_mut().and_then(|last| Some((reordered::with(last, &stage)?, last))) {
                Some((joined, last)) => *last = joined,
                None => found.push(stage),
            },
        }
    }
    found
}

/// Both as one mutation, if they are of one type and have the same condition.
fn both(one: &Stage, other: &Stage) -> Option<Stage> {
    let change = match (&one.change, &other.change) {
        _ if one.condition != other.condition => return None,
        (Change::Apply(one), Change::Apply(other)) => Change::Apply(merged(one, other)?),
        (Change::Patch(one), Change::Patch(other)) => {
            Change::Patch(joined_lists([one, other].map(Clone::clone)))
        }
        _ => return None,
    };
    Some(Stage { condition: one.condition.clone(), change })
}

/// Two parts of an apply configuration that set different fields.
fn merged(one: &Cel, other: &Cel) -> Option<Cel> {
    let (Cel::Message { name, fields }, Cel::Message { name: other_name, fields: more }) = (one, other)
    else {
        return None;
    };
    let mut fields = fields.clone();
    for field in more {
        match fields.iter_mut().find(|known| known.key == field.key) {
            Some(known) if !known.optional && !field.optional => {
                known.value = merged(&known.value, &field.value)?;
            }
            Some(_) => return None,
            None => fields.push(field.clone()),
        }
    }
    (name == other_name).then(|| Cel::Message { name: name.clone(), fields })
}
