//! Loading policies from files, folders, globs, standard input and clusters.

mod found;

use std::collections::BTreeSet;
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use indexmap::IndexMap;
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use crate::policy::{Binding, Policy, PolicyChoice, WarningCause};
use crate::semantics::{Dialect, DivergenceSet};
use crate::value::{Pointer, Text, Value};
use crate::yaml::{Document, Limits, Source, print};

use super::bindings::{Miss, bindable, join};
use super::paths::expand_new;
use super::text::{documents_of, read_documents};
use super::{Location, Place, PolicyText, SourceError, Walk};

use found::{Found, found_in};

/// The policies of the inputs.
#[derive(Debug, Default)]
pub struct LoadedPolicies {
    /// The policies, in input order.
    pub policies: Vec<Policy>,
    /// The file and line of each.
    pub origins: Vec<String>,
    /// The text of each.
    pub texts: Vec<PolicyText>,
    /// Notes on other documents.
    pub notes: Vec<PolicyNote>,
    /// What loads and cannot be meant.
    pub warnings: Vec<PolicyWarning>,
}

/// Something in a policy that loads and cannot be meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyWarning {
    /// Its place.
    pub place: Place,
    /// `POLICY/RULE`, or the policy.
    pub name: String,
    /// What it is.
    pub cause: WarningCause,
}

/// A note on a document that is not evaluated, or unusual.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PolicyNote {
    /// A binding whose policy does not exist.
    BindingMisses {
        /// The file and line.
        origin: String,
        /// The name.
        name: Text,
        /// The name of the policy.
        policy: Text,
        /// The policy that was probably meant.
        meant: Option<String>,
    },
    /// A `MutatingAdmissionPolicy` without a binding.
    NotBound {
        /// The file and line.
        origin: String,
        /// The name.
        name: Text,
    },
    /// A policy of a kind that mutates nothing, or an object that belongs to one.
    Other {
        /// The file and line.
        origin: String,
        /// The kind.
        kind: Text,
        /// The name.
        name: String,
    },
    /// Documents of a folder or glob that are no policies.
    NoPolicies {
        /// How many.
        documents: usize,
        /// In how many files.
        files: usize,
    },
    /// A policy of a cluster that another one of its name replaces.
    Replaced {
        /// The file and line of the other one.
        by: String,
        /// The name.
        name: String,
    },
    /// Two policies of one name: a cluster would have only the later one.
    Twice {
        /// The file and line of the later one.
        origin: String,
        /// The file and line of the earlier one.
        first: String,
        /// The name.
        name: String,
    },
}

/// Why policies are refused, or files of policies cannot be read.
#[derive(Debug, Default)]
pub struct Refused {
    /// The names of the refused policies.
    pub policies: Vec<String>,
    /// The files that cannot be read, once for each error.
    pub files: Vec<String>,
    /// All errors, in input order.
    pub errors: Vec<SourceError>,
    /// The divergences that some of the errors depend on.
    pub divergences: DivergenceSet,
}

/// Loads policies from inputs of several kinds.
#[derive(Debug, Default)]
pub struct PolicyLoader {
    dialect: Dialect,
    limits: Limits,
    choice: PolicyChoice,
    loaded: LoadedPolicies,
    /// Bindings with their origins.
    bindings: Vec<(Binding, String)>,
    refused: Refused,
    /// The patterns of the choice that name nothing.
    unmatched: PolicyChoice,
    /// The origin of each policy, by kind and name.
    seen: IndexMap<String, String>,
    /// The files that were read. A file that several arguments name is read once.
    files_read: BTreeSet<PathBuf>,
    /// The number of documents that are no policies, and of files with such.
    documents: usize,
    files: usize,
}

impl PolicyLoader {
    /// An empty loader.
    pub fn new(dialect: impl Into<Dialect>, limits: Limits) -> Self {
        Self { dialect: dialect.into(), limits, ..Self::default() }
    }

    /// A loader that keeps the policies and rules of a choice alone.
    #[must_use]
    pub fn with_choice(mut self, choice: PolicyChoice) -> Self {
        self.unmatched = choice.clone();
        self.choice = choice;
        self
    }

    /// The patterns of the choice that name none of the policies and rules that were loaded until now.
    pub const fn unmatched(&self) -> &PolicyChoice {
        &self.unmatched
    }

    /// Loads a path, a folder, a glob or `-`. In folders and globs other documents are ignored; a named file must contain
    /// a policy.
    pub fn path(&mut self, argument: &Path) {
        let locations = match expand_new(argument, Walk::DeepWithoutDots, &mut self.files_read) {
            Ok(locations) => locations,
            Err(error) => return self.refuse_files(vec![error]),
        };
        let (dialect, limits) = (self.dialect, self.limits);
        let read = |location: &Location| found_in(read_documents(location, &limits), dialect);
        let found: Vec<_> = locations.par_iter().map(read).collect();
        for (location, found) in locations.iter().zip(found) {
            self.add(found, &location.name(), location.is_named());
        }
    }

    /// Loads a text, which must contain a policy.
    pub fn text(&mut self, source: &Arc<Source>) {
        let found = found_in(documents_of(source, &self.limits), self.dialect);
        self.add(found, source.name(), true);
    }

    /// Loads a policy as a cluster stores it, unless one of its kind and name was loaded before.
    pub fn stored(&mut self, object: &Value) {
        let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default();
        let name = full_name(object);
        if let Some(by) = self.seen.get(&format!("{kind}/{name}")) {
            self.loaded.notes.push(PolicyNote::Replaced { by: by.clone(), name });
            return;
        }
        match stored_documents(object, &self.limits) {
            Ok(documents) => {
                for document in &documents {
                    if let Some(value) = document.value() {
                        self.node(document, &Pointer::ROOT, value);
                    }
                }
                // All its bindings are read as well.
                if let Some(policy) = self.loaded.policies.last_mut().and_then(bindable)
                    && kind == policy.meta.kind
                    && name == *policy.meta.name
                {
                    policy.bindings.get_or_insert_default();
                }
            }
            Err(errors) => self.refused.errors.extend(errors),
        }
    }

    fn add(&mut self, found: Result<Vec<Found>, Vec<SourceError>>, name: &str, named: bool) {
        let found = match found {
            Ok(found) => found,
            Err(errors) => return self.refuse_files(errors),
        };
        let others = found.iter().filter(|found| matches!(found, Found::NoPolicy)).count();
        let is_empty = others == found.len();
        found.into_iter().for_each(|found| self.add_one(found));
        if named && is_empty {
            return self.refuse_files(vec![SourceError::no_policy(name)]);
        }
        self.documents += others;
        self.files += usize::from(others > 0);
    }

    fn refuse_files(&mut self, errors: Vec<SourceError>) {
        self.refused.files.extend(errors.iter().filter_map(SourceError::file));
        self.refused.errors.extend(errors);
    }

    /// The policies of all inputs, which are called `inputs` in the message that there are none.
    ///
    /// # Errors
    ///
    /// All errors of all inputs, and inputs without a single policy.
    pub fn finish(self, inputs: &str) -> Result<LoadedPolicies, Refused> {
        let (loaded, refused) = self.finish_in_part(inputs);
        if refused.errors.is_empty() { Ok(loaded) } else { Err(refused) }
    }

    /// The policies of all inputs that are valid, and what is not.
    pub fn finish_in_part(mut self, inputs: &str) -> (LoadedPolicies, Refused) {
        if self.documents > 0 {
            self.loaded.notes.push(PolicyNote::NoPolicies { documents: self.documents, files: self.files });
        }
        if self.refused.errors.is_empty() && self.unmatched.is_everything() && self.loaded.policies.is_empty()
        {
            let bound = self.bindings.iter().map(|(binding, _)| binding.policy.clone()).collect();
            let others = self.loaded.other_kinds();
            self.refused.errors.push(SourceError::NoPolicy { path: inputs.to_owned(), bound, others });
        }
        self.join_bindings();
        (self.loaded, self.refused)
    }

    /// Adds the bindings to their policies. Notes those whose policy does not exist, and policies without one.
    fn join_bindings(&mut self) {
        let LoadedPolicies { policies, origins, notes, .. } = &mut self.loaded;
        let misses = join(mem::take(&mut self.bindings), policies);
        // A policy that is not chosen is not known.
        for Miss { binding, origin, meant } in misses.into_iter().filter(|_| self.choice.is_everything()) {
            let Binding { name, policy, .. } = binding;
            notes.push(PolicyNote::BindingMisses { origin, name, policy, meant });
        }
        for (policy, origin) in policies.iter_mut().zip(origins) {
            if let Some(policy) = bindable(policy).filter(|policy| policy.bindings.is_none()) {
                let name = policy.meta.name.clone();
                notes.push(PolicyNote::NotBound { origin: origin.clone(), name });
            }
        }
    }

    /// Loads a node of a document; `false` if it is no policy.
    pub fn node(&mut self, document: &Document, at: &Pointer, value: &Value) -> bool {
        let found = Found::of(document, at, value, self.dialect);
        let is_policy = !matches!(found, Found::NoPolicy);
        self.add_one(found);
        is_policy
    }

    /// Whether a policy is chosen. The rules that are not are removed.
    fn is_chosen(&mut self, found: &mut Found) -> bool {
        match found {
            Found::NoPolicy => true,
            Found::Note(PolicyNote::Other { name, .. }) | Found::Invalid { name, .. } => {
                self.unmatched.remove_possible(name);
                self.choice.may_have(name)
            }
            Found::Note(_) | Found::Binding { .. } => true,
            Found::Policy { policy, .. } => {
                self.unmatched.remove_matched(policy);
                self.choice.narrow(policy)
            }
        }
    }

    fn add_one(&mut self, mut found: Found) {
        if !self.choice.is_everything() && !self.is_chosen(&mut found) {
            return;
        }
        match found {
            Found::NoPolicy => {}
            Found::Note(note) => self.loaded.notes.push(note),
            Found::Binding { binding, origin } => {
                let key = format!("binding {}", binding.name);
                if let Some(first) = self.seen.insert(key, origin.clone()) {
                    let name = binding.name.to_string();
                    self.loaded.notes.push(PolicyNote::Twice { origin: origin.clone(), first, name });
                }
                self.bindings.push((*binding, origin));
            }
            Found::Invalid { name, errors, divergences } => {
                self.refused.policies.push(name);
                self.refused.errors.extend(errors);
                self.refused.divergences.extend(divergences);
            }
            Found::Policy { policy, kind, name, origin, text, places } => {
                if let Some(first) = self.seen.insert(format!("{kind}/{name}"), origin.clone()) {
                    self.loaded.notes.push(PolicyNote::Twice { origin: origin.clone(), first, name });
                }
                self.loaded.warnings.extend(located(&policy, &places));
                self.loaded.policies.push(*policy);
                self.loaded.origins.push(origin);
                self.loaded.texts.push(text);
            }
        }
    }
}

/// The warnings of a policy with their places.
fn located(policy: &Policy, places: &[(Pointer, Place)]) -> impl Iterator<Item = PolicyWarning> {
    let name = policy.full_name();
    policy.meta().warnings.iter().filter_map(move |warning| {
        let (_, place) = places.iter().find(|(pointer, _)| *pointer == warning.pointer)?;
        let name = warning.rule.as_ref().map_or_else(|| name.to_string(), |rule| format!("{name}/{rule}"));
        Some(PolicyWarning { place: place.clone(), name, cause: warning.cause.clone() })
    })
}

/// An object of a cluster as a text, so that errors have places; without `status` and `managedFields`.
pub(super) fn stored_documents(object: &Value, limits: &Limits) -> Result<Vec<Document>, Vec<SourceError>> {
    let mut object = object.clone();
    object.remove("status");
    if let Some(metadata) = object.as_object_mut().and_then(|members| members.get_mut("metadata")) {
        metadata.remove("managedFields");
    }
    let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default();
    let title = format!("cluster {kind} {}", full_name(&object));
    let mut text = String::new();
    print(&object, &mut text);
    documents_of(&Arc::new(Source::new(title, text)), limits)
}

/// `NAMESPACE/NAME` or `NAME` of an object.
pub(super) fn full_name(object: &Value) -> String {
    let text = |field| object.path(&["metadata", field]).and_then(Value::as_str);
    let name = text("name").unwrap_or_default();
    text("namespace")
        .filter(|namespace| !namespace.is_empty())
        .map_or_else(|| name.to_owned(), |namespace| format!("{namespace}/{name}"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::semantics::Semantics;

    use super::*;

    const POLICY: &str = "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: p}
spec:
  rules:
  - name: r
    match: {any: [{resources: {kinds: [Pod]}}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {a: b}}}}
";

    fn load(files: &[(&str, &str)], arguments: &[&str]) -> Result<LoadedPolicies, Vec<String>> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::create_dir_all(folder.path().join(name).parent().unwrap()).unwrap();
            fs::write(folder.path().join(name), text).unwrap();
        }
        let mut loader = PolicyLoader::new(Semantics::Documented, Limits::default());
        arguments.iter().for_each(|name| loader.path(&folder.path().join(name)));
        let prefix = format!("{}/", folder.path().display());
        loader.finish(&format!("{prefix}{}", arguments.join(", "))).map_err(|refused| {
            refused.errors.iter().map(|error| error.to_string().replace(&prefix, "")).collect()
        })
    }

    #[test]
    fn other_documents_of_a_folder_are_counted() {
        let files = [
            ("d/a.yaml", &*format!("{POLICY}---\nkind: Pod\napiVersion: v1\n")),
            ("d/sub/b.yaml", "a: 1\n---\nb: 1\n"),
        ];
        let loaded = load(&files, &["d"]).unwrap();
        assert_eq!(loaded.policies.len(), 1);
        assert_eq!(loaded.notes, [PolicyNote::NoPolicies { documents: 3, files: 2 }]);
        assert_eq!(load(&files, &["d/sub/b.yaml"]).unwrap_err(), ["d/sub/b.yaml: no policy found"]);
        assert_eq!(load(&files, &["d/sub"]).unwrap_err(), ["d/sub: no policy found"]);
    }

    #[test]
    fn errors_of_all_files_have_their_places() {
        let wrong = POLICY.replace("    mutate:", "    mode: x\n    mutate:");
        let errors = load(
            &[("a.yaml", &wrong), ("b.yaml", "a: [\n"), ("c.yaml", &wrong)],
            &["a.yaml", "b.yaml", "c.yaml"],
        )
        .unwrap_err();
        assert!(errors[0].starts_with("a.yaml:8:5: policy p, rule r: spec.rules[0].mode: "), "{errors:?}");
        assert!(errors[0].ends_with("\n8 |     mode: x\n  |     ^"), "{errors:?}");
        assert!(errors.iter().any(|error| error.starts_with("b.yaml:")), "{errors:?}");
        assert!(errors.iter().any(|error| error.starts_with("c.yaml:8:5: ")), "{errors:?}");
    }

    #[test]
    fn policies_inside_a_list_are_found() {
        let list =
            format!("apiVersion: v1\nkind: List\nitems:\n- {}", POLICY.trim_end().replace('\n', "\n  "));
        assert_eq!(load(&[("a.yaml", &list)], &["a.yaml"]).unwrap().policies.len(), 1);
    }

    #[test]
    fn policies_of_other_kinds_are_noted() {
        let text = format!(
            "{POLICY}---\napiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {{name: e, namespace: ns}}\n"
        );
        let notes = load(&[("a.yaml", &text)], &["a.yaml"]).unwrap().notes;
        assert!(matches!(&notes[0], PolicyNote::Other { name, .. } if name == "ns/e"), "{notes:?}");
    }

    const ADMISSION_POLICY: &str = "apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: bound}
spec:
  reinvocationPolicy: Never
  matchConstraints:
    resourceRules:
    - {apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}
  mutations:
  - patchType: JSONPatch
    jsonPatch:
      expression: >-
        [JSONPatch{op: 'add',
          path: '/a', value: 1}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: binding}
spec: {policyName: bound}
";

    #[test]
    fn bindings_are_joined_to_policies_of_other_files() {
        let (policy, binding) = ADMISSION_POLICY.split_once("---\n").unwrap();
        let other = policy.replace("name: bound", "name: other");
        let files = [("d/a.yaml", binding), ("d/b.yaml", policy), ("d/c.yaml", &*other)];
        let loaded = load(&files, &["d"]).unwrap();
        let bindings = loaded.policies.iter().map(|policy| match policy {
            Policy::Cel(policy) => policy.bindings.as_ref().map(Vec::len),
            _ => None,
        });
        let bindings: Vec<_> = bindings.collect();
        assert_eq!(bindings, [Some(1), None]);
        assert!(matches!(&*loaded.notes, [PolicyNote::NotBound { name, .. }] if &**name == "other"));
        let faulty = ADMISSION_POLICY.replace("policyName: bound", "policyName: bond");
        let notes = load(&[("a.yaml", &faulty)], &["a.yaml"]).unwrap().notes;
        assert!(
            matches!(&notes[0], PolicyNote::BindingMisses { meant: Some(meant), .. } if meant == "bound"),
            "{notes:?}"
        );
        let faulty = ADMISSION_POLICY.replace("policyName", "policy");
        let errors = load(&[("a.yaml", &faulty)], &["a.yaml"]).unwrap_err();
        assert!(errors[0].starts_with("a.yaml:19:1: binding binding: spec: required field"), "{errors:?}");
    }

    #[test]
    fn a_fault_of_an_expression_has_its_place() {
        let faulty = ADMISSION_POLICY.replace("value: 1", "value: nope");
        let errors = load(&[("a.yaml", &faulty)], &["a.yaml"]).unwrap_err();
        let expected = "a.yaml:14:30: policy bound: spec.mutations[0].jsonPatch.expression: undeclared reference to \
                        'nope'";
        assert!(errors[0].starts_with(expected), "{errors:?}");
        assert!(
            errors[0]
                .ends_with("\n14 |           path: '/a', value: nope}]\n   |                              ^")
        );
    }

    #[test]
    fn a_file_of_several_arguments_is_read_once() {
        let loaded = load(&[("d/a.yaml", POLICY)], &["d", "d/a.yaml", "d/../d/a.yaml"]).unwrap();
        assert_eq!((loaded.policies.len(), loaded.notes), (1, Vec::new()));
    }

    #[test]
    fn a_repeated_name_is_noted() {
        let notes = load(&[("a.yaml", &format!("{POLICY}---\n{POLICY}"))], &["a.yaml"]).unwrap().notes;
        assert!(matches!(&notes[0], PolicyNote::Twice { name, .. } if name == "p"), "{notes:?}");
    }
}
