//! Findings in the formats of other programs, one file each.
//!
//! Every text in a finding may come from an object: each format quotes all of them by its own rules.

mod github;
mod gitlab;
#[cfg(test)]
mod inert;
mod junit;
mod object;
mod policy_report;
mod sarif;
mod suites;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::{self, Write};

use sha2::{Digest as _, Sha256};

use crate::diagnostics::Code;
use crate::report::{Diagnostic, FilePlace, Finding, FindingGroup, MissingData};

pub use github::Github;
pub use gitlab::Gitlab;
pub use junit::JunitFindings;
pub(super) use object::{object_findings, path_text, shown_object};
pub use policy_report::{PolicyReports, ReportApi};
pub use sarif::Sarif;
pub use suites::suite_findings;

/// Where the pages of the documentation are.
const DOCS: &str = "https://github.com/kubectl-kyv/kubectl-kyv/blob/main/docs";

/// Writes findings in one format.
pub trait FindingWriter: fmt::Debug {
    /// Writes the findings about one object.
    fn group(&mut self, group: &FindingGroup, out: &mut dyn Write) -> io::Result<()>;

    /// Writes the end, with what is about no object.
    fn finish(&mut self, end: &RunEnd<'_>, out: &mut dyn Write) -> io::Result<()>;
}

/// What is written after all findings.
#[derive(Clone, Copy, Debug)]
pub struct RunEnd<'a> {
    /// The errors, warnings and notes of the run that repeat no finding.
    pub diagnostics: &'a [Diagnostic],
    /// What could not be read.
    pub gaps: &'a MissingData,
}

/// What the findings of a run say, to tell diagnostics that repeat them: codes, and what rule and policy are called
/// together.
#[derive(Debug, Default)]
pub(super) struct SeenFindings(BTreeMap<Code, BTreeSet<String>>);

impl SeenFindings {
    /// Adds those of a group.
    pub(super) fn add(&mut self, group: &FindingGroup) {
        for finding in group.problems() {
            let Some(code) = finding.code else { continue };
            let titles = self.0.entry(code).or_default();
            if !titles.contains(&finding.title) {
                titles.insert(finding.title.clone());
            }
        }
    }

    /// The diagnostics that repeat no finding. Those about a rule name it; those about a dry run name none.
    pub(super) fn others(&self, diagnostics: &[Diagnostic]) -> Vec<Diagnostic> {
        let is_repeated = |one: &Diagnostic| {
            let titles = Code::named(&one.code).and_then(|code| Some((code, self.0.get(&code)?)));
            titles.is_some_and(|(code, titles)| {
                code == Code::DryRunRefused || titles.iter().any(|title| one.message.contains(title))
            })
        };
        diagnostics.iter().filter(|one| !is_repeated(one)).cloned().collect()
    }
}

/// The page on a code.
fn page(code: &str) -> Option<String> {
    let folder = match code.strip_prefix("KYV-D") {
        Some(_) => "divergences",
        None => Code::named(code).map(|_| "diagnostics")?,
    };
    Some(format!("{DOCS}/{folder}/{code}.md"))
}

/// Text that is the same for the same finding in a later run, whatever moved in its files: 64 hexadecimal digits.
fn fingerprint(finding: &Finding, subject: &str) -> String {
    digest(&[finding.cause(), &finding.policy, &finding.rule, &finding.message, subject])
}

/// The SHA-256 of texts, in hexadecimal digits.
fn digest(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        // A text cannot end like the beginning of the next.
        hash.update(part.len().to_le_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The message, with the rule and the object.
fn sentence(finding: &Finding, group: &FindingGroup) -> String {
    let object = group.object.as_ref().map(|object| format!("{object}: ")).unwrap_or_default();
    format!("{object}{}: {}", finding.title, finding.message)
}

/// Where a problem is shown that has one place only: a rule that could not be evaluated at the rule, else at the object.
fn shown_at<'g>(finding: &'g Finding, group: &'g FindingGroup) -> Option<&'g FilePlace> {
    let (of_rule, of_object) = (finding.place.as_ref(), group.place.as_ref());
    if finding.code.is_some() { of_rule.or(of_object) } else { of_object.or(of_rule) }
}

/// Examples that all formats are tested with.
#[cfg(test)]
pub(super) mod examples {
    use crate::diagnostics::Code;
    use crate::report::{FilePlace, Finding, FindingGroup, FindingResult};
    use crate::value::{GroupVersionKind, ObjectRef};

    /// A place.
    pub(in crate::render) fn place(file: &str, line: usize) -> FilePlace {
        FilePlace { file: file.into(), line, column: Some(3) }
    }

    /// One finding.
    pub(in crate::render) fn finding(result: FindingResult, rule: &str, message: &str) -> Finding {
        Finding {
            result,
            code: (result == FindingResult::Error).then_some(Code::NoUser),
            policy: "labels".into(),
            rule: rule.into(),
            title: format!("labels/{rule}"),
            message: message.to_owned(),
            place: Some(place("policies/a b.yaml", 7)),
        }
    }

    /// Findings about one object, one of each result.
    pub(in crate::render) fn group() -> FindingGroup {
        FindingGroup {
            object: Some(ObjectRef {
                kind: GroupVersionKind {
                    group: "apps".into(),
                    version: "v1".into(),
                    kind: "Deployment".into(),
                },
                namespace: Some("shop".into()),
                name: "web".into(),
            }),
            place: Some(FilePlace { file: "manifests/web.yaml".into(), line: 1, column: None }),
            findings: vec![
                finding(FindingResult::Failed, "owner", "would change /metadata/labels"),
                finding(FindingResult::Error, "team", "no user: 100%\n::error::<b>"),
                finding(FindingResult::Passed, "zone", ""),
                finding(FindingResult::Skipped, "tier", "preconditions not met"),
            ],
        }
    }
}
