//! Documents of a known form.

use std::sync::Arc;

use crate::decode::{DecodeError, Decoder};
use crate::diagnostics::Code;
use crate::policy::nearest;
use crate::value::{Map, Pointer, Value};
use crate::yaml::{Document, Limits, Source};

use super::SourceError;
use super::text::documents_of;

/// Which kind a document has to name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// Its own.
    OfKind,
    /// Any: Kyverno's test suites only check that there is one.
    Any,
}

/// What a file with one document contains.
pub(super) struct Form {
    pub(super) kind: &'static str,
    /// The fields besides `apiVersion`, `kind` and `metadata`.
    pub(super) fields: &'static [&'static str],
    /// The message for a second document.
    pub(super) second: &'static str,
}

impl Form {
    /// Decodes the only document of a text.
    ///
    /// # Errors
    ///
    /// Every syntax error, and everything that `decode` finds.
    pub(super) fn decode<T>(
        &self,
        source: &Arc<Source>,
        head: Head,
        limits: &Limits,
        decode: impl Fn(&mut Decoder, &Document, &Value) -> T,
    ) -> Result<T, Vec<SourceError>> {
        let mut errors = Vec::new();
        let mut decoded = None;
        for document in &documents_of(source, limits)? {
            let mut decoder = Decoder::default();
            let kind = (head == Head::OfKind).then_some(self.kind);
            if decoded.is_some() {
                decoder.error(&Pointer::ROOT, self.second);
            } else if let Some(root) = root_of(&mut decoder, document, kind, self.fields) {
                decoded = Some(decode(&mut decoder, document, root));
            }
            errors.extend(source_errors(decoder.errors, document));
        }
        match decoded {
            Some(decoded) if errors.is_empty() => Ok(decoded),
            None if errors.is_empty() => {
                Err(vec![SourceError::Empty { path: source.name().to_owned(), kind: self.kind }])
            }
            _ => Err(errors),
        }
    }
}

/// The errors of a document.
pub(super) fn source_errors(
    errors: Vec<DecodeError>,
    document: &Document,
) -> impl Iterator<Item = SourceError> {
    errors
        .into_iter()
        .map(|error| SourceError::at(Code::InvalidDocument, document, &error.pointer, error.to_string()))
}

/// The root of a document: a map of this kind, or else of any, with no fields but these and those of every document.
pub(super) fn root_of<'d>(
    decoder: &mut Decoder,
    document: &'d Document,
    kind: Option<&str>,
    known: &[&str],
) -> Option<&'d Value> {
    let root = document.value()?;
    let found = root.get("kind").and_then(Value::as_str);
    if kind.is_none() {
        decoder.map(root, &Pointer::ROOT)?;
    } else if found != kind {
        let at = if root.get("kind").is_some() { Pointer::ROOT.key("kind") } else { Pointer::ROOT };
        let found = found.map_or_else(String::new, |found| format!(", found {found:?}"));
        let expected = kind.unwrap_or_default();
        decoder.error(&at, format!("expected a document of kind {expected}{found}"));
        return None;
    }
    for (name, example) in [("apiVersion", " (cli.kyverno.io/v1alpha1)"), ("kind", "")] {
        if root.get(name).and_then(Value::as_str).is_none_or(str::is_empty) {
            decoder.error(&Pointer::ROOT, format!("{name} is missing{example}"));
        }
    }
    fields(decoder, root, &Pointer::ROOT, &[&["apiVersion", "kind", "metadata"], known].concat())?;
    Some(root)
}

/// The members of a map that has no fields but these.
pub(super) fn fields<'v>(
    decoder: &mut Decoder,
    node: &'v Value,
    at: &Pointer,
    known: &[&str],
) -> Option<&'v Map> {
    decoder.fields(node, at, known, |key| {
        let meant = nearest(key, known.iter().copied());
        let meant = meant.map_or_else(String::new, |meant| format!(", did you mean `{meant}`?"));
        format!("unknown field{meant}; known are {}", known.join(", "))
    })
}

/// A string; an empty one if it is missing.
pub(super) fn optional_text<'v>(decoder: &mut Decoder, node: &'v Value, at: &Pointer, name: &str) -> &'v str {
    decoder.text(node, at, name).map(|text| &**text).unwrap_or_default()
}
