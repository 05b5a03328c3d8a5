//! Findings about policies as text and as JSON.

use std::fmt::Write as _;

use crate::report::{Diagnostic, Finding, FindingResult};
use crate::value::{Pointer, Value};

use super::formats::diagnostic_json;
use super::{printable, printable_json};

/// A finding about a policy, with what its formats show.
#[derive(Clone, Debug)]
pub struct LintFinding {
    /// Code, level, policy, rule, place; the message says what to do, too.
    pub finding: Finding,
    /// The node of the policy.
    pub pointer: Pointer,
    /// The line of the file, and a mark below the place.
    pub excerpt: String,
    /// Whether `--fix` corrects it.
    pub is_fixable: bool,
}

/// How many findings were left out.
#[derive(Clone, Copy, Debug, Default)]
pub struct LeftOut {
    /// Those that comments suppress.
    pub suppressed: usize,
    /// Those of the baseline.
    pub known: usize,
}

/// The findings as diagnostics, each with its line.
pub fn lint_text<'f>(findings: impl IntoIterator<Item = &'f LintFinding>) -> String {
    let mut text = String::new();
    for LintFinding { finding, excerpt, .. } in findings {
        let code = finding.code.map_or_else(String::new, |code| format!("[{code}]"));
        let place = finding.place.as_ref().map_or_else(String::new, |place| {
            let column = place.column.map_or_else(String::new, |column| format!(":{column}"));
            format!("{}:{}{column}: ", place.file, place.line)
        });
        let (level, title) = (level(finding.result), &finding.title);
        let _ = writeln!(text, "{level}{code}: {place}{title}: {}", printable(&finding.message));
        if !excerpt.is_empty() {
            let _ = writeln!(text, "{}", printable(excerpt));
        }
    }
    text
}

/// The findings as one JSON object, with its line break.
pub fn lint_json<'f>(
    findings: impl IntoIterator<Item = &'f LintFinding>,
    left_out: LeftOut,
    diagnostics: &[Diagnostic],
) -> String {
    let findings: Vec<Value> = findings.into_iter().map(finding_json).collect();
    let members: [(&str, Value); 5] = [
        ("version", Value::from(1)),
        ("findings", Value::array(findings)),
        ("suppressed", count(left_out.suppressed)),
        ("known", count(left_out.known)),
        ("diagnostics", Value::array(diagnostics.iter().map(diagnostic_json).collect())),
    ];
    printable_json(Value::from_iter(members).to_pretty_json(2)) + "\n"
}

fn finding_json(one: &LintFinding) -> Value {
    let LintFinding { finding, pointer, is_fixable, .. } = one;
    let text = |text: &str| Value::from(text);
    let place = finding.place.as_ref();
    let mut members: Vec<(&str, Value)> = vec![("level", text(level(finding.result)))];
    members.extend(finding.code.map(|code| ("code", text(code.name()))));
    members.extend(place.map(|place| ("file", text(&place.file))));
    members.extend(place.map(|place| ("line", count(place.line))));
    members.extend(place.and_then(|place| place.column).map(|column| ("column", count(column))));
    members.extend([
        ("policy", text(&finding.policy)),
        ("rule", text(&finding.rule)),
        ("path", text(&pointer.to_json_pointer())),
        ("message", text(&finding.message)),
        ("fixable", Value::from(*is_fixable)),
    ]);
    members.into_iter().collect()
}

fn count(count: usize) -> Value {
    Value::from(i64::try_from(count).unwrap_or(i64::MAX))
}

const fn level(result: FindingResult) -> &'static str {
    match result {
        FindingResult::Error | FindingResult::Failed => "error",
        FindingResult::Warning => "warning",
        FindingResult::Note | FindingResult::Passed | FindingResult::Skipped => "note",
    }
}
