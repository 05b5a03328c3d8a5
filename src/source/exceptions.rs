//! Exceptions from policies, from files, folders, globs and documents.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use indexmap::IndexMap;

use crate::policy::{DocumentKind, Policy, PolicyException, kind_of};
use crate::semantics::Semantics;
use crate::value::{GroupVersionKind, Pointer, Value};
use crate::yaml::{Document, Limits, Source};

use super::crds::documents_in;
use super::policies::stored_documents;
use super::text::{documents_of, read_documents};
use super::{Location, SourceError, Walk, expand};

/// The exceptions that the inputs hold.
#[derive(Debug, Default)]
pub struct LoadedExceptions {
    /// The exceptions, in input order.
    pub exceptions: Vec<PolicyException>,
    /// The file and line of each.
    pub origins: Vec<String>,
    /// What of the inputs is not evaluated.
    pub left_out: Vec<String>,
    /// What else there is to say.
    pub notes: Vec<String>,
}

impl LoadedExceptions {
    /// What the exceptions name that none of these policies has.
    pub fn misses(&self, policies: &[Policy]) -> Vec<String> {
        let pairs = self.exceptions.iter().zip(&self.origins);
        let misses = pairs.flat_map(|(exception, origin)| {
            let name = exception.full_name();
            let misses = exception.unmatched_names(policies).into_iter();
            misses.map(move |miss| format!("{origin}: exception {name}: {miss}"))
        });
        misses.collect()
    }
}

/// Gathers exceptions from inputs of several kinds.
#[derive(Debug, Default)]
pub struct ExceptionLoader {
    semantics: Semantics,
    limits: Limits,
    loaded: LoadedExceptions,
    errors: Vec<SourceError>,
    /// Where each exception stands, by its name.
    seen: IndexMap<String, String>,
    /// Documents of folders and globs that are no exceptions.
    others: usize,
}

/// Loads all exceptions of the inputs. Other documents are passed over; a named file must hold an exception.
///
/// # Errors
///
/// Everything that is wrong with any of the inputs.
pub fn load_exceptions(
    arguments: &[PathBuf],
    semantics: Semantics,
    limits: &Limits,
) -> Result<LoadedExceptions, Vec<SourceError>> {
    let mut loader = ExceptionLoader::new(semantics, *limits);
    for argument in arguments {
        loader.path(argument);
    }
    loader.finish()
}

impl ExceptionLoader {
    /// Starts without exceptions.
    pub fn new(semantics: Semantics, limits: Limits) -> Self {
        Self { semantics, limits, ..Self::default() }
    }

    /// Takes in what a path, a folder, a glob or `-` stands for.
    pub fn path(&mut self, argument: &Path) {
        match expand(argument, Walk::DeepWithoutDots) {
            Ok(locations) => locations.iter().for_each(|location| self.location(location)),
            Err(error) => self.errors.push(error),
        }
    }

    /// Takes in an exception as a cluster stores it.
    pub fn stored(&mut self, object: &Value) {
        match stored_documents(object, &self.limits) {
            Ok(documents) => {
                for document in &documents {
                    if let Some(value) = document.value() {
                        self.node(document, &Pointer::ROOT, value);
                    }
                }
            }
            Err(errors) => self.errors.extend(errors),
        }
    }

    fn location(&mut self, location: &Location) {
        let named = !matches!(location, Location::File { named: false, .. });
        self.documents(read_documents(location, &self.limits), &location.name(), named);
    }

    /// Reads the exceptions of a text, which must hold one.
    pub fn text(&mut self, source: &Arc<Source>) {
        self.documents(documents_of(source, &self.limits), source.name(), true);
    }

    fn documents(&mut self, read: Result<Vec<Document>, Vec<SourceError>>, name: &str, named: bool) {
        let documents = match read {
            Ok(documents) => documents,
            Err(errors) => return self.errors.extend(errors),
        };
        let mut others = 0;
        let mut found = 0;
        for document in &documents {
            for (at, value) in documents_in(document) {
                if self.node(document, &at, &value) { found += 1 } else { others += 1 }
            }
        }
        if named && found == 0 {
            self.errors.push(SourceError::Empty { path: name.to_owned(), kind: "PolicyException" });
        }
        self.others += others;
    }

    /// Takes in one node of a document; `false` if it is no exception.
    pub fn node(&mut self, document: &Document, at: &Pointer, value: &Value) -> bool {
        let Some(kind) = GroupVersionKind::of(value) else { return false };
        let origin = format!("{}:{}", document.source().name(), document.nearest_position(at).line);
        let text = |field| value.path(&["metadata", field]).and_then(Value::as_str).unwrap_or_default();
        let name = match text("namespace") {
            "" => text("name").to_owned(),
            namespace => format!("{namespace}/{}", text("name")),
        };
        match kind_of(value) {
            DocumentKind::OtherPolicy(of) if &*of == "PolicyException" => {}
            DocumentKind::Misspelt { kind, nearest: "PolicyException" } => {
                let message = format!("there is no kind `{kind}`, did you mean `PolicyException`?");
                self.errors.push(SourceError::at(document, &at.key("kind"), message));
                return true;
            }
            _ => return false,
        }
        if &*kind.group != "kyverno.io" {
            let text =
                format!("{origin}: PolicyException {name} is for policies of {}: not evaluated", kind.group);
            self.loaded.left_out.push(text);
            return true;
        }
        match PolicyException::parse(value, self.semantics) {
            Ok(exception) => {
                for note in &exception.notes {
                    self.loaded.notes.push(format!("{origin}: exception {name}: {}", note.text));
                }
                if let Some(first) = self.seen.insert(name.clone(), origin.clone()) {
                    let text = format!("{origin}: an exception {name} stands in {first}, too; both are used");
                    self.loaded.notes.push(text);
                }
                self.loaded.exceptions.push(exception);
                self.loaded.origins.push(origin);
            }
            Err(faults) => self.errors.extend(faults.iter().map(|fault| {
                let message = format!("exception {name}: {fault}");
                SourceError::at(document, &at.join(&fault.pointer), message)
            })),
        }
        true
    }

    /// What was gathered.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with any of the inputs.
    pub fn finish(mut self) -> Result<LoadedExceptions, Vec<SourceError>> {
        match self.others {
            0 => {}
            1 => self.loaded.notes.push("1 document beside the exceptions passed over".to_owned()),
            others => self.loaded.notes.push(format!("{others} documents beside the exceptions passed over")),
        }
        if self.errors.is_empty() { Ok(self.loaded) } else { Err(self.errors) }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const EXCEPTION: &str = "apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: e, namespace: ns}
spec:
  exceptions: [{policyName: p, ruleNames: [r]}]
  match: {any: [{resources: {kinds: [Pod]}}]}
";

    fn load(text: &str) -> Result<LoadedExceptions, Vec<String>> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("e.yaml");
        fs::write(&file, text).unwrap();
        load_exceptions(&[file], Semantics::Documented, &Limits::default()).map_err(|errors| {
            let prefix = format!("{}/", folder.path().display());
            errors.iter().map(|error| error.to_string().replace(&prefix, "")).collect()
        })
    }

    #[test]
    fn several_stand_in_one_file_and_in_lists() {
        let list =
            format!("apiVersion: v1\nkind: List\nitems:\n- {}", EXCEPTION.trim_end().replace('\n', "\n  "));
        let loaded = load(&format!("{EXCEPTION}---\n{list}\n---\napiVersion: v1\nkind: Pod\n")).unwrap();
        assert_eq!(loaded.exceptions.len(), 2);
        assert_eq!(loaded.notes.len(), 2, "{:?}", loaded.notes);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let errors = load(&EXCEPTION.replace("ruleNames", "rules")).unwrap_err();
        assert!(
            errors[1].starts_with("e.yaml:5:32: exception ns/e: spec.exceptions[0].rules: unknown field"),
            "{errors:?}"
        );
        let errors = load(&EXCEPTION.replace("io/v2", "io/v2alpha1")).unwrap_err();
        assert!(errors[0].contains("expected `kyverno.io/v2` or `kyverno.io/v2beta1`"), "{errors:?}");
        let errors = load(&EXCEPTION.replace("Exception", "Exceptions")).unwrap_err();
        assert!(errors[0].contains("did you mean `PolicyException`?"), "{errors:?}");
        let errors = load("apiVersion: v1\nkind: Pod\n").unwrap_err();
        assert_eq!(errors.len(), 1, "{errors:?}");
    }
}
