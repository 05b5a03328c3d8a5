//! The documents of the conformance folder: its policies, and the objects beside them.
#![allow(clippy::allow_attributes, reason = "an `expect` fails in the test binary that uses all of it")]
#![allow(dead_code, reason = "each test binary uses its part")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use kyv::policy::{DocumentKind, kind_of};
use kyv::value::Value as Kyv;
use kyv::yaml::{Limits, Source, read};
use serde_json::Value;

use test_support::files::files_below;

/// A policy of the folder that has mutate rules.
pub(crate) struct Policy {
    /// Its path, relative to the folder.
    pub(crate) origin: String,
    pub(crate) text: String,
    pub(crate) value: Value,
}

impl Policy {
    /// Whether a rule changes other objects than the one that is admitted.
    pub(crate) fn has_targets(&self) -> bool {
        self.rules().any(|rule| !rule["mutate"]["targets"].is_null())
    }

    /// The rules that are in the policy for something else than mutation.
    pub(crate) fn has_other_rules(&self) -> bool {
        self.rules().any(|rule| rule.get("mutate").is_none())
    }

    fn rules(&self) -> impl Iterator<Item = &Value> {
        self.value["spec"]["rules"].as_array().into_iter().flatten()
    }
}

/// Everything of a folder that a cluster could hold.
#[derive(Default)]
pub(crate) struct Folder {
    pub(crate) policies: Vec<Policy>,
    pub(crate) objects: Vec<Value>,
}

impl Folder {
    /// Reads all YAML files; what cannot be read is for other tests to complain of.
    pub(crate) fn read(folder: &Path) -> Self {
        let files = files_below(folder, &["yaml", "yml"]);
        let mut found = Self::default();
        let mut seen = BTreeSet::new();
        for file in files {
            let origin = file.strip_prefix(folder).expect("below the folder").display().to_string();
            for document in documents(&file) {
                let text = document.to_json();
                if !seen.insert(text.clone()) {
                    continue;
                }
                let value: Value = serde_json::from_str(&text).expect("JSON");
                match kind_of(&document) {
                    DocumentKind::Policy => found.add_policy(&origin, text, value),
                    _ => found.add_objects(value),
                }
            }
        }
        found
    }

    fn add_policy(&mut self, origin: &str, text: String, value: Value) {
        let policy = Policy { origin: origin.to_owned(), text, value };
        if policy.rules().any(|rule| rule.get("mutate").is_some()) {
            self.policies.push(policy);
        }
    }

    fn add_objects(&mut self, value: Value) {
        if let Some(items) = value["items"].as_array() {
            return items.iter().for_each(|item| self.add_objects(item.clone()));
        }
        let api_version = value["apiVersion"].as_str().unwrap_or_default();
        let is_kyverno = api_version.contains("kyverno") || api_version.contains("kustomize");
        if !is_kyverno && value["kind"].is_string() && value["metadata"]["name"].is_string() {
            self.objects.push(value);
        }
    }
}

/// All documents of the YAML files of a folder, each once.
pub(crate) fn documents_below(folder: &Path) -> Vec<Value> {
    let files = files_below(folder, &["yaml", "yml"]);
    let texts = files.iter().flat_map(|file| documents(file)).map(|document| document.to_json());
    let texts: BTreeSet<String> = texts.collect();
    texts.iter().map(|text| serde_json::from_str(text).expect("JSON")).collect()
}

fn documents(path: &Path) -> Vec<Kyv> {
    let Ok(text) = fs::read_to_string(path) else { return Vec::new() };
    let source = Arc::new(Source::new(path.display().to_string(), text));
    let documents = read(&source, &Limits::default()).unwrap_or_default();
    documents.iter().filter_map(|document| document.value().cloned()).collect()
}
