//! The formatting of a text: indentation, lists, quotes.

use crate::yaml::event::Style;
use crate::yaml::quote::{self, ScalarStyle};

use super::layout::{Expected, Indicator, KEY, LIST, LayoutNode, NO_OFFSET, property_end};
use super::outline::{Outline, column};
use super::whitespace::{is_blank, line_start, skip};

/// The number of nodes that are sampled.
const SAMPLED_NODES: usize = 256;
/// The same, if the first ones contain no list.
const MAX_SAMPLED_NODES: usize = 16 * SAMPLED_NODES;

/// The number of occurrences of each style.
#[derive(Debug, Default)]
pub(super) struct StyleCounts {
    steps: WidthCounts,
    list_steps: WidthCounts,
    dashes: WidthCounts,
    plain: usize,
    single: usize,
    double: usize,
    /// Strings in unnecessary quotes.
    extra: usize,
}

/// Counts of small widths.
#[derive(Debug, Default)]
struct WidthCounts([usize; 16]);

impl WidthCounts {
    fn add(&mut self, width: usize) {
        if let Some(count) = self.0.get_mut(width) {
            *count += 1;
        }
    }

    /// The most frequent width, the smallest of several.
    fn most(&self) -> Option<usize> {
        let most = *self.0.iter().max()?;
        (most > 0).then(|| self.0.iter().position(|count| *count == most))?
    }
}

impl StyleCounts {
    /// The styles of the first nodes of a document.
    pub(super) fn of(text: &str, outline: &Outline<'_>) -> Self {
        let (steps, base) = outline.steps();
        let mut counts = Self::default();
        // The lists and mappings of lines that are open: where they end, and their columns.
        let mut open: Vec<(usize, bool, usize)> = Vec::new();
        for (index, step) in steps.iter().take(MAX_SAMPLED_NODES).enumerate() {
            if index >= SAMPLED_NODES && counts.list_steps.most().is_some() && counts.dashes.most().is_some()
            {
                break;
            }
            while open.last().is_some_and(|(next, ..)| *next <= index) {
                open.pop();
            }
            let start = base + step.start();
            if step.style == Style::BlockCollection {
                let key = index.checked_sub(1).map(|above| &steps[above]).filter(|above| above.has(KEY));
                let own = column(text, first_dash(text, base, key, step).unwrap_or(start));
                if let Some((_, in_list, holder)) = open.last()
                    && *holder != NO_OFFSET
                    && own != NO_OFFSET
                {
                    let dash = text.as_bytes().get(line_start(text, start) + holder);
                    counts.nested(*in_list, step.has(LIST), *holder, own, dash != Some(&b'-'));
                }
                open.push((step.next(), step.has(LIST), own));
            } else if !step.has(KEY) {
                if let Some((_, true, holder)) = open.last()
                    && *holder != NO_OFFSET
                    && step.properties() == 0
                {
                    counts.element(text, line_start(text, start) + holder, start);
                }
                if index < SAMPLED_NODES {
                    counts.scalar(step.style, text.get(start..base + step.end()).unwrap_or_default());
                }
            }
        }
        counts
    }

    /// Counts a list or mapping in another one.
    fn nested(&mut self, in_list: bool, list: bool, holder: usize, column: usize, below: bool) {
        let width = column.saturating_sub(holder);
        match (in_list, list) {
            (true, _) if !below => self.dashes.add(width),
            (false, true) => self.list_steps.add(width),
            (false, false) => self.steps.add(width),
            (true, _) => {}
        }
    }

    /// Counts an element after its dash.
    fn element(&mut self, text: &str, dash: usize, start: usize) {
        if let Some(lead) = text.get(dash..start)
            && let Some(gap) = lead.strip_prefix('-')
            && is_blank(gap)
        {
            self.dashes.add(lead.len());
        }
    }

    /// Counts a scalar that is no key.
    fn scalar(&mut self, style: Style, text: &str) {
        match style {
            Style::Plain => self.plain += usize::from(text.starts_with(|c: char| c.is_alphabetic())),
            Style::SingleQuoted => self.single += 1,
            Style::DoubleQuoted => self.double += 1,
            Style::BlockScalar
            | Style::BlockCollection
            | Style::FlowCollection
            | Style::Alias
            | Style::Missing => return,
        }
        if style != Style::Plain {
            self.extra += usize::from(has_extra_quotes(text));
        }
    }

    /// The formatting that follows from the counts.
    pub(super) fn formatting(&self, newline: &'static str) -> Formatting {
        let quotes = match (self.single, self.double) {
            (0, 0) => None,
            (single, double) if single > double => Some(Quote::Single),
            (single, double) if double > single => Some(Quote::Double),
            _ => None,
        };
        Formatting {
            step: self.steps.most().filter(|step| *step > 0).unwrap_or(2),
            list_step: self.list_steps.most().unwrap_or(0),
            dash: self.dashes.most().filter(|width| *width > 1).unwrap_or(2),
            newline,
            quotes,
            always: if self.extra > self.plain { quotes } else { None },
            keys: None,
        }
    }
}

/// The first dash of a list that is the value of a key; the layout of an unindented list starts after it.
fn first_dash(text: &str, base: usize, key: Option<&LayoutNode>, list: &LayoutNode) -> Option<usize> {
    let key = key.filter(|_| list.has(LIST))?;
    let mut at = Indicator::of(text, base + key.end(), Expected::Value, true).end;
    for _ in 0..list.properties() {
        at = property_end(text, skip(text, at));
    }
    let at = skip(text, at);
    text[at..].starts_with('-').then_some(at)
}

/// Whether the quotes of a scalar are unnecessary.
pub(super) fn has_extra_quotes(written: &str) -> bool {
    let inner = written.get(1..written.len().saturating_sub(1)).unwrap_or_default();
    !inner.contains(['\\', '\'']) && quote::scalar_style(inner) == ScalarStyle::Plain
}

/// The kind of quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quote {
    Single,
    Double,
}

/// The formatting of new text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Formatting {
    /// The indentation of a mapping below its key.
    pub(super) step: usize,
    /// The indentation of a list below its key.
    pub(super) list_step: usize,
    /// The distance from a dash to its content.
    pub(super) dash: usize,
    pub(super) newline: &'static str,
    /// The quotes for strings that need some.
    pub(super) quotes: Option<Quote>,
    /// The quotes that every string gets.
    pub(super) always: Option<Quote>,
    /// The quotes that every key gets.
    pub(super) keys: Option<Quote>,
}
