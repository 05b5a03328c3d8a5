//! Editing documents: their text with another value, otherwise unchanged.
//!
//! The new text consists of parts of the old one; new nodes are formatted like their surroundings. The result
//! is read again, and if it has another value, the document is printed canonically instead.

mod block;
mod check;
mod editor;
mod flow;
mod flow_elements;
mod folded;
mod formatting;
mod layout;
mod matching;
mod order;
mod outline;
mod replace;
mod whitespace;
mod writer;

use crate::value::Value;

use super::Document;

pub use check::parses_as;
pub(super) use layout::{Layout, LayoutRecorder};

use editor::Editor;
use outline::Outline;

/// A document with another value.
#[derive(Clone, Debug)]
pub struct Edited {
    /// The whole text, separators included.
    pub text: String,
    /// The number of aliases replaced by their value because their anchor got another one.
    pub expanded: usize,
    /// Why the text is canonical; `None` if it is the old text, edited.
    pub fallback: Option<Fallback>,
}

/// Why a document cannot be edited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[non_exhaustive]
pub enum Fallback {
    /// Lines end in lone carriage returns.
    #[error("its lines end in lone carriage returns")]
    LineBreaks,
    /// The layout of the text is not understood.
    #[error("its layout is not understood")]
    Layout,
    /// Tabs in the indentation.
    #[error("the indentation has tabs or other characters than spaces")]
    Indentation,
    /// The root changed its type.
    #[error("the whole document became another one")]
    Root,
    /// The change concerns merged members.
    #[error("the change concerns members that a merge key brings")]
    Merge,
    /// A comment would be lost.
    #[error("a comment is inside the part that changes")]
    Comment,
    /// A key is too long for one line.
    #[error("a key is too long for one line")]
    LongKey,
    /// A new node is nested too deep.
    #[error("what is new is nested too deep")]
    Depth,
    /// The edited text has another value.
    #[error("the edited text would be read as something else")]
    Reading,
}

impl Document {
    /// The text with another value: comments, order, quotes and layout of unchanged
    /// nodes are kept.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use kyv::value::Value;
    /// use kyv::yaml::{Limits, Source, read};
    ///
    /// let source = Arc::new(Source::new("a.yaml", "a:   'x' # kept\nb: [1,2]\n"));
    /// let document = read(&source, &Limits::default()).unwrap().remove(0);
    /// let value = Value::from_json(r#"{"a": "y", "b": [1, 2, 3]}"#).unwrap();
    /// assert_eq!(document.edited(&value).text, "a:   'y' # kept\nb: [1,2,3]\n");
    /// ```
    pub fn edited(&self, value: &Value) -> Edited {
        self.as_edited(self.edit_and_check(value), value)
    }

    /// As [`Self::edited`], without reading the text again. For measurements and tests.
    pub fn edited_unchecked(&self, value: &Value) -> Edited {
        self.as_edited(self.edit(value), value)
    }

    fn as_edited(&self, edited: Result<(String, usize), Fallback>, value: &Value) -> Edited {
        match edited {
            Ok((text, expanded)) => Edited { text, expanded, fallback: None },
            Err(fallback) => Edited { text: self.with_value(value), expanded: 0, fallback: Some(fallback) },
        }
    }

    fn edit_and_check(&self, value: &Value) -> Result<(String, usize), Fallback> {
        let (text, expanded) = self.edit(value)?;
        if parses_as(&text, value) { Ok((text, expanded)) } else { Err(Fallback::Reading) }
    }

    fn edit(&self, value: &Value) -> Result<(String, usize), Fallback> {
        let before = self.value().ok_or(Fallback::Root)?;
        if before == value {
            return Ok((self.text().to_owned(), 0));
        }
        let whole = self.text();
        if whole.contains('\r') && whole.replace("\r\n", "").contains('\r') {
            return Err(Fallback::LineBreaks);
        }
        let outline = Outline::new(self.source.text(), &self.layout, self.is_json());
        let mut editor = Editor::new(self.source.text(), &self.ranges, self.is_json(), outline);
        editor.root(before, value)?;
        let (mut text, expanded) = editor.finish();
        if whole.ends_with('\n') && !text.ends_with('\n') {
            text.push('\n');
        }
        Ok((text, expanded))
    }
}

#[cfg(test)]
mod tests;
