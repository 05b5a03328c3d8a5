//! `json`: the objects as one object or a List.

use std::io::{self, Write};

use crate::report::ObjectReport;

use super::{DocumentView, Format, FormatWriter, Prepared, RunTotals, holds_secret_values};

const INDENT: &str = "        ";

/// The objects as one object or a List, as kubectl prints them.
#[derive(Debug)]
pub struct Json;

impl Format for Json {
    fn prepare(&self, view: &DocumentView<'_>) -> Prepared {
        let objects = view.objects.iter();
        Prepared::texts(objects.map(|object| object.report.after.to_pretty_json(4)).collect())
    }

    fn writer(&self) -> Box<dyn FormatWriter + '_> {
        Box::new(ListWriter::default())
    }

    fn prints_secret_values_of(&self, report: &ObjectReport) -> bool {
        holds_secret_values(report)
    }
}

/// Writes a single object as it is, several as a List.
#[derive(Debug, Default)]
struct ListWriter {
    /// The first object, until there is a second one.
    first: Option<String>,
    objects: usize,
}

impl FormatWriter for ListWriter {
    fn write(&mut self, _: &DocumentView<'_>, prepared: Prepared, out: &mut dyn Write) -> io::Result<()> {
        prepared.texts.into_iter().try_for_each(|object| self.object(object, out))
    }

    fn finish(&mut self, _: &RunTotals<'_>, out: &mut dyn Write) -> io::Result<()> {
        match (&self.first, self.objects) {
            (Some(only), _) => writeln!(out, "{only}"),
            (None, 0) => out.write_all(
                b"{\n    \"apiVersion\": \"v1\",\n    \"items\": [],\n    \"kind\": \"List\"\n}\n",
            ),
            (None, _) => out.write_all(b"\n    ],\n    \"kind\": \"List\"\n}\n"),
        }
    }
}

impl ListWriter {
    fn object(&mut self, object: String, out: &mut dyn Write) -> io::Result<()> {
        self.objects += 1;
        if self.objects == 1 {
            self.first = Some(object);
            return Ok(());
        }
        if let Some(first) = self.first.take() {
            out.write_all(b"{\n    \"apiVersion\": \"v1\",\n    \"items\": [\n")?;
            out.write_all(item(&first).as_bytes())?;
        }
        write!(out, ",\n{}", item(&object))
    }
}

/// An object as an item of a list.
fn item(object: &str) -> String {
    format!("{INDENT}{}", object.replace('\n', &format!("\n{INDENT}")))
}
