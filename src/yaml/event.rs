//! What a text consists of, told one event after the other.

use std::borrow::Cow;
use std::ops::Range;

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, StructureStyle, Tag};

use crate::value::Value;

use super::block::{self, Told};
use super::scalar::{Resolved, resolve_plain, resolve_tagged};
use super::tabs::spaced;
use super::{Fault, Limit, Limits};

/// The prefix that `!!` stands for.
const YAML_TAGS: &str = "tag:yaml.org,2002:";

/// Takes events. Offsets count from the start of the source.
pub(super) trait Sink {
    /// A scalar; `anchor` is 0 for one without.
    fn scalar(&mut self, scalar: Scalar<'_>, anchor: usize, at: Range<usize>) -> Result<(), Stop>;
    /// A value that needs no more thought.
    fn literal(&mut self, value: Value, at: Range<usize>) -> Result<(), Stop>;
    /// Another occurrence of the node with this anchor.
    fn alias(&mut self, anchor: usize, at: Range<usize>) -> Result<(), Stop>;
    /// A list or mapping starts.
    fn open(&mut self, kind: Kind, anchor: usize, offset: usize) -> Result<(), Stop>;
    /// The innermost list or mapping ends.
    fn close(&mut self, offset: usize) -> Result<(), Stop>;
    /// The document is told again from its start.
    fn restart(&mut self);
    /// How the node is written that is told next.
    fn look(&mut self, _look: Look) {}
}

/// How a node is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Look {
    pub(super) form: Form,
    pub(super) tagged: bool,
}

/// The style of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Form {
    #[default]
    Plain,
    Single,
    Double,
    /// A scalar below `|` or `>`.
    Block,
    /// A list or mapping of lines.
    Lines,
    /// A list or mapping in brackets.
    Flow,
    /// An alias.
    Alias,
    /// A node that is not there.
    Absent,
}

/// Why reading a document ends early, and where.
#[derive(Debug)]
pub(super) struct Stop {
    pub(super) offset: usize,
    pub(super) fault: Fault,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    List,
    Mapping,
}

/// A scalar as it is written.
#[derive(Debug)]
pub(super) struct Scalar<'a> {
    pub(super) text: Cow<'a, str>,
    /// Whether it stands without quotes, indicator and tag.
    pub(super) plain: bool,
    pub(super) tag: Option<Cow<'a, Tag>>,
}

impl<'a> Scalar<'a> {
    pub(super) const fn quoted(text: Cow<'a, str>) -> Self {
        Self { text, plain: false, tag: None }
    }

    /// Whether this is the key that merges.
    pub(super) fn is_merge(&self) -> bool {
        self.text == "<<" && (self.plain || self.yaml_tag().as_deref() == Some("merge"))
    }

    /// What it is.
    pub(super) fn resolve(self) -> Result<Resolved<'a>, Fault> {
        if self.tag.is_some() {
            let tag = self.yaml_tag().map(Cow::into_owned);
            return resolve_tagged(tag.as_deref(), self.text);
        }
        match self.text {
            text if !self.plain => Ok(Resolved::Text(text)),
            Cow::Borrowed(text) => Ok(resolve_plain(text)),
            // A plain scalar of several lines: nothing but text has blanks inside.
            Cow::Owned(text) => Ok(match resolve_plain(&text) {
                Resolved::Text(_) => Resolved::Text(Cow::Owned(text)),
                Resolved::Null => Resolved::Null,
                Resolved::Bool(value) => Resolved::Bool(value),
                Resolved::Number(number) => Resolved::Number(number),
                Resolved::NotFinite(name) => Resolved::NotFinite(name),
            }),
        }
    }

    fn yaml_tag(&self) -> Option<Cow<'_, str>> {
        self.tag.as_ref()?.suffix_in_namespace(YAML_TAGS)
    }
}

/// Reads one YAML document.
#[derive(Clone, Copy, Debug)]
pub(super) struct YamlText<'a> {
    /// The document.
    pub(super) text: &'a str,
    /// Where it starts in its source.
    pub(super) base: usize,
    /// Whether to read as Go's library does, not as kubectl does: to stop where the document ends, whatever
    /// follows, and to take the last line as it is. kubectl gives it a line break if it has none.
    pub(super) bare: bool,
}

/// So often a text is read again after tabs in it became blanks.
const MAX_REPAIRS: usize = 16;

impl YamlText<'_> {
    /// Tells the events of a document.
    pub(super) fn tell(self, limits: &Limits, sink: &mut impl Sink) -> Result<(), Stop> {
        if block::tell(&self, limits, sink).is_some() {
            debug_assert_eq!(
                Told::by_lines(self, limits),
                Some(Told::by_parser(self, limits)),
                "{:?}",
                self.text
            );
            return Ok(());
        }
        sink.restart();
        self.parse(limits, sink)
    }

    /// Tells the events of a document in any of the forms that the language has.
    pub(super) fn parse(self, limits: &Limits, sink: &mut impl Sink) -> Result<(), Stop> {
        let mut repaired: Option<String> = None;
        for _ in 0..MAX_REPAIRS {
            let text = repaired.as_deref().unwrap_or(self.text);
            let tab = match (YamlText { text, ..self }).tell_once(limits, sink) {
                Err(Ending::Tab(tab)) => tab,
                Err(Ending::Stop(stop)) => return Err(stop),
                Ok(()) => return Ok(()),
            };
            let Some(text) = spaced(text, tab.offset - self.base, tab.quoted) else {
                return Err(tab.stop());
            };
            repaired = Some(text);
            sink.restart();
        }
        let text = repaired.as_deref().unwrap_or(self.text);
        (YamlText { text, ..self }).tell_once(limits, sink).map_err(|ending| match ending {
            Ending::Stop(stop) => stop,
            Ending::Tab(tab) => tab.stop(),
        })
    }

    fn tell_once(self, limits: &Limits, sink: &mut impl Sink) -> Result<(), Ending> {
        let mut options = granit_parser::options! {
            flow_nesting_limit: limits.bounded_depth(),
            block_nesting_limit: limits.bounded_depth(),
        };
        options.set_emit_comments(false);
        let mut parser = Parser::new_from_str_with_options(self.text, options);
        let mut documents = 0;
        while let Some(event) = parser.next_event() {
            let (event, span) = event.map_err(|error| {
                let offset = error.marker().byte_offset().unwrap_or(0);
                let offset = self.base + offset.min(self.text.trim_end().len());
                match error.kind() {
                    ErrorKind::InvalidQuotedScalarIndent
                        if offset == self.base + self.text.trim_end().len() =>
                    {
                        Ending::Stop(Stop { offset, fault: Fault::syntax("unclosed quote") })
                    }
                    ErrorKind::TabInIndentation => Ending::Tab(Tab { offset, quoted: true }),
                    ErrorKind::TabInBlockIndentation => Ending::Tab(Tab { offset, quoted: false }),
                    ErrorKind::UnknownAnchor => {
                        Ending::Stop(Stop { offset, fault: unknown_anchor(&self.text[offset - self.base..]) })
                    }
                    kind => Ending::Stop(Stop { offset, fault: fault(kind, limits) }),
                }
            })?;
            let Range { start, end } = span.byte_range().unwrap_or(0..0);
            let at = self.base + start..self.base + end;
            match event {
                Event::Scalar(text, style, anchor, tag) => {
                    let form = match style {
                        ScalarStyle::Plain if at.is_empty() => Form::Absent,
                        ScalarStyle::Plain => Form::Plain,
                        ScalarStyle::SingleQuoted => Form::Single,
                        ScalarStyle::DoubleQuoted => Form::Double,
                        ScalarStyle::Literal | ScalarStyle::Folded => Form::Block,
                    };
                    sink.look(Look { form, tagged: tag.is_some() });
                    let text = match style {
                        // A node that is not there is told as `~`.
                        ScalarStyle::Plain if at.is_empty() => Cow::Borrowed(""),
                        ScalarStyle::Literal | ScalarStyle::Folded if self.bare => {
                            self.without_added_break(text, end, span.indent)
                        }
                        _ => text,
                    };
                    let plain = style == ScalarStyle::Plain && tag.is_none();
                    sink.scalar(Scalar { text, plain, tag }, anchor, at)?;
                }
                Event::SequenceStart(style, anchor, tag) => {
                    sink.look(Look { form: form(style), tagged: tag.is_some() });
                    sink.open(Kind::List, anchor, at.start)?;
                }
                Event::MappingStart(style, anchor, tag) => {
                    sink.look(Look { form: form(style), tagged: tag.is_some() });
                    sink.open(Kind::Mapping, anchor, at.start)?;
                }
                Event::SequenceEnd | Event::MappingEnd => sink.close(at.end)?,
                Event::Alias(anchor) => sink.alias(anchor, at)?,
                Event::DocumentStart(..) => {
                    documents += 1;
                    if documents > 1 {
                        let fault = Fault::syntax("a document starts here without a separator");
                        return Err(Ending::Stop(Stop { offset: at.start, fault }));
                    }
                }
                Event::DocumentEnd if self.bare => return Ok(()),
                _ => {}
            }
        }
        Ok(())
    }

    /// Takes back the line break that the parser gives to the last line of a text.
    fn without_added_break<'t>(&self, text: Cow<'t, str>, end: usize, indent: Option<usize>) -> Cow<'t, str> {
        if end < self.text.len() || !text.ends_with('\n') || self.text.ends_with(['\n', '\r']) {
            return text;
        }
        let last = self.text.rsplit(['\n', '\r']).next().unwrap_or_default();
        if last.chars().count() <= indent.unwrap_or(0) {
            return text;
        }
        let mut text = text.into_owned();
        text.pop();
        Cow::Owned(text)
    }
}

fn form(style: StructureStyle) -> Form {
    match style {
        StructureStyle::Block => Form::Lines,
        StructureStyle::Flow => Form::Flow,
    }
}

/// Why the parser ends early.
enum Ending {
    Stop(Stop),
    Tab(Tab),
}

/// A tab where the parser wants none.
struct Tab {
    offset: usize,
    /// Whether it stands in a quoted scalar.
    quoted: bool,
}

impl Tab {
    fn stop(self) -> Stop {
        Stop { offset: self.offset, fault: Fault::syntax("a tab stands where only blanks may indent") }
    }
}

impl From<Stop> for Ending {
    fn from(stop: Stop) -> Self {
        Self::Stop(stop)
    }
}

fn fault(kind: &ErrorKind, limits: &Limits) -> Fault {
    match kind {
        ErrorKind::RecursionLimitExceeded => {
            Fault::Limit { limit: Limit::Depth, maximum: limits.bounded_depth() }
        }
        ErrorKind::ExpectedDocumentStart => {
            Fault::syntax("the document ended before this; is the indentation right?")
        }
        kind => Fault::syntax(kind.to_string()),
    }
}

/// The fault of an alias; readers of YAML 1.1 end its name before a colon, ours does not.
fn unknown_anchor(alias: &str) -> Fault {
    let name = alias.split([' ', '\n', '\r', ',', ']', '}']).next().unwrap_or_default();
    Fault::syntax(if name.ends_with(':') {
        "the alias has no anchor before it in this document; is a blank missing before `:`?"
    } else {
        "the alias has no anchor before it in this document"
    })
}
