//! The findings about an object.

use std::collections::BTreeSet;
use std::path::Path;

use crate::diagnostics::Code;
use crate::render::diff::dry_run_problem;
use crate::render::messages::{RuleError, RulePlaces, rule_errors, rule_warnings};
use crate::render::printable::{printable, printable_line};
use crate::render::words::listed;
use crate::report::{
    FilePlace, Finding, FindingGroup, FindingResult, ObjectReport, Outcome, PolicyReport, RuleReport,
};
use crate::resources::{KindScope, builtin_scope};
use crate::value::{GroupVersionKind, ObjectRef, Text};

/// The findings about an object at a place.
pub(in crate::render) fn object_findings(
    report: &ObjectReport,
    place: Option<FilePlace>,
    places: Option<&dyn RulePlaces>,
) -> FindingGroup {
    let mut findings: Vec<Finding> =
        report.rules().filter_map(|(policy, rule)| rule_finding(policy, rule, places, report)).collect();
    let failed = |result, error: RuleError| {
        let place = places.and_then(|places| places.error(&error));
        Finding {
            result,
            code: Some(error.code),
            policy: line(&error.policy),
            rule: line(&error.rule),
            title: printable_line(&error.title),
            message: printable(&error.message),
            place,
        }
    };
    findings.extend(rule_errors(report).into_iter().map(|error| failed(FindingResult::Error, error)));
    findings.extend(rule_warnings(report).into_iter().map(|error| failed(FindingResult::Warning, error)));
    findings.extend(dry_run_finding(report));
    FindingGroup { object: report.object.as_ref().map(shown_object), place, findings }
}

/// The finding about a rule that could be evaluated.
fn rule_finding(
    policy: &PolicyReport,
    rule: &RuleReport,
    places: Option<&dyn RulePlaces>,
    report: &ObjectReport,
) -> Option<Finding> {
    let (result, message) = match &rule.outcome {
        Outcome::Error(_) => return None,
        Outcome::Patched { .. } if policy.has_error() => {
            (FindingResult::Skipped, "discarded, because another rule of the policy failed".to_owned())
        }
        Outcome::Patched { .. } => (FindingResult::Failed, format!("would change {}", changed(rule, report))),
        Outcome::NoChange | Outcome::Triggered { .. } => (FindingResult::Passed, String::new()),
        Outcome::Skipped(reason) => (FindingResult::Skipped, report.shown_text(&reason.to_string())),
    };
    // Most rules are looked for by nobody else.
    let place = places.filter(|_| result.is_problem());
    Some(Finding {
        result,
        code: None,
        policy: line(&policy.policy),
        rule: line(&rule.rule),
        title: printable_line(&rule.title(&policy.policy)),
        message: printable(&message),
        place: place.and_then(|places| places.rule(&policy.policy, &rule.rule)),
    })
}

/// The paths that a rule changes, redacted.
fn changed(rule: &RuleReport, report: &ObjectReport) -> String {
    let paths: BTreeSet<String> =
        rule.changes().iter().map(|change| report.shown_place(&change.pointer).to_json_pointer()).collect();
    let paths: Vec<String> =
        paths.into_iter().map(|path| if path.is_empty() { "/".to_owned() } else { path }).collect();
    listed(paths.into_iter())
}

/// The finding about a dry run that the API server refused.
fn dry_run_finding(report: &ObjectReport) -> Option<Finding> {
    let (problem, message) = dry_run_problem(report)?;
    Some(Finding {
        result: FindingResult::Error,
        code: Some(Code::DryRunRefused),
        policy: "".into(),
        rule: "".into(),
        title: "API server".to_owned(),
        message: printable(&format!("{problem}: {message}")),
        place: None,
    })
}

/// The object as formats name it: without control characters.
pub(in crate::render) fn shown_object(object: &ObjectRef) -> ObjectRef {
    let GroupVersionKind { group, version, kind } = &object.kind;
    ObjectRef {
        kind: GroupVersionKind { group: line(group), version: line(version), kind: line(kind) },
        namespace: object.namespace.as_ref().map(line),
        name: line(&object.name),
    }
}

/// Whether objects of a kind have a namespace, written or not.
pub(super) fn is_namespaced(object: &ObjectRef) -> bool {
    object.namespace.is_some() || builtin_scope(&object.kind) == KindScope::Namespaced
}

fn line(text: &Text) -> Text {
    printable_line(text).into()
}

/// A path with `/` between its parts, without `./`.
pub(in crate::render) fn path_text(path: &Path) -> Text {
    let text = path.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/");
    printable_line(text.strip_prefix("./").unwrap_or(&text)).into()
}
