//! Files of findings that are known.

use std::path::Path;

use crate::diagnostics::Code;
use crate::lint::Baseline;
use crate::value::Pointer;
use crate::yaml::Limits;

use super::text::read_documents;
use super::{Location, SourceError};

/// Reads a baseline of `lint`.
///
/// # Errors
///
/// A file that cannot be read, syntax errors, and a document that is no baseline.
pub fn read_baseline(path: &Path, limits: &Limits) -> Result<Baseline, Vec<SourceError>> {
    let documents = read_documents(&Location::file(path), limits)?;
    let document = documents.first().and_then(|document| Some((document, document.value()?)));
    let Some((document, value)) = document else {
        return Err(vec![SourceError::Empty { path: path.display().to_string(), kind: "baseline" }]);
    };
    Baseline::parse(value).map_err(|error| {
        vec![SourceError::at(Code::InvalidDocument, document, &Pointer::ROOT, error.to_string())]
    })
}
