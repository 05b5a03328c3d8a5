//! The explanation of one rule, made from its report, its trace and its source.

use std::collections::BTreeMap;

use crate::report::{
    ConditionTrace, ElementOutcome, ExpressionTrace, Iteration, ObjectReport, Outcome, RuleReport,
    SkipReason, TestTrace, Trace, VariableError,
};
use crate::value::{Pointer, Segment, Text, Value};

use super::redactor::Redactor;
use super::{
    Anchor, Condition, Element, ExplainedRule, Expression, FailedTest, NoChangeReasons, RuleSource, Variable,
    Verdict,
};

/// The most targets that are named.
const NAMED_TARGETS: usize = 10;

/// Explains one rule.
pub(super) struct RuleExplainer<'a, 'b> {
    pub(super) policy: &'a Text,
    pub(super) rule: &'a RuleReport,
    pub(super) source: Option<&'a RuleSource>,
    pub(super) redactor: &'b Redactor,
    pub(super) object_report: &'a ObjectReport,
    /// The object before the rule.
    pub(super) object: &'b Value,
}

impl<'a> RuleExplainer<'a, '_> {
    pub(super) fn explained(
        &self,
        failed: Option<&Text>,
        no_change_reasons: NoChangeReasons<'_>,
    ) -> ExplainedRule<'a> {
        let mut explained = ExplainedRule::new(self.policy, &self.rule.rule, self.source);
        explained.report = Some(self.rule);
        if let Some(trace) = &self.rule.trace {
            self.trace(trace, &mut explained);
        }
        match &self.rule.outcome {
            Outcome::Patched { before, after } => {
                explained.verdict = Verdict::Patched;
                if let Some(failed) = failed {
                    explained.verdict = Verdict::Discarded;
                    explained.why =
                        format!("a cluster would refuse the object, because {}/{failed} fails", self.policy);
                }
                explained.reasons = self.no_change_reasons(no_change_reasons, true);
                explained.changes = self.redactor.changes(before, after);
            }
            Outcome::NoChange => {
                explained.verdict = Verdict::NoChange;
                explained.reasons = self.no_change_reasons(no_change_reasons, false);
                explained.why = if explained.expressions.iter().any(|seen| seen.failed_test.is_some()) {
                    "it matched, but a `test` of its JSON patch failed, and the patch changes nothing then"
                        .into()
                } else if explained.reasons.is_empty() {
                    "it matched, but the object already has what the rule sets".into()
                } else {
                    "it matched, but no list element meets the rule's conditions".into()
                };
            }
            Outcome::Triggered { targets, missing } => {
                explained.verdict = Verdict::Triggered;
                explained.why = match targets.len() {
                    // Missing targets are named below.
                    0 if missing.is_empty() && self.has_failed() => {
                        "it ran on no target, because of its error".into()
                    }
                    0 => "no object is a target of it".into(),
                    1 => "it ran on 1 target".into(),
                    many => format!("it ran on {many} targets"),
                };
                explained.reasons = targets.iter().take(NAMED_TARGETS).map(ToString::to_string).collect();
                if targets.len() > NAMED_TARGETS {
                    explained.reasons.push(format!("and {} more", targets.len() - NAMED_TARGETS));
                }
                let missing = missing.iter().map(|target| format!("{target}: there is no such object"));
                explained.reasons.extend(missing.map(|reason| self.redactor.text(&reason)));
            }
            Outcome::Skipped(reason) => self.skipped(reason, &mut explained),
            Outcome::Error(error) => {
                explained.verdict = Verdict::Error;
                explained.why = "it could not be evaluated".into();
                explained.reasons.push(self.redactor.text(&error.message));
            }
        }
        explained
    }

    /// Whether the rule has an error beside this outcome.
    fn has_failed(&self) -> bool {
        let mut rules =
            self.object_report.rules().map(|(_, rule)| rule).filter(|rule| rule.rule == self.rule.rule);
        rules.any(|rule| matches!(rule.outcome, Outcome::Error(_)))
    }

    fn no_change_reasons(&self, no_change_reasons: NoChangeReasons<'_>, is_changed: bool) -> Vec<String> {
        let reasons =
            self.source.map_or_else(Vec::new, |source| no_change_reasons(source, self.object, is_changed));
        reasons.iter().map(|reason| self.redactor.text(reason)).collect()
    }

    fn skipped(&self, reason: &SkipReason, explained: &mut ExplainedRule<'_>) {
        explained.verdict = Verdict::Skipped;
        explained.why = reason.to_string();
        match reason {
            SkipReason::NotSelected(reasons) => {
                explained.verdict = Verdict::NotMatched;
                let starts = |word: &str| reasons.iter().any(|reason| reason.starts_with(word));
                explained.why = if starts("exclude") {
                    "exclude matches the object"
                } else if starts("match") {
                    "match does not select the object"
                } else {
                    "the policy is not for the object"
                }
                .into();
                explained.reasons = reasons.iter().map(|reason| self.redactor.text(reason)).collect();
            }
            SkipReason::Preconditions { message } => {
                explained.why = "the preconditions do not hold".into();
                let empty_any = |source: &&RuleSource| {
                    source.preconditions.get("any").and_then(Value::as_array).is_some_and(<[Value]>::is_empty)
                };
                if self.source.is_some_and(|source| empty_any(&source)) {
                    explained.reasons.push("`any` is an empty list, which never holds".into());
                }
                if !message.is_empty() {
                    explained.reasons.push(self.redactor.text(message));
                }
            }
            SkipReason::Anchor { overlay, at, reason } => {
                explained.why = "a condition of the overlay does not hold".into();
                let written = self.source.map(|source| &source.overlay);
                let found = self.object.pointed(at);
                explained.anchor = Some(self.anchor(written, overlay, (at, found), reason));
            }
            SkipReason::NoElements { missing } if missing.is_empty() => {
                explained.why = if explained.elements.is_empty() {
                    "the lists of its loops are empty"
                } else {
                    "no element of its loops changes anything"
                }
                .into();
            }
            SkipReason::MatchCondition(name) => {
                explained.why = format!("the match condition `{name}` is false");
            }
            SkipReason::Exceptions(names) => {
                explained.why = format!("exempted by {}", names.join(", "));
            }
            _ => {}
        }
    }

    fn anchor(
        &self,
        written: Option<&Value>,
        overlay: &Pointer,
        (at, found): (&Pointer, Option<&Value>),
        reason: &str,
    ) -> Anchor {
        let expected = written.and_then(|written| written.pointed(overlay));
        Anchor {
            overlay: self.object_report.shown_place(overlay).to_string(),
            object: self.redactor.text(&self.object_report.shown_place(at).to_string()),
            reason: reason.to_owned(),
            expected: expected.map(|expected| self.redactor.at(at, expected)),
            found: found.map(|found| self.redactor.at(at, found)),
        }
    }

    /// Adds exceptions, conditions and variables from the trace: those of the rule, and of each element of its loops.
    fn trace(&self, trace: &Trace, explained: &mut ExplainedRule<'a>) {
        let exceptions = trace.exceptions.iter().map(|exception| {
            let reasons = self.redactor.text(&exception.reasons.join("; "));
            format!("{} does not apply: {reasons}", exception.name)
        });
        explained.exceptions = exceptions.collect();
        explained.expressions = trace.expressions.iter().map(|seen| self.expression(seen)).collect();
        explained.elements = self.elements(trace);
        explained.elements_left_out = trace.omitted_iterations;
        let mut conditions: Vec<Vec<&ConditionTrace>> = vec![Vec::new(); trace.iterations.len() + 1];
        let of = |element: Option<usize>| element.map_or(0, |element| element + 1);
        for seen in &trace.conditions {
            if let Some(conditions) = conditions.get_mut(of(seen.iteration)) {
                conditions.push(seen);
            }
        }
        let mut conditions = conditions.into_iter();
        let failed = matches!(self.rule.outcome, Outcome::Skipped(SkipReason::Preconditions { .. }));
        let written = self.source.and_then(|source| match (trace.target, &self.rule.trigger) {
            (Some(index), _) => source.targets.at(index)?.get("preconditions"),
            (None, Some(_)) => None,
            (None, None) => Some(&source.preconditions),
        });
        explained.conditions = self.conditions(&conditions.next().unwrap_or_default(), written, failed);
        for ((element, seen), conditions) in
            explained.elements.iter_mut().zip(&trace.iterations).zip(conditions)
        {
            let failed = matches!(
                seen.outcome,
                ElementOutcome::Skipped { reason: SkipReason::Preconditions { .. }, .. }
            );
            let written = self.written(&seen.place).and_then(|entry| entry.get("preconditions"));
            element.conditions = self.conditions(&conditions, written, failed);
        }
        // Each variable once with each of its values.
        let mut known: BTreeMap<_, Vec<Result<Value, String>>> = BTreeMap::new();
        for seen in &trace.variables {
            let value = self.value(&seen.value);
            let known_values = known.entry((seen.iteration, &seen.expression)).or_default();
            if known_values.contains(&value) {
                continue;
            }
            known_values.push(value.clone());
            let variables = match seen.iteration {
                None => Some(&mut explained.variables),
                Some(element) => explained.elements.get_mut(element).map(|element| &mut element.variables),
            };
            if let Some(variables) = variables {
                let expression = self.redactor.text(&seen.expression).into();
                variables.push(Variable { expression, value });
            }
        }
    }

    fn expression(&self, seen: &ExpressionTrace) -> Expression {
        let decisive = matches!(
            &self.rule.outcome,
            Outcome::Skipped(SkipReason::MatchCondition(name)) if seen.name.as_ref() == Some(name)
        );
        let because = seen.because.iter().map(|(expression, value)| Variable {
            expression: self.redactor.text(expression).into(),
            value: self.value(value),
        });
        Expression {
            invocation: seen.invocation.clone(),
            path: seen.place.to_string(),
            name: seen.name.clone(),
            expression: self.redactor.text(&seen.expression),
            value: self.value(&seen.value),
            decisive,
            because: because.collect(),
            failed_test: seen.failed_test.as_ref().map(|failed| self.failed_test(failed)),
        }
    }

    fn failed_test(&self, failed: &TestTrace) -> FailedTest {
        let masked = |value: &Option<Value>| value.as_ref().map(|value| self.redactor.at(&failed.at, value));
        FailedTest {
            path: self.redactor.text(&failed.path),
            expected: masked(&failed.expected),
            found: masked(&failed.found),
        }
    }

    fn value(&self, value: &Result<Value, VariableError>) -> Result<Value, String> {
        match value {
            Ok(value) => Ok(self.redactor.value(value)),
            Err(error) => Err(self.redactor.text(&error.0)),
        }
    }

    /// A loop as written.
    fn written(&self, path: &Pointer) -> Option<&'a Value> {
        let loops = &self.source?.foreach;
        path.segments().iter().skip(1).try_fold(loops, |node, segment| match segment {
            Segment::Key(key) => node.get(key),
            Segment::Index(index) => node.at(*index),
        })
    }

    fn elements(&self, trace: &Trace) -> Vec<Element> {
        let mut elements: Vec<Element> = Vec::with_capacity(trace.iterations.len());
        for seen in &trace.iterations {
            let outer = seen.outer.and_then(|outer| elements.get(outer));
            let mut indexes = outer.map(|outer| outer.indexes.clone()).unwrap_or_default();
            indexes.push(seen.index);
            elements.push(self.element(seen, indexes));
        }
        elements
    }

    fn element(&self, seen: &Iteration, indexes: Vec<usize>) -> Element {
        let mut element = Element {
            path: seen.place.to_string(),
            list: seen.list.clone(),
            indexes,
            verdict: Verdict::Error,
            why: String::new(),
            message: String::new(),
            conditions: Vec::new(),
            variables: Vec::new(),
            anchor: None,
        };
        match &seen.outcome {
            ElementOutcome::Failed => element.why = "it could not be evaluated".into(),
            ElementOutcome::Changed => element.verdict = Verdict::Patched,
            ElementOutcome::NoChange => {
                element.verdict = Verdict::NoChange;
                element.why = "it already has what the rule sets".into();
            }
            ElementOutcome::Skipped { reason, found } => {
                element.verdict = Verdict::Skipped;
                element.why = reason.to_string();
                match reason {
                    SkipReason::Preconditions { message } => {
                        element.why = "its preconditions do not hold".into();
                        element.message = self.redactor.text(message);
                    }
                    SkipReason::Anchor { overlay, at, reason } => {
                        element.why = "a condition of the overlay does not hold".into();
                        let written = self.written(&seen.place);
                        let written = written.and_then(|entry| entry.get("patchStrategicMerge"));
                        element.anchor = Some(self.anchor(written, overlay, (at, found.as_ref()), reason));
                    }
                    SkipReason::NoElements { .. } => {
                        element.why = "the loops inside change nothing".into();
                    }
                    _ => {}
                }
            }
        }
        element
    }

    /// The conditions of a block of preconditions, given as written.
    fn conditions(&self, seen: &[&ConditionTrace], block: Option<&Value>, failed: bool) -> Vec<Condition> {
        // Of the conditions in `any`, one has to hold.
        let is_of_any = |condition: &ConditionTrace| condition.pointer.parent().to_string() == "any";
        let any_holds = seen.iter().any(|condition| condition.met && is_of_any(condition));
        let conditions = seen.iter().map(|condition| {
            let written = block.and_then(|block| block.pointed(&condition.pointer));
            let side = |name: &str, value: &Value| {
                let written = written.and_then(|written| written.get(name));
                let masked = self.redactor.value(value);
                (masked, written.filter(|written| *written != value).cloned())
            };
            let (key, key_written) = side("key", &condition.key);
            let (value, value_written) = side("value", &condition.value);
            let is_satisfied = is_of_any(condition) && any_holds;
            Condition {
                path: format!("preconditions.{}", condition.pointer).replace(".[", "["),
                key,
                operator: condition.operator.clone(),
                value,
                met: condition.met,
                decisive: failed && !condition.met && !is_satisfied,
                written: [key_written, value_written],
            }
        });
        conditions.collect()
    }
}
