//! `summary`: counts by policy, rule, kind and namespace, as tables.

use std::io::{self, Write};

use crate::render::summary::{Width, summary_table};

use super::{DocumentView, Format, FormatWriter, Prepared, RunTotals};

/// Counts as tables.
#[derive(Debug)]
pub struct Summary;

impl Format for Summary {
    fn prepare(&self, _: &DocumentView<'_>) -> Prepared {
        Prepared::default()
    }

    fn writer(&self) -> Box<dyn FormatWriter + '_> {
        Box::new(TableWriter)
    }

    fn shows_impact(&self) -> bool {
        true
    }
}

#[derive(Debug)]
struct TableWriter;

impl FormatWriter for TableWriter {
    fn write(&mut self, _: &DocumentView<'_>, _: Prepared, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    fn finish(&mut self, totals: &RunTotals<'_>, out: &mut dyn Write) -> io::Result<()> {
        let RunTotals { tally, gaps, .. } = totals;
        out.write_all(summary_table(tally, gaps, Width::Full).as_bytes())?;
        if gaps.is_empty() { Ok(()) } else { writeln!(out, "\nincomplete: {gaps}") }
    }
}
