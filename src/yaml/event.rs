//! The events of a document: scalars, aliases, and where lists and mappings start and end.

use std::borrow::Cow;
use std::ops::Range;

use granit_parser::Tag;

use crate::value::Value;

use super::ErrorKind;
use super::scalar::{Resolved, resolve_plain, resolve_tagged};

/// The namespace of `!!`.
const YAML_TAGS: &str = "tag:yaml.org,2002:";

/// Receives the events of a document. Offsets are in bytes from the start of the source.
pub(super) trait EventReceiver {
    /// A scalar; `anchor` is 0 if it has none.
    fn scalar(&mut self, scalar: Scalar<'_>, anchor: usize, at: Range<usize>) -> Result<(), ReadError>;
    /// A JSON value that is no string, list or object.
    fn literal(&mut self, value: Value, at: Range<usize>) -> Result<(), ReadError>;
    /// An alias of the node with this anchor.
    fn alias(&mut self, anchor: usize, at: Range<usize>) -> Result<(), ReadError>;
    /// A list or mapping starts.
    fn open(&mut self, kind: Kind, anchor: usize, offset: usize) -> Result<(), ReadError>;
    /// The innermost list or mapping ends.
    fn close(&mut self, offset: usize) -> Result<(), ReadError>;
    /// The events start again from the beginning of the document.
    fn restart(&mut self);
    /// The style of the node of the next event.
    fn node_style(&mut self, _style: NodeStyle) {}
}

/// The style of a node, and whether it has a tag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct NodeStyle {
    pub(super) style: Style,
    pub(super) tagged: bool,
}

/// The style of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Style {
    #[default]
    Plain,
    SingleQuoted,
    DoubleQuoted,
    /// A scalar below `|` or `>`.
    BlockScalar,
    BlockCollection,
    FlowCollection,
    Alias,
    /// An empty node.
    Missing,
}

/// Why a document cannot be read, and where.
#[derive(Debug)]
pub(super) struct ReadError {
    pub(super) offset: usize,
    pub(super) error: ErrorKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    List,
    Mapping,
}

/// A scalar, unresolved.
#[derive(Debug)]
pub(super) struct Scalar<'a> {
    pub(super) text: Cow<'a, str>,
    /// Whether it has neither quotes nor tag and is no block scalar.
    pub(super) plain: bool,
    pub(super) tag: Option<Cow<'a, Tag>>,
}

impl<'a> Scalar<'a> {
    pub(super) const fn quoted(text: Cow<'a, str>) -> Self {
        Self { text, plain: false, tag: None }
    }

    /// Whether this is a merge key.
    pub(super) fn is_merge(&self) -> bool {
        self.text == "<<" && (self.plain || self.yaml_tag().as_deref() == Some("merge"))
    }

    /// Its value by the rules of YAML 1.1.
    #[inline]
    pub(super) fn resolve(self) -> Result<Resolved<'a>, ErrorKind> {
        if self.tag.is_some() {
            let tag = self.yaml_tag().map(Cow::into_owned);
            return resolve_tagged(tag.as_deref(), self.text);
        }
        match self.text {
            text if !self.plain => Ok(Resolved::Text(text)),
            Cow::Borrowed(text) => Ok(resolve_plain(text)),
            // Several lines: no type but strings contains blanks.
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

/// What happens to the line breaks at the end of a block scalar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Chomping {
    /// They are removed. Also for nodes that are no block scalars.
    #[default]
    Strip,
    /// The first one is kept.
    Clip,
    /// All are kept, those of the empty lines below too.
    Keep,
}

impl Chomping {
    /// The chomping of a block scalar whose header is at the start of a text.
    pub(super) fn of_header(text: &str) -> Self {
        let Some(indicators) = text.strip_prefix(['|', '>']) else { return Self::Strip };
        let mut indicators = indicators.chars().take_while(|c| matches!(c, '+' | '-' | '0'..='9'));
        match indicators.find(|c| matches!(c, '+' | '-')) {
            Some('+') => Self::Keep,
            Some(_) => Self::Strip,
            None => Self::Clip,
        }
    }
}
