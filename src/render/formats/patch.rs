//! `patch`: the changes of each object, as a JSON patch (RFC 6902), one per line.

use crate::render::patch::{identity, json_patch};
use crate::render::printable::printable_json;
use crate::report::ObjectReport;
use crate::value::{Value, shortest_changes};

use super::{DocumentView, Format, ObjectView, Prepared, holds_secret_values};

/// The identity of each changed object with its JSON patch.
#[derive(Debug)]
pub struct Patch;

impl Format for Patch {
    fn prepare(&self, view: &DocumentView<'_>) -> Prepared {
        Prepared::texts(view.changed().map(patch_line).collect())
    }

    fn prints_secret_values_of(&self, report: &ObjectReport) -> bool {
        report.is_changed() && holds_secret_values(report)
    }
}

fn patch_line(object: &ObjectView<'_>) -> String {
    let report = object.report;
    let mut line = report.object.as_ref().map_or_else(Value::empty_object, identity);
    line.insert("patch", json_patch(&shortest_changes(&report.before, &report.after)));
    printable_json(line.to_json()) + "\n"
}
