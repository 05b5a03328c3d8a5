//! Results of test suites as `JUnit` XML.

use std::fmt::Write as _;

use crate::report::{SuiteReport, SuiteRow, Verdict};

use super::diff::Palette;
use super::suite::{SuiteView, difference_text, message, resource, title};

/// The results as one `JUnit` document: a suite for each file, a case for each row.
pub fn suites_junit(suites: &[SuiteReport], view: &SuiteView) -> String {
    let mut body = String::new();
    let (mut tests, mut failures, mut skipped) = (0, 0, 0);
    for suite in suites {
        let rows = view.rows(suite);
        let failed = rows.iter().filter(|(_, row)| view.fails(row)).count();
        let passed = rows.iter().filter(|(_, row)| row.verdict == Verdict::Pass).count();
        let left = rows.len() - failed - passed;
        tests += rows.len();
        failures += failed;
        skipped += left;
        let _ = writeln!(
            body,
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{failed}\" errors=\"0\" skipped=\"{left}\">",
            escaped(&title(suite)),
            rows.len(),
        );
        for (_, row) in rows {
            case(row, view, &mut body);
        }
        body.push_str("  </testsuite>\n");
    }
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuites tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\">\n{body}</testsuites>\n"
    )
}

fn case(row: &SuiteRow, view: &SuiteView, out: &mut String) {
    let class =
        if row.rule.is_empty() { row.policy.to_string() } else { format!("{}/{}", row.policy, row.rule) };
    let _ =
        write!(out, "    <testcase classname=\"{}\" name=\"{}\"", escaped(&class), escaped(&resource(row)));
    if !view.fails(row) && row.verdict == Verdict::Pass {
        out.push_str("/>\n");
        return;
    }
    let reason = match row.verdict {
        Verdict::Dropped | Verdict::NotEvaluated => format!("{}: {}", row.verdict.word(), row.reason),
        Verdict::Pass | Verdict::Fail | Verdict::Skip => row.reason.clone(),
    };
    if !view.fails(row) {
        let _ = writeln!(out, "><skipped message=\"{}\"/></testcase>", escaped(&reason));
        return;
    }
    let text = match &row.difference {
        Some(difference) => difference_text(row, difference, Palette::Plain),
        None => message(row),
    };
    let (reason, text) = (escaped(&reason), escaped(&text));
    let _ = writeln!(out, "><failure message=\"{reason}\">{text}</failure></testcase>");
}

/// The text as XML can hold it, inside an attribute too.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(c),
            // XML has no way to write these.
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use crate::report::Subject;
    use crate::secrets::Secrets;

    use super::*;

    #[test]
    fn every_row_is_a_case_and_nothing_breaks_the_markup() {
        let row = |verdict, reason: &str| SuiteRow {
            policy: "p".into(),
            rule: "a\"<b>".into(),
            resource: Subject::Named("x & y\u{1b}".into()),
            verdict,
            reason: reason.to_owned(),
            message: "]]> <".to_owned(),
            difference: None,
            states: None,
            secrets: Secrets::default(),
        };
        let rows = vec![
            row(Verdict::Pass, "Ok"),
            row(Verdict::Fail, "Want pass, got skip"),
            row(Verdict::NotEvaluated, "validate rule"),
        ];
        let suite = SuiteReport { file: "f".into(), name: "".into(), rows };
        let view = SuiteView { fail_only: false, detailed: false, strict: false, palette: Palette::Plain };
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
        assert_eq!(suites_junit(&[suite], &view), expected);
    }
}
