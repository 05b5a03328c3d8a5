//! The places in policies at which rules failed.

use crate::policy::Policy;
use crate::render::{PolicyPlace, RuleError, shown_message};
use crate::report::{ObjectReport, RulePlace};
use crate::source::{PolicyNode, PolicyTexts};
use crate::value::Pointer;

/// The policies of a run and their texts.
#[derive(Clone, Copy, Debug)]
pub(super) struct PolicyPlaces<'a> {
    pub(super) policies: &'a [Policy],
    pub(super) texts: &'a PolicyTexts,
}

impl PolicyPlaces<'_> {
    /// The place of the error of a rule on an object: that of the expression or field, else that of the rule.
    pub(super) fn place(&self, error: &RuleError, report: &ObjectReport) -> Option<PolicyPlace> {
        let policy = self.policies.iter().find(|policy| policy.full_name() == error.policy)?;
        // The conditions of a policy's webhooks belong to no rule.
        let rule = policy.rules().into_iter().find(|rule| *rule.name == error.rule);
        let place = match (&error.place, rule.and_then(|rule| rule.pointer)) {
            (Some(place), _) if place.is_of_policy() => place.clone(),
            (Some(place), Some(rule)) => RulePlace { pointer: rule.join(&place.pointer), ..place.clone() },
            (Some(place), None) => place.clone(),
            (None, Some(rule)) => RulePlace::node(rule.key("name")),
            (None, None) => RulePlace::node(Pointer::ROOT.key("metadata").key("name")),
        };
        let RulePlace { pointer, expression, part, exception } = &place;
        let node = PolicyNode { pointer, expression: expression.as_deref(), part: part.clone() };
        let place = match exception {
            Some(exception) => self.texts.place_in_exception(exception, &node)?,
            None => self.texts.place(&error.policy, &node)?,
        };
        let excerpt = place.excerpt();
        let is_public = shown_message(report, excerpt) == excerpt;
        let excerpt = if is_public { excerpt.to_owned() } else { String::new() };
        Some(PolicyPlace { position: place.to_string(), excerpt })
    }
}
