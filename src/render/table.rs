//! Summaries as tables.

use std::fmt::Write as _;

use crate::report::{Tally, TallyKey, TallyRow};

use super::harmless::harmless_name;

const HEADINGS: [&str; 9] =
    ["POLICY", "RULE", "KIND", "NAMESPACE", "PATCHED", "DROPPED", "NO CHANGE", "SKIPPED", "ERRORS"];

fn cells((key, row): (&TallyKey, &TallyRow)) -> [String; 9] {
    let namespace = if key.namespace.is_empty() { "-" } else { &*key.namespace };
    [
        harmless_name(&key.policy),
        harmless_name(&key.rule),
        harmless_name(&key.kind),
        harmless_name(namespace),
        row.patched.to_string(),
        row.dropped.to_string(),
        row.no_change.to_string(),
        row.skipped.to_string(),
        row.errors.to_string(),
    ]
}

/// One line of totals.
fn totals(tally: &Tally) -> String {
    let objects = if tally.objects == 1 { "object" } else { "objects" };
    let mut line = format!("{} {objects}, {} would change", tally.objects, tally.changed);
    if tally.errors > 0 {
        let _ = write!(line, ", {} with errors", tally.errors);
    }
    let trials = &tally.trials;
    if !trials.is_empty() {
        let _ = write!(line, "; server dry run: {} accepted", trials.accepted);
        let more = [(trials.refused, "refused"), (trials.unanswered, "without answer")];
        if trials.changed > 0 {
            let _ = write!(line, " ({} with further changes)", trials.changed);
        }
        for (number, what) in more.into_iter().filter(|(number, _)| *number > 0) {
            let _ = write!(line, ", {number} {what}");
        }
    }
    line
}

/// The summary as kubectl prints tables: columns two blanks apart, totals last.
pub fn summary_table(tally: &Tally) -> String {
    let rows: Vec<[String; 9]> = tally.rows.iter().map(cells).collect();
    let mut out = String::new();
    if !rows.is_empty() {
        let widths: Vec<usize> = (0..HEADINGS.len())
            .map(|column| {
                let longest = rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
                longest.max(HEADINGS[column].len())
            })
            .collect();
        let mut line = |cells: &[&str]| {
            let mut text = String::new();
            for (cell, width) in cells.iter().zip(&widths) {
                let _ = write!(text, "{cell:<width$}   ");
            }
            out.push_str(text.trim_end());
            out.push('\n');
        };
        line(&HEADINGS);
        for row in &rows {
            line(&row.iter().map(String::as_str).collect::<Vec<_>>());
        }
    }
    out.push_str(&totals(tally));
    out.push('\n');
    out
}

/// The summary as Markdown, fit for a pull request.
pub fn markdown(tally: &Tally, diffs: &str) -> String {
    let mut out = format!("### Kyverno mutations\n\n{}\n", totals(tally));
    if !tally.rows.is_empty() {
        out.push_str(
            "\n| Policy | Rule | Kind | Namespace | Patched | Dropped | No change | Skipped | Errors |\n",
        );
        out.push_str("|---|---|---|---|--:|--:|--:|--:|--:|\n");
        for row in tally.rows.iter().map(cells) {
            let cells: Vec<String> = row.iter().map(|cell| markdown_text(cell)).collect();
            let _ = writeln!(out, "| {} |", cells.join(" | "));
        }
    }
    if !diffs.is_empty() {
        let fence = fence(diffs);
        let _ =
            writeln!(out, "\n<details><summary>Diff</summary>\n\n{fence}diff\n{diffs}{fence}\n\n</details>");
    }
    out
}

/// Text that means nothing to Markdown and HTML.
fn markdown_text(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '|' | '`' | '*' | '_' | '[' | ']' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

/// A fence longer than any run of backticks in the text.
pub(super) fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally() -> Tally {
        let mut tally = Tally { objects: 2, changed: 1, ..Tally::default() };
        let key = |kind: &str, namespace: &str| TallyKey {
            policy: "add-labels".into(),
            rule: "add".into(),
            kind: kind.into(),
            namespace: namespace.into(),
        };
        tally.rows.insert(key("Pod", "web"), TallyRow { patched: 1, ..TallyRow::default() });
        tally.rows.insert(key("Node", ""), TallyRow { no_change: 1, ..TallyRow::default() });
        tally
    }

    #[test]
    fn columns_line_up() {
        let expected = "\
POLICY       RULE   KIND   NAMESPACE   PATCHED   DROPPED   NO CHANGE   SKIPPED   ERRORS
add-labels   add    Pod    web         1         0         0           0         0
add-labels   add    Node   -           0         0         1           0         0
2 objects, 1 would change
";
        assert_eq!(summary_table(&tally()), expected);
    }

    #[test]
    fn markdown_fences_outlast_backticks() {
        let text = markdown(&tally(), "+ ```\n");
        assert!(text.contains("| add-labels | add | Pod | web | 1 | 0 | 0 | 0 | 0 |"), "{text}");
        assert!(text.contains("\n````diff\n+ ```\n````\n"), "{text}");
    }
}
