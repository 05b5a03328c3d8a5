//! `text` and `json` of `explain`: how the outcome of each rule came about.

use std::io::{self, Write};

use crate::render::diff::Palette;
use crate::render::explain::{Explanation, RuleSource, RuleSources};
use crate::report::Impact;
use crate::semantics::Semantics;
use crate::value::Value;

use super::report::ReportWriter;
use super::{DocumentView, Format, FormatWriter, Prepared, RunTotals};

/// What explanations are made with.
#[derive(Debug)]
pub struct ExplanationOptions {
    /// The rules as the policies have them.
    pub sources: RuleSources,
    /// The semantics of the run.
    pub semantics: Semantics,
    /// Whether rules for objects of other kinds are listed one by one.
    pub all: bool,
    /// The colours of the text.
    pub palette: Palette,
    /// Whether it is shown what a change means for a cluster. That is the change of all rules, not of some.
    pub shows_impact: bool,
    /// Finds why a rule that matched changed nothing: a line for each reason.
    pub no_change_reasons: fn(&RuleSource, &Value) -> Vec<String>,
}

impl ExplanationOptions {
    /// The explanations of a document's objects, each made into a text.
    fn explain(&self, view: &DocumentView<'_>, text: impl Fn(&Explanation<'_>) -> String) -> Prepared {
        let known = view.objects.iter().filter(|object| object.report.object.is_some());
        let texts = known.map(|object| {
            let origin = view.origin(object);
            let impact = if self.shows_impact { object.impact() } else { Impact::default() };
            let explanation =
                Explanation::new(object.report, &origin, &self.sources, &self.no_change_reasons);
            text(&explanation.with_impact(impact))
        });
        Prepared::texts(texts.collect())
    }
}

/// A screen of text for each object.
#[derive(Debug)]
pub struct ExplanationText(pub ExplanationOptions);

impl Format for ExplanationText {
    fn prepare(&self, view: &DocumentView<'_>) -> Prepared {
        let ExplanationOptions { semantics, all, palette, .. } = self.0;
        self.0.explain(view, |explanation| explanation.text(semantics, all, palette))
    }

    fn writer(&self) -> Box<dyn FormatWriter + '_> {
        Box::new(Screens { is_any: false })
    }

    fn shows_impact(&self) -> bool {
        true
    }

    fn shows_errors(&self) -> bool {
        true
    }

    fn shows_unchanged_targets(&self) -> bool {
        true
    }
}

/// Writes texts with an empty line between them.
#[derive(Debug)]
struct Screens {
    is_any: bool,
}

impl Screens {
    fn screen(&mut self, text: &str, out: &mut dyn Write) -> io::Result<()> {
        let separator = if std::mem::replace(&mut self.is_any, true) { "\n" } else { "" };
        write!(out, "{separator}{text}")
    }
}

impl FormatWriter for Screens {
    fn write(&mut self, _: &DocumentView<'_>, prepared: Prepared, out: &mut dyn Write) -> io::Result<()> {
        prepared.texts.iter().try_for_each(|text| self.screen(text, out))
    }

    fn finish(&mut self, totals: &RunTotals<'_>, out: &mut dyn Write) -> io::Result<()> {
        if totals.gaps.is_empty() {
            return Ok(());
        }
        self.screen(&format!("incomplete: {}\n", totals.gaps), out)
    }
}

/// A row for each object, and counts, as one JSON object.
#[derive(Debug)]
pub struct ExplanationJson(pub ExplanationOptions);

impl Format for ExplanationJson {
    fn prepare(&self, view: &DocumentView<'_>) -> Prepared {
        self.0.explain(view, |explanation| explanation.json().to_json())
    }

    fn writer(&self) -> Box<dyn FormatWriter + '_> {
        Box::new(ReportWriter::default())
    }

    fn shows_impact(&self) -> bool {
        true
    }

    fn shows_errors(&self) -> bool {
        true
    }

    fn shows_unchanged_targets(&self) -> bool {
        true
    }
}
