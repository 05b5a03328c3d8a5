//! Errors of texts.

use std::fmt;

use crate::diagnostics::{Code, Coded};

use super::position::Position;
use super::{Limit, Limits};

/// The maximum number of characters of a key in a message.
const MAX_KEY_CHARS: usize = 80;

/// Why a text cannot be read, with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    pub(super) name: Box<str>,
    pub(super) position: Position,
    pub(super) kind: ErrorKind,
    pub(super) excerpt: Box<str>,
}

/// Why a text cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The text is neither YAML nor JSON.
    #[error("{0}")]
    Syntax(Box<str>),
    /// The text is not UTF-8.
    #[error("byte {offset} is not UTF-8")]
    Utf8 {
        /// The offset of the byte.
        offset: usize,
    },
    /// The text is UTF-16.
    #[error("the text is UTF-16; only UTF-8 is read")]
    Utf16,
    /// A mapping has a duplicate key.
    #[error("duplicate key {key:?} in this mapping, first at {first}")]
    DuplicateKey {
        /// The key, cut if it is long.
        key: Box<str>,
        /// The position of its first occurrence.
        first: Position,
    },
    /// A key that JSON has no form for.
    #[error("a key must be a string, and this one is {0}; put it in quotes")]
    Key(&'static str),
    /// A number that JSON has no form for.
    #[error("JSON has no form for infinity and NaN; put the value in quotes")]
    NotFinite,
    /// A value that does not have the type of its tag.
    #[error("the value is no {0}")]
    Tag(Box<str>),
    /// A merge key whose value is no mapping.
    #[error("`<<` merges a mapping or a list of mappings, and this is neither")]
    Merge,
    /// An alias inside the node with its anchor.
    #[error("the alias is inside its own anchor")]
    AliasOfItself,
    /// A limit is exceeded.
    #[error("{} ({maximum} at most{})", excess(.limit), more(.limit, .maximum))]
    Limit {
        /// The limit.
        limit: Limit,
        /// Its value.
        maximum: usize,
    },
    /// Further errors are not listed.
    #[error("further errors from here on are not listed")]
    Further,
}

const fn excess(limit: &Limit) -> &'static str {
    match limit {
        Limit::Depth => "nested too deep",
        Limit::Documents => "too many documents",
        Limit::Bytes => "the text is too large",
        Limit::AliasNodes => "aliases make the document grow too much",
    }
}

/// How the limit can be raised.
fn more(limit: &Limit, maximum: &usize) -> String {
    if *limit == Limit::Depth && *maximum >= Limits::MAX_DEPTH {
        return ", which no `--limit` changes".to_owned();
    }
    format!("; `--limit {limit}=N` sets another")
}

impl Coded for ErrorKind {
    fn code(&self) -> Code {
        match self {
            Self::Syntax(_) => Code::Syntax,
            Self::Utf8 { .. } | Self::Utf16 => Code::Encoding,
            Self::DuplicateKey { .. } => Code::DuplicateKey,
            Self::Key(_) | Self::NotFinite | Self::Tag(_) | Self::Merge | Self::AliasOfItself => {
                Code::NoJsonForm
            }
            Self::Limit { .. } => Code::InputLimit,
            Self::Further => Code::FurtherErrors,
        }
    }
}

impl Coded for SyntaxError {
    fn code(&self) -> Code {
        self.kind.code()
    }
}

impl ErrorKind {
    /// A syntax error.
    pub(super) fn syntax(message: impl Into<Box<str>>) -> Self {
        Self::Syntax(message.into())
    }

    /// A duplicate key.
    pub(super) fn duplicate(key: &str, first: Position) -> Self {
        let cut =
            key.char_indices().nth(MAX_KEY_CHARS).map_or(key.into(), |(end, _)| format!("{}…", &key[..end]));
        Self::DuplicateKey { key: cut.into(), first }
    }
}

impl SyntaxError {
    /// The name of the text; empty for a text without one.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The position.
    pub const fn position(&self) -> Position {
        self.position
    }

    /// The kind of error.
    pub const fn kind(&self) -> &ErrorKind {
        &self.kind
    }

    /// The message without the position.
    pub fn message(&self) -> String {
        self.kind.to_string()
    }

    /// The error at the same position that says that further errors are not listed.
    #[must_use]
    pub fn further(self) -> Self {
        Self { kind: ErrorKind::Further, ..self }
    }

    /// What helps if the line has braces of a template.
    fn hint(&self) -> Option<&'static str> {
        const HELM: [&str; 4] = ["{{-", "{{.", "{{ .", "{{ include"];
        let is_form = matches!(self.kind, ErrorKind::Syntax(_) | ErrorKind::Key(_));
        let line = self.excerpt.lines().next().filter(|line| is_form && line.contains("{{"))?;
        Some(if HELM.iter().any(|marker| line.contains(marker)) {
            "Helm templates are not read; render the chart first (`helm template`)"
        } else {
            "put a value with `{{ }}` in quotes: \"{{ … }}\""
        })
    }

    /// The line, and a caret below the column.
    pub fn excerpt(&self) -> &str {
        &self.excerpt
    }
}

/// `NAME:LINE:COLUMN: message`, then the line and a caret under the column, which the alternate form leaves out.
impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.name.is_empty() {
            write!(f, "{}:", self.name)?;
        }
        write!(f, "{}: {}", self.position, self.kind)?;
        if !f.alternate() {
            write!(f, "\n{}", self.excerpt)?;
        }
        match self.hint() {
            Some(hint) => write!(f, "\n  hint: {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for SyntaxError {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::{Origin, Source};

    #[test]
    fn an_error_shows_its_place() {
        let source = Source::new("web.yaml", "a: 1\nb: [\n");
        assert_eq!(
            source.error(Origin::START, 8, ErrorKind::syntax("unclosed")).to_string(),
            "web.yaml:2:4: unclosed\n2 | b: [\n  |    ^"
        );
        assert!(size_of::<SyntaxError>() <= 128);
    }

    #[test]
    fn an_error_at_braces_of_a_template_has_a_hint() {
        for (text, expected) in [
            ("a: {{ request.object.b }}\n", Some("put a value with `{{ }}` in quotes: \"{{ … }}\"")),
            ("a:\n  {{- if .Values.b }}\n  b: c\n", Some("Helm templates are not read")),
            ("a: {{ .Values.b }}\n", Some("Helm templates are not read")),
            ("a: [\n", None),
            ("a: '{{ b }}'\na: 1\n", None),
        ] {
            let source = Source::new("web.yaml", text);
            let errors = crate::yaml::read(&source.into(), &Limits::default()).unwrap_err();
            let message = errors[0].to_string();
            let hint = message.split_once("\n  hint: ").map(|(_, hint)| hint);
            assert_eq!(hint.is_some(), expected.is_some(), "{message}");
            assert!(hint.unwrap_or_default().starts_with(expected.unwrap_or_default()), "{message}");
        }
    }

    #[test]
    fn an_error_says_which_limit_helps() {
        let text = |limit, maximum| ErrorKind::Limit { limit, maximum }.to_string();
        assert_eq!(
            text(Limit::Depth, 100),
            "nested too deep (100 at most; `--limit yaml-depth=N` sets another)"
        );
        assert_eq!(text(Limit::Depth, 1000), "nested too deep (1000 at most, which no `--limit` changes)");
        assert_eq!(
            text(Limit::Documents, 1000),
            "too many documents (1000 at most; `--limit yaml-documents=N` sets another)"
        );
    }
}
