//! Why an apply configuration cannot be merged.

use std::fmt;

use crate::diagnostics::{Code, Coded};
use crate::patch::Limit;
use crate::value::{GroupVersionKind, Pointer};

/// Why an apply configuration cannot be merged into an object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// The schema of the kind is not known.
    #[error("the schema of {0} is not known; `--crds` reads its CustomResourceDefinition")]
    NoSchema(GroupVersionKind),
    /// The configuration does not fit the schema.
    #[error("invalid apply configuration: {}", listed(.0, "; "))]
    Configuration(Vec<Fault>),
    /// The configuration has lists, maps or structs that are replaced as a whole.
    #[error(
        "an apply configuration may not set lists, maps and structs that are replaced as a whole: {}",
        listed(.0, ", ")
    )]
    Atomic(Vec<Pointer>),
    /// The object does not fit the schema where the configuration sets fields.
    #[error("the object does not fit its schema: {0}")]
    Object(Fault),
    /// A limit was exceeded.
    #[error(transparent)]
    Limit(#[from] Limit),
}

/// A value that does not fit the schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {problem}", if .at.is_root() { "the whole".to_owned() } else { .at.to_string() })]
pub struct Fault {
    /// Its path.
    pub at: Pointer,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong with a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The schema does not have the field.
    #[error("unknown field{}", .nearest.as_ref().map_or_else(String::new, |name| format!(", did you mean `{name}`?")))]
    UnknownField {
        /// A field with a similar name.
        nearest: Option<String>,
    },
    /// It has another type.
    #[error("expected {expected}, found {found}")]
    WrongType {
        /// The expected type.
        expected: &'static str,
        /// Its type.
        found: &'static str,
    },
    /// An element of a list has none of the fields that identify it.
    #[error("the element needs its key `{keys}`")]
    NoKey {
        /// These fields.
        keys: String,
    },
    /// An element of a list has the key of an earlier one.
    #[error("a second element with {key}")]
    Duplicate {
        /// The key.
        key: String,
    },
}

impl Coded for ApplyError {
    fn code(&self) -> Code {
        match self {
            Self::NoSchema(_) | Self::Configuration(_) | Self::Object(_) | Self::Atomic(_) => {
                Code::ApplyConfiguration
            }
            Self::Limit(_) => Code::EvaluationLimit,
        }
    }
}

/// The items, at most [`MAX_LISTED`] of them.
fn listed(items: &[impl fmt::Display], separator: &str) -> String {
    const MAX_LISTED: usize = 20;
    let mut listed: Vec<String> = items.iter().take(MAX_LISTED).map(ToString::to_string).collect();
    if items.len() > MAX_LISTED {
        listed.push(format!("and {} more", items.len() - MAX_LISTED));
    }
    listed.join(separator)
}
