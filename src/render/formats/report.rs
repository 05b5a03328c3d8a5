//! `json` of `diff`: reports of all objects that a rule matched, and counts.

use std::io::{self, Write};

use crate::render::json::{impact_json, object_json, tally_json, tally_rows};
use crate::render::printable::printable_json;
use crate::report::Diagnostic;
use crate::value::Value;

use super::{DocumentView, Format, FormatWriter, Prepared, RunTotals, finished_empty};

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
            printable_json(row.to_json())
        });
        Prepared::texts(rows.collect())
    }

    fn writer(&self) -> Box<dyn FormatWriter + '_> {
        Box::new(ReportWriter::new())
    }

    fn shows_impact(&self) -> bool {
        true
    }

    fn shows_unchanged_targets(&self) -> bool {
        true
    }

    fn failure(&self, diagnostics: &[Diagnostic]) -> Option<String> {
        report_without_objects(diagnostics)
    }
}

/// The report of a run that evaluated nothing because of these errors.
pub(super) fn report_without_objects(diagnostics: &[Diagnostic]) -> Option<String> {
    finished_empty(Box::new(ReportWriter::new()), diagnostics)
}

/// A JSON list that is written row by row.
#[derive(Debug)]
struct Rows {
    /// The text before the first row, with the bracket.
    start: &'static str,
    is_started: bool,
}

impl Rows {
    const fn new(start: &'static str) -> Self {
        Self { start, is_started: false }
    }

    fn write(&mut self, row: &str, out: &mut dyn Write) -> io::Result<()> {
        let separator = if std::mem::replace(&mut self.is_started, true) { ",\n" } else { self.start };
        write!(out, "{separator}{row}")
    }

    fn end(&self, out: &mut dyn Write) -> io::Result<()> {
        let before = if self.is_started { "\n" } else { self.start.trim_end() };
        write!(out, "{before}]")
    }
}

/// Writes one JSON object: a row for each object of the run, counts, and what could not be read.
#[derive(Debug)]
pub(super) struct ReportWriter {
    objects: Rows,
}

impl ReportWriter {
    pub(super) const fn new() -> Self {
        Self { objects: Rows::new("{\"version\": 1,\n\"objects\": [\n") }
    }
}

impl FormatWriter for ReportWriter {
    fn write(&mut self, _: &DocumentView<'_>, prepared: Prepared, out: &mut dyn Write) -> io::Result<()> {
        prepared.texts.iter().try_for_each(|row| self.objects.write(row, out))
    }

    fn finish(&mut self, totals: &RunTotals<'_>, out: &mut dyn Write) -> io::Result<()> {
        let RunTotals { tally, gaps, diagnostics, .. } = totals;
        self.objects.end(out)?;
        let summary = printable_json(tally_json(tally, gaps).to_json());
        write!(out, ",\n\"summary\": {},\n", summary.strip_suffix('}').unwrap_or_default())?;
        let mut rules = Rows::new("\"rules\": [\n");
        tally_rows(tally).try_for_each(|row| rules.write(&printable_json(row.to_json()), out))?;
        rules.end(out)?;
        out.write_all(b"}")?;
        if !gaps.is_empty() {
            write!(out, ",\n\"incomplete\": {}", printable_json(Value::from(gaps.to_string()).to_json()))?;
        }
        let mut rows = Rows::new(",\n\"diagnostics\": [\n");
        diagnostics
            .iter()
            .try_for_each(|one| rows.write(&printable_json(diagnostic_json(one).to_json()), out))?;
        rows.end(out)?;
        out.write_all(b"}\n")
    }
}

/// A diagnostic in a result.
pub(in crate::render) fn diagnostic_json(diagnostic: &Diagnostic) -> Value {
    Value::from_iter([
        ("severity", diagnostic.severity.word().into()),
        ("code", diagnostic.code.clone().into()),
        ("message", diagnostic.message.clone().into()),
    ])
}
