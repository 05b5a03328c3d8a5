//! YAML documents as events: read line by line if they are simple, else by a parser of the whole language.

use std::borrow::Cow;
use std::ops::Range;

use granit_parser::{ErrorKind as ParserErrorKind, Event, Parser, ScalarStyle, StructureStyle};

use super::block;
use super::event::{EventReceiver, Kind, NodeStyle, ReadError, Scalar, Style};
use super::event_log::EventLog;
use super::tabs::{after_tab, with_spaces};
use super::{ErrorKind, Limit, Limits};

/// The text of one YAML document.
#[derive(Clone, Copy, Debug)]
pub(super) struct YamlText<'a> {
    pub(super) text: &'a str,
    /// Where it starts in its source.
    pub(super) base: usize,
    /// Whether to read as Go's library and not as kubectl: what follows the document is ignored, and a last line without
    /// line break stays without one.
    pub(super) as_go: bool,
}

/// The maximum number of times that a text is parsed again with spaces for tabs.
const MAX_REPAIRS: usize = 16;

impl YamlText<'_> {
    /// Emits the events of the document.
    #[inline]
    pub(super) fn read(self, limits: &Limits, receiver: &mut impl EventReceiver) -> Result<(), ReadError> {
        if block::read(self.text, self.base, limits, receiver).is_some() {
            debug_assert_eq!(self.is_read_alike(limits), Some(true), "{:?}", self.text);
            return Ok(());
        }
        receiver.restart();
        self.parse(limits, receiver)
    }

    /// Whether reading line by line emits the events of the parser; `None` for documents that only the parser can read.
    pub(super) fn is_read_alike(self, limits: &Limits) -> Option<bool> {
        let (mut lines, mut parsed) = (EventLog::default(), EventLog::default());
        block::read(self.text, self.base, limits, &mut lines)?;
        Some(self.parse(limits, &mut parsed).is_ok() && lines == parsed)
    }

    /// Emits the events of any document.
    fn parse(self, limits: &Limits, receiver: &mut impl EventReceiver) -> Result<(), ReadError> {
        let mut repaired: Option<String> = None;
        let mut repairs = 0;
        loop {
            let text = repaired.as_deref().unwrap_or(self.text);
            let Err(Failure { error, tab }) = (YamlText { text, ..self }).parse_once(limits, receiver) else {
                return Ok(());
            };
            let quoted = tab.filter(|_| repairs < MAX_REPAIRS);
            let Some(text) = quoted.and_then(|quoted| with_spaces(text, error.offset - self.base, quoted))
            else {
                return Err(error);
            };
            repaired = Some(text);
            repairs += 1;
            receiver.restart();
        }
    }

    fn parse_once(self, limits: &Limits, receiver: &mut impl EventReceiver) -> Result<(), Failure> {
        let mut options = granit_parser::options! {
            flow_nesting_limit: limits.bounded_depth(),
            block_nesting_limit: limits.bounded_depth(),
        };
        options.set_emit_comments(false);
        let mut parser = Parser::new_from_str_with_options(self.text, options);
        let mut documents = 0;
        while let Some(event) = parser.next_event() {
            let (event, span) = event.map_err(|error| {
                self.failure(error.kind(), error.marker().byte_offset().unwrap_or(0), limits)
            })?;
            let Range { start, end } = span.byte_range().unwrap_or(0..0);
            let at = self.base + start..self.base + end;
            match event {
                Event::Scalar(text, style, anchor, tag) => {
                    let node_style = match style {
                        ScalarStyle::Plain if at.is_empty() => Style::Missing,
                        ScalarStyle::Plain => Style::Plain,
                        ScalarStyle::SingleQuoted => Style::SingleQuoted,
                        ScalarStyle::DoubleQuoted => Style::DoubleQuoted,
                        ScalarStyle::Literal | ScalarStyle::Folded => Style::BlockScalar,
                    };
                    receiver.node_style(NodeStyle { style: node_style, tagged: tag.is_some() });
                    let text = match node_style {
                        // The parser returns `~` for it.
                        Style::Missing => Cow::Borrowed(""),
                        Style::BlockScalar if self.as_go => self.without_added_break(text, end, span.indent),
                        _ => text,
                    };
                    let plain = style == ScalarStyle::Plain && tag.is_none();
                    receiver.scalar(Scalar { text, plain, tag }, anchor, at)?;
                }
                Event::SequenceStart(style, anchor, tag) => {
                    receiver.node_style(collection_style(style, tag.is_some()));
                    receiver.open(Kind::List, anchor, at.start)?;
                }
                Event::MappingStart(style, anchor, tag) => {
                    receiver.node_style(collection_style(style, tag.is_some()));
                    receiver.open(Kind::Mapping, anchor, at.start)?;
                }
                Event::SequenceEnd | Event::MappingEnd => receiver.close(at.end)?,
                Event::Alias(anchor) => receiver.alias(anchor, at)?,
                Event::DocumentStart(..) => {
                    documents += 1;
                    if documents > 1 {
                        let error = ErrorKind::syntax("a document starts here without a separator");
                        return Err(ReadError { offset: at.start, error }.into());
                    }
                }
                Event::DocumentEnd if self.as_go => return Ok(()),
                _ => {}
            }
        }
        Ok(())
    }

    /// The failure for an error of the parser.
    fn failure(&self, kind: &ParserErrorKind, offset: usize, limits: &Limits) -> Failure {
        let end = self.text.trim_end().len();
        let offset = offset.min(end);
        let mut tab = None;
        let offset = match kind {
            // The parser says where the scalar starts.
            ParserErrorKind::TabInPlainScalar => after_tab(self.text, offset).unwrap_or(offset),
            _ => offset,
        };
        let error = match kind {
            ParserErrorKind::InvalidQuotedScalarIndent if offset == end => {
                ErrorKind::syntax("unclosed quote")
            }
            ParserErrorKind::TabInIndentation | ParserErrorKind::TabInBlockIndentation => {
                tab = Some(matches!(kind, ParserErrorKind::TabInIndentation));
                ErrorKind::syntax("a tab is in the indentation, where only spaces may be")
            }
            ParserErrorKind::TabInPlainScalar => {
                ErrorKind::syntax("a tab is in the indentation, where only spaces may be")
            }
            ParserErrorKind::UnknownAnchor => unknown_anchor(&self.text[offset..]),
            ParserErrorKind::RecursionLimitExceeded => {
                ErrorKind::Limit { limit: Limit::Depth, maximum: limits.bounded_depth() }
            }
            ParserErrorKind::ExpectedDocumentStart => {
                ErrorKind::syntax("the document ended before this; is the indentation right?")
            }
            kind => ErrorKind::syntax(kind.to_string()),
        };
        Failure { error: ReadError { offset: self.base + offset, error }, tab }
    }

    /// Removes the line break that the parser adds to the last line of a block scalar.
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

/// Why the parser failed.
struct Failure {
    error: ReadError,
    /// For a tab in the indentation, whether it is in a quoted scalar.
    tab: Option<bool>,
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        Self { error, tab: None }
    }
}

fn collection_style(style: StructureStyle, tagged: bool) -> NodeStyle {
    let style = match style {
        StructureStyle::Block => Style::BlockCollection,
        StructureStyle::Flow => Style::FlowCollection,
    };
    NodeStyle { style, tagged }
}

/// The error for an alias without anchor. Readers of YAML 1.1 end the name before a colon, ours does not.
fn unknown_anchor(alias: &str) -> ErrorKind {
    let name = alias.split([' ', '\n', '\r', ',', ']', '}']).next().unwrap_or_default();
    ErrorKind::syntax(if name.ends_with(':') {
        "the alias has no anchor before it in this document; is a blank missing before `:`?"
    } else {
        "the alias has no anchor before it in this document"
    })
}
