//! Policies applied to one object.

use std::sync::Arc;

use crate::engine::Engine;
use crate::source::OfflineWorld;
use crate::value::{GroupVersionKind, Value};
use crate::yaml::{Document, Limits, Source, read};

use super::{ManifestError, Report};

/// Compiled policies with what they need besides the object. It can be shared between threads.
#[derive(Debug)]
pub struct Mutator {
    engine: Engine,
    world: OfflineWorld,
    notes: Vec<String>,
}

impl Mutator {
    pub(super) const fn new(engine: Engine, world: OfflineWorld, notes: Vec<String>) -> Self {
        Self { engine, world, notes }
    }

    /// What in the exceptions and values has no effect, such as values for a policy that does not exist.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Applies the policies to the object of a manifest, as in a request that creates it.
    ///
    /// A rule that cannot be evaluated is an outcome in the report, and the changes of its policy are discarded.
    /// Mutate existing rules change other objects than this one and are not run.
    ///
    /// # Errors
    ///
    /// See [`ManifestError`].
    pub fn mutate(&self, manifest: &str) -> Result<Report, ManifestError> {
        self.evaluate(manifest, None)
    }

    /// The same for a request that updates an object: `old` is the stored one.
    ///
    /// # Errors
    ///
    /// See [`ManifestError`].
    pub fn mutate_update(&self, manifest: &str, old: &str) -> Result<Report, ManifestError> {
        let old = document(old)?;
        let stored = object(&old)?;
        self.evaluate(manifest, Some(stored))
    }

    fn evaluate(&self, manifest: &str, old: Option<&Value>) -> Result<Report, ManifestError> {
        let document = document(manifest)?;
        let report = self.engine.mutate(object(&document)?, old, &self.world);
        Ok(Report::new(document, report))
    }
}

/// The one document of a text.
fn document(text: &str) -> Result<Document, ManifestError> {
    let source = Arc::new(Source::new("manifest", text));
    let read = read(&source, &Limits::default());
    let mut documents =
        read.map_err(|errors| ManifestError::Syntax(errors.iter().map(ToString::to_string).collect()))?;
    documents.retain(|document| document.value().is_some());
    match (documents.pop(), documents.len()) {
        (Some(document), 0) => Ok(document),
        (last, others) => Err(ManifestError::Documents(others + usize::from(last.is_some()))),
    }
}

/// The object of a document.
fn object(document: &Document) -> Result<&Value, ManifestError> {
    let value = document.value().ok_or(ManifestError::NoObject)?;
    let kind = GroupVersionKind::of(value).ok_or(ManifestError::NoObject)?;
    if kind.kind.ends_with("List") && value.get("items").is_some() {
        return Err(ManifestError::List(kind.kind.to_string()));
    }
    Ok(value)
}
