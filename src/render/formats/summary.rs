//! `summary`: counts by policy, rule, kind and namespace, as tables.

use std::io::{self, Write};

use crate::render::summary::summary_table;

use super::{DocumentView, Format, FormatWriter, Prepared, RunTotals};

/// Counts as tables.
#[derive(Clone, Copy, Debug)]
pub struct Summary {
    /// The most characters of a line; `None` for any number.
    pub width: Option<usize>,
}

impl Format for Summary {
    fn prepare(&self, _: &DocumentView<'_>) -> Prepared {
        Prepared::default()
    }

    fn writer(&self) -> Box<dyn FormatWriter + '_> {
        Box::new(*self)
    }

    fn shows_impact(&self) -> bool {
        true
    }
}

impl FormatWriter for Summary {
    fn write(&mut self, _: &DocumentView<'_>, _: Prepared, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    fn finish(&mut self, totals: &RunTotals<'_>, out: &mut dyn Write) -> io::Result<()> {
        let RunTotals { tally, gaps, .. } = totals;
        out.write_all(summary_table(tally, gaps, self.width).as_bytes())?;
        if gaps.is_empty() { Ok(()) } else { writeln!(out, "\nincomplete: {gaps}") }
    }
}
