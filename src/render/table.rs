//! Tables in kubectl's style and as Markdown.

use std::fmt::Write as _;

use crate::yaml::changes_direction;

/// Rows of cells.
#[derive(Debug)]
pub(super) struct Table {
    /// As in Markdown; kubectl's style has them in upper case.
    headings: Vec<&'static str>,
    /// The number of columns with names; the others have numbers.
    names: usize,
    rows: Vec<Vec<String>>,
}

/// A shown column.
struct Column {
    index: usize,
    width: usize,
    /// Its least width.
    floor: usize,
}

/// The spaces between columns, and those where the table is too wide otherwise.
const GAP: usize = 3;
const NARROW_GAP: usize = 2;

/// A name is not shortened to fewer characters.
const SHORTEST_NAME: usize = 8;

impl Table {
    /// A table of cells without control characters.
    pub(super) const fn new(headings: Vec<&'static str>, names: usize, rows: Vec<Vec<String>>) -> Self {
        Self { headings, names, rows }
    }

    /// Aligned columns; no line is longer than this width, if there is one. A table that is too wide loses first the columns
    /// that are zero everywhere, then the middle of long names, then its last columns, which a line names.
    pub(super) fn text(&self, width: Option<usize>) -> String {
        let headings: Vec<String> = self.headings.iter().map(|heading| heading.to_uppercase()).collect();
        let mut columns = self.columns(&headings);
        let width = width.unwrap_or(usize::MAX);
        let mut gap = GAP;
        if total(&columns, gap) > width {
            gap = NARROW_GAP;
        }
        if total(&columns, gap) > width {
            columns.retain(|column| column.index <= self.names || !self.is_zero(column.index));
        }
        shrink(&mut columns, gap, width);
        let fitting =
            (self.names + 1..=columns.len()).rev().find(|end| total(&columns[..*end], gap) <= width);
        let omitted = columns.split_off(fitting.unwrap_or(columns.len()).min(columns.len()));
        let mut out = String::new();
        for cells in std::iter::once(&headings).chain(&self.rows) {
            let mut line = String::new();
            for Column { index, width, .. } in &columns {
                let cell = cells.get(*index).map_or_else(String::new, |cell| shortened(cell, *width));
                // A format takes no width above 65,535.
                let padding = width.saturating_sub(cell.chars().count()) + gap;
                line.push_str(&cell);
                line.extend(std::iter::repeat_n(' ', padding));
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        if !omitted.is_empty() {
            let names: Vec<&str> = omitted.iter().map(|column| &*headings[column.index]).collect();
            let _ = writeln!(out, "(no room for {})", names.join(", "));
        }
        out
    }

    /// All columns in their natural width.
    fn columns(&self, headings: &[String]) -> Vec<Column> {
        let cells = |index: usize| self.rows.iter().filter_map(move |row| row.get(index));
        let columns = headings.iter().enumerate().map(|(index, heading)| {
            let longest = cells(index).map(|cell| cell.chars().count()).max().unwrap_or(0);
            let least = heading.chars().count();
            // Numbers are never shortened.
            let floor = if index < self.names { least.max(SHORTEST_NAME) } else { usize::MAX };
            Column { index, width: longest.max(least), floor }
        });
        columns.collect()
    }

    fn is_zero(&self, index: usize) -> bool {
        self.rows.iter().all(|row| row.get(index).is_none_or(|cell| cell == "0"))
    }

    /// A Markdown table with numbers aligned right.
    pub(super) fn markdown(&self) -> String {
        let numbers = self.headings.len() - self.names;
        let mut out = format!("| {} |\n", self.headings.join(" | "));
        let _ = writeln!(out, "|{}{}", "---|".repeat(self.names), "--:|".repeat(numbers));
        for row in &self.rows {
            let cells: Vec<String> = row.iter().map(|cell| markdown_text(cell)).collect();
            let _ = writeln!(out, "| {} |", cells.join(" | "));
        }
        out
    }
}

/// The width of a table.
fn total(columns: &[Column], gap: usize) -> usize {
    columns.iter().map(|column| column.width).sum::<usize>() + gap * columns.len().saturating_sub(1)
}

/// Makes the widest columns of names narrower until the table fits, or no column can be narrower.
fn shrink(columns: &mut [Column], gap: usize, width: usize) {
    let mut excess = total(columns, gap).saturating_sub(width);
    while excess > 0 {
        let widest = columns.iter_mut().filter(|column| column.width > column.floor);
        let Some(column) = widest.max_by_key(|column| column.width) else { return };
        column.width -= 1;
        excess -= 1;
    }
}

/// The begin and the end of a text that is too long.
fn shortened(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    let kept = width.saturating_sub(1);
    let end = kept / 2;
    let begin: String = text.chars().take(kept - end).collect();
    let end: String = text.chars().skip(length - end).collect();
    format!("{begin}…{end}")
}

/// Text without meaning for Markdown and HTML.
pub fn markdown_text(text: &str) -> String {
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
            c if changes_direction(c) => out.push(char::REPLACEMENT_CHARACTER),
            c => out.push(c),
        }
    }
    out
}

/// A collapsed Markdown block with diffs, after an empty line; empty without diffs.
pub(super) fn diff_details(title: &str, diffs: &str) -> String {
    if diffs.is_empty() {
        return String::new();
    }
    let title = without_direction(title).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    format!("\n<details><summary>{title}</summary>\n\n{}\n</details>\n", fenced("diff", diffs))
}

/// A text without characters that change the direction of writing.
fn without_direction(text: &str) -> String {
    text.replace(changes_direction, "\u{fffd}")
}

/// A Markdown block of code, whose lines all end.
pub fn fenced(language: &str, text: &str) -> String {
    // The fence is longer than any backticks in the text.
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let (fence, text) = ("`".repeat(longest.max(2) + 1), without_direction(text));
    format!("{fence}{language}\n{text}{fence}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wide() -> Table {
        let row = |policy: &str, rollout: &str| {
            let cells =
                [policy, "rule-with-a-name", "Deployment", "production", "12", "0", "3", "0", rollout];
            cells.map(str::to_owned).to_vec()
        };
        let headings = vec![
            "Policy",
            "Rule",
            "Kind",
            "Namespace",
            "Patched",
            "Discarded",
            "No change",
            "Errors",
            "Rollout",
        ];
        Table::new(headings, 4, vec![row("a-policy-with-quite-a-long-name", "1"), row("short", "0")])
    }

    #[test]
    fn a_table_fits_the_width() {
        for width in [64, 72, 80, 100, 120, 160] {
            let text = wide().text(Some(width));
            assert!(text.lines().all(|line| line.chars().count() <= width), "{width}:\n{text}");
        }
        let expected = "\
POLICY         RULE          KIND        NAMESPACE   PATCHED  NO CHANGE  ROLLOUT
a-poli…g-name  rule-w…-name  Deployment  production  12       3          1
short          rule-w…-name  Deployment  production  12       3          0
";
        assert_eq!(wide().text(Some(80)), expected);
    }

    #[test]
    fn a_table_names_the_columns_that_have_no_room() {
        let text = wide().text(Some(60));
        assert!(text.ends_with("(no room for ROLLOUT)\n"), "{text}");
        assert!(!text.contains("  1\n"), "{text}");
    }

    #[test]
    fn a_table_without_a_width_is_whole() {
        let text = wide().text(None);
        assert!(text.contains("a-policy-with-quite-a-long-name   rule-with-a-name   Deployment"), "{text}");
        assert_eq!(text, wide().text(Some(160)));
    }

    #[test]
    fn fences_are_longer_than_backticks_in_the_text() {
        let block = diff_details("<a>", "+ ```\n");
        assert!(block.contains("\n````diff\n+ ```\n````\n"), "{block}");
        assert!(block.contains("<summary>&lt;a&gt;</summary>"), "{block}");
    }
}
