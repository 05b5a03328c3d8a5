//! Files of policies as they are written: values, places, and texts with other values.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use crate::diagnostics::Code;
use crate::policy::{Binding, DocumentKind, Policy, PolicyError, kind_of, parse};
use crate::semantics::Dialect;
use crate::value::{Pointer, Value};
use crate::yaml::{Document, Limits, Source};

use super::paths::expand_new;
use super::policies::full_name;
use super::text::{documents_of, items_of};
use super::{Location, Place, SourceError, Walk, read_text};

/// A file with policies.
#[derive(Debug)]
pub struct PolicyFile {
    /// Its path; `None` for standard input.
    pub path: Option<PathBuf>,
    /// Its name in messages.
    pub name: String,
    /// Its text.
    pub source: Arc<Source>,
    /// Its policies, in their order.
    pub policies: Vec<WrittenPolicy>,
    /// Errors in other documents, such as bindings.
    pub errors: Vec<SourceError>,
    documents: Vec<Document>,
}

/// A policy as it is written.
#[derive(Debug)]
pub struct WrittenPolicy {
    /// `NAMESPACE/NAME` or `NAME`.
    pub name: String,
    /// Its value.
    pub value: Value,
    /// The policy, or why it is refused.
    pub parsed: Result<Policy, Vec<Refusal>>,
    /// The index of its document.
    document: usize,
    /// Where it is in the document.
    at: Pointer,
}

/// A reason why a policy is refused.
#[derive(Debug)]
pub struct Refusal {
    /// The error with its place in the file.
    pub error: SourceError,
    /// Its place in the policy.
    pub pointer: Pointer,
    /// The value for its place that was probably meant.
    pub meant: Option<Value>,
}

impl PolicyFile {
    /// Reads files, folders, globs and `-`: the files with policies, and all errors. A named file must have a policy.
    pub fn read_all(
        arguments: &[PathBuf],
        dialect: Dialect,
        limits: &Limits,
    ) -> (Vec<Self>, Vec<SourceError>) {
        let (mut seen, mut locations) = (BTreeSet::new(), Vec::new());
        let (mut files, mut errors) = (Vec::new(), Vec::new());
        for argument in arguments {
            match expand_new(argument, Walk::DeepWithoutDots, &mut seen) {
                Ok(found) => locations.extend(found),
                Err(error) => errors.push(error),
            }
        }
        let read: Vec<_> =
            locations.par_iter().map(|location| Self::read(location, dialect, limits)).collect();
        for (location, file) in locations.iter().zip(read) {
            match file {
                Ok(file) if file.is_of_policies() => files.push(file),
                Ok(_) if location.is_named() => errors.push(SourceError::no_policy(location.name())),
                Ok(_) => {}
                Err(more) => errors.extend(more),
            }
        }
        if files.is_empty() && errors.is_empty() {
            let names: Vec<String> = arguments.iter().map(|path| path.display().to_string()).collect();
            errors.push(SourceError::no_policy(names.join(", ")));
        }
        (files, errors)
    }

    /// Reads a file.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, and every syntax error.
    fn read(location: &Location, dialect: Dialect, limits: &Limits) -> Result<Self, Vec<SourceError>> {
        let source = read_text(location, limits).map_err(|error| vec![error])?;
        let documents = documents_of(&source, limits)?;
        let path = match location {
            Location::File { path, .. } => Some(path.clone()),
            Location::Stdin => None,
        };
        let name = location.name();
        let mut file =
            Self { path, name, source, policies: Vec::new(), errors: Vec::new(), documents: Vec::new() };
        for (index, document) in documents.iter().enumerate() {
            for (at, value) in items_of(document) {
                file.add(document, index, at, value, dialect);
            }
        }
        Ok(Self { documents, ..file })
    }

    fn add(&mut self, document: &Document, index: usize, at: Pointer, value: Value, dialect: Dialect) {
        let name = full_name(&value);
        match kind_of(&value) {
            DocumentKind::Policy => {
                let refused = |errors: Vec<PolicyError>| {
                    let refusal = |error: PolicyError| {
                        let rule = error.rule.as_ref().map_or_else(String::new, |rule| format!("/{rule}"));
                        let text = value.pointed(&error.pointer).and_then(Value::as_str);
                        let meant = error.suggestion.as_deref().filter(|_| error.code != Code::UnknownField);
                        Refusal {
                            error: SourceError::of_policy(document, &at, &error, &format!("{name}{rule}")),
                            meant: text.and(meant).map(Value::from),
                            pointer: error.pointer,
                        }
                    };
                    errors.into_iter().map(refusal).collect()
                };
                let parsed = parse(&value, dialect).map_err(refused);
                self.policies.push(WrittenPolicy { name, value, parsed, document: index, at });
            }
            DocumentKind::Binding => {
                if let Err(errors) = Binding::parse(&value) {
                    let error = |error| SourceError::of_policy(document, &at, error, &name);
                    self.errors.extend(errors.iter().map(error));
                }
            }
            DocumentKind::Misspelt { kind, nearest } => {
                self.errors.push(SourceError::misspelt_kind(document, &at, &kind, nearest));
            }
            DocumentKind::OtherPolicy(_) | DocumentKind::NotAPolicy => {}
        }
    }

    /// Whether there is anything to say about the file.
    fn is_of_policies(&self) -> bool {
        !self.policies.is_empty() || !self.errors.is_empty()
    }

    /// The place of a node of a policy.
    pub fn place(&self, policy: &WrittenPolicy, pointer: &Pointer) -> Option<Place> {
        Some(Place::of(self.documents.get(policy.document)?, &policy.at.join(pointer)))
    }

    /// The text with other values at these nodes of policies, all else as it is; `None` if it cannot be edited so.
    pub fn with_values(&self, changes: &[(&WrittenPolicy, &Pointer, &Value)]) -> Option<String> {
        let mut values: BTreeMap<usize, Value> = BTreeMap::new();
        for (policy, pointer, value) in changes {
            let document = self.documents.get(policy.document)?;
            let root = values
                .entry(policy.document)
                .or_insert_with(|| document.value().cloned().unwrap_or_default());
            *root.pointed_mut(policy.at.join(pointer).segments())? = (*value).clone();
        }
        let mut text = self.source.text().to_owned();
        // From the end, so that ranges stay valid.
        for (index, value) in values.iter().rev() {
            let document = &self.documents[*index];
            let edited = document.edited(value);
            if edited.fallback.is_some() {
                return None;
            }
            text.replace_range(document.range().clone(), &edited.text);
        }
        Some(text)
    }
}
