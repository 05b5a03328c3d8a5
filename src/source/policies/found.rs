//! The policies and bindings of a text.

use crate::policy::{Binding, DocumentKind, Policy, PolicyError, kind_of, parse};
use crate::semantics::{Dialect, DivergenceSet};
use crate::source::text::items_of;
use crate::source::{Place, PolicyText, SourceError};
use crate::value::{Pointer, Text, Value};
use crate::yaml::Document;

use super::{PolicyNote, full_name};

/// What a node of a document is.
pub(super) enum Found {
    NoPolicy,
    Note(PolicyNote),
    Binding {
        binding: Box<Binding>,
        origin: String,
    },
    Invalid {
        name: String,
        errors: Vec<SourceError>,
        divergences: DivergenceSet,
    },
    Policy {
        policy: Box<Policy>,
        kind: Text,
        name: String,
        origin: String,
        text: PolicyText,
        /// Those of its warnings.
        places: Vec<(Pointer, Place)>,
    },
}

/// The contents of a text.
pub(super) fn found_in(
    read: Result<Vec<Document>, Vec<SourceError>>,
    dialect: Dialect,
) -> Result<Vec<Found>, Vec<SourceError>> {
    let mut found = Vec::new();
    for document in &read? {
        let nodes = items_of(document);
        found.extend(nodes.iter().map(|(at, value)| Found::of(document, at, value, dialect)));
    }
    Ok(found)
}

impl Found {
    pub(super) fn of(document: &Document, at: &Pointer, value: &Value, dialect: Dialect) -> Self {
        let origin = || format!("{}:{}", document.source().name(), document.nearest_position(at).line);
        let name = || full_name(value);
        match kind_of(value) {
            DocumentKind::NotAPolicy => Self::NoPolicy,
            DocumentKind::Binding => match Binding::parse(value) {
                Ok(binding) => Self::Binding { binding: Box::new(binding), origin: origin() },
                Err(errors) => {
                    let title = format!("binding {}", name());
                    let errors = errors
                        .iter()
                        .map(|error| SourceError::of_policy(document, at, error, &title))
                        .collect();
                    Self::Invalid { name: name(), errors, divergences: DivergenceSet::NONE }
                }
            },
            DocumentKind::OtherPolicy(kind) => {
                Self::Note(PolicyNote::Other { origin: origin(), kind, name: name() })
            }
            DocumentKind::Misspelt { kind, nearest } => {
                let errors = vec![SourceError::misspelt_kind(document, at, &kind, nearest)];
                Self::Invalid { name: name(), errors, divergences: DivergenceSet::NONE }
            }
            DocumentKind::Policy => match parse(value, dialect) {
                Ok(policy) => {
                    let kind = value.get("kind").and_then(Value::as_text).cloned().unwrap_or_default();
                    let pointers = policy.meta().warnings.iter().map(|warning| &warning.pointer);
                    let place = |pointer: &Pointer| (pointer.clone(), Place::of(document, &at.join(pointer)));
                    let places = pointers.map(place).collect();
                    let (policy, text) = (Box::new(policy), PolicyText::new(document, at));
                    Self::Policy { policy, kind, name: name(), origin: origin(), text, places }
                }
                Err(errors) => {
                    let mut divergences = DivergenceSet::NONE;
                    let located = |error: PolicyError| {
                        error.divergence.into_iter().for_each(|divergence| divergences.insert(divergence));
                        let rule = error.rule.as_ref();
                        let rule = rule.map_or_else(String::new, |rule| format!(", rule {rule}"));
                        SourceError::of_policy(document, at, &error, &format!("policy {}{rule}", name()))
                    };
                    let errors = errors.into_iter().map(located).collect();
                    Self::Invalid { name: name(), errors, divergences }
                }
            },
        }
    }
}
