//! The values of `-o`: tables of output formats, from which the help comes, too.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::render::{Diff, DiffStyle, ExplanationOptions, Format, Layout};
use crate::source::relative_to_current_folder;

use super::summary::SummaryStyle;

/// A value of `-o` with the format that it names, made with options of type `O`.
#[derive(Debug)]
pub(super) struct FormatChoice<O> {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    pub(super) summary: SummaryStyle,
    pub(super) format: fn(O) -> Box<dyn Format>,
}

/// What the formats of `mutate` and `diff` are made with.
#[derive(Debug)]
pub(super) struct FormatOptions {
    pub(super) layout: Layout,
    pub(super) style: DiffStyle,
    /// The most characters of a line of a table; `None` for any number.
    pub(super) width: Option<usize>,
    /// What explanations are made with, for a format that has them.
    pub(super) explanations: Option<ExplanationOptions>,
}

impl FormatOptions {
    /// The format that shows diffs.
    pub(super) fn diff(&self) -> Diff {
        Diff { layout: self.layout, style: self.style, shown_path: relative_to_current_folder }
    }
}

/// Reads the name of a format of a table.
pub(super) fn format_parser<O: 'static>(
    table: &'static [FormatChoice<O>],
) -> impl TypedValueParser<Value = &'static FormatChoice<O>> {
    let values = table.iter().map(|choice| PossibleValue::new(choice.name).help(choice.help));
    PossibleValuesParser::new(values)
        .try_map(|name| table.iter().find(|choice| choice.name == name).ok_or("not in the table"))
}
