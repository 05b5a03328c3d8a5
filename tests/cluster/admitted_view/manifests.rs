//! Manifests that people wrote: those in the sources of Kubernetes and of programs around it, read from Go modules.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kyv::value::{GroupVersionKind, Value};
use kyv::yaml::{Limits, Source, parse_value, read};

/// Folder of `tests/tools`, module, folder in the module, how many objects at most.
const SOURCES: [(&str, &str, &str, usize); 14] = [
    ("kubernetes", "k8s.io/kubernetes", "cluster", usize::MAX),
    ("kubernetes", "k8s.io/kubernetes", "test", usize::MAX),
    // Each kind with all its fields.
    ("kubernetes", "k8s.io/api", "testdata/HEAD", usize::MAX),
    ("kubernetes", "k8s.io/kubectl", "testdata", usize::MAX),
    ("kubernetes", "k8s.io/pod-security-admission", "test/testdata", 250),
    ("kyverno", "github.com/kyverno/kyverno", "config", usize::MAX),
    ("kyverno", "github.com/kyverno/kyverno", "test", 500),
    ("argocd", "github.com/argoproj/argo-cd/v3", "manifests", usize::MAX),
    ("argocd", "github.com/argoproj/argo-cd/v3", "test", usize::MAX),
    ("argocd", "github.com/argoproj/argo-cd/v3", "resource_customizations", 150),
    ("helm", "helm.sh/helm/v3", "pkg", usize::MAX),
    ("kpt", "github.com/kptdev/kpt", "", 150),
    ("kustomize", "sigs.k8s.io/kustomize/api", "", usize::MAX),
    ("kustomize", "sigs.k8s.io/kustomize/kyaml", "", usize::MAX),
];

/// A namespace in Kubernetes' own samples. No server creates one of that name.
const IMPOSSIBLE_NAMESPACE: &str = "namespaceValue";

/// The objects of all sources, each once.
pub(crate) fn of_modules() -> Vec<Value> {
    let mut all = Collection::default();
    for (folder, module, inner, most) in SOURCES {
        let root = test_support::module(folder, module).join(inner);
        let before = all.objects.len();
        for file in files(&root) {
            if all.objects.len() - before >= most {
                break;
            }
            all.add(&file);
        }
        assert!(all.objects.len() > before, "no object in {}", root.display());
    }
    all.objects
}

/// The objects of a folder, each once.
pub(crate) fn of_folder(folder: &Path) -> Vec<Value> {
    let mut all = Collection::default();
    for file in files(folder) {
        all.add(&file);
    }
    all.objects
}

#[derive(Default)]
struct Collection {
    objects: Vec<Value>,
    seen: BTreeSet<String>,
}

impl Collection {
    /// Adds the objects of a file. Templates and the like are no YAML, and nothing here.
    fn add(&mut self, file: &Path) {
        let Ok(text) = fs::read_to_string(file) else { return };
        let source = Arc::new(Source::new(file.display().to_string(), text));
        let Ok(documents) = read(&source, &Limits::default()) else { return };
        for object in documents.iter().filter_map(|document| document.value()) {
            let is_list =
                object.get("kind").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("List"));
            match object.get("items").and_then(Value::as_array).filter(|_| is_list) {
                Some(items) => items.iter().for_each(|item| self.push(item)),
                None => self.push(object),
            }
        }
    }

    fn push(&mut self, object: &Value) {
        let mut object = object.clone();
        let metadata = object.as_object_mut().and_then(|members| members.get_mut("metadata"));
        if let Some(metadata) = metadata
            && metadata.get("namespace").and_then(Value::as_str) == Some(IMPOSSIBLE_NAMESPACE)
        {
            metadata.insert("namespace", Value::from("default"));
        }
        if GroupVersionKind::of(&object).is_some() && self.seen.insert(object.to_json()) {
            self.objects.push(object);
        }
    }
}

/// All files of YAML or JSON below a folder, in a fixed order.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        for path in entries.map(|entry| entry.expect("an entry").path()) {
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|name| name == "yaml" || name == "yml" || name == "json") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The manifests of `conditional_defaults.yaml`.
pub(crate) fn conditional_defaults() -> Vec<Value> {
    let table = parse_value(include_str!("conditional_defaults.yaml")).expect("YAML");
    let mut manifests = Vec::new();
    for (kind, all) in table.as_object().expect("a map").iter().filter(|(kind, _)| &***kind != "Templates") {
        let (version, kind) = kind.split_once(' ').expect("an apiVersion and a kind");
        for manifest in all.as_array().expect("a list") {
            let mut manifest = manifest.clone();
            manifest.insert("apiVersion", Value::from(version));
            manifest.insert("kind", Value::from(kind));
            let mut metadata = manifest.get("metadata").cloned().unwrap_or_else(Value::empty_object);
            if metadata.get("name").is_none() && metadata.get("generateName").is_none() {
                metadata.insert("name", Value::from("x"));
            }
            manifest.insert("metadata", metadata);
            manifests.push(manifest);
        }
    }
    manifests
}
