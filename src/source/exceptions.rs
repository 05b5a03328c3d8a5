//! Exceptions from policies, from files, folders, globs and documents.

use std::path::Path;
use std::sync::Arc;

use indexmap::IndexMap;
use jiff::Timestamp;

use crate::diagnostics::Code;
use crate::policy::{CelException, Comparisons, DocumentKind, Policy, PolicyError, PolicyException, kind_of};
use crate::semantics::Semantics;
use crate::value::{GroupVersionKind, Pointer, Text, Value};
use crate::yaml::{Document, Limits, Source};

use super::policies::{full_name, stored_documents};
use super::text::{documents_of, items_of, read_files};
use super::{PolicyText, SourceError, Walk};

/// The exceptions of the inputs.
#[derive(Debug, Default)]
pub struct LoadedExceptions {
    /// The exceptions, in input order.
    pub exceptions: Vec<PolicyException>,
    /// The file and line of each.
    pub origins: Vec<String>,
    /// Those from CEL policies, in input order.
    pub cel: Vec<CelException>,
    /// The file and line of each.
    cel_origins: Vec<String>,
    /// The name and text of each.
    pub cel_texts: Vec<(Text, PolicyText)>,
    /// Notes on exceptions that are not evaluated.
    pub left_out: Vec<String>,
    /// Other notes, with their codes.
    pub notes: Vec<(Code, String)>,
}

impl LoadedExceptions {
    /// Notes on names in the exceptions that none of these policies has.
    pub fn misses(&self, policies: &[Policy]) -> Vec<String> {
        let mut comparisons = Comparisons::default();
        let mut notes = Vec::new();
        for (exception, origin) in self.exceptions.iter().zip(&self.origins) {
            let name = exception.full_name();
            let misses = exception.unmatched_names(policies, &mut comparisons).into_iter();
            notes.extend(misses.map(|miss| format!("{origin}: exception {name}: {miss}")));
        }
        for (exception, origin) in self.cel.iter().zip(&self.cel_origins) {
            let misses = exception.unmatched_names(policies, &mut comparisons).into_iter();
            notes.extend(misses.map(|miss| format!("{origin}: exception {}: {miss}", exception.name)));
        }
        if comparisons.are_used_up() {
            let text = "the exceptions and policies have too many names: not all of them were compared";
            notes.push(text.to_owned());
        }
        notes
    }

    /// Notes on exceptions that do not count any more.
    pub fn expired(&self, now: Timestamp) -> Vec<String> {
        let cel = self.cel.iter().zip(&self.cel_origins);
        let expired = cel.filter_map(|(exception, origin)| {
            let end = exception.expires_at.filter(|end| *end < now)?;
            Some(format!("{origin}: exception {} expired at {end}: not used", exception.name))
        });
        expired.collect()
    }
}

/// Loads exceptions from inputs of several kinds. Other documents are ignored.
#[derive(Debug, Default)]
pub struct ExceptionLoader {
    semantics: Semantics,
    limits: Limits,
    loaded: LoadedExceptions,
    errors: Vec<SourceError>,
    /// The origin of each exception, by its name.
    seen: IndexMap<String, String>,
    /// The number of documents that are no exceptions.
    others: usize,
}

impl ExceptionLoader {
    /// An empty loader.
    pub fn new(semantics: Semantics, limits: Limits) -> Self {
        Self { semantics, limits, ..Self::default() }
    }

    /// Loads a path, a folder, a glob or `-`. A named file must contain an exception.
    pub fn path(&mut self, argument: &Path) {
        for file in read_files(argument, Walk::DeepWithoutDots, &self.limits) {
            match file {
                Ok((location, documents)) => self.add(&documents, &location.name(), location.is_named()),
                Err(errors) => self.errors.extend(errors),
            }
        }
    }

    /// Loads an exception as a cluster stores it.
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

    /// Loads a text, which must contain an exception.
    pub fn text(&mut self, source: &Arc<Source>) {
        match documents_of(source, &self.limits) {
            Ok(documents) => self.add(&documents, source.name(), true),
            Err(errors) => self.errors.extend(errors),
        }
    }

    fn add(&mut self, documents: &[Document], name: &str, is_named: bool) {
        let (mut found, mut others) = (0, 0);
        for document in documents {
            for (at, value) in items_of(document) {
                *if self.node(document, &at, &value) { &mut found } else { &mut others } += 1;
            }
        }
        if is_named && found == 0 {
            self.errors.push(SourceError::Empty { path: name.to_owned(), kind: "PolicyException" });
        }
        self.others += others;
    }

    /// Loads a node of a document; `false` if it is no exception.
    pub fn node(&mut self, document: &Document, at: &Pointer, value: &Value) -> bool {
        let Some(kind) = GroupVersionKind::of(value) else { return false };
        let origin = format!("{}:{}", document.source().name(), document.nearest_position(at).line);
        let name = full_name(value);
        match kind_of(value) {
            DocumentKind::OtherPolicy(of) if &*of == "PolicyException" => {}
            DocumentKind::Misspelt { kind, nearest: "PolicyException" } => {
                let message = format!("there is no kind `{kind}`, did you mean `PolicyException`?");
                self.errors.push(SourceError::at(Code::UnknownKind, document, &at.key("kind"), message));
                return true;
            }
            _ => return false,
        }
        if &*kind.group != "kyverno.io" {
            self.cel_exception(document, at, value, origin);
            return true;
        }
        match PolicyException::parse(value, self.semantics) {
            Ok(exception) => {
                for note in &exception.notes {
                    let text = format!("{origin}: exception {name}: {}", note.text);
                    self.loaded.notes.push((note.code, text));
                }
                self.note_twice(&kind.group, &name, &origin);
                self.loaded.exceptions.push(exception);
                self.loaded.origins.push(origin);
            }
            Err(errors) => self.refuse(document, at, &errors, &name),
        }
        true
    }

    /// Loads an exception from CEL policies.
    fn cel_exception(&mut self, document: &Document, at: &Pointer, value: &Value, origin: String) {
        let name = full_name(value);
        match CelException::parse(value) {
            Ok(exception) if !exception.is_for_mutation() => {
                let text =
                    format!("{origin}: PolicyException {name} is for no policy that mutates: not evaluated");
                self.loaded.left_out.push(text);
            }
            Ok(exception) => {
                self.note_twice("policies.kyverno.io", &name, &origin);
                let text = PolicyText::new(document, at);
                self.loaded.cel_texts.push((exception.name.clone(), text));
                self.loaded.cel.push(exception);
                self.loaded.cel_origins.push(origin);
            }
            Err(errors) => self.refuse(document, at, &errors, &name),
        }
    }

    fn note_twice(&mut self, group: &str, name: &str, origin: &str) {
        if let Some(first) = self.seen.insert(format!("{group}/{name}"), origin.to_owned()) {
            let text = format!("{origin}: exception {name} is also defined in {first}; both are used");
            self.loaded.notes.push((Code::DefinedTwice, text));
        }
    }

    fn refuse(&mut self, document: &Document, at: &Pointer, errors: &[PolicyError], name: &str) {
        let title = format!("exception {name}");
        self.errors.extend(errors.iter().map(|error| SourceError::of_policy(document, at, error, &title)));
    }

    /// The exceptions of all inputs.
    ///
    /// # Errors
    ///
    /// All errors of all inputs.
    pub fn finish(mut self) -> Result<LoadedExceptions, Vec<SourceError>> {
        let others = match self.others {
            0 => None,
            1 => Some("1 document beside the exceptions ignored".to_owned()),
            others => Some(format!("{others} documents beside the exceptions ignored")),
        };
        self.loaded.notes.extend(others.map(|text| (Code::OtherDocuments, text)));
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
        let mut loader = ExceptionLoader::new(Semantics::Documented, Limits::default());
        loader.path(&file);
        loader.finish().map_err(|errors| {
            let prefix = format!("{}/", folder.path().display());
            errors.iter().map(|error| error.to_string().replace(&prefix, "")).collect()
        })
    }

    #[test]
    fn exceptions_are_loaded_from_lists_and_files_with_others() {
        let list =
            format!("apiVersion: v1\nkind: List\nitems:\n- {}", EXCEPTION.trim_end().replace('\n', "\n  "));
        let loaded = load(&format!("{EXCEPTION}---\n{list}\n---\napiVersion: v1\nkind: Pod\n")).unwrap();
        assert_eq!(loaded.exceptions.len(), 2);
        assert_eq!(loaded.notes.len(), 2, "{:?}", loaded.notes);
    }

    #[test]
    fn errors_have_their_places() {
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
