//! Reports and values as text: diff, patches, JSON, tables, Markdown, with secrets masked.
//!
//! Every format is a function from a report to text; where the bytes go is the caller's business.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod diff;
mod explain;
mod formats;
mod json;
mod junit;
mod mask;
mod messages;
mod patch;
mod printable;
mod suite;
mod summary;
mod table;
mod words;

use std::fmt;

use crate::value::Text;

pub use diff::{DiffStyle, FileDiff, FilePart, FileText, Palette, dry_run_text, unified_diff};
pub use explain::{Explanation, NoChangeReasons, RuleSource, RuleSources};
pub use formats::{
    Diff, DocumentView, ExplanationJson, ExplanationOptions, ExplanationText, Format, FormatWriter, Json,
    Layout, Markdown, Name, ObjectView, Patch, Prepared, Report, RunTotals, Summary, Yaml,
};
pub use json::{JsonRows, impact_json, object_json, tally_json, tally_rows};
pub use junit::suites_junit;
pub use mask::{Masked, mask, mask_beside};
pub use messages::{divergence_notes, dry_run_line, error_lines, missing_targets, shown_message};
pub use patch::{json_patch, kubectl_name};
pub use printable::{printable, printable_line};
pub use suite::{SuiteView, suite_difference, suite_totals, suites_json, suites_markdown, suites_text};
pub use summary::{Width, dry_runs_line, markdown, summary_table};
pub use words::{counted, listed};

/// Where an object came from: a file and the line its document starts on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The file's name as given, or another name of the input.
    pub name: Text,
    /// The first line of the object, counted from 1; `None` where lines mean nothing.
    pub line: Option<usize>,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        match self.line {
            Some(line) => write!(f, ":{line}"),
            None => Ok(()),
        }
    }
}
