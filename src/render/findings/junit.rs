//! `junit`: a suite for each object, a case for each rule.

use std::fmt::Write as _;
use std::io::{self, Write};

use crate::report::{FilePlace, Finding, FindingGroup, FindingResult, Severity};

use super::{FindingWriter, RunEnd, shown_at};
use crate::render::junit::escaped;

const HEAD: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";

/// One `JUnit` document.
#[derive(Debug, Default)]
pub struct JunitFindings {
    is_started: bool,
}

impl JunitFindings {
    fn start(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if std::mem::replace(&mut self.is_started, true) { Ok(()) } else { out.write_all(HEAD.as_bytes()) }
    }
}

/// The element of a suite with its cases, each one line.
fn suite(name: &str, (failures, errors, skipped): (usize, usize, usize), cases: &[String]) -> String {
    let mut text = format!(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\">\n",
        escaped(name),
        cases.len(),
    );
    for case in cases {
        let _ = writeln!(text, "    {case}");
    }
    text.push_str("  </testsuite>\n");
    text
}

/// Whether a result is not that of a rule on an object, of which there is one. It fails its case: there is no
/// other element that readers show.
const fn is_note_or_warning(result: FindingResult) -> bool {
    matches!(result, FindingResult::Warning | FindingResult::Note)
}

fn case(finding: &Finding, group: &FindingGroup, subject: &str) -> String {
    let (class, message) = (escaped(&finding.title), escaped(&finding.message));
    // Of two cases with one name, readers show one.
    let is_named = finding.policy.is_empty() || finding.title.contains(&*finding.policy);
    let name = match finding.code.filter(|_| is_note_or_warning(finding.result)) {
        Some(code) => escaped(&format!("{subject}: {code}")),
        None if is_named => escaped(subject),
        None => escaped(&format!("{subject}: {}", finding.policy)),
    };
    let kind = finding.code.map_or_else(String::new, |code| format!(" type=\"{code}\""));
    // The attributes of a case have no file that all readers know.
    let place =
        shown_at(finding, group).map(|FilePlace { file, line, .. }| escaped(&format!("{file}:{line}")));
    let place = place.unwrap_or_default();
    let head = format!("<testcase classname=\"{class}\" name=\"{name}\"");
    match finding.result {
        FindingResult::Passed => format!("{head}/>"),
        FindingResult::Skipped => format!("{head}><skipped message=\"{message}\"/></testcase>"),
        FindingResult::Note | FindingResult::Warning | FindingResult::Failed => {
            format!("{head}><failure message=\"{message}\"{kind}>{place}</failure></testcase>")
        }
        FindingResult::Error => {
            format!("{head}><error message=\"{message}\"{kind}>{place}</error></testcase>")
        }
    }
}

impl FindingWriter for JunitFindings {
    fn group(&mut self, group: &FindingGroup, out: &mut dyn Write) -> io::Result<()> {
        if group.findings.is_empty() {
            return Ok(());
        }
        self.start(out)?;
        let count = |is: fn(FindingResult) -> bool| {
            group.findings.iter().filter(|finding| is(finding.result)).count()
        };
        let counts = (
            count(|result| result == FindingResult::Failed || is_note_or_warning(result)),
            count(|result| result == FindingResult::Error),
            count(|result| result == FindingResult::Skipped),
        );
        let subject = group.subject();
        let cases: Vec<String> =
            group.findings.iter().map(|finding| case(finding, group, &subject)).collect();
        out.write_all(suite(&subject, counts, &cases).as_bytes())
    }

    fn finish(&mut self, end: &RunEnd<'_>, out: &mut dyn Write) -> io::Result<()> {
        self.start(out)?;
        let errors = end.diagnostics.iter().filter(|one| one.severity == Severity::Error);
        let cases: Vec<String> = errors
            .map(|one| {
                let (code, message) = (escaped(&one.code), escaped(&one.message));
                format!(
                    "<testcase classname=\"kubectl-kyv\" name=\"{code}\"><error message=\"{message}\" type=\"{code}\"/></testcase>"
                )
            })
            .collect();
        if !cases.is_empty() {
            out.write_all(suite("kubectl-kyv", (0, cases.len(), 0), &cases).as_bytes())?;
        }
        out.write_all(b"</testsuites>\n")
    }
}

#[cfg(test)]
mod tests {
    use crate::report::{Diagnostic, MissingData};

    use super::*;
    use crate::render::findings::examples::group;

    #[test]
    fn every_rule_is_a_case_and_every_error_one_more() {
        let mut out = Vec::new();
        let mut writer = JunitFindings::default();
        writer.group(&group(), &mut out).unwrap();
        let error =
            Diagnostic { severity: Severity::Error, code: "KYV201".into(), message: "</testsuites>".into() };
        writer.finish(&RunEnd { diagnostics: &[error], gaps: &MissingData::default() }, &mut out).unwrap();
        let case =
            |rule: &str| format!("    <testcase classname=\"labels/{rule}\" name=\"Deployment/shop/web\"");
        let expected = format!(
            "{HEAD}  <testsuite name=\"Deployment/shop/web\" tests=\"4\" failures=\"1\" errors=\"1\" skipped=\"1\">
{}><failure message=\"would change /metadata/labels\">manifests/web.yaml:1</failure></testcase>
{}><error message=\"no user: 100%\n::error::&lt;b&gt;\" type=\"KYV401\">policies/a b.yaml:7</error></testcase>
{}/>
{}><skipped message=\"preconditions not met\"/></testcase>
  </testsuite>
  <testsuite name=\"kubectl-kyv\" tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\">
    <testcase classname=\"kubectl-kyv\" name=\"KYV201\"><error message=\"&lt;/testsuites&gt;\" type=\"KYV201\"/></testcase>
  </testsuite>
</testsuites>
",
            case("owner"),
            case("team"),
            case("zone"),
            case("tier")
        );
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
