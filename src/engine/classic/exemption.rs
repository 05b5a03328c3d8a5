//! Policy exceptions.

use std::cell::RefCell;

use crate::pattern::ConditionError;
use crate::policy::{Candidate, PolicyException, PolicyExceptions, Rule};
use crate::report::{SkipReason, UndecidedException};
use crate::value::Text;
use crate::variables::SubstitutionError;

use super::conditions::InContext;
use super::context::Context;

/// The exceptions for an object from a policy.
pub(super) struct Exemption<'a> {
    pub(super) exceptions: &'a PolicyExceptions,
    /// The name of the policy, as reports have it.
    pub(super) policy: &'a Text,
    /// The object before the policy.
    pub(super) candidate: Candidate<'a>,
    /// Collects the exceptions whose conditions cannot be evaluated.
    pub(super) undecided: &'a RefCell<Vec<UndecidedException>>,
}

impl Exemption<'_> {
    /// The reason to skip a rule, if exceptions apply.
    pub(super) fn skip_reason(&self, rule: &Rule, context: &mut Context<'_>) -> Option<SkipReason> {
        let mut applied = Vec::new();
        for exception in self.exceptions.of(self.policy, &rule.name) {
            if !exception.selects(&self.candidate, context.tracker()) {
                context.trace_exception(exception, || exception.mismatch(&self.candidate));
                continue;
            }
            match conditions_hold(exception, context) {
                Ok(true) => applied.push(exception.full_name()),
                Ok(false) => {
                    context.trace_exception(exception, || vec!["its conditions do not hold".to_owned()]);
                }
                Err(error) => {
                    let message = format!("its conditions cannot be evaluated: {error}");
                    context.trace_exception(exception, || vec![message.clone()]);
                    self.undecided.borrow_mut().push(UndecidedException {
                        exception: exception.full_name(),
                        policy: self.policy.clone(),
                        rule: rule.name.clone(),
                        message,
                    });
                }
            }
        }
        (!applied.is_empty()).then_some(SkipReason::Exceptions(applied))
    }
}

fn conditions_hold(
    exception: &PolicyException,
    context: &mut Context<'_>,
) -> Result<bool, Box<ConditionError<SubstitutionError>>> {
    let Some(conditions) = &exception.conditions else { return Ok(true) };
    let tracker = context.tracker();
    conditions.holds(&mut InContext(context), tracker).map_err(Box::new)
}
