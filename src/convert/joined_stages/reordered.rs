//! A JSON patch that brings elements of lists to the front, and changes them there.

use crate::convert::cel_text::{Cel, Operator, joined_lists};
use crate::convert::stages::{Change, Stage};

/// A list whose elements come first that meet a condition: `list.filter(e, c) + list.filter(e, !c)`.
struct Front<'c> {
    /// Where it is written.
    path: &'c Cel,
    list: &'c Cel,
    variable: &'c Cel,
    condition: &'c Cel,
}

/// A mutation that only reorders lists and the next one that changes the elements in front, as one: the n-th element that
/// meets the condition has the index n then.
pub(super) fn with(first: &Stage, next: &Stage) -> Option<Stage> {
    let (Change::Patch(reorder), Change::Patch(steps)) = (&first.change, &next.change) else { return None };
    if first.condition != next.condition || !first.only_reorders() {
        return None;
    }
    let fronts: Vec<Front<'_>> = operands(reorder).map(front).collect::<Option<_>>()?;
    let mut is_used = vec![false; fronts.len()];
    let mut parts = vec![reorder.clone()];
    for part in operands(steps) {
        let inside = fronts.iter().position(|front| part.any_part(&|cel| writes_below(cel, front.path)));
        parts.push(match inside.and_then(|index| Some((index, fronts.get(index)?))) {
            Some((index, front)) => {
                is_used[index] = true;
                front.visited(part)?
            }
            None if fronts.iter().any(|front| part.contains(front.list)) => return None,
            None => part.clone(),
        });
    }
    is_used
        .iter()
        .all(|used| *used)
        .then(|| Stage { condition: first.condition.clone(), change: Change::Patch(joined_lists(parts)) })
}

/// The lists of steps that are joined.
fn operands(steps: &Cel) -> impl Iterator<Item = &Cel> {
    match steps {
        Cel::Chain { operator: Operator::Plus, operands } => operands.iter(),
        other => std::slice::from_ref(other).iter(),
    }
}

/// The list that a step reorders: `[step]`, or `has(list) ? [step] : []`.
fn front(steps: &Cel) -> Option<Front<'_>> {
    let step = match steps {
        Cel::List(steps) => steps,
        Cel::If { then, .. } => match &**then {
            Cel::List(steps) => steps,
            _ => return None,
        },
        _ => return None,
    };
    let [Cel::Message { fields, .. }] = step.as_slice() else { return None };
    let field = |key: &str| fields.iter().find(|field| field.key == key).map(|field| &field.value);
    let (path, Cel::Chain { operator: Operator::Plus, operands }) = (field("path")?, field("value")?) else {
        return None;
    };
    let [Cel::Call { of: Some(list), name: "filter", arguments }, rest] = operands.as_slice() else {
        return None;
    };
    let [variable, condition] = arguments.as_slice() else { return None };
    let others = (**list).clone().call("filter", [variable.clone(), condition.clone().negated()]);
    (*rest == others).then_some(Front { path, list, variable, condition })
}

impl Front<'_> {
    /// Steps for elements of the list as those for the elements that are in front.
    fn visited(&self, steps: &Cel) -> Option<Cel> {
        match steps {
            Cel::Call { of: Some(inner), name: "flatten", .. } => {
                Some(self.visited(inner)?.call("flatten", []))
            }
            Cel::Call { of: Some(visited), name: "transformList", arguments } => {
                let is_list = match &**visited {
                    Cel::Call { of: Some(path), name: "orValue", .. } => path.strict() == *self.list,
                    list => list == self.list,
                };
                let [index, variable, own @ .., body] = arguments.as_slice() else { return None };
                // Others that the steps are for do not change: they have what is set.
                let is_asked = own.iter().all(|own| self.condition.includes(own));
                if !is_list || !is_asked || variable != self.variable || body.contains(self.list) {
                    return None;
                }
                let elements = (**visited).clone().call("filter", [variable.clone(), self.condition.clone()]);
                let missing = self.condition.missing();
                let body = missing.iter().fold(body.clone(), |body, path| body.without(path));
                Some(elements.call("transformList", [index.clone(), variable.clone(), body]))
            }
            _ => None,
        }
    }
}

/// Whether a step writes below a path.
fn writes_below(cel: &Cel, path: &Cel) -> bool {
    let Cel::Message { fields, .. } = cel else { return false };
    let Some(own) = fields.iter().find(|field| field.key == "path") else { return false };
    let text = |cel: &Cel| cel.to_string().trim_end_matches('"').to_owned();
    text(&own.value).starts_with(&format!("{}/", text(path)))
}
