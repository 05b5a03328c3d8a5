//! `markdown`: counts, errors and diffs, for a comment on a pull request.

use std::fmt::Write as _;
use std::io::{self, Write};

use crate::render::summary::{MARKDOWN_HEADING, markdown};
use crate::render::table::{diff_details, fenced};
use crate::render::words::counted;
use crate::report::{Diagnostic, Severity};

use super::diff::{FileDiffs, FinishedDiff};
use super::{Diff, DocumentView, Format, FormatWriter, Prepared, RunTotals};

/// The most bytes of a page: a comment on GitHub has at most 65,536 characters.
const PAGE_BYTES: usize = 65_000;

/// The most bytes of everything before the diffs, and of the errors and notes in it.
const HEAD_BYTES: usize = 32_000;
const ERROR_BYTES: usize = 8_000;
const NOTE_BYTES: usize = 4_000;

/// The bytes of a page that are kept free for each diff.
const DIFF_BYTES: usize = 1_000;

/// The bytes of a block besides its diff, and of the sentence on hunks that are left out.
const BLOCK_BYTES: usize = 200;

/// Counts, errors and diffs as one page.
#[derive(Debug)]
pub struct Markdown {
    diff: Diff,
}

impl Markdown {
    /// A page with diffs of this format, without colours.
    #[must_use]
    pub const fn new(diff: Diff) -> Self {
        Self { diff: Diff { style: diff.style.plain(), ..diff } }
    }
}

impl Format for Markdown {
    fn prepare(&self, view: &DocumentView<'_>) -> Prepared {
        self.diff.prepare(view)
    }

    fn writer(&self) -> Box<dyn FormatWriter + '_> {
        Box::new(Page { diffs: FileDiffs::new(&self.diff), finished: Vec::new(), bytes: 0, left_out: 0 })
    }

    fn shows_diff(&self) -> bool {
        true
    }

    fn shows_impact(&self) -> bool {
        true
    }

    fn failure(&self, diagnostics: &[Diagnostic]) -> Option<String> {
        Some(format!("{MARKDOWN_HEADING}Nothing was evaluated.\n{}", diagnostic_blocks(diagnostics)))
    }
}

#[derive(Debug)]
struct Page<'a> {
    diffs: FileDiffs<'a>,
    /// The first diffs, and their length in bytes.
    finished: Vec<FinishedDiff>,
    bytes: usize,
    /// How many changed objects have later diffs, which do not fit on the page.
    left_out: usize,
}

impl Page<'_> {
    fn add(&mut self, diff: FinishedDiff) {
        if self.bytes > PAGE_BYTES && self.finished.len() > PAGE_BYTES / DIFF_BYTES {
            self.left_out += diff.objects;
        } else {
            self.bytes += diff.text.len();
            self.finished.push(diff);
        }
    }

    /// The blocks of the diffs, of which those that are too long are cut, in at most so many bytes.
    fn blocks(&self, bytes: usize) -> String {
        let is_shown = |diff: &&FinishedDiff| !diff.text.is_empty();
        let diffs: Vec<&FinishedDiff> = self.finished.iter().filter(is_shown).collect();
        let (shown, beyond) = diffs.split_at(diffs.len().min(bytes / DIFF_BYTES));
        let longest = longest_diff(shown, bytes);
        let mut out: String = shown.iter().map(|diff| block(diff, longest)).collect();
        match self.left_out + beyond.iter().map(|diff| diff.objects).sum::<usize>() {
            0 => {}
            1 => out.push_str("\nThe diff of 1 more object is left out.\n"),
            left_out => {
                let _ = writeln!(out, "\nThe diffs of {left_out} more objects are left out.");
            }
        }
        out
    }
}

impl FormatWriter for Page<'_> {
    fn write(&mut self, view: &DocumentView<'_>, prepared: Prepared, _: &mut dyn Write) -> io::Result<()> {
        self.diffs.push(view, prepared).into_iter().for_each(|diff| self.add(diff));
        Ok(())
    }

    fn end_documents(&mut self, _: &mut dyn Write) -> io::Result<Vec<String>> {
        self.diffs.close_file().into_iter().for_each(|diff| self.add(diff));
        Ok(self.diffs.notes())
    }

    fn finish(&mut self, totals: &RunTotals<'_>, out: &mut dyn Write) -> io::Result<()> {
        let RunTotals { tally, gaps, diagnostics, .. } = totals;
        let mut page = String::new();
        if !gaps.is_empty() {
            let _ = write!(page, "**Incomplete**: `{}`\n\n", gaps.to_string().replace('`', "'"));
        }
        page.push_str(&markdown(tally, gaps));
        if page.len() > HEAD_BYTES - ERROR_BYTES - NOTE_BYTES {
            page.truncate(lines_within(&page, HEAD_BYTES - ERROR_BYTES - NOTE_BYTES));
            page.push_str("\nThe rest of the counts is left out.\n");
        }
        page.push_str(&diagnostic_blocks(diagnostics));
        page.push_str(&self.blocks(PAGE_BYTES - page.len().min(PAGE_BYTES)));
        out.write_all(page.as_bytes())
    }
}

/// The first errors, and the first notes in a block that opens; empty without any.
fn diagnostic_blocks(diagnostics: &[Diagnostic]) -> String {
    let (errors, notes): (Vec<_>, Vec<_>) =
        diagnostics.iter().partition(|diagnostic| diagnostic.severity == Severity::Error);
    let mut blocks = String::new();
    if !errors.is_empty() {
        let _ = write!(blocks, "\n#### Errors\n\n{}", fenced("text", &first_lines(&errors, ERROR_BYTES)));
    }
    if !notes.is_empty() {
        let count = counted(notes.len(), "note");
        let text = fenced("text", &first_lines(&notes, NOTE_BYTES));
        let _ = write!(blocks, "\n<details><summary>{count}</summary>\n\n{text}\n</details>\n");
    }
    blocks
}

/// As many of the diagnostics as fit into so many bytes, at least the first one in part.
fn first_lines(diagnostics: &[&Diagnostic], bytes: usize) -> String {
    let mut text = String::new();
    for (index, diagnostic) in diagnostics.iter().enumerate() {
        let line = diagnostic.to_string();
        let fits = text.len() + line.len() < bytes;
        if !fits && index > 0 {
            let _ = writeln!(text, "and {} more", diagnostics.len() - index);
            break;
        }
        let end = if fits { line.len() } else { line.floor_char_boundary(bytes) };
        text.push_str(&line[..end]);
        text.push('\n');
    }
    text
}

/// The bytes that each diff may have so that all of them fit: the short ones leave room to the others.
fn longest_diff(diffs: &[&FinishedDiff], bytes: usize) -> usize {
    let length = |diff: &&FinishedDiff| diff.text.len() + diff.name.len() + BLOCK_BYTES;
    let mut lengths: Vec<usize> = diffs.iter().map(length).collect();
    lengths.sort_unstable();
    let mut room = bytes.saturating_sub(BLOCK_BYTES);
    for (index, length) in lengths.iter().enumerate() {
        let share = room / (lengths.len() - index);
        if *length > share {
            return share;
        }
        room -= length;
    }
    usize::MAX
}

/// The block of a diff, cut behind a hunk, or behind a line of the first one, if it has more bytes.
fn block(diff: &FinishedDiff, bytes: usize) -> String {
    let FinishedDiff { name, text, .. } = diff;
    let room = bytes.saturating_sub(name.len() + BLOCK_BYTES);
    if text.len() <= room {
        return diff_details(name, text);
    }
    let hunks: Vec<usize> = text.match_indices("\n@@ ").map(|(index, _)| index + 1).collect();
    // The text before the first hunk is no hunk.
    let (shown, end) = match hunks.iter().rposition(|start| *start <= room).filter(|last| *last > 0) {
        Some(last) => (last, hunks[last]),
        None => (0, lines_within(text, room)),
    };
    let more = if shown == 0 {
        format!("the rest of {}", counted(hunks.len(), "hunk"))
    } else {
        format!("{} of {}", hunks.len() - shown, counted(hunks.len(), "hunk"))
    };
    format!("{}\nLeft out: {more}.\n", diff_details(name, &text[..end]))
}

/// The length of the first lines that have at most so many bytes.
fn lines_within(text: &str, bytes: usize) -> usize {
    let end = text.floor_char_boundary(bytes);
    text[..end].rfind('\n').map_or(0, |index| index + 1)
}
