//! The CEL policies of Kyverno's catalogue and tests, where `KYV_CONFORMANCE` points to them: each loads, or is refused as
//! by a cluster.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use kyv::policy::{Binding, DocumentKind, kind_of, parse};
use kyv::semantics::Semantics;
use kyv::value::Value;
use kyv::yaml::{Limits, Source, read};
use test_support::conformance_folder;
use test_support::files::files_below;

/// Groups of the kinds.
const GROUPS: [&str; 2] = ["policies.kyverno.io/", "admissionregistration.k8s.io/"];

fn documents(path: &Path) -> Vec<Value> {
    let Ok(text) = fs::read_to_string(path) else { return Vec::new() };
    let source = Arc::new(Source::new(path.display().to_string(), text));
    let documents = read(&source, &Limits::default()).unwrap_or_default();
    documents.iter().filter_map(|document| document.value().cloned()).collect()
}

#[test]
fn every_cel_policy_loads_or_is_refused_as_by_a_cluster() {
    let Some(folder) = conformance_folder("loading Kyverno's CEL policies") else { return };
    let mut specs: BTreeMap<String, (String, Vec<String>)> = BTreeMap::new();
    let mut documents_read = 0;
    for file in files_below(&folder, &["yaml", "yml"]) {
        for document in documents(&file) {
            let api_version = document.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
            if !GROUPS.iter().any(|group| api_version.starts_with(group)) {
                continue;
            }
            let errors = match kind_of(&document) {
                DocumentKind::Policy => parse(&document, Semantics::Kyverno).err(),
                DocumentKind::Binding => Binding::parse(&document).err(),
                _ => continue,
            };
            documents_read += 1;
            let errors = errors.unwrap_or_default().iter().map(ToString::to_string).collect();
            let name = file.strip_prefix(&folder).unwrap().display().to_string();
            let spec = document.get("spec").map(Value::to_json).unwrap_or_default();
            specs.insert(format!("{api_version} {spec}"), (name, errors));
        }
    }
    let refused: Vec<_> = specs.values().filter(|(_, errors)| !errors.is_empty()).collect();
    let mut out = std::io::stderr();
    writeln!(out, "{documents_read} documents, {} different, {} refused", specs.len(), refused.len()).ok();
    for (name, errors) in &refused {
        writeln!(out, "{name}: {}", errors.join("; ")).ok();
    }
    // A cluster has more functions than this version.
    let is_unsupported = |error: &String| error.contains("is not supported");
    let wrong: Vec<_> = refused.iter().filter(|(_, errors)| !errors.iter().all(is_unsupported)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(documents_read > 0, "no policy found");
}
