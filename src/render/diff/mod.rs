//! Unified diffs: of the files that objects come from, else of the objects as they are printed canonically.

mod attribution;
mod file;
mod hunk;
mod lines;
mod name;
mod words;

use std::sync::Arc;

use crate::report::{ObjectReport, Outcome, ServerDryRun};
use crate::value::{Pointer, Value};
use crate::yaml::{self, Limits, Source};

use super::Origin;
use super::mask::mask_of;
use super::printable::{printable, printable_line};

use attribution::{DocumentLines, attributed};
use hunk::{Change, Changes};
use lines::{Edit, edits, lines};

pub use file::{FileDiff, FilePart, FileText};
pub(super) use hunk::hunks;

/// How the parts of a diff are coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Palette {
    /// Not at all.
    Plain,
    /// With ANSI escapes.
    Ansi,
}

impl Palette {
    pub(super) fn paint(self, code: &str, line: &str, out: &mut String) {
        let (text, end) = line.strip_suffix('\n').map_or((line, ""), |text| (text, "\n"));
        match self {
            Self::Plain => out.push_str(line),
            Self::Ansi => {
                out.push_str("\u{1b}[");
                out.push_str(code);
                out.push('m');
                out.push_str(text);
                out.push_str("\u{1b}[0m");
                out.push_str(end);
            }
        }
    }
}

/// How diffs are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiffStyle {
    /// Their colours.
    pub palette: Palette,
    /// How many unchanged lines stand around a change.
    pub context: usize,
    /// Whether hunks name the rules that made them.
    pub annotate: bool,
}

impl DiffStyle {
    /// The same without colours.
    #[must_use]
    pub const fn plain(self) -> Self {
        Self { palette: Palette::Plain, ..self }
    }
}

impl Default for DiffStyle {
    fn default() -> Self {
        Self { palette: Palette::Plain, context: 3, annotate: false }
    }
}

/// The unified diff of an object as it was and as the policies leave it, both printed canonically and
/// with secrets masked; empty for an object that did not change. The header names the object, where it
/// came from, and the rules that patched it.
pub fn unified_diff(report: &ObjectReport, origin: &Origin, style: &DiffStyle) -> String {
    if !report.is_changed() {
        return String::new();
    }
    let shown = mask_of(report, &report.before, &report.after);
    let mut out = String::new();
    let (name, rules) = (object_name(report), printable_line(&patched_by(report).join(", ")));
    let origin = printable_line(&origin.to_string());
    style.palette.paint("1", &format!("--- {name}\t{origin}\n"), &mut out);
    style.palette.paint("1", &format!("+++ {name}\t{rules}\n"), &mut out);
    let (before, after) = (print(&shown.before), print(&shown.after));
    if style.annotate {
        annotated(report, (before, after), style, &mut out);
    } else {
        hunks(&before, &after, style, &mut out);
    }
    out.push_str(&dry_run_text(report, style));
    out
}

/// Writes hunks that name the rules behind them.
fn annotated(report: &ObjectReport, (before, after): (String, String), style: &DiffStyle, out: &mut String) {
    let (was, is) = (lines(&before), lines(&after));
    let edits = edits(&was, &is);
    let names = patched_by(report);
    let read = |text: &str| {
        let source = Arc::new(Source::new("", text));
        yaml::read(&source, &Limits::unbounded()).unwrap_or_default().into_iter().next()
    };
    let mut rules = vec![Vec::new(); edits.len()];
    if let (Some(was), Some(is)) = (read(&before), read(&after)) {
        let lined = (&DocumentLines::new(&was), &DocumentLines::new(&is));
        for (edit, numbers) in attributed(lined, (&Pointer::ROOT, report), &edits) {
            rules[edit] = numbers.into_iter().filter_map(|at| names.get(at)).cloned().collect();
        }
    }
    let object = object_name(report);
    let change = |(edit, rules)| {
        let Edit { old, new } = edit;
        Change { old, new: is[new].to_vec(), masked: false, object: &object, rules }
    };
    let changes = edits.into_iter().zip(rules.iter().map(Vec::as_slice)).map(change).collect();
    Changes { old: &was, real: &was, changes }.print(style, out);
}

/// The result of a dry run of an object: the changes of the API server, as a second diff, or its refusal; empty
/// without a dry run, or if the object is accepted unchanged.
pub fn dry_run_text(report: &ObjectReport, style: &DiffStyle) -> String {
    let mut out = String::new();
    let (name, palette) = (object_name(report), style.palette);
    let (what, words) = match report.server_dry_run.as_deref() {
        Some(ServerDryRun::Accepted { sent, stored }) if sent != stored => {
            let shown = mask_of(report, sent, stored);
            palette.paint("1", &format!("--- {name}\tas the policies leave it\n"), &mut out);
            palette.paint("1", &format!("+++ {name}\tas the API server would store it\n"), &mut out);
            hunks(&print(&shown.before), &print(&shown.after), style, &mut out);
            return out;
        }
        None | Some(ServerDryRun::Accepted { .. }) => return out,
        Some(ServerDryRun::Refused(words)) => ("refuses it", words),
        Some(ServerDryRun::Failed(words)) => ("does not say whether it takes it", words),
    };
    let shown = mask_of(report, &report.before, &report.after);
    let words = printable(&shown.message(words)).replace('\n', "\n#   ");
    palette.paint("31", &format!("# {name}: the API server {what}: {words}\n"), &mut out);
    out
}

/// The name of an object on one line.
fn object_name(report: &ObjectReport) -> String {
    printable_line(&report.object.as_ref().map_or_else(String::new, ToString::to_string))
}

/// The rules whose changes were kept, in the order they ran.
fn patched_by(report: &ObjectReport) -> Vec<String> {
    let patched = report
        .rules()
        .filter(|(policy, rule)| !policy.has_error() && matches!(rule.outcome, Outcome::Patched { .. }));
    let name = patched.map(|(policy, rule)| {
        let by = rule.trigger.as_ref().map_or_else(String::new, |by| format!(" (triggered by {by})"));
        format!("{}/{}{by}", policy.policy, rule.rule)
    });
    name.collect()
}

fn print(value: &Value) -> String {
    let mut out = String::new();
    yaml::print(value, &mut out);
    out
}
