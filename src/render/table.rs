//! Tables as kubectl prints them, and as Markdown has them.

use std::fmt::Write as _;

/// Rows of cells.
#[derive(Debug)]
pub(super) struct Table {
    /// As Markdown has them; kubectl writes them large.
    headings: Vec<&'static str>,
    /// How many of the columns hold names; the others hold numbers.
    names: usize,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table whose cells mean nothing to a terminal.
    pub(super) const fn new(headings: Vec<&'static str>, names: usize, rows: Vec<Vec<String>>) -> Self {
        Self { headings, names, rows }
    }

    /// Columns two blanks apart and more.
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

    /// Numbers to the right.
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

/// Text that means nothing to Markdown and HTML.
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

/// A fence longer than any run of backticks in the text.
pub(super) fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}
