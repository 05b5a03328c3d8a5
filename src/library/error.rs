//! Errors of the library.

/// Why a [`Mutator`](super::Mutator) cannot be built. `Display` writes one problem after the other.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", problems.join("\n"))]
pub struct LoadError {
    problems: Vec<String>,
}

impl LoadError {
    pub(super) const fn new(problems: Vec<String>) -> Self {
        Self { problems }
    }

    /// Everything that is wrong, in the order of the inputs: name, line and column, path of the field, and what was
    /// expected. Never empty.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }
}

/// Why a manifest cannot be evaluated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// The text is neither YAML nor JSON. One message for each syntax error.
    #[error("{}", .0.join("\n"))]
    Syntax(Vec<String>),
    /// The text has no object, or several.
    #[error("expected one object, found {0} documents")]
    Documents(usize),
    /// The document has no `apiVersion` or no `kind`.
    #[error("expected an object with `apiVersion` and `kind`")]
    NoObject,
    /// The document is a list of objects.
    #[error("expected one object, found a {0}")]
    List(String),
}
