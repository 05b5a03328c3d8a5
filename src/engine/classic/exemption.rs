//! Exceptions from a rule.

use std::cell::RefCell;

use crate::pattern::ConditionError;
use crate::policy::{Candidate, PolicyException, PolicyExceptions, Rule};
use crate::report::{ExceptionTrace, SkipReason, UndecidedException};
use crate::value::{Pointer, Text};
use crate::variables::{Inline, SubstitutionError, Template};

use super::conditions::resolve;
use super::context::Context;

/// What decides whether exceptions take an object away from a rule that selects it.
pub(super) struct Exemption<'a> {
    pub(super) exceptions: &'a PolicyExceptions,
    /// The name of the policy, as reports have it.
    pub(super) policy: &'a Text,
    /// The object as it came to the policy.
    pub(super) candidate: Candidate<'a>,
    /// The exceptions whose conditions could not be evaluated.
    pub(super) undecided: &'a RefCell<Vec<UndecidedException>>,
}

impl Exemption<'_> {
    /// The reason why exceptions take the object away from a rule; `None` if none does.
    pub(super) fn of(&self, rule: &Rule, context: &mut Context<'_>) -> Option<SkipReason> {
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
    let mut operand = |operand: &Template, _at: &Pointer| resolve(operand, context, settings);
    conditions.holds(&mut operand, tracker).map_err(Box::new)
}
