//! Results of test suites as `JUnit` XML.

use std::fmt::Write as _;

use crate::report::{SuiteReport, SuiteRow, UnloadedSuite, Verdict};

use super::diff::Palette;
use super::suite::{SuiteView, message, reasons, resource, row_title, suite_difference, title};

/// The results as one `JUnit` document: a suite for each file, a case for each row. A row that is
/// not evaluated, where that ends in an exit code, is an error; so is a suite that could not be loaded.
pub fn suites_junit(suites: &[SuiteReport], unloaded: &[UnloadedSuite], view: &SuiteView) -> String {
    let mut body = String::new();
    let (mut tests, mut failures, mut errors, mut skipped) = (0, 0, unloaded.len(), 0);
    for suite in suites {
        let rows = view.rows(suite);
        let failed = rows.iter().filter(|(_, row)| view.fails(row)).count();
        let passed = rows.iter().filter(|(_, row)| row.verdict == Verdict::Pass).count();
        let unsupported = rows.iter().filter(|(_, row)| is_error(row, view)).count();
        let other = rows.len() - failed - passed;
        let failed = failed - unsupported;
        tests += rows.len();
        failures += failed;
        errors += unsupported;
        skipped += other;
        let _ = writeln!(
            body,
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{failed}\" errors=\"{unsupported}\" skipped=\"{other}\">",
            escaped(&title(suite)),
            rows.len(),
        );
        for (_, row) in rows {
            case(row, view, &mut body);
        }
        body.push_str("  </testsuite>\n");
    }
    for suite in unloaded {
        let (file, text) = (escaped(&suite.file), escaped(&reasons(suite)));
        let kind = suite.reasons.first().map_or_else(String::new, |reason| kind(&reason.code));
        let _ = writeln!(
            body,
            "  <testsuite name=\"{file}\" tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\">\n    \
             <testcase classname=\"{file}\" name=\"load\"><error message=\"the suite could not be loaded\"{kind}>{text}\
             </error></testcase>\n  </testsuite>",
        );
    }
    tests += unloaded.len();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuites tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\">\n{body}</testsuites>\n"
    )
}

fn case(row: &SuiteRow, view: &SuiteView, out: &mut String) {
    let class = row_title(row);
    let _ =
        write!(out, "    <testcase classname=\"{}\" name=\"{}\"", escaped(&class), escaped(&resource(row)));
    if !view.fails(row) && row.verdict == Verdict::Pass {
        out.push_str("/>\n");
        return;
    }
    let reason = match row.verdict {
        Verdict::Dropped | Verdict::NotEvaluated | Verdict::Unsupported => {
            format!("{}: {}", row.verdict.word(), row.reason)
        }
        Verdict::Pass | Verdict::Fail | Verdict::Skip => row.reason.clone(),
    };
    if !view.fails(row) {
        let _ = writeln!(out, "><skipped message=\"{}\"/></testcase>", escaped(&reason));
        return;
    }
    let text = suite_difference(row, Palette::Plain).unwrap_or_else(|| message(row));
    let (reason, text) = (escaped(&reason), escaped(&text));
    let element = if is_error(row, view) { "error" } else { "failure" };
    let kind = row.code.map_or_else(String::new, |code| kind(&code.to_string()));
    let _ = writeln!(out, "><{element} message=\"{reason}\"{kind}>{text}</{element}></testcase>");
}

/// The attribute with the code of an error.
fn kind(code: &str) -> String {
    format!(" type=\"{code}\"")
}

/// Whether a row is why the exit code is 3.
pub(super) const fn is_error(row: &SuiteRow, view: &SuiteView) -> bool {
    matches!(row.verdict, Verdict::Unsupported) && !view.skips_unsupported
}

/// Text as content or attribute of XML.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(c),
            // XML cannot contain these.
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use crate::report::Subject;
    use crate::report::{Diagnostic, Severity};
    use crate::secrets::Secrets;

    use super::*;

    #[test]
    fn every_row_is_a_case_with_valid_markup() {
        let row = |verdict, reason: &str| SuiteRow {
            policy: "p".into(),
            rule: "a\"<b>".into(),
            resource: Subject::Named("x & y\u{1b}".into()),
            verdict,
            reason: reason.to_owned(),
            message: "]]> <".to_owned(),
            difference: None,
            missing: None,
            is_error: false,
            code: None,
            states: None,
            secrets: Secrets::default(),
        };
        let rows = vec![
            row(Verdict::Pass, "Ok"),
            row(Verdict::Fail, "Want pass, got skip"),
            row(Verdict::NotEvaluated, "validate rule"),
        ];
        let suite = SuiteReport { file: "f".into(), name: "".into(), rows };
        let view = SuiteView {
            fail_only: false,
            detailed: false,
            strict: false,
            skips_unsupported: false,
            palette: Palette::Plain,
            width: None,
        };
        let name = "<testcase classname=\"p/a&quot;&lt;b&gt;\" name=\"x &amp; y\u{fffd}\"";
        let expected = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<testsuites tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\">
  <testsuite name=\"f\" tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\">
    {name}/>
    {name}><failure message=\"Want pass, got skip\">]]&gt; &lt;</failure></testcase>
    {name}><skipped message=\"not evaluated: validate rule\"/></testcase>
  </testsuite>
</testsuites>
"
        );
        assert_eq!(suites_junit(&[suite], &[], &view), expected);
    }

    #[test]
    fn a_suite_that_could_not_be_loaded_is_an_error() {
        let view = SuiteView {
            fail_only: true,
            detailed: false,
            strict: false,
            skips_unsupported: false,
            palette: Palette::Plain,
            width: None,
        };
        let reason =
            Diagnostic { severity: Severity::Error, code: "KYV201".into(), message: "f:1:1: a < b".into() };
        let unloaded = UnloadedSuite { file: "f".into(), reasons: vec![reason] };
        let expected = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<testsuites tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\">
  <testsuite name=\"f\" tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\">
    <testcase classname=\"f\" name=\"load\"><error message=\"the suite could not be loaded\" type=\"KYV201\">f:1:1: a &lt; b</error></testcase>
  </testsuite>
</testsuites>
";
        assert_eq!(suites_junit(&[], &[unloaded], &view), expected);
    }
}
