//! The loops of a rule.

use crate::diagnostics::{Code, Coded as _};
use crate::engine::Limits;
use crate::patch::MergeContext;
use crate::policy::{Edit, ForeachEntry};
use crate::report::{ElementOutcome, Outcome, RuleError, SkipReason};
use crate::semantics::Divergence;
use crate::value::{Pointer, Text, Value};
use crate::variables::Scope as _;

use super::conditions::{condition_error, evaluate};
use super::context::Context;
use super::patch::patch;

/// Runs the loops of a rule, one after the other: each sees the changes of the earlier ones in `request.object`.
///
/// # Errors
///
/// A list or an element cannot be evaluated; then all changes of the rule are discarded.
pub(super) fn run(
    entries: &[ForeachEntry],
    object: &Value,
    context: &mut Context<'_>,
    merge_context: &MergeContext<'_>,
) -> Result<Outcome, RuleError> {
    let mut loops = Loops { context, merge_context, missing: Vec::new(), weighed: Weighed::default() };
    let after = loops.run_all(entries, object, &Place::default())?;
    if after == *object {
        let missing = std::mem::take(&mut loops.missing);
        return Ok(Outcome::Skipped(SkipReason::NoElements { missing }));
    }
    Ok(Outcome::Patched { before: object.clone(), after })
}

/// The place of loops in the rule.
#[derive(Default)]
struct Place {
    /// The path of the loop around them; computed for traces only.
    outer: Pointer,
    /// The number of loops around them.
    nesting: usize,
}

struct Loops<'a, 'c> {
    context: &'a mut Context<'c>,
    merge_context: &'a MergeContext<'a>,
    /// Lists that do not exist.
    missing: Vec<Text>,
    weighed: Weighed,
}

/// The bytes of the object, which is not weighed again for each element: one patch adds little to it.
#[derive(Default)]
struct Weighed {
    bytes: usize,
    /// For so many elements more.
    left: u8,
}

impl Weighed {
    const ELEMENTS: u8 = 8;

    fn bytes(&mut self, object: &Value) -> usize {
        if self.left == 0 {
            *self = Self { bytes: object.weight(), left: Self::ELEMENTS };
        }
        self.left -= 1;
        self.bytes
    }
}

impl Loops<'_, '_> {
    /// Runs loops of the same level; returns the patched object.
    fn run_all(
        &mut self,
        entries: &[ForeachEntry],
        object: &Value,
        place: &Place,
    ) -> Result<Value, RuleError> {
        let mut current = object.clone();
        let loops = if place.nesting == 0 { Pointer::ROOT.key("mutate") } else { Pointer::ROOT };
        let below = |number| loops.key("foreach").index(number);
        let path = self.context.is_traced().then(|| place.outer.key("foreach"));
        for (number, entry) in entries.iter().enumerate() {
            let elements = self.elements(entry).map_err(|error| error.below(&below(number)))?;
            let outer = path.as_ref().map_or(Pointer::ROOT, |path| path.index(number));
            let place = Place { outer, nesting: place.nesting };
            let elements = elements.as_array().unwrap_or_default();
            let after = self.run_loop(entry, elements, &current, &place).map_err(|error| {
                let words = format!("failed to mutate elements: {}", error.words_of_kyverno());
                error.in_words_of_kyverno(words).below(&below(number))
            })?;
            if after != current {
                current = after;
                self.context.set_patched(&current);
            }
        }
        Ok(current)
    }

    /// The list of a loop. A value that is not a list is the only element.
    fn elements(&mut self, entry: &ForeachEntry) -> Result<Value, RuleError> {
        let error = match self.context.query(&entry.list) {
            Ok(list @ Value::Array(_)) => return Ok(list),
            Ok(element) => return Ok(Value::array(vec![element])),
            Err(error) => error,
        };
        let list = entry.list.text();
        if error.is_not_found() && self.context.tracker().documented(Divergence::ForeachMissingList) {
            self.missing.push(list.clone());
            return Ok(Value::array(Vec::new()));
        }
        let failed = RuleError::new(
            if error.is_not_found() { Code::ForeachList } else { error.code() },
            format!("the list `{list}` cannot be evaluated: {error}"),
        );
        let words = error.original().unwrap_or_else(|| error.to_string());
        let failed = failed.in_words_of_kyverno(format!("failed to evaluate list {list}: {words}"));
        Err(failed.at(&Pointer::ROOT.key("list"), Some(list)))
    }

    /// Runs one loop; returns the patched object. All elements see the same `request.object`.
    fn run_loop(
        &mut self,
        entry: &ForeachEntry,
        elements: &[Value],
        object: &Value,
        place: &Place,
    ) -> Result<Value, RuleError> {
        let count = elements.iter().filter(|element| !element.is_null()).count();
        self.context.count_iterations(count).map_err(|maximum| {
            let message = format!("too many elements in loops (limit foreach-iterations={maximum})");
            RuleError::new(Code::EvaluationLimit, message).with_hint(self.limit_hint("foreach-iterations"))
        })?;
        // Once, and not for each element.
        self.context.insert_object();
        let checkpoint = self.context.checkpoint();
        let mut current = object.clone();
        let indexes: Box<dyn Iterator<Item = usize>> = if entry.is_descending() {
            Box::new((0..elements.len()).rev())
        } else {
            Box::new(0..elements.len())
        };
        for index in indexes {
            let Some(element) = elements.get(index).filter(|element| !element.is_null()) else { continue };
            self.context.reset(&checkpoint);
            self.context.set_element((element, &entry.list), index, place.nesting);
            self.context.register(&entry.context);
            let begin = self.context.begin_iteration(&place.outer, entry.list.text(), index);
            self.spend(1)?;
            let (after, outcome) = self.run_element(entry, index, &current, place)?;
            self.context.end_iteration(begin, outcome);
            if let Some(after) = after {
                current = after;
            }
        }
        self.context.restore(&checkpoint);
        Ok(current)
    }

    fn spend(&self, steps: usize) -> Result<(), RuleError> {
        self.context.runtime().spend(steps as u64).map_err(|error| {
            let message = format!("too much work in loops: {error}");
            RuleError::new(error.code(), message).with_hint(self.limit_hint("steps"))
        })
    }

    fn limit_hint(&self, limit: &str) -> String {
        self.context.settings().input_names.limit_hint(limit)
    }

    /// Runs the body of a loop for one element; returns the patched object, if the element was not skipped.
    fn run_element(
        &mut self,
        entry: &ForeachEntry,
        index: usize,
        object: &Value,
        place: &Place,
    ) -> Result<(Option<Value>, ElementOutcome), RuleError> {
        let skipped = |reason| ElementOutcome::Skipped { reason, found: None };
        if let Some(conditions) = &entry.preconditions {
            let verdict = evaluate(conditions, self.context).map_err(|error| {
                condition_error(*error, &format!("mutate.foreach[{index}].preconditions"), self.context)
            })?;
            if !verdict.met {
                return Ok((None, skipped(SkipReason::Preconditions { message: verdict.message })));
            }
        }
        let one = match &entry.body {
            Edit::Patch(one) => one,
            Edit::Foreach(nested) => {
                let place = Place { outer: place.outer.clone(), nesting: place.nesting + 1 };
                let after = self.run_all(nested, object, &place)?;
                let outcome = if after == *object {
                    skipped(SkipReason::NoElements { missing: Vec::new() })
                } else {
                    ElementOutcome::Changed
                };
                return Ok((Some(after), outcome));
            }
        };
        // The cost of a patch grows with the object, which may grow with each element.
        let bytes = self.weighed.bytes(object);
        self.spend(bytes / Limits::LOOP_BYTES)?;
        Ok(match patch(one, object, self.context, self.merge_context)? {
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
