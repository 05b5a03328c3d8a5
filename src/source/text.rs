//! Texts that are read as a whole.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use crate::value::{Pointer, Value};
use crate::yaml::{Document, Limits, Source, read};

use super::{Location, SourceError, Walk, expand};

/// Reads a text, at most one byte beyond the limit, which is enough to refuse it.
///
/// # Errors
///
/// A file that cannot be opened or read, and text that is not UTF-8.
pub fn read_text(location: &Location, limits: &Limits) -> Result<Arc<Source>, SourceError> {
    let name = location.name();
    let bytes = match location {
        Location::Stdin => bounded(io::stdin().lock(), 0, limits),
        Location::File { path, named } => fs::metadata(path).and_then(|metadata| {
            // A pipe may be named, as by `<(…)`; one that a folder has is never meant.
            if !named && !metadata.is_file() {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
            }
            bounded(File::open(path)?, metadata.len(), limits)
        }),
    };
    let bytes = bytes.map_err(|cause| SourceError::unreadable(name.clone(), cause))?;
    Ok(Arc::new(Source::from_bytes(name, bytes)?))
}

/// Reads at most one byte beyond the limit.
pub(super) fn bounded(reader: impl Read, expected: u64, limits: &Limits) -> io::Result<Vec<u8>> {
    let most = u64::try_from(limits.bytes).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = Vec::with_capacity(usize::try_from(expected.min(most)).unwrap_or(0).saturating_add(1));
    reader.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The documents of all files that an argument stands for, or the errors of the argument or of a file.
pub(super) fn read_files(
    argument: &Path,
    walk: Walk,
    limits: &Limits,
) -> impl Iterator<Item = Result<(Location, Vec<Document>), Vec<SourceError>>> + use<> {
    let limits = *limits;
    let (locations, error) = match expand(argument, walk) {
        Ok(locations) => (locations, None),
        Err(error) => (Vec::new(), Some(Err(vec![error]))),
    };
    let read = move |location| read_documents(&location, &limits).map(|documents| (location, documents));
    error.into_iter().chain(locations.into_iter().map(read))
}

/// Reads the documents of a text, without empty ones.
///
/// # Errors
///
/// As [`read_text`], and every syntax error.
pub(super) fn read_documents(
    location: &Location,
    limits: &Limits,
) -> Result<Vec<Document>, Vec<SourceError>> {
    documents_of(&read_text(location, limits).map_err(|error| vec![error])?, limits)
}

/// Parses a text, without its empty documents.
///
/// # Errors
///
/// Every syntax error.
pub(super) fn documents_of(source: &Arc<Source>, limits: &Limits) -> Result<Vec<Document>, Vec<SourceError>> {
    let mut documents = parse(source, limits)?;
    documents.retain(|document| document.value().is_some());
    Ok(documents)
}

/// Parses a text.
///
/// # Errors
///
/// Every syntax error.
pub(super) fn parse(source: &Arc<Source>, limits: &Limits) -> Result<Vec<Document>, Vec<SourceError>> {
    read(source, limits).map_err(|errors| errors.into_iter().map(SourceError::from).collect())
}

/// The value of a document, or the items of a `List`, each with its place.
pub fn items_of(document: &Document) -> Vec<(Pointer, Value)> {
    let Some(value) = document.value() else { return Vec::new() };
    let is_list = value.get("kind").and_then(Value::as_str) == Some("List");
    match value.get("items").and_then(Value::as_array) {
        Some(items) if is_list => {
            let at = Pointer::ROOT.key("items");
            items.iter().enumerate().map(|(index, item)| (at.index(index), item.clone())).collect()
        }
        _ => vec![(Pointer::ROOT, value.clone())],
    }
}
