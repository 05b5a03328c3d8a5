//! Results of test suites as tables, JSON and Markdown.

use std::fmt::Write as _;

use crate::report::{Difference, Subject, SuiteCounts, SuiteReport, SuiteRow, UnloadedSuite, Verdict};
use crate::value::Value;
use crate::yaml;

use super::diff::{DiffStyle, Palette, hunks};
use super::mask::mask_beside;
use super::patch::identity;
use super::printable::printable_line;

/// Which rows of test suites are shown, and how.
#[derive(Clone, Copy, Debug)]
pub struct SuiteView {
    /// Only those that fail.
    pub fail_only: bool,
    /// With what the rules say.
    pub detailed: bool,
    /// Rows that were dropped or not evaluated are failures.
    pub strict: bool,
    /// How diffs are coloured.
    pub palette: Palette,
}

impl SuiteView {
    /// Whether a row is a failure.
    pub const fn fails(&self, row: &SuiteRow) -> bool {
        match row.verdict {
            Verdict::Fail => true,
            Verdict::Dropped | Verdict::NotEvaluated => self.strict,
            Verdict::Pass | Verdict::Skip => false,
        }
    }

    /// The rows of a suite that are shown, with their numbers from 1.
    pub(super) fn rows<'a>(&self, suite: &'a SuiteReport) -> Vec<(usize, &'a SuiteRow)> {
        let rows = suite.rows.iter().enumerate().map(|(index, row)| (index + 1, row));
        rows.filter(|(_, row)| !self.fail_only || self.fails(row)).collect()
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

/// A number of things in words.
fn counted(number: usize, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") }
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

/// The results as tables, one for each suite, each followed by what differs, and the totals.
pub fn suites_text(suites: &[SuiteReport], view: &SuiteView) -> String {
    let mut out = String::new();
    for suite in suites {
        let rows = view.rows(suite);
        if rows.is_empty() {
            continue;
        }
        let _ = writeln!(out, "{}", one_line(&title(suite)));
        let columns = if view.detailed { HEADINGS.len() } else { HEADINGS.len() - 1 };
        table(&rows, columns, &mut out);
        out.push('\n');
        let differences = rows.iter().filter_map(|(_, row)| Some((row, row.difference.as_ref()?)));
        for (row, difference) in differences {
            out.push_str(&difference_text(row, difference, view.palette));
            out.push('\n');
        }
    }
    let _ = writeln!(out, "{}", suite_totals(&SuiteCounts::of(suites)));
    out
}

fn table(rows: &[(usize, &SuiteRow)], columns: usize, out: &mut String) {
    let rows: Vec<_> = rows.iter().map(|(number, row)| cells(*number, row)).collect();
    let headings = HEADINGS.map(str::to_owned);
    let widths: Vec<usize> = (0..columns)
        .map(|column| {
            let cells = std::iter::once(&headings).chain(&rows).filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        })
        .collect();
    for row in std::iter::once(&headings).chain(&rows) {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            let _ = write!(line, "{cell:<width$}   ");
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
}

/// What differs between the expected object of a row and what became of it, with secrets masked; `None` where
/// nothing does.
pub fn suite_difference(row: &SuiteRow, palette: Palette) -> Option<String> {
    row.difference.as_ref().map(|difference| difference_text(row, difference, palette))
}

/// The diff between an expected object and the actual one, with secrets masked.
pub(super) fn difference_text(row: &SuiteRow, difference: &Difference, palette: Palette) -> String {
    let shown = mask_beside(&difference.expected, &difference.actual, &row.secrets);
    let print = |value: &Value| {
        let mut out = String::new();
        yaml::print(value, &mut out);
        out
    };
    let rule = if row.rule.is_empty() { String::new() } else { format!("/{}", row.rule) };
    let mut out = String::new();
    palette.paint("1", &format!("--- {}\texpected\n", one_line(&difference.file)), &mut out);
    let name = one_line(&format!("{}\t{}{rule}", resource(row), row.policy).replace('\t', " by "));
    palette.paint("1", &format!("+++ {name}\n"), &mut out);
    let style = DiffStyle { palette, ..DiffStyle::default() };
    hunks(&print(&shown.before), &print(&shown.after), &style, &mut out);
    out
}

/// Why a suite could not be loaded, without the lines of files that errors show.
pub(super) fn reasons(suite: &UnloadedSuite) -> String {
    let is_shown = |line: &str| {
        let number = line.trim_start().split_once(" |").map(|(number, _)| number);
        number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let told = |reason: &str| {
        let lines: Vec<String> =
            reason.lines().take_while(|line| !is_shown(line)).map(str::to_owned).collect();
        lines.join("\n")
    };
    let reasons: Vec<String> = suite.reasons.iter().map(|reason| told(reason)).collect();
    reasons.join("\n")
}

/// The results as JSON: suites with their rows, those that could not be loaded, and the counts.
pub fn suites_json(suites: &[SuiteReport], unloaded: &[UnloadedSuite], view: &SuiteView) -> Value {
    let listed = suites.iter().map(|suite| {
        let rows = view.rows(suite).into_iter().map(|(number, row)| row_json(number, row, view));
        [
            ("file", Value::String(suite.file.clone())),
            ("name", Value::String(suite.name.clone())),
            ("rows", Value::array(rows.collect())),
        ]
        .into_iter()
        .collect()
    });
    let count = |number: usize| Value::from(i64::try_from(number).unwrap_or(i64::MAX));
    let counts = SuiteCounts::of(suites);
    let summary: Value = [
        ("suites", count(counts.suites)),
        ("passed", count(counts.passed)),
        ("failed", count(counts.failed)),
        ("skipped", count(counts.skipped)),
        ("dropped", count(counts.dropped)),
        ("notEvaluated", count(counts.not_evaluated)),
        ("notLoaded", count(unloaded.len())),
    ]
    .into_iter()
    .collect();
    let unloaded = unloaded.iter().map(|suite| -> Value {
        [("file", Value::String(suite.file.clone())), ("reason", reasons(suite).into())].into_iter().collect()
    });
    [
        ("suites", Value::array(listed.collect())),
        ("notLoaded", Value::array(unloaded.collect())),
        ("summary", summary),
    ]
    .into_iter()
    .collect()
}

fn row_json(number: usize, row: &SuiteRow, view: &SuiteView) -> Value {
    let id = Value::from(i64::try_from(number).unwrap_or(i64::MAX));
    let mut json: Value = [
        ("id", id),
        ("policy", Value::String(row.policy.clone())),
        ("rule", Value::String(row.rule.clone())),
        ("resource", resource(row).into()),
        ("result", row.verdict.word().into()),
        ("reason", row.reason.as_str().into()),
        ("fails", view.fails(row).into()),
    ]
    .into_iter()
    .collect();
    if let Subject::Object(object) = &row.resource {
        json.insert("object", identity(object));
    }
    if (view.detailed || view.fails(row)) && !row.message.is_empty() {
        json.insert("message", message(row).into());
    }
    if let Some(difference) = &row.difference {
        json.insert("expectedFile", Value::String(difference.file.clone()));
        json.insert("diff", difference_text(row, difference, Palette::Plain).into());
    }
    json
}

/// The results as Markdown, fit for a pull request.
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
        let columns = if view.detailed { HEADINGS.len() } else { HEADINGS.len() - 1 };
        let line = |cells: &[String]| {
            let cells: Vec<_> = cells.iter().take(columns).map(|cell| escaped(cell)).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let _ = write!(out, "\n#### {}\n\n", escaped(&one_line(&title(suite))));
        out.push_str(&line(&HEADINGS.map(str::to_owned)));
        let _ = writeln!(out, "|{}", "---|".repeat(columns));
        for (number, row) in &rows {
            out.push_str(&line(&cells(*number, row)));
        }
        let diffs: String = rows
            .iter()
            .filter_map(|(_, row)| Some(difference_text(row, row.difference.as_ref()?, Palette::Plain)))
            .collect();
        if !diffs.is_empty() {
            let fence = super::table::fence(&diffs);
            let _ = writeln!(
                out,
                "\n<details><summary>Diff</summary>\n\n{fence}diff\n{diffs}{fence}\n\n</details>"
            );
        }
    }
    out
}

fn escaped(cell: &str) -> String {
    cell.replace('\\', "\\\\").replace('|', "\\|").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
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

    const VIEW: SuiteView =
        SuiteView { fail_only: false, detailed: true, strict: false, palette: Palette::Plain };

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
        for text in [suites_json(&[suite()], &[], &VIEW).to_json(), suites_markdown(&[suite()], &[], &VIEW)] {
            assert!(
                !text.contains("b2xk") && !text.contains("bmV3") && text.contains("*** (after)"),
                "{text}"
            );
        }
    }

    #[test]
    fn only_failures_can_be_shown() {
        let view = SuiteView { fail_only: true, ..VIEW };
        let numbers = |view: &SuiteView| -> Vec<usize> {
            view.rows(&suite()).iter().map(|(number, _)| *number).collect()
        };
        assert_eq!(numbers(&view), [2]);
        assert_eq!(numbers(&SuiteView { strict: true, ..view }), [2, 3]);
    }

    #[test]
    fn suites_that_could_not_be_loaded_are_named() {
        let reasons = ["a:1:1: b | c\n  1 | secret", "d"].map(str::to_owned).to_vec();
        let unloaded = [UnloadedSuite { file: "a".into(), reasons }];
        let json = suites_json(&[], &unloaded, &VIEW);
        assert_eq!(
            json.get("notLoaded").map(Value::to_json).as_deref(),
            Some(r#"[{"file":"a","reason":"a:1:1: b | c\nd"}]"#)
        );
        assert_eq!(json.path(&["summary", "notLoaded"]).map(Value::to_json).as_deref(), Some("1"));
        let text = suites_markdown(&[], &unloaded, &VIEW);
        assert!(text.ends_with("\n**Not loaded**: a: a:1:1: b \\| c; d\n"), "{text}");
    }

    #[test]
    fn what_a_failing_rule_says_stands_in_the_json() {
        let json = suites_json(&[suite()], &[], &SuiteView { detailed: false, ..VIEW });
        let messages = json.to_json().matches("\"message\":\"a\\nb ***\"").count();
        assert_eq!(messages, 1, "{}", json.to_json());
    }

    #[test]
    fn markdown_cells_are_escaped() {
        let text = suites_markdown(&[suite()], &[], &VIEW);
        assert!(text.contains("| 1 | p\\|q | r | v1/Secret/s | pass | Ok | a; b *** |"), "{text}");
    }
}
