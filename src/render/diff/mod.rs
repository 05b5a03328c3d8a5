//! Unified diffs of files, or of objects as they are printed canonically.

mod attribution;
mod file;
mod hunk;
mod lines;
mod name;
mod words;

use std::sync::Arc;

use crate::report::{ObjectReport, Outcome, ServerDryRun};
use crate::secrets::Secrets;
use crate::value::{Pointer, Value};
use crate::yaml::{self, Limits, Source};

use super::mask::{mask_beside, mask_of};
use super::printable::{printable, printable_line};
use super::{Origin, to_yaml};

use attribution::{DocumentLines, attributed};
use hunk::Changes;
use lines::{edits, lines};

pub(super) use file::{DocumentDiff, FileDiff};
pub(super) use hunk::hunks;

/// The colours of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Palette {
    /// None.
    Plain,
    /// ANSI escapes.
    Ansi,
}

impl Palette {
    /// Writes a line in the colour of an SGR code.
    pub(super) fn paint(self, code: &str, line: &str, out: &mut String) {
        let (text, end) = line.strip_suffix('\n').map_or((line, ""), |text| (text, "\n"));
        match self {
            Self::Plain => out.push_str(line),
            Self::Ansi => out.extend(["\u{1b}[", code, "m", text, "\u{1b}[0m", end]),
        }
    }
}

/// How diffs are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiffStyle {
    /// Their colours.
    pub palette: Palette,
    /// The number of unchanged lines around a change.
    pub context: usize,
    /// Whether hunks name the rules that changed the lines.
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

/// The unified diff of an object before and after the policies, printed canonically and with secrets masked; empty
/// for an unchanged object. The header has the name of the object, its origin and the rules that patched it.
pub fn unified_diff(report: &ObjectReport, origin: &Origin, style: &DiffStyle) -> String {
    if !report.is_changed() {
        return String::new();
    }
    let masked = mask_of(report, &report.before, &report.after);
    let mut out = String::new();
    let (name, rules) = (object_name(report), printable_line(&patched_by(report).join(", ")));
    let origin = printable_line(&origin.to_string());
    style.palette.paint("1", &format!("--- {name}\t{origin}\n"), &mut out);
    style.palette.paint("1", &format!("+++ {name}\t{rules}\n"), &mut out);
    let (before, after) = (to_yaml(&masked.before), to_yaml(&masked.after));
    if style.annotate {
        annotated(report, (before, after), style, &mut out);
    } else {
        hunks(&before, &after, style, &mut out);
    }
    out.push_str(&dry_run_text(report, style));
    out
}

/// The hunks between two states of an object, printed canonically; with secrets, their values are masked.
pub fn object_diff(before: &Value, after: &Value, secrets: Option<&Secrets>) -> String {
    let masked = secrets.map(|secrets| mask_beside(before, after, secrets));
    let (before, after) = masked.as_ref().map_or((before, after), |masked| (&masked.before, &masked.after));
    let mut out = String::new();
    hunks(&to_yaml(before), &to_yaml(after), &DiffStyle::default(), &mut out);
    out
}

/// Writes hunks with the rules that changed the lines.
fn annotated(report: &ObjectReport, (before, after): (String, String), style: &DiffStyle, out: &mut String) {
    let (old, new) = (lines(&before), lines(&after));
    let edits = edits(&old, &new);
    let names = patched_by(report);
    let read = |text: &str| {
        let source = Arc::new(Source::new("", text));
        yaml::read(&source, &Limits::unbounded()).unwrap_or_default().into_iter().next()
    };
    let mut rules = vec![Vec::new(); edits.len()];
    if let (Some(old), Some(new)) = (read(&before), read(&after)) {
        let lines = (&DocumentLines::new(&old), &DocumentLines::new(&new));
        for (edit, numbers) in attributed(lines, (&Pointer::ROOT, report), &edits) {
            rules[edit] = numbers.into_iter().filter_map(|number| names.get(number)).cloned().collect();
        }
    }
    Changes::of_object(&object_name(report), (&old, &new), &edits, &rules).print(style, out);
}

/// The result of a dry run of an object: the changes of the API server, as a second diff, or its refusal; empty
/// without a dry run, or if the object is accepted unchanged.
pub(super) fn dry_run_text(report: &ObjectReport, style: &DiffStyle) -> String {
    let mut out = String::new();
    let (name, palette) = (object_name(report), style.palette);
    match report.server_dry_run.as_deref() {
        Some(ServerDryRun::Accepted { sent, stored }) if sent != stored => {
            let masked = mask_of(report, sent, stored);
            palette.paint("1", &format!("--- {name}\tas the policies leave it\n"), &mut out);
            palette.paint("1", &format!("+++ {name}\tas the API server would store it\n"), &mut out);
            hunks(&to_yaml(&masked.before), &to_yaml(&masked.after), style, &mut out);
        }
        _ => {
            if let Some((problem, message)) = dry_run_problem(report) {
                let message = printable(&message).replace('\n', "\n#   ");
                palette.paint("31", &format!("# {name}: the API server {problem}: {message}\n"), &mut out);
            }
        }
    }
    out
}

/// Why a dry run failed: what the API server did, and its message, redacted.
pub(super) fn dry_run_problem(report: &ObjectReport) -> Option<(&'static str, String)> {
    let (problem, message) = match report.server_dry_run.as_deref()? {
        ServerDryRun::Accepted { .. } => return None,
        ServerDryRun::Refused(message) => ("refuses it", message),
        ServerDryRun::Failed(message) => ("does not report whether it accepts it", message),
    };
    Some((problem, report.shown_text(message)))
}

/// The name of an object on one line; empty for a document that is no object.
pub(super) fn object_name(report: &ObjectReport) -> String {
    printable_line(&report.object.as_ref().map_or_else(String::new, ToString::to_string))
}

/// The rules whose changes were kept, in the order of evaluation.
fn patched_by(report: &ObjectReport) -> Vec<String> {
    let patched = report
        .rules()
        .filter(|(policy, rule)| !policy.has_error() && matches!(rule.outcome, Outcome::Patched { .. }));
    let name = patched.map(|(policy, rule)| {
        let by = rule.trigger.as_ref().map_or_else(String::new, |by| format!(" (triggered by {by})"));
        format!("{}{by}", rule.title(&policy.policy))
    });
    name.collect()
}
