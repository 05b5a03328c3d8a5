//! `text` and `json` of `explain`: why each rule had its outcome.

use std::io::{self, Write};

use crate::render::diff::Palette;
use crate::render::explain::{Explanation, RuleSource, RuleSources};
use crate::render::printable::printable_json;
use crate::report::{Diagnostic, Impact};
use crate::semantics::Semantics;
use crate::value::Value;

use super::report::{ReportWriter, report_without_objects};
use super::{DocumentView, Format, FormatWriter, ObjectView, Prepared, RunTotals};

/// The options of explanations.
#[derive(Debug)]
pub struct ExplanationOptions {
    /// The rules as the policies have them.
    pub sources: RuleSources,
    /// The semantics of the run.
    pub semantics: Semantics,
    /// Whether rules for objects of other kinds are listed one by one.
    pub all: bool,
    /// Whether long values are shown as a whole.
    pub verbose: bool,
    /// The colours of the text.
    pub palette: Palette,
    /// Whether the impact of a change is shown. It is that of all rules, not of some.
    pub shows_impact: bool,
    /// Finds why a rule that matched changed nothing: a line for each reason.
    pub no_change_reasons: fn(&RuleSource, &Value, bool) -> Vec<String>,
}

impl ExplanationOptions {
    /// Texts from the explanations of a document's objects.
    pub(super) fn explanations(
        &self,
        view: &DocumentView<'_>,
        text: impl Fn(&ObjectView<'_>, Explanation<'_>) -> Option<String>,
    ) -> Vec<String> {
        let known = view.objects.iter().filter(|object| object.report.object.is_some());
        let texts = known.filter_map(|object| {
            let origin = view.origin(object);
            let impact = if self.shows_impact { object.impact() } else { Impact::default() };
            let explanation =
                Explanation::new(object.report, &origin, &self.sources, &self.no_change_reasons);
            text(object, explanation.with_impact(impact))
        });
        texts.collect()
    }
}

/// An explanation for each object.
#[derive(Debug)]
pub enum Explanations {
    /// As a screen of text.
    Text(ExplanationOptions),
    /// As a row of one JSON object, which has counts too.
    Json(ExplanationOptions),
}

impl Format for Explanations {
    fn prepare(&self, view: &DocumentView<'_>) -> Prepared {
        Prepared::texts(match self {
            Self::Text(options) => options.explanations(view, |_, explanation| {
                Some(explanation.text(options.semantics, options.all, options.verbose, options.palette))
            }),
            Self::Json(options) => options
                .explanations(view, |_, explanation| Some(printable_json(explanation.json().to_json()))),
        })
    }

    fn writer(&self) -> Box<dyn FormatWriter + '_> {
        match self {
            Self::Text(_) => Box::new(TextWriter { is_started: false }),
            Self::Json(_) => Box::new(ReportWriter::new()),
        }
    }

    fn shows_impact(&self) -> bool {
        true
    }

    fn shows_errors(&self) -> bool {
        true
    }

    fn failure(&self, diagnostics: &[Diagnostic]) -> Option<String> {
        match self {
            Self::Text(_) => None,
            Self::Json(_) => report_without_objects(diagnostics),
        }
    }

    fn shows_unchanged_targets(&self) -> bool {
        true
    }
}

/// Writes texts with an empty line between them.
#[derive(Debug)]
struct TextWriter {
    is_started: bool,
}

impl TextWriter {
    fn text(&mut self, text: &str, out: &mut dyn Write) -> io::Result<()> {
        let separator = if std::mem::replace(&mut self.is_started, true) { "\n" } else { "" };
        write!(out, "{separator}{text}")
    }
}

impl FormatWriter for TextWriter {
    fn write(&mut self, _: &DocumentView<'_>, prepared: Prepared, out: &mut dyn Write) -> io::Result<()> {
        prepared.texts.iter().try_for_each(|text| self.text(text, out))
    }

    fn finish(&mut self, totals: &RunTotals<'_>, out: &mut dyn Write) -> io::Result<()> {
        if totals.gaps.is_empty() {
            return Ok(());
        }
        self.text(&format!("incomplete: {}\n", totals.gaps), out)
    }
}
