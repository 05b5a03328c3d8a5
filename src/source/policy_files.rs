//! Files of policies as they are written: values, places, and texts with other values.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use crate::diagnostics::Code;
use crate::policy::{Binding, DocumentKind, Policy, PolicyError, kind_of, parse};
use crate::semantics::Dialect;
use crate::value::{Pointer, Segment, Value};
use crate::yaml::{Document, Limits, Source};

use super::policies::full_name;
use super::text::{documents_of, items_of};
use super::{Location, Place, SourceError, read_text};

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
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, and every syntax error.
    pub fn read(location: &Location, dialect: Dialect, limits: &Limits) -> Result<Self, Vec<SourceError>> {
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
                let message = format!("there is no policy of kind `{kind}`, did you mean `{nearest}`?");
                self.errors.push(SourceError::at(Code::UnknownKind, document, &at.key("kind"), message));
            }
            DocumentKind::OtherPolicy(_) | DocumentKind::NotAPolicy => {}
        }
    }

    /// Whether there is anything to say about the file.
    pub fn is_of_policies(&self) -> bool {
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
            *node_mut(root, &policy.at.join(pointer))? = (*value).clone();
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

fn node_mut<'v>(root: &'v mut Value, pointer: &Pointer) -> Option<&'v mut Value> {
    pointer.segments().iter().try_fold(root, |node, segment| match segment {
        Segment::Key(key) => node.as_object_mut()?.get_mut(key),
        Segment::Index(index) => node.as_array_mut()?.get_mut(*index),
    })
}
