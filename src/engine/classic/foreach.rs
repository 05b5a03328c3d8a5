//! The loops of a rule.

use crate::patch::MergeContext;
use crate::policy::{Edit, ForeachEntry};
use crate::report::{ElementOutcome, Outcome, RuleError, SkipReason};
use crate::semantics::Divergence;
use crate::value::{Pointer, Text, Value};

use super::conditions::{decide, undecided};
use super::context::Context;
use super::patch::patch;
use crate::engine::Limits;

/// Runs the loops of a rule, one after the other: each sees in `request.object` what the earlier ones left.
///
/// # Errors
///
/// A list or an element that cannot be evaluated; nothing of the rule counts then.
pub(super) fn run(
    entries: &[ForeachEntry],
    object: &Value,
    context: &mut Context<'_>,
    survey: &MergeContext<'_>,
) -> Result<Outcome, RuleError> {
    let mut loops = Loops { context, survey, missing: Vec::new() };
    let after = loops.entries(entries, object, &Place::default())?;
    if after == *object {
        let missing = std::mem::take(&mut loops.missing);
        return Ok(Outcome::Skipped(SkipReason::NoElements { missing }));
    }
    Ok(Outcome::Patched { before: object.clone(), after })
}

/// Where loops stand in the rule.
#[derive(Default)]
struct Place {
    /// What holds them.
    around: Pointer,
    /// How many are around them.
    nesting: usize,
}

struct Loops<'a, 'c> {
    context: &'a mut Context<'c>,
    survey: &'a MergeContext<'a>,
    /// The lists that are not there.
    missing: Vec<Text>,
}

impl Loops<'_, '_> {
    /// What loops side by side make of an object.
    fn entries(
        &mut self,
        entries: &[ForeachEntry],
        object: &Value,
        place: &Place,
    ) -> Result<Value, RuleError> {
        let mut current = object.clone();
        // Only a trace tells where.
        let loops = self.context.is_traced().then(|| place.around.key("foreach"));
        for (number, entry) in entries.iter().enumerate() {
            let elements = self.list(entry)?;
            let around = loops.as_ref().map_or(Pointer::ROOT, |loops| loops.index(number));
            let place = Place { around, nesting: place.nesting };
            let after = self.elements(entry, &elements, &current, &place).map_err(|error| RuleError {
                message: format!("failed to mutate elements: {}", error.message),
                ..error
            })?;
            if after != current {
                current = after;
                self.context.set_patched(&current);
            }
        }
        Ok(current)
    }

    /// The elements of a loop. What is no list is its own and only element.
    fn list(&mut self, entry: &ForeachEntry) -> Result<Vec<Value>, RuleError> {
        let error = match self.context.evaluate(&entry.list) {
            Ok(Value::Array(elements)) => return Ok(elements.to_vec()),
            Ok(element) => return Ok(vec![element]),
            Err(error) => error,
        };
        if error.is_not_found() && self.context.tracker().documented(Divergence::ForeachMissingList) {
            self.missing.push(entry.list.text().clone());
            return Ok(Vec::new());
        }
        let list = entry.list.text();
        Err(RuleError::new(format!("failed to evaluate list {list}: {error}: {error}")))
    }

    /// What the elements of one loop make of an object. They see in `request.object` what was there before
    /// the first of them.
    fn elements(
        &mut self,
        entry: &ForeachEntry,
        elements: &[Value],
        object: &Value,
        place: &Place,
    ) -> Result<Value, RuleError> {
        let due = elements.iter().filter(|element| !element.is_null()).count();
        self.context.count_iterations(due).map_err(|maximum| {
            let message = format!("too many elements in loops (limit foreach-iterations={maximum})");
            RuleError { message, hint: self.more_of("foreach-iterations") }
        })?;
        let before = self.context.checkpoint();
        let mut current = object.clone();
        let indexes: Box<dyn Iterator<Item = usize>> = if entry.is_descending() {
            Box::new((0..elements.len()).rev())
        } else {
            Box::new(0..elements.len())
        };
        for index in indexes {
            let Some(element) = elements.get(index).filter(|element| !element.is_null()) else { continue };
            self.context.reset(&before);
            self.context.set_element((element, &entry.list), index, place.nesting);
            self.context.register(&entry.context);
            let turn = self.context.begin_turn(&place.around, entry.list.text(), index);
            self.spend(1)?;
            let (after, fate) = self.element(entry, index, &current, place)?;
            self.context.end_turn(turn, fate);
            if let Some(after) = after {
                current = after;
            }
        }
        self.context.restore(&before);
        Ok(current)
    }

    fn spend(&self, steps: usize) -> Result<(), RuleError> {
        self.context.runtime().spend(steps as u64).map_err(|error| RuleError {
            message: format!("too much work in loops: {error}"),
            hint: self.more_of("steps"),
        })
    }

    fn more_of(&self, limit: &str) -> Option<String> {
        self.context.settings().input_names.more_of(limit)
    }

    /// What one element makes of an object, `None` where it changes nothing, and why.
    fn element(
        &mut self,
        entry: &ForeachEntry,
        index: usize,
        object: &Value,
        place: &Place,
    ) -> Result<(Option<Value>, ElementOutcome), RuleError> {
        if let Some(conditions) = &entry.preconditions {
            let verdict = decide(conditions, self.context).map_err(|error| {
                undecided(*error, &format!("mutate.foreach[{index}].preconditions"), self.context)
            })?;
            if !verdict.met {
                let reason = SkipReason::Preconditions { message: verdict.message };
                return Ok((None, ElementOutcome::Skipped { reason, found: None }));
            }
        }
        let one = match &entry.body {
            Edit::Patch(one) => one,
            Edit::Foreach(nested) => {
                let place = Place { around: place.around.clone(), nesting: place.nesting + 1 };
                let after = self.entries(nested, object, &place)?;
                let reason = SkipReason::NoElements { missing: Vec::new() };
                let is_same = after == *object;
                let skipped = is_same.then_some(ElementOutcome::Skipped { reason, found: None });
                return Ok((Some(after), skipped.unwrap_or(ElementOutcome::Changed)));
            }
        };
        // What a patch costs grows with the object, and the object may grow with each element.
        self.spend(object.weight() / Limits::LOOP_BYTES)?;
        Ok(match patch(one, object, self.context, self.survey)? {
            Outcome::Patched { after, .. } => (Some(after), ElementOutcome::Changed),
            Outcome::Skipped(reason) => {
                let found = match &reason {
                    SkipReason::Anchor { at, .. } => object.pointed(at).cloned(),
                    _ => None,
                };
                (None, ElementOutcome::Skipped { reason, found })
            }
            Outcome::NoChange | Outcome::Triggered { .. } | Outcome::Error(_) => {
                (None, ElementOutcome::NoChange)
            }
        })
    }
}
