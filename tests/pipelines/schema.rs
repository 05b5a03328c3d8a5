//! The schema of a `Kyv` on a real API server.

use std::time::{Duration, Instant};
use std::{fs, path::Path, thread};

use crate::folder::{Folder, examples};
use test_support::api_server::ApiServer;

#[test]
fn the_crd_validates_the_examples_on_an_api_server() {
    if test_support::skip_without_real_programs("the schema on an API server") {
        return;
    }
    let server = ApiServer::start();
    let definition = Path::new(env!("CARGO_MANIFEST_DIR")).join("krm-function/crd.yaml");
    server.kubectl_ok(&["create", "-f", definition.to_str().unwrap()], "");
    server.kubectl_ok(&["wait", "--for=condition=Established", "crd/kyvs.kyv.dev", "--timeout=60s"], "");
    let ask = |text: &str| {
        let arguments = ["create", "--dry-run=server", "--validate=strict", "-f", "-"];
        let output = server.kubectl_with(&arguments, text);
        (output.status.success(), String::from_utf8(output.stderr).unwrap())
    };
    let mut taken = 0;
    let start = Instant::now();
    for (path, text) in Folder::example(".").files() {
        if !text.contains("kind: Kyv\n") {
            continue;
        }
        let mut answer = ask(&text);
        // Discovery lags behind.
        while !answer.0 && taken == 0 && start.elapsed() < Duration::from_secs(60) {
            thread::sleep(Duration::from_millis(200));
            answer = ask(&text);
        }
        assert!(answer.0, "{path}: {}", answer.1);
        taken += 1;
    }
    assert_eq!(taken, 5);
    let whole = fs::read_to_string(examples().join("kpt/mutate.yaml")).unwrap();
    let inline = "  policies:\n  - a.yaml\n  - apiVersion: kyverno.io/v1\n    kind: ClusterPolicy\n    metadata: {name: a}\n    spec: {rules: []}\n";
    let (success, said) = ask(&format!("{whole}{inline}"));
    assert!(success, "{said}");
    for (fields, reason) in [
        ("  policys: []\n", "unknown field \"spec.policys\""),
        ("  mode: verify\n", "spec.mode: Unsupported value: \"verify\""),
        ("  manifests: [{}]\n", "spec.manifests[0]: Invalid value: \"object\""),
        ("  onError: 5\n", "spec.onError: Invalid value: \"integer\""),
    ] {
        let (success, said) = ask(&format!("{whole}{fields}"));
        assert!(!success && said.contains(reason), "{fields}: {said}");
    }
}
