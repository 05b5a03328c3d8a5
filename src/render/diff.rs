//! Unified diffs of objects.

use similar::{ChangeTag, TextDiff};

use crate::report::{ObjectReport, Outcome, Trial};
use crate::value::Value;
use crate::yaml;

use super::Origin;
use super::harmless::{harmless, harmless_name};
use super::mask::mask_of;

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

/// The unified diff of an object as it was and as the policies leave it, both printed canonically and
/// with secrets masked; empty for an object that did not change. The header names the object, where it
/// came from, and the rules that patched it.
pub fn unified_diff(report: &ObjectReport, origin: &Origin, palette: Palette) -> String {
    if !report.is_changed() {
        return String::new();
    }
    let shown = mask_of(report, &report.before, &report.after);
    let (before, after) = (print(&shown.before), print(&shown.after));
    let name = report.object.as_ref().map_or_else(String::new, ToString::to_string);
    let rules: Vec<String> = report
        .rules()
        .filter(|(policy, rule)| !policy.has_error() && matches!(rule.outcome, Outcome::Patched { .. }))
        .map(|(policy, rule)| {
            let by = rule.trigger.as_ref().map_or_else(String::new, |by| format!(" (triggered by {by})"));
            format!("{}/{}{by}", policy.policy, rule.rule)
        })
        .collect();
    let mut out = String::new();
    let (name, rules) = (harmless_name(&name), harmless_name(&rules.join(", ")));
    let origin = harmless_name(&origin.to_string());
    palette.paint("1", &format!("--- {name}\t{origin}\n"), &mut out);
    palette.paint("1", &format!("+++ {name}\t{rules}\n"), &mut out);
    hunks(&before, &after, palette, &mut out);
    match report.trial.as_deref() {
        Some(Trial::Accepted { sent, stored }) if sent != stored => {
            let shown = mask_of(report, sent, stored);
            palette.paint("1", &format!("--- {name}\tas the policies leave it\n"), &mut out);
            palette.paint("1", &format!("+++ {name}\tas the API server would store it\n"), &mut out);
            hunks(&print(&shown.before), &print(&shown.after), palette, &mut out);
        }
        None | Some(Trial::Accepted { .. }) => {}
        Some(Trial::Refused(words)) => {
            let words = harmless(&shown.message(words)).replace('\n', "\n#   ");
            palette.paint("31", &format!("# {name}: the API server refuses it: {words}\n"), &mut out);
        }
        Some(Trial::Unanswered(words)) => {
            let words = harmless(&shown.message(words)).replace('\n', "\n#   ");
            palette.paint(
                "31",
                &format!("# {name}: the API server does not say whether it takes it: {words}\n"),
                &mut out,
            );
        }
    }
    out
}

fn print(value: &Value) -> String {
    let mut out = String::new();
    yaml::print(value, &mut out);
    out
}

/// What differs between two texts, without a header.
pub(super) fn hunks(before: &str, after: &str, palette: Palette, out: &mut String) {
    let diff = TextDiff::from_lines(before, after);
    for hunk in diff.unified_diff().context_radius(3).iter_hunks() {
        palette.paint("36", &format!("{}\n", hunk.header()), out);
        for change in hunk.iter_changes() {
            let (sign, code) = match change.tag() {
                ChangeTag::Delete => ('-', Some("31")),
                ChangeTag::Insert => ('+', Some("32")),
                ChangeTag::Equal => (' ', None),
            };
            let line = format!("{sign}{}", change.value());
            match code {
                Some(code) => palette.paint(code, &line, out),
                None => out.push_str(&line),
            }
            if !line.ends_with('\n') {
                out.push('\n');
            }
        }
    }
}
