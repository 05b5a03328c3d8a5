//! Rules that failed on objects: each is reported at once if the run is verbose, else in groups.

use std::mem;

use crate::render::{RuleError, rule_errors, rule_warnings};

use super::evaluate::{Evaluated, Evaluation};
use super::exit::Exit;
use super::grouped::{FirstObject, GroupedMessages};
use super::policy_places::PolicyPlaces;
use super::reporter::Reporter;

/// The failed rules of a run that is not verbose.
#[derive(Debug, Default)]
pub(super) struct FailedRules {
    errors: GroupedMessages,
    warnings: GroupedMessages,
}

impl FailedRules {
    /// Adds those of the objects of a document.
    pub(super) fn add(&mut self, evaluated: &Evaluated, policies: PolicyPlaces<'_>, reporter: &mut Reporter) {
        for object in &evaluated.objects {
            let first = |error: &RuleError| {
                let place = policies.place(error, &object.report);
                FirstObject { place, ..first_object(evaluated, object) }
            };
            for warning in rule_warnings(&object.report) {
                if reporter.is_verbose() {
                    reporter.warning(warning.code, first(&warning).text(&warning));
                } else {
                    self.warnings.add(warning, first);
                }
            }
            if !object.report.has_error() {
                continue;
            }
            for error in rule_errors(&object.report) {
                if reporter.is_verbose() {
                    reporter.error(Exit::Evaluation, error.code, first(&error).text(&error));
                } else {
                    self.errors.add(RuleError { original: None, ..error }, first);
                }
            }
        }
    }

    /// Reports the groups.
    pub(super) fn report(&mut self, reporter: &mut Reporter) {
        for (code, text) in mem::take(&mut self.errors).texts() {
            reporter.error(Exit::Evaluation, code, text);
        }
        for (code, text) in mem::take(&mut self.warnings).texts() {
            reporter.warning(code, text);
        }
    }
}

pub(super) fn first_object(evaluated: &Evaluated, object: &Evaluation) -> FirstObject {
    let name = object.report.object.as_ref().map_or_else(String::new, ToString::to_string);
    FirstObject { name, origin: evaluated.origin(object).to_string(), place: None }
}
