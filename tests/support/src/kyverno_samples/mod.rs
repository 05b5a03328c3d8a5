//! The policies and objects in a folder of Kyverno's own policies and suites, as one of them at a time can be compared.

mod generated;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kyv::policy::{DocumentKind, kind_of};
use kyv::value::{ObjectRef, Value};
use kyv::yaml::{Limits, Source, read};

use crate::files::files_below;

pub use generated::{Generator, places};

/// A classic policy, and the values of its own suite.
pub struct ClassicPolicy {
    pub file: PathBuf,
    pub document: Value,
    /// The values file of its suite.
    pub values: Option<PathBuf>,
}

/// The objects in layers: no two of one layer have one identity, which the CLI cannot take.
#[derive(Default)]
pub struct Objects {
    pub layers: Vec<Vec<Value>>,
    identities: Vec<BTreeSet<String>>,
}

impl Objects {
    /// Adds an object unless an equal one is there.
    fn add(&mut self, object: &Value, name: &ObjectRef) {
        let namespace = name.namespace.as_deref().unwrap_or("default");
        let identity = format!("{}/{namespace}/{}", name.kind.kind, name.name);
        let mut free = self.layers.len();
        for (at, layer) in self.layers.iter().enumerate() {
            if layer.contains(object) {
                return;
            }
            if free == self.layers.len() && !self.identities[at].contains(&identity) {
                free = at;
            }
        }
        if free == self.layers.len() {
            self.layers.push(Vec::new());
            self.identities.push(BTreeSet::new());
        }
        self.layers[free].push(object.clone());
        self.identities[free].insert(identity);
    }
}

/// The policies and objects of the folder, and what is skipped, by reason.
#[derive(Default)]
pub struct KyvernoSamples {
    pub policies: Vec<ClassicPolicy>,
    pub objects: Objects,
    pub skipped: BTreeMap<&'static str, usize>,
}

impl KyvernoSamples {
    /// Reads all files of the folder.
    pub fn of(folder: &Path) -> Self {
        let (mut samples, files) = (Self::default(), files_below(folder, &["yaml", "yml"]));
        let suites: Vec<&PathBuf> = files.iter().filter(|file| file.ends_with("kyverno-test.yaml")).collect();
        for file in &files {
            let Ok(documents) = documents(file) else {
                samples.skip("files that are no YAML");
                continue;
            };
            for document in documents {
                samples.add_document(file, document, &suites);
            }
        }
        samples
    }

    fn add_document(&mut self, file: &Path, document: Value, suites: &[&PathBuf]) {
        let group = document.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
        match kind_of(&document) {
            DocumentKind::Policy => match beyond(&document) {
                Some(reason) => self.skip(reason),
                None if self.policies.iter().any(|other| other.document == document) => {}
                None => {
                    let values = suites.iter().find_map(|suite| values_of(suite, file));
                    self.policies.push(ClassicPolicy { file: file.to_owned(), document, values });
                }
            },
            DocumentKind::NotAPolicy if group.contains("kyverno.io/") => {}
            DocumentKind::NotAPolicy => match ObjectRef::of(&document) {
                Some(name) if !name.name.is_empty() => self.objects.add(&document, &name),
                _ => self.skip("documents that are no named objects"),
            },
            _ => self.skip("policies of other kinds, with CEL"),
        }
    }

    fn skip(&mut self, reason: &'static str) {
        *self.skipped.entry(reason).or_default() += 1;
    }
}

/// Why a classic policy cannot be compared one object at a time.
fn beyond(policy: &Value) -> Option<&'static str> {
    let rules = policy.path(&["spec", "rules"]).and_then(Value::as_array).unwrap_or_default();
    let some = |field: &[&str]| rules.iter().any(|rule| rule.path(field).is_some());
    if some(&["mutate", "targets"]) {
        Some("policies with targets")
    } else if some(&["mutate", "overlay"]) || some(&["mutate", "patches"]) {
        Some("policies in legacy syntax")
    } else if !some(&["mutate"]) {
        Some("policies that mutate nothing")
    } else {
        None
    }
}

/// The values file of a suite that is about the policy file.
fn values_of(suite: &Path, policy: &Path) -> Option<PathBuf> {
    let folder = suite.parent()?;
    let same = |path: &str| folder.join(path).canonicalize().ok() == policy.canonicalize().ok();
    documents(suite).ok()?.iter().find_map(|document| {
        let policies = document.get("policies")?.as_array()?;
        let concerned = policies.iter().filter_map(Value::as_str).any(same);
        let values = document.get("variables")?.as_str()?;
        concerned.then(|| folder.join(values))
    })
}

/// The documents of a file.
///
/// # Errors
///
/// What is wrong with the file.
pub fn documents(path: &Path) -> Result<Vec<Value>, String> {
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    parse(path.display().to_string(), text)
}

/// The documents of a text that comes from somewhere.
///
/// # Errors
///
/// What is wrong with the text.
pub fn parse(name: String, text: String) -> Result<Vec<Value>, String> {
    let documents = read(&Arc::new(Source::new(name, text)), &Limits::default())
        .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
    Ok(documents.iter().filter_map(|document| document.value().cloned()).collect())
}
