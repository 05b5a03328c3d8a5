//! `json` of `diff`: reports of all objects that a rule matched, and counts.

use std::io::{self, Write};

use crate::render::json::{JsonRows, impact_json, object_json, tally_json, tally_rows};
use crate::value::Value;

use super::{DocumentView, Format, FormatWriter, Prepared, RunTotals};

/// Reports of all objects that a rule matched, and counts, as one JSON object.
#[derive(Debug)]
pub struct Report;

impl Format for Report {
    fn prepare(&self, view: &DocumentView<'_>) -> Prepared {
        let matched = view.objects.iter().filter(|object| !object.report.policies.is_empty());
        let rows = matched.map(|object| {
            let mut row = object_json(object.report, &view.origin(object));
            if let Some(impact) = impact_json(&object.impact()) {
                row.insert("impact", impact);
            }
            row.to_json()
        });
        Prepared::texts(rows.collect())
    }

    fn writer(&self) -> Box<dyn FormatWriter + '_> {
        Box::new(ReportWriter::default())
    }

    fn shows_impact(&self) -> bool {
        true
    }

    fn shows_unchanged_targets(&self) -> bool {
        true
    }
}

/// Writes one JSON object: a row for each object of the run, the counts, and what could not be read.
#[derive(Debug, Default)]
pub(super) struct ReportWriter {
    rows: JsonRows,
}

impl FormatWriter for ReportWriter {
    fn write(&mut self, _: &DocumentView<'_>, prepared: Prepared, out: &mut dyn Write) -> io::Result<()> {
        prepared.texts.iter().try_for_each(|row| {
            if self.rows.is_empty() {
                out.write_all(b"{\"objects\": ")?;
            }
            out.write_all(self.rows.row(row).as_bytes())
        })
    }

    fn finish(&mut self, totals: &RunTotals<'_>, out: &mut dyn Write) -> io::Result<()> {
        let RunTotals { tally, gaps, .. } = totals;
        if self.rows.is_empty() {
            out.write_all(b"{\"objects\": ")?;
        }
        out.write_all(self.rows.end().as_bytes())?;
        let summary = tally_json(tally, gaps).to_json();
        write!(out, ",\n\"summary\": {},\n\"rules\": ", summary.strip_suffix('}').unwrap_or_default())?;
        let mut rules = JsonRows::default();
        tally_rows(tally).try_for_each(|row| out.write_all(rules.row(&row.to_json()).as_bytes()))?;
        write!(out, "{}}}", rules.end())?;
        if !gaps.is_empty() {
            write!(out, ",\n\"incomplete\": {}", Value::from(gaps.to_string()).to_json())?;
        }
        out.write_all(b"}\n")
    }
}
