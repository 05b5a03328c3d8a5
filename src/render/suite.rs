//! Results of test suites as tables, JSON and Markdown.

use std::fmt::Write as _;

use indexmap::IndexMap;

use crate::report::{
    Diagnostic, Difference, Subject, SuiteCounts, SuiteReport, SuiteRow, UnloadedSuite, Verdict,
};
use crate::value::Value;

use super::diff::{DiffStyle, Palette, hunks};
use super::formats::diagnostic_json;
use super::json::{list, number};
use super::mask::mask_beside;
use super::patch::identity;
use super::printable::printable_line;
use super::table::{Table, diff_details};
use super::to_yaml;
use super::words::{counted, first_names};

/// How many rows that are not evaluated are named for each reason; the rest is counted.
const NAMED_ROWS: usize = 3;

/// Options of the output of test suites.
#[derive(Clone, Copy, Debug)]
pub struct SuiteView {
    /// Whether only failures are shown.
    pub fail_only: bool,
    /// Whether the messages of rules are shown.
    pub detailed: bool,
    /// Whether rows that were dropped or not evaluated are failures.
    pub strict: bool,
    /// Whether rows about mutations that are not evaluated are no failures.
    pub skips_unsupported: bool,
    /// The colours of diffs.
    pub palette: Palette,
    /// The most characters of a line of a table; `None` for any number.
    pub width: Option<usize>,
}

impl SuiteView {
    /// Whether a row is a failure.
    pub const fn fails(&self, row: &SuiteRow) -> bool {
        match row.verdict {
            Verdict::Fail => true,
            Verdict::Dropped | Verdict::NotEvaluated => self.strict,
            Verdict::Unsupported => self.strict || !self.skips_unsupported,
            Verdict::Pass | Verdict::Skip => false,
        }
    }

    /// The shown rows of a suite with their numbers from 1.
    pub(super) fn rows<'a>(&self, suite: &'a SuiteReport) -> Vec<(usize, &'a SuiteRow)> {
        let rows = suite.rows.iter().enumerate().map(|(index, row)| (index + 1, row));
        rows.filter(|(_, row)| !self.fail_only || self.fails(row)).collect()
    }

    /// The headings of the shown columns.
    fn headings(&self) -> &'static [&'static str] {
        if self.detailed { &HEADINGS } else { &HEADINGS[..HEADINGS.len() - 1] }
    }
}

const HEADINGS: [&str; 7] = ["ID", "POLICY", "RULE", "RESOURCE", "RESULT", "REASON", "MESSAGE"];

fn cells(number: usize, row: &SuiteRow) -> [String; 7] {
    let or_dash = |text: String| if text.is_empty() { "-".to_owned() } else { text };
    let cells = [
        number.to_string(),
        row.policy.to_string(),
        row.rule.to_string(),
        resource(row),
        row.verdict.word().to_owned(),
        row.reason.clone(),
        message(row),
    ];
    cells.map(|cell| or_dash(one_line(&cell)))
}

/// The resource of a row: `apiVersion/kind/namespace/name`, or the name in the expectation.
pub(super) fn resource(row: &SuiteRow) -> String {
    match &row.resource {
        Subject::Object(object) => {
            let namespace = object.namespace.as_ref().map_or_else(String::new, |name| format!("{name}/"));
            format!("{}/{namespace}{}", object.kind, object.name)
        }
        Subject::Named(names) if names.is_empty() => "*".to_owned(),
        Subject::Named(names) => names.to_string(),
    }
}

/// The message of a rule, redacted.
pub(super) fn message(row: &SuiteRow) -> String {
    match &row.states {
        Some((before, after)) => mask_beside(before, after, &row.secrets).message(&row.message),
        None => row.message.clone(),
    }
}

/// A text without line breaks and other control characters.
fn one_line(text: &str) -> String {
    printable_line(&text.replace('\n', "; "))
}

/// A suite's file, and its name if it has one.
pub(super) fn title(suite: &SuiteReport) -> String {
    if suite.name.is_empty() { suite.file.to_string() } else { format!("{} ({})", suite.file, suite.name) }
}

/// One line of totals.
pub fn suite_totals(counts: &SuiteCounts) -> String {
    let SuiteCounts { suites, passed, failed, skipped, dropped, not_evaluated } = *counts;
    let mut line = format!("{}: {passed} passed, {failed} failed", counted(suites, "suite"));
    for (count, word) in [(skipped, "skipped"), (dropped, "dropped"), (not_evaluated, "not evaluated")] {
        if count > 0 {
            let _ = write!(line, ", {count} {word}");
        }
    }
    line
}

/// The results as tables, one for each suite with its diffs, and the totals.
pub fn suites_text(suites: &[SuiteReport], view: &SuiteView) -> String {
    let mut out = String::new();
    for suite in suites {
        let rows = view.rows(suite);
        if rows.is_empty() {
            continue;
        }
        let _ = writeln!(out, "{}", one_line(&title(suite)));
        let headings = view.headings().to_vec();
        let names = headings.len();
        let cells = rows.iter().map(|(number, row)| cells(*number, row).to_vec()).collect();
        let _ = writeln!(out, "{}", Table::new(headings, names, cells).text(view.width));
        for difference in rows.iter().filter_map(|(_, row)| suite_difference(row, view.palette)) {
            let _ = writeln!(out, "{difference}");
        }
        if !view.detailed {
            out.push_str(&failures(&rows, view));
        }
    }
    let _ = writeln!(out, "{}", suite_totals(&SuiteCounts::of(suites)));
    out
}

/// `POLICY/RULE`, or the policy if the row names no rule.
pub(super) fn row_title(row: &SuiteRow) -> String {
    if row.rule.is_empty() { row.policy.to_string() } else { format!("{}/{}", row.policy, row.rule) }
}

/// The rule and object of a row whose rule failed, with the message.
pub fn failed_rule(row: &SuiteRow) -> String {
    one_line(&format!("{} on {}: the rule failed: {}", row_title(row), resource(row), message(row)))
}

/// The messages of rows that failed, by their numbers.
fn failures(rows: &[(usize, &SuiteRow)], view: &SuiteView) -> String {
    let mut out = String::new();
    for (number, row) in rows.iter().filter(|(_, row)| view.fails(row) && !row.message.is_empty()) {
        let _ = writeln!(out, "{number}: {}", one_line(&message(row)));
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

/// The diff from the expected object of a row to the actual one, with secrets masked; `None` if they are equal.
pub fn suite_difference(row: &SuiteRow, palette: Palette) -> Option<String> {
    let Difference { file, expected, actual, .. } = row.difference.as_ref()?;
    let masked = mask_beside(expected, actual, &row.secrets);
    let mut out = String::new();
    palette.paint("1", &format!("--- {}\texpected\n", one_line(file)), &mut out);
    let name = one_line(&format!("{}\t{}", resource(row), row_title(row)).replace('\t', " by "));
    palette.paint("1", &format!("+++ {name}\n"), &mut out);
    let style = DiffStyle { palette, ..DiffStyle::default() };
    hunks(&to_yaml(&masked.before), &to_yaml(&masked.after), &style, &mut out);
    Some(out)
}

/// Why a suite could not be loaded.
pub(super) fn reasons(suite: &UnloadedSuite) -> String {
    let reasons: Vec<&str> = suite.reasons.iter().map(|reason| &*reason.message).collect();
    reasons.join("\n")
}

/// The results as JSON: suites with their rows, those that could not be loaded, the counts and the diagnostics.
pub fn suites_json(
    suites: &[SuiteReport],
    unloaded: &[UnloadedSuite],
    view: &SuiteView,
    diagnostics: &[Diagnostic],
) -> Value {
    let listed = suites.iter().map(|suite| {
        let rows = view.rows(suite).into_iter().map(|(number, row)| row_json(number, row, view));
        Value::from_iter([
            ("file", suite.file.clone().into()),
            ("name", suite.name.clone().into()),
            ("rows", list(rows)),
        ])
    });
    let counts = SuiteCounts::of(suites);
    let summary = Value::from_iter([
        ("suites", number(counts.suites)),
        ("passed", number(counts.passed)),
        ("failed", number(counts.failed)),
        ("skipped", number(counts.skipped)),
        ("dropped", number(counts.dropped)),
        ("notEvaluated", number(counts.not_evaluated)),
        ("notLoaded", number(unloaded.len())),
    ]);
    let unloaded = unloaded.iter().map(|suite| {
        Value::from_iter([
            ("file", suite.file.clone().into()),
            ("reason", reasons(suite).into()),
            ("diagnostics", list(suite.reasons.iter().map(diagnostic_json))),
        ])
    });
    Value::from_iter([
        ("version", Value::from(1)),
        ("suites", list(listed)),
        ("notLoaded", list(unloaded)),
        ("summary", summary),
        ("diagnostics", list(diagnostics.iter().map(diagnostic_json))),
    ])
}

fn row_json(id: usize, row: &SuiteRow, view: &SuiteView) -> Value {
    let mut json = Value::from_iter([
        ("id", number(id)),
        ("policy", row.policy.clone().into()),
        ("rule", row.rule.clone().into()),
        ("resource", resource(row).into()),
        ("result", row.verdict.word().into()),
        ("reason", row.reason.as_str().into()),
        ("fails", view.fails(row).into()),
    ]);
    if let Subject::Object(object) = &row.resource {
        json.insert("object", identity(object));
    }
    if (view.detailed || view.fails(row)) && !row.message.is_empty() {
        json.insert("message", message(row).into());
    }
    if let Some(code) = row.code {
        json.insert("code", code.to_string().into());
    }
    if let Some(difference) = &row.difference {
        json.insert("expectedFile", difference.file.clone().into());
        json.insert("diff", suite_difference(row, Palette::Plain).unwrap_or_default().into());
    }
    json
}

/// The results as Markdown for a pull request.
pub fn suites_markdown(suites: &[SuiteReport], unloaded: &[UnloadedSuite], view: &SuiteView) -> String {
    let mut out = format!("### Kyverno test suites\n\n{}\n", suite_totals(&SuiteCounts::of(suites)));
    for suite in unloaded {
        let text = escaped(&one_line(&format!("{}: {}", suite.file, reasons(suite))));
        let _ = write!(out, "\n**Not loaded**: {text}\n");
    }
    for suite in suites {
        let rows = view.rows(suite);
        if rows.is_empty() {
            continue;
        }
        let headings = view.headings();
        let _ = write!(out, "\n#### {}\n\n", escaped(&one_line(&title(suite))));
        let _ = writeln!(out, "| {} |\n|{}", headings.join(" | "), "---|".repeat(headings.len()));
        for (number, row) in &rows {
            let cells = cells(*number, row).map(|cell| escaped(&cell));
            let _ = writeln!(out, "| {} |", cells[..headings.len()].join(" | "));
        }
        let diffs = rows.iter().filter_map(|(_, row)| suite_difference(row, Palette::Plain));
        out.push_str(&diff_details("Diff", &diffs.collect::<String>()));
    }
    out
}

fn escaped(cell: &str) -> String {
    cell.replace('\\', "\\\\").replace('|', "\\|").replace('<', "&lt;")
}

/// Lines on the rows of suites that need a mutation which is not evaluated: one for each reason.
pub fn unsupported_rows(suites: &[SuiteReport]) -> Vec<String> {
    let mut by_reason: IndexMap<&str, Vec<String>> = IndexMap::new();
    for suite in suites {
        for row in suite.rows.iter().filter(|row| row.verdict == Verdict::Unsupported) {
            let name = format!("{} on {} ({})", row_title(row), resource(row), suite.file);
            by_reason.entry(&row.reason).or_default().push(printable_line(&name));
        }
    }
    let lines = by_reason.into_iter().map(|(reason, rows)| {
        let number = counted(rows.len(), "expectation");
        format!("{number} not evaluated: {reason}: {}", first_names(NAMED_ROWS, rows.into_iter()))
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use crate::report::Severity;
    use crate::secrets::Secrets;
    use crate::value::ObjectRef;

    use super::*;

    fn suite() -> SuiteReport {
        let secret = |data: &str| {
            Value::from_json(&format!(
                r#"{{"apiVersion":"v1","kind":"Secret","metadata":{{"name":"s"}},"data":{{"k":"{data}"}}}}"#
            ))
            .unwrap()
        };
        let row = |verdict, reason: &str, difference| SuiteRow {
            policy: "p|q".into(),
            rule: "r".into(),
            resource: Subject::Object(ObjectRef::of(&secret("x")).unwrap()),
            verdict,
            reason: reason.to_owned(),
            message: "a\nb hidden".to_owned(),
            difference,
            missing: None,
            is_error: false,
            code: None,
            states: Some((secret("x"), secret("hidden"))),
            secrets: Secrets::default(),
        };
        let difference = Difference {
            file: "patched.yaml".into(),
            index: 0,
            expected: secret("b2xk"),
            actual: secret("bmV3"),
            object: secret("bmV3"),
        };
        SuiteReport {
            file: "a/kyverno-test.yaml".into(),
            name: "first".into(),
            rows: vec![
                row(Verdict::Pass, "Ok", None),
                row(Verdict::Fail, "Resource diff", Some(difference)),
                row(Verdict::Dropped, "none", None),
            ],
        }
    }

    const VIEW: SuiteView = SuiteView {
        fail_only: false,
        detailed: true,
        strict: false,
        skips_unsupported: false,
        palette: Palette::Plain,
        width: None,
    };

    #[test]
    fn tables_line_up_and_secrets_are_masked() {
        let text = suites_text(&[suite()], &VIEW);
        let expected = "\
a/kyverno-test.yaml (first)
ID   POLICY   RULE   RESOURCE      RESULT    REASON          MESSAGE
1    p|q      r      v1/Secret/s   pass      Ok              a; b ***
2    p|q      r      v1/Secret/s   fail      Resource diff   a; b ***
3    p|q      r      v1/Secret/s   dropped   none            a; b ***

--- patched.yaml\texpected
+++ v1/Secret/s by p|q/r
@@ -3,4 +3,4 @@
 metadata:
   name: s
 data:
-  k: '*** (before)'
+  k: '*** (after)'

1 suite: 1 passed, 1 failed, 1 dropped
";
        assert_eq!(text, expected);
        for text in
            [suites_json(&[suite()], &[], &VIEW, &[]).to_json(), suites_markdown(&[suite()], &[], &VIEW)]
        {
            assert!(
                !text.contains("b2xk") && !text.contains("bmV3") && text.contains("*** (after)"),
                "{text}"
            );
        }
    }

    #[test]
    fn other_rows_than_failures_can_be_hidden() {
        let view = SuiteView { fail_only: true, ..VIEW };
        let numbers = |view: &SuiteView| -> Vec<usize> {
            view.rows(&suite()).iter().map(|(number, _)| *number).collect()
        };
        assert_eq!(numbers(&view), [2]);
        assert_eq!(numbers(&SuiteView { strict: true, ..view }), [2, 3]);
    }

    #[test]
    fn unloaded_suites_are_listed() {
        let reasons = ["a:1:1: b | c", "d"].map(|message| Diagnostic {
            severity: Severity::Error,
            code: "KYV201".into(),
            message: message.into(),
        });
        let unloaded = [UnloadedSuite { file: "a".into(), reasons: reasons.to_vec() }];
        let json = suites_json(&[], &unloaded, &VIEW, &[]);
        assert_eq!(
            json.get("notLoaded").map(Value::to_json).as_deref(),
            Some(concat!(
                r#"[{"file":"a","reason":"a:1:1: b | c\nd","diagnostics":["#,
                r#"{"severity":"error","code":"KYV201","message":"a:1:1: b | c"},"#,
                r#"{"severity":"error","code":"KYV201","message":"d"}]}]"#
            ))
        );
        assert_eq!(json.path(&["summary", "notLoaded"]).map(Value::to_json).as_deref(), Some("1"));
        let text = suites_markdown(&[], &unloaded, &VIEW);
        assert!(text.ends_with("\n**Not loaded**: a: a:1:1: b \\| c; d\n"), "{text}");
    }

    #[test]
    fn json_has_the_messages_of_failing_rules() {
        let json = suites_json(&[suite()], &[], &SuiteView { detailed: false, ..VIEW }, &[]);
        let messages = json.to_json().matches("\"message\":\"a\\nb ***\"").count();
        assert_eq!(messages, 1, "{}", json.to_json());
    }

    #[test]
    fn markdown_cells_are_escaped() {
        let text = suites_markdown(&[suite()], &[], &VIEW);
        assert!(text.contains("| 1 | p\\|q | r | v1/Secret/s | pass | Ok | a; b *** |"), "{text}");
    }
}
