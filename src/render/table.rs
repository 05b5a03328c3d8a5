//! Summaries as tables.

use std::fmt::Write as _;

use crate::report::{Flag, Tally, TallyKey, TallyRow, Trials};

use super::harmless::harmless_name;

/// So many places are named for one object.
const PLACES: usize = 3;

const HEADINGS: [&str; 9] =
    ["POLICY", "RULE", "KIND", "NAMESPACE", "PATCHED", "DROPPED", "NO CHANGE", "SKIPPED", "ERRORS"];

/// The flags that some row has: the others need no column.
fn flags(tally: &Tally) -> Vec<Flag> {
    let is_set = |flag: &Flag| tally.rows.values().any(|row| row.flagged(*flag) > 0);
    Flag::ALL.into_iter().filter(is_set).collect()
}

fn cells((key, row): (&TallyKey, &TallyRow), flags: &[Flag]) -> Vec<String> {
    let namespace = if key.namespace.is_empty() { "-" } else { &*key.namespace };
    let mut cells = vec![
        harmless_name(&key.policy),
        harmless_name(&key.rule),
        harmless_name(&key.kind),
        harmless_name(namespace),
        row.patched.to_string(),
        row.dropped.to_string(),
        row.no_change.to_string(),
        row.skipped.to_string(),
        row.errors.to_string(),
    ];
    cells.extend(flags.iter().map(|flag| row.flagged(*flag).to_string()));
    cells
}

/// One line of totals.
fn totals(tally: &Tally) -> String {
    let objects = if tally.objects == 1 { "object" } else { "objects" };
    let mut line = format!("{} {objects}, {} would change", tally.objects, tally.changed);
    if tally.unchanged > 0 && tally.unchanged < tally.objects {
        let _ = write!(line, ", {} would not", tally.unchanged);
    }
    if tally.errors > 0 {
        let _ = write!(line, ", {} with errors", tally.errors);
    }
    line.push_str(&trials_line(&tally.trials));
    line
}

/// How many objects an API server would take, as the end of a line of totals; empty where it was not asked.
pub fn trials_line(trials: &Trials) -> String {
    if trials.is_empty() {
        return String::new();
    }
    let mut line = format!("; server dry run: {} accepted", trials.accepted);
    if trials.changed > 0 {
        let _ = write!(line, " ({} with further changes)", trials.changed);
    }
    let more = [(trials.refused, "refused"), (trials.unanswered, "without answer")];
    for (number, what) in more.into_iter().filter(|(number, _)| *number > 0) {
        let _ = write!(line, ", {number} {what}");
    }
    line
}

/// What the changes mean for a cluster: a line for each flag, with the first objects.
fn meanings(tally: &Tally) -> Vec<(String, Vec<String>)> {
    let set = Flag::ALL.into_iter().filter_map(|flag| Some((flag, tally.flags.get(&flag)?)));
    let told = set.map(|(flag, flagged)| {
        let number = flagged.objects;
        let (objects, them) = if number == 1 { ("object", "its") } else { ("objects", "their") };
        let line = match flag {
            Flag::Rollout => format!("rollout: {number} {objects} would have {them} Pods replaced"),
            Flag::Immutable => format!("immutable: {number} {objects} would be refused by the API server"),
            Flag::Privilege => format!("privilege: {number} {objects} would be allowed more than before"),
        };
        let mut names: Vec<String> = flagged
            .first
            .iter()
            .map(|(object, places)| {
                let places: Vec<String> = places.iter().take(PLACES).map(ToString::to_string).collect();
                let places =
                    if places.is_empty() { String::new() } else { format!(" ({})", places.join(", ")) };
                harmless_name(&format!("{object}{places}"))
            })
            .collect();
        if number > names.len() {
            names.push(format!("and {} more", number - names.len()));
        }
        (line, names)
    });
    told.collect()
}

/// The summary as kubectl prints tables: columns two blanks apart, totals last.
pub fn summary_table(tally: &Tally) -> String {
    let flags = flags(tally);
    let rows: Vec<Vec<String>> = tally.rows.iter().map(|row| cells(row, &flags)).collect();
    let words = flags.iter().map(|flag| flag.word().to_uppercase());
    let headings: Vec<String> = HEADINGS.iter().map(ToString::to_string).chain(words).collect();
    let mut out = String::new();
    if !rows.is_empty() {
        let mut widths: Vec<usize> = headings.iter().map(String::len).collect();
        for row in &rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = cell.chars().count().max(*width);
            }
        }
        let mut line = |cells: &[String]| {
            let mut text = String::new();
            for (cell, width) in cells.iter().zip(&widths) {
                let _ = write!(text, "{cell:<width$}   ");
            }
            out.push_str(text.trim_end());
            out.push('\n');
        };
        line(&headings);
        for row in &rows {
            line(row);
        }
    }
    out.push_str(&totals(tally));
    out.push('\n');
    for (line, names) in meanings(tally) {
        let _ = writeln!(out, "\n{line}");
        for name in names {
            let _ = writeln!(out, "  {name}");
        }
    }
    out
}

/// The summary as Markdown, fit for a pull request, with diffs and the number of objects whose diffs found no room.
pub fn markdown(tally: &Tally, diffs: &str, left_out: usize) -> String {
    let mut out = format!("### Kyverno mutations\n\n{}\n", totals(tally));
    for (line, names) in meanings(tally) {
        let _ = writeln!(out, "\n**{}**\n", markdown_text(&line));
        for name in names {
            let _ = writeln!(out, "* {}", markdown_text(&name));
        }
    }
    if !tally.rows.is_empty() {
        let flags = flags(tally);
        let words: Vec<&str> = flags.iter().map(|flag| title(*flag)).collect();
        let more: String = words.iter().map(|word| format!(" {word} |")).collect();
        let _ = writeln!(
            out,
            "\n| Policy | Rule | Kind | Namespace | Patched | Dropped | No change | Skipped | Errors |{more}",
        );
        let _ = writeln!(out, "|---|---|---|---|--:|--:|--:|--:|--:|{}", "--:|".repeat(flags.len()));
        for row in tally.rows.iter().map(|row| cells(row, &flags)) {
            let cells: Vec<String> = row.iter().map(|cell| markdown_text(cell)).collect();
            let _ = writeln!(out, "| {} |", cells.join(" | "));
        }
    }
    if let Some(kyverno) = &tally.kyverno {
        let _ = writeln!(out, "\n{}", markdown_text(&kyverno.told));
    }
    if !diffs.is_empty() {
        let fence = fence(diffs);
        let _ =
            writeln!(out, "\n<details><summary>Diff</summary>\n\n{fence}diff\n{diffs}{fence}\n\n</details>");
    }
    if left_out > 0 {
        let objects = if left_out == 1 { "object is" } else { "objects are" };
        let _ = writeln!(out, "\nThe diffs of {left_out} more {objects} left out.");
    }
    out
}

const fn title(flag: Flag) -> &'static str {
    match flag {
        Flag::Rollout => "Rollout",
        Flag::Immutable => "Immutable",
        Flag::Privilege => "Privilege",
    }
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
    use crate::report::RunningKyverno;
    use crate::semantics::Corners;

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
    fn a_page_names_the_kyverno_of_the_cluster() {
        let kyverno = RunningKyverno {
            version: "v1.19.0".into(),
            namespace: "kyverno".into(),
            differences: Corners::NONE,
            told: "Kyverno v1.19.0 runs".into(),
        };
        let text = markdown(&Tally { kyverno: Some(kyverno), ..tally() }, "+ a\n", 0);
        assert!(text.contains("\n\nKyverno v1.19.0 runs\n\n<details>"), "{text}");
    }

    #[test]
    fn markdown_fences_outlast_backticks() {
        let text = markdown(&tally(), "+ ```\n", 2);
        assert!(text.ends_with("\nThe diffs of 2 more objects are left out.\n"), "{text}");
        assert!(text.contains("| add-labels | add | Pod | web | 1 | 0 | 0 | 0 | 0 |"), "{text}");
        assert!(text.contains("\n````diff\n+ ```\n````\n"), "{text}");
    }
}
