//! `gitlab`: a Code Quality report, for the widget of a merge request.
//!
//! <https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format>

use std::collections::BTreeMap;
use std::io::{self, Write};

use crate::report::{FilePlace, FindingGroup, FindingResult, Severity};
use crate::value::Value;

use super::{FindingWriter, RunEnd, digest, fingerprint, sentence, shown_at};
use crate::render::json::number;
use crate::render::printable::printable_json;

/// One JSON list with an issue for each problem.
#[derive(Debug, Default)]
pub struct Gitlab {
    is_started: bool,
    /// How often each fingerprint was written: GitLab shows one issue of each.
    fingerprints: BTreeMap<String, usize>,
}

/// An issue of the list.
struct Issue<'a> {
    description: String,
    check: &'a str,
    fingerprint: String,
    severity: &'static str,
    /// The path, relative to the repository.
    path: &'a str,
    line: usize,
}

impl Gitlab {
    fn issue(&mut self, issue: Issue<'_>, out: &mut dyn Write) -> io::Result<()> {
        let Issue { description, check, mut fingerprint, severity, path, line } = issue;
        let times = self.fingerprints.entry(fingerprint.clone()).or_default();
        *times += 1;
        if *times > 1 {
            fingerprint = digest(&[&fingerprint, &times.to_string()]);
        }
        let lines = Value::from_iter([("begin", number(line))]);
        let issue = Value::from_iter([
            ("description", description.into()),
            ("check_name", check.into()),
            ("fingerprint", fingerprint.into()),
            ("severity", severity.into()),
            ("location", Value::from_iter([("path", path.into()), ("lines", lines)])),
        ]);
        let separator = if std::mem::replace(&mut self.is_started, true) { ",\n" } else { "[\n" };
        write!(out, "{separator}{}", printable_json(issue.to_json()))
    }
}

impl FindingWriter for Gitlab {
    fn group(&mut self, group: &FindingGroup, out: &mut dyn Write) -> io::Result<()> {
        let subject = group.subject();
        for finding in group.problems() {
            let severity = match finding.result {
                FindingResult::Error => "major",
                FindingResult::Failed | FindingResult::Warning => "minor",
                FindingResult::Note | FindingResult::Passed | FindingResult::Skipped => "info",
            };
            let (path, line) = match shown_at(finding, group) {
                Some(FilePlace { file, line, .. }) => (&**file, *line),
                // GitLab refuses an issue without a path.
                None => (&*subject, 1),
            };
            let issue = Issue {
                description: sentence(finding, group),
                check: finding.cause(),
                fingerprint: fingerprint(finding, &subject),
                severity,
                path,
                line,
            };
            self.issue(issue, out)?;
        }
        Ok(())
    }

    fn finish(&mut self, end: &RunEnd<'_>, out: &mut dyn Write) -> io::Result<()> {
        for one in end.diagnostics {
            let severity = match one.severity {
                Severity::Error => "major",
                Severity::Warning => "minor",
                Severity::Note => continue,
            };
            let issue = Issue {
                description: one.message.clone(),
                check: &one.code,
                fingerprint: digest(&[&one.code, &one.message]),
                severity,
                path: ".",
                line: 1,
            };
            self.issue(issue, out)?;
        }
        out.write_all(if self.is_started { b"\n]\n" } else { b"[]\n" })
    }
}

#[cfg(test)]
mod tests {
    use crate::report::MissingData;

    use super::*;
    use crate::render::findings::examples::group;

    #[test]
    fn each_problem_is_one_issue_with_its_own_fingerprint() {
        let mut out = Vec::new();
        let mut writer = Gitlab::default();
        writer.group(&group(), &mut out).unwrap();
        writer.group(&group(), &mut out).unwrap();
        writer.finish(&RunEnd { diagnostics: &[], gaps: &MissingData::default() }, &mut out).unwrap();
        let report = Value::from_json(&String::from_utf8(out).unwrap()).unwrap();
        let issues = report.as_array().unwrap();
        let text =
            |issue: &Value, path: &[&str]| issue.path(path).and_then(Value::as_str).unwrap().to_owned();
        let rows: Vec<_> = issues
            .iter()
            .map(|issue| {
                (text(issue, &["check_name"]), text(issue, &["severity"]), text(issue, &["location", "path"]))
            })
            .collect();
        let row = |check: &str, severity: &str, path: &str| {
            (check.to_owned(), severity.to_owned(), path.to_owned())
        };
        let once =
            [row("labels/owner", "minor", "manifests/web.yaml"), row("KYV401", "major", "policies/a b.yaml")];
        assert_eq!(rows, [once.clone(), once].concat());
        let fingerprints: std::collections::BTreeSet<_> =
            issues.iter().map(|issue| text(issue, &["fingerprint"])).collect();
        assert_eq!(fingerprints.len(), 4);
    }

    #[test]
    fn a_run_without_problems_is_an_empty_list() {
        let mut out = Vec::new();
        Gitlab::default()
            .finish(&RunEnd { diagnostics: &[], gaps: &MissingData::default() }, &mut out)
            .unwrap();
        assert_eq!(out, b"[]\n");
    }
}
