//! Tables in kubectl's style and as Markdown.

use std::fmt::Write as _;

/// Rows of cells.
#[derive(Debug)]
pub(super) struct Table {
    /// As in Markdown; kubectl's style has them in upper case.
    headings: Vec<&'static str>,
    /// The number of columns with names; the others have numbers.
    names: usize,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table of cells without control characters.
    pub(super) const fn new(headings: Vec<&'static str>, names: usize, rows: Vec<Vec<String>>) -> Self {
        Self { headings, names, rows }
    }

    /// Aligned columns.
    pub(super) fn text(&self) -> String {
        let headings: Vec<String> = self.headings.iter().map(|heading| heading.to_uppercase()).collect();
        let mut widths: Vec<usize> = headings.iter().map(String::len).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = cell.chars().count().max(*width);
            }
        }
        let mut out = String::new();
        for cells in std::iter::once(&headings).chain(&self.rows) {
            let mut line = String::new();
            for (cell, width) in cells.iter().zip(&widths) {
                let _ = write!(line, "{cell:<width$}   ");
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
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

/// Text without meaning for Markdown and HTML.
pub(super) fn markdown_text(text: &str) -> String {
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

/// A collapsed Markdown block with diffs, after an empty line; empty without diffs.
pub(super) fn diff_details(title: &str, diffs: &str) -> String {
    if diffs.is_empty() {
        return String::new();
    }
    let title = title.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    format!("\n<details><summary>{title}</summary>\n\n{}\n</details>\n", fenced("diff", diffs))
}

/// A Markdown block of code, whose lines all end.
pub(super) fn fenced(language: &str, text: &str) -> String {
    // The fence is longer than any backticks in the text.
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{text}{fence}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fences_are_longer_than_backticks_in_the_text() {
        let block = diff_details("<a>", "+ ```\n");
        assert!(block.contains("\n````diff\n+ ```\n````\n"), "{block}");
        assert!(block.contains("<summary>&lt;a&gt;</summary>"), "{block}");
    }
}
