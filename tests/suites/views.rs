//! Cases of the corpus on the two views: what they expect of objects as written is what the Kyverno CLI prints.
//! `tests/cluster/controllers/admission.rs` compares the other view with the admission controller.
#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use kyv::value::Value;
use kyv::yaml::{Limits, Source, read};
use test_support::kyverno_cli;

#[test]
fn the_kyverno_cli_shows_policies_objects_as_written() {
    if test_support::skip_without_real_programs("the cases on views through the Kyverno CLI") {
        return;
    }
    let program = test_support::tool("kyverno");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/views");
    let mut faults = Vec::new();
    let mut compared = 0;
    for case in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if values(&case.join("policy.yaml")).len() > 1 {
            // It prints the objects once for each policy.
            continue;
        }
        compared += 1;
        let inputs = values(&case.join("input.yaml"));
        let applied = match kyverno_cli::apply(&program, &case.join("policy.yaml"), &inputs, None) {
            Ok(applied) => applied,
            Err(error) => {
                faults.push(format!("{}: {error}", case.display()));
                continue;
            }
        };
        let fails = case.join("error.txt").exists();
        let expected = values(&case.join("expected.yaml"));
        assert_eq!(applied.len(), expected.len(), "{}", case.display());
        for (applied, expected) in applied.iter().zip(&expected) {
            // It prints no object of a rule that failed.
            if applied.failed != fails || (!fails && applied.object != *expected) {
                let (object, expected) = (applied.object.to_json(), expected.to_json());
                faults.push(format!("{}: the CLI has {object}, expected {expected}", case.display()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(compared > 0);
}

fn values(file: &Path) -> Vec<Value> {
    let source = Arc::new(Source::new(file.display().to_string(), fs::read_to_string(file).unwrap()));
    let documents = read(&source, &Limits::default()).unwrap();
    documents.iter().filter_map(|document| document.value().cloned()).collect()
}
