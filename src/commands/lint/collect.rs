//! The findings about the policies of a file.

use crate::diagnostics::{Code, Coded as _};
use crate::lint::{LintLevel, Suppression, lint, suppressions};
use crate::policy::Policy;
use crate::render::{LintFinding, printable_line};
use crate::report::{FilePlace, Finding, FindingResult};
use crate::source::{Place, PolicyFile, SourceError, WrittenPolicy};
use crate::value::{Pointer, Text};

use super::Found;
use crate::commands::policy_places::{file_name, place_in_file};

/// The findings about a file, in the order of their places.
#[derive(Debug)]
pub(super) struct FileFindings<'f> {
    pub(super) file: &'f PolicyFile,
    /// Its name as other programs know it.
    pub(super) file_name: Text,
    pub(super) findings: Vec<Found<'f>>,
    /// How many findings comments suppress.
    pub(super) suppressed: usize,
}

/// Finds what is wrong with the policies of a file.
pub(super) fn collect(file: &PolicyFile) -> FileFindings<'_> {
    let mut findings: Vec<Found<'_>> = file.errors.iter().map(|error| refused(error, None)).collect();
    for policy in &file.policies {
        add_policy(file, policy, &mut findings);
    }
    let comments = suppressions(file.source.text());
    let mut used = vec![false; comments.len()];
    let before = findings.len();
    findings.retain(|found| !is_suppressed(&found.shown.finding, &comments, &mut used));
    let suppressed = before - findings.len();
    let file_name = file_name(&file.name);
    for (comment, _) in comments.iter().zip(used).filter(|(_, is_used)| !is_used) {
        findings.push(idle(comment, &file_name));
    }
    findings.sort_by_key(|found| {
        let place = found.shown.finding.place.as_ref();
        (place.map(|place| (place.line, place.column)), found.shown.finding.code.map(Code::name))
    });
    FileFindings { file, file_name, findings, suppressed }
}

fn add_policy<'f>(file: &'f PolicyFile, policy: &'f WrittenPolicy, findings: &mut Vec<Found<'f>>) {
    let names: Vec<Text> = match &policy.parsed {
        Ok(parsed) => parsed.rules().into_iter().map(|rule| rule.name.clone()).collect(),
        Err(errors) => {
            findings.extend(errors.iter().map(|one| {
                let found = refused(&one.error, Some(policy));
                let (pointer, is_fixable) = (one.pointer.clone(), one.meant.is_some());
                Found {
                    shown: LintFinding { pointer, is_fixable, ..found.shown },
                    fix: one.meant.clone(),
                    ..found
                }
            }));
            Vec::new()
        }
    };
    let warnings = policy.parsed.as_ref().ok().map(Policy::meta).map(|meta| meta.warnings.iter());
    for warning in warnings.into_iter().flatten().filter(|warning| !warning.cause.depends_on_user()) {
        let text = (warning.cause.code(), FindingResult::Warning, warning.cause.to_string());
        findings.push(at(file, policy, (warning.rule.as_ref(), &warning.pointer), text));
    }
    for one in lint(&policy.value, &names) {
        let result = match one.level {
            LintLevel::Info => FindingResult::Note,
            LintLevel::Warning => FindingResult::Warning,
        };
        let text = (one.code, result, format!("{}; {}", one.message, one.help));
        let mut found = at(file, policy, (one.rule.as_ref(), &one.pointer), text);
        found.shown.is_fixable = one.fix.is_some();
        findings.push(Found { fix: one.fix, ..found });
    }
}

/// A finding at a node of a policy.
fn at<'f>(
    file: &PolicyFile,
    policy: &'f WrittenPolicy,
    (rule, pointer): (Option<&Text>, &Pointer),
    (code, result, message): (Code, FindingResult, String),
) -> Found<'f> {
    let place = file.place(policy, pointer);
    let name = printable_line(&policy.name);
    let rule = rule.map(|rule| printable_line(rule));
    let title = rule.as_ref().map_or_else(|| name.clone(), |rule| format!("{name}/{rule}"));
    let finding = Finding {
        result,
        code: Some(code),
        rule: rule.unwrap_or_else(|| name.clone()).into(),
        policy: name.into(),
        title,
        message: printable_line(&message),
        place: place.as_ref().map(place_in_file),
    };
    Found { shown: shown(finding, pointer.clone(), place.as_ref()), policy: Some(policy), fix: None }
}

/// Why a document is refused.
fn refused<'f>(error: &SourceError, policy: Option<&'f WrittenPolicy>) -> Found<'f> {
    let (place, message) = match error {
        SourceError::Document { place, message, .. } => (Some(place), message.clone()),
        other => (None, other.to_string()),
    };
    let name = policy.map_or("", |policy| policy.name.as_str());
    // The message begins with the names of policy and rule.
    let (title, message) = message.split_once(": ").unwrap_or((name, &message));
    let rule = title.strip_prefix(name).and_then(|rest| rest.strip_prefix('/'));
    let finding = Finding {
        result: FindingResult::Error,
        code: Some(error.code()),
        policy: printable_line(name).into(),
        rule: printable_line(rule.unwrap_or(name)).into(),
        title: printable_line(title),
        message: printable_line(message),
        place: place.map(place_in_file),
    };
    Found { shown: shown(finding, Pointer::ROOT, place), policy, fix: None }
}

/// A comment that suppresses nothing.
fn idle<'f>(comment: &Suppression, file_name: &Text) -> Found<'f> {
    let Suppression { line, text, code, reason, .. } = comment;
    let message = if Code::named(code).is_none() {
        format!("`kyv:ignore {code}`: there is no such code; `# kyv:ignore CODE REASON` names one")
    } else if reason.is_empty() {
        format!("`kyv:ignore {code}` has no reason and suppresses nothing; write the reason after the code")
    } else {
        format!("`kyv:ignore {code}` suppresses nothing; remove the comment")
    };
    let finding = Finding {
        result: FindingResult::Warning,
        code: Some(Code::IdleSuppression),
        policy: Text::default(),
        rule: Text::default(),
        title: "comment".to_owned(),
        message: printable_line(&message),
        place: Some(FilePlace { file: file_name.clone(), line: *line, column: None }),
    };
    let excerpt = format!("{line} | {text}");
    let shown = LintFinding { finding, pointer: Pointer::ROOT, excerpt, is_fixable: false };
    Found { shown, policy: None, fix: None }
}

fn shown(finding: Finding, pointer: Pointer, place: Option<&Place>) -> LintFinding {
    let excerpt = place.map_or_else(String::new, |place| place.excerpt().to_owned());
    LintFinding { finding, pointer, excerpt, is_fixable: false }
}

fn is_suppressed(finding: &Finding, comments: &[Suppression], used: &mut [bool]) -> bool {
    let (Some(code), Some(place)) = (finding.code, &finding.place) else { return false };
    if finding.result == FindingResult::Error {
        return false;
    }
    let mut is_suppressed = false;
    for (comment, used) in comments.iter().zip(used) {
        if comment.covers(code.name(), place.line) {
            *used = true;
            is_suppressed = true;
        }
    }
    is_suppressed
}
