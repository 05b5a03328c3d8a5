//! `json`: the objects as one object or a List.

use std::io::{self, Write};

use crate::render::printable::printable_json;
use crate::report::ObjectReport;

use super::{DocumentView, Format, FormatWriter, Prepared, RunTotals, holds_secret_values};

const INDENT: &str = "        ";

/// The objects as one object or a List, as kubectl prints them.
#[derive(Debug)]
pub struct Json;

impl Format for Json {
    fn prepare(&self, view: &DocumentView<'_>) -> Prepared {
        let objects = view.objects.iter();
        Prepared::texts(objects.map(|object| printable_json(object.report.after.to_pretty_json(4))).collect())
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
    /// Whether the list was started.
    is_list: bool,
}

impl FormatWriter for ListWriter {
    fn write(&mut self, _: &DocumentView<'_>, prepared: Prepared, out: &mut dyn Write) -> io::Result<()> {
        prepared.texts.into_iter().try_for_each(|object| self.object(object, out))
    }

    fn finish(&mut self, _: &RunTotals<'_>, out: &mut dyn Write) -> io::Result<()> {
        match &self.first {
            Some(only) => writeln!(out, "{only}"),
            None if self.is_list => out.write_all(b"\n    ],\n    \"kind\": \"List\"\n}\n"),
            None => out.write_all(
                b"{\n    \"apiVersion\": \"v1\",\n    \"items\": [],\n    \"kind\": \"List\"\n}\n",
            ),
        }
    }
}

impl ListWriter {
    fn object(&mut self, object: String, out: &mut dyn Write) -> io::Result<()> {
        if let Some(first) = self.first.take() {
            self.is_list = true;
            out.write_all(b"{\n    \"apiVersion\": \"v1\",\n    \"items\": [\n")?;
            out.write_all(item(&first).as_bytes())?;
        } else if !self.is_list {
            self.first = Some(object);
            return Ok(());
        }
        write!(out, ",\n{}", item(&object))
    }
}

/// An object as an item of a list.
fn item(object: &str) -> String {
    format!("{INDENT}{}", object.replace('\n', &format!("\n{INDENT}")))
}
