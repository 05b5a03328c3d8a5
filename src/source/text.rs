//! Texts read whole.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;

use crate::yaml::{Document, Limits, Source, read};

use super::{Location, SourceError};

/// Reads a text, and no more of it than the limit allows and one byte, which is enough to be refused.
///
/// # Errors
///
/// What cannot be opened or read, and text that is not UTF-8.
pub fn read_text(location: &Location, limits: &Limits) -> Result<Arc<Source>, SourceError> {
    let name = location.name();
    let bytes = match location {
        Location::Stdin => bounded(io::stdin().lock(), 0, limits),
        Location::File { path, .. } => File::open(path).and_then(|file| {
            let length = file.metadata().map_or(0, |metadata| metadata.len());
            bounded(file, length, limits)
        }),
    };
    let bytes = bytes.map_err(|cause| SourceError::unreadable(name.clone(), cause))?;
    Ok(Arc::new(Source::from_bytes(name, bytes)?))
}

/// Reads up to the limit of bytes and one more.
pub(super) fn bounded(reader: impl Read, expected: u64, limits: &Limits) -> io::Result<Vec<u8>> {
    let most = u64::try_from(limits.bytes).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = Vec::with_capacity(usize::try_from(expected.min(most)).unwrap_or(0).saturating_add(1));
    reader.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads the documents of a text that say something.
///
/// # Errors
///
/// As [`read_text`], and every syntax error of the text.
pub(super) fn read_documents(
    location: &Location,
    limits: &Limits,
) -> Result<Vec<Document>, Vec<SourceError>> {
    documents_of(&read_text(location, limits).map_err(|error| vec![error])?, limits)
}

/// Parses a text; its documents that say something.
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
