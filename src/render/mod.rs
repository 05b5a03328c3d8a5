//! Reports and values as text: diff, patches, JSON, tables, Markdown, with secrets masked.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod coverage;
mod diff;
mod explain;
mod findings;
mod formats;
mod json;
mod junit;
mod lint;
mod mask;
mod messages;
mod mutants;
mod patch;
mod printable;
mod suite;
mod summary;
mod table;
mod words;

use std::fmt;

use crate::value::{Text, Value};
use crate::yaml;

pub use coverage::{coverage_json, coverage_lcov, coverage_text};
pub use diff::{DiffStyle, Palette, object_diff, unified_diff};
pub use explain::{Explanation, MisnamedResource, RuleSource, RuleSources};
pub use findings::{
    FindingWriter, Github, Gitlab, JunitFindings, PolicyReports, ReportApi, RunEnd, Sarif, suite_findings,
};
pub use formats::{
    CheckOutput, CheckReport, Diff, DocumentView, DriftFormat, DriftReport, ExplanationOptions, Explanations,
    Findings, Format, FormatWriter, Html, Json, Layout, Markdown, Name, ObjectRows, ObjectView, Patch,
    Prepared, Report, RunTotals, Summary, Yaml,
};
pub use json::{impact_json, object_json, tally_json};
pub use junit::suites_junit;
pub use lint::{LeftOut, LintFinding, lint_json, lint_text};
pub use mask::{Masked, mask_beside, masked_states};
pub use messages::{
    ErrorObjects, PolicyPlace, RuleError, RuleErrorText, RulePlaces, divergence_text, dry_run_line,
    error_lines, missing_targets, rule_errors, rule_warnings,
};
pub use mutants::{mutants_json, mutants_text};
pub use patch::json_patch;
pub use printable::{printable, printable_json, printable_line};
pub use suite::{
    SuiteView, failed_rule, suite_difference, suite_totals, suites_json, suites_markdown, suites_text,
    unsupported_rows,
};
pub use summary::{dry_runs_line, impact_line, markdown, refused_inputs, summary_table};
pub use table::{fenced, markdown_text};
pub use words::{and_more, counted, first_names, listed, thousands};

/// The origin of an object: a file and a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The name of the file, or of another input.
    pub name: Text,
    /// The first line of the object, counted from 1; `None` if the input has no lines.
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

/// A value as YAML.
fn to_yaml(value: &Value) -> String {
    let mut text = String::new();
    yaml::print(value, &mut text);
    text
}
