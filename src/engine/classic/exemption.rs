//! Exceptions from a rule.

use std::cell::RefCell;

use crate::pattern::ConditionError;
use crate::policy::{Candidate, PolicyException, PolicyExceptions, Rule};
use crate::report::{ExceptionTrace, SkipReason, UndecidedException};
use crate::value::{Pointer, Text};
use crate::variables::{Inline, SubstitutionError, Template};

use super::context::Context;
use super::rule;

/// What decides whether exceptions take an object away from a rule that selects it.
pub(in crate::engine) struct Exemption<'a> {
    pub(in crate::engine) exceptions: &'a PolicyExceptions,
    /// The name of the policy, as reports have it.
    pub(in crate::engine) policy: &'a Text,
    /// The object as it came to the policy.
    pub(in crate::engine) candidate: Candidate<'a>,
    /// The exceptions whose conditions could not be evaluated.
    pub(in crate::engine) undecided: &'a RefCell<Vec<UndecidedException>>,
}

impl Exemption<'_> {
    /// The reason why exceptions take the object away from a rule; `None` if none does.
    pub(in crate::engine) fn of(&self, rule: &Rule, context: &mut Context<'_>) -> Option<SkipReason> {
        let mut applied = Vec::new();
        for exception in self.exceptions.of(self.policy, &rule.name) {
            let tracker = context.tracker();
            if !exception.takes(&self.candidate, tracker) {
                if context.is_traced() {
                    let reasons = exception.mismatch(&self.candidate);
                    context.see_exception(ExceptionTrace { name: exception.full_name(), reasons });
                }
                continue;
            }
            match holds(exception, context) {
                Ok(true) => applied.push(exception.full_name()),
                Ok(false) => {
                    let reasons = vec!["its conditions do not hold".to_owned()];
                    context.see_exception(ExceptionTrace { name: exception.full_name(), reasons });
                }
                Err(error) => {
                    let message = format!("its conditions cannot be evaluated: {error}");
                    let name = exception.full_name();
                    let undecided = UndecidedException {
                        exception: name.clone(),
                        policy: self.policy.clone(),
                        rule: rule.name.clone(),
                        message: message.clone(),
                    };
                    self.undecided.borrow_mut().push(undecided);
                    context.see_exception(ExceptionTrace { name, reasons: vec![message] });
                }
            }
        }
        (!applied.is_empty()).then_some(SkipReason::Exceptions(applied))
    }
}

fn holds(
    exception: &PolicyException,
    context: &mut Context<'_>,
) -> Result<bool, Box<ConditionError<SubstitutionError>>> {
    let Some(conditions) = &exception.conditions else { return Ok(true) };
    let tracker = context.tracker();
    let settings = context.substitution(Inline::Path);
    let mut resolve = |operand: &Template, _at: &Pointer| rule::resolve(operand, context, settings);
    conditions.holds(&mut resolve, tracker).map_err(Box::new)
}
