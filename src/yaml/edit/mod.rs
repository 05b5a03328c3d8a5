//! Documents edited: their text with another value in it, and nothing else changed.
//!
//! The new text is made of pieces of the old one; what is new is written as its surroundings are. The result
//! is read again, and where it does not say what it should the document is printed canonically.

mod brackets;
mod draft;
mod editor;
mod gap;
mod habit;
mod lines;
mod matching;
mod order;
mod outline;
mod replace;

use std::sync::Arc;

use crate::value::Value;

use super::document::Format;
use super::event::YamlText;
use super::json::JsonText;
use super::keys::Keys;
use super::{Document, Limits, Source, read};

use editor::Editor;
use outline::{Outline, Recorder};

/// A document with another value.
#[derive(Clone, Debug)]
pub struct Edited {
    /// The whole text, with what separates it from its neighbours.
    pub text: String,
    /// How many aliases were written out, because the node that they stand for became another one.
    pub expanded: usize,
    /// Why the text is a canonical one; `None` if it is the old text, edited.
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
    /// Tabs stand where blanks should.
    #[error("tabs or other signs stand where blanks would tell the indentation")]
    Indentation,
    /// The root became another kind of node.
    #[error("the whole document became another one")]
    Root,
    /// Merge keys that no edit can follow.
    #[error("the change concerns members that a merge key brings")]
    Merge,
    /// A comment stands where it would be lost.
    #[error("a comment stands inside what changes")]
    Comment,
    /// A key is too long for one line.
    #[error("a key is too long for one line")]
    LongKey,
    /// A new node is nested too deep.
    #[error("what is new is nested too deep")]
    Depth,
    /// The edited text would be read as something else.
    #[error("the edited text would be read as something else")]
    Reading,
}

impl Document {
    /// The text with another value in the place of this one: comments, order, quotes and layout of what did
    /// not change stay as they are.
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
        match self.edit(value) {
            Ok((text, expanded)) => Edited { text, expanded, fallback: None },
            Err(fallback) => Edited { text: self.with_value(value), expanded: 0, fallback: Some(fallback) },
        }
    }

    fn edit(&self, value: &Value) -> Result<(String, usize), Fallback> {
        let (text, expanded) = self.edit_unchecked(value)?;
        if says(&text, value) { Ok((text, expanded)) } else { Err(Fallback::Reading) }
    }

    fn edit_unchecked(&self, value: &Value) -> Result<(String, usize), Fallback> {
        let before = self.value().ok_or(Fallback::Root)?;
        let whole = self.text();
        if whole.contains('\r') && whole.replace("\r\n", "").contains('\r') {
            return Err(Fallback::LineBreaks);
        }
        let outline = self.outline().ok_or(Fallback::Layout)?;
        let mut editor = Editor::new(self.source.text(), &self.parts, self.is_json(), &outline);
        editor.root(before, value)?;
        let (mut text, expanded) = editor.finish();
        // A file without a final line break stays one.
        match (whole.ends_with('\n'), text.ends_with('\n')) {
            (false, true) => text.truncate(text.trim_end_matches('\n').trim_end_matches('\r').len()),
            (true, false) => text.push('\n'),
            _ => {}
        }
        Ok((text, expanded))
    }

    fn outline(&self) -> Option<Outline> {
        let (text, part) = (self.source.text(), self.parts.parsed.clone());
        let mut keys = Keys::default();
        let mut recorder = Recorder::new(text, part.start, self.format == Format::Json, &mut keys);
        let read = match self.format {
            Format::Json => {
                let mut json = JsonText::new(text, part);
                json.starts();
                json.tell(&mut recorder)
            }
            Format::Yaml => {
                let yaml = YamlText { base: part.start, text: &text[part], bare: false };
                yaml.tell(&Limits::unbounded(), &mut recorder)
            }
        };
        read.ok().and_then(|()| recorder.finish())
    }
}

/// Whether a text reads as one document with this value.
fn says(text: &str, value: &Value) -> bool {
    let source = Arc::new(Source::new("", text));
    let mut values = match read(&source, &Limits::unbounded()) {
        Ok(documents) => documents.into_iter().filter_map(Document::into_value),
        Err(_) => return false,
    };
    values.next().as_ref() == Some(value) && values.next().is_none()
}

#[cfg(test)]
mod tests;
