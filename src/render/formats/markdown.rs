//! `markdown`: counts and diffs, for a comment on a pull request.

use std::io::{self, Write};

use crate::render::summary::markdown;

use super::diff::{FileDiffs, FinishedDiff};
use super::{Diff, DocumentView, Format, FormatWriter, Prepared, RunTotals};

/// The most bytes of diffs on a page; further diffs are counted. A comment on GitHub has at most 65,536 characters.
const DIFF_BYTES: usize = 48 << 10;

/// Counts and diffs as one page.
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
        Box::new(Page { diffs: FileDiffs::new(&self.diff), text: String::new(), left_out: 0 })
    }

    fn shows_diff(&self) -> bool {
        true
    }

    fn shows_impact(&self) -> bool {
        true
    }
}

#[derive(Debug)]
struct Page<'a> {
    diffs: FileDiffs<'a>,
    text: String,
    /// How many changed objects are left out because the page is full.
    left_out: usize,
}

impl Page<'_> {
    /// Adds a diff, or counts its objects once the page is full.
    fn add(&mut self, diff: &FinishedDiff) {
        if self.left_out == 0 && self.text.len() + diff.text.len() <= DIFF_BYTES {
            self.text.push_str(&diff.text);
        } else {
            self.left_out += diff.objects;
        }
    }
}

impl FormatWriter for Page<'_> {
    fn write(&mut self, view: &DocumentView<'_>, prepared: Prepared, _: &mut dyn Write) -> io::Result<()> {
        self.diffs.push(view, prepared).iter().for_each(|diff| self.add(diff));
        Ok(())
    }

    fn end_documents(&mut self, _: &mut dyn Write) -> io::Result<Vec<String>> {
        self.diffs.close_file().iter().for_each(|diff| self.add(diff));
        Ok(self.diffs.notes())
    }

    fn finish(&mut self, totals: &RunTotals<'_>, out: &mut dyn Write) -> io::Result<()> {
        let RunTotals { tally, gaps, .. } = totals;
        if !gaps.is_empty() {
            write!(out, "**Incomplete**: `{}`\n\n", gaps.to_string().replace('`', "'"))?;
        }
        out.write_all(markdown(tally, gaps, &self.text, self.left_out).as_bytes())
    }
}
