//! Explanations of live objects.

use serde_json::{Value, json};

use super::{Policies, existing, filled, kyv, rig};

#[test]
fn what_a_change_means_is_explained() {
    if rig::left_out("what changes of live objects mean") {
        return;
    }
    let server = filled();
    let policies = Policies::new();
    let host = existing(
        &policies,
        "host",
        "kinds: [Deployment]",
        "patchStrategicMerge: {spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {hostNetwork: true}}}}",
    );
    let replicas = policies.argument("replicas");
    let explain = ["explain", "deploy", "site", "-n", "web", "-p", &replicas];
    let run = kyv(server.kubeconfig(), &explain);
    assert_eq!(run.code, Some(0), "{run:?}");
    for word in ["ROLLOUT", "IMMUTABLE", "PRIVILEGE"] {
        assert!(!run.stdout.contains(word), "{run:?}");
    }
    let both = [&explain[..], &["-p", &host]].concat();
    let run = kyv(server.kubeconfig(), &both);
    for line in [
        "\n  ROLLOUT        its Pods would be replaced\n",
        "\n  IMMUTABLE      the API server would refuse the update, these may not change:\n                 spec.selector.matchLabels.a\n",
        "\n  PRIVILEGE      it would be allowed more than before:\n                 spec.template.spec.hostNetwork\n",
    ] {
        assert!(run.stdout.contains(line), "{line}{}", run.stdout);
    }
    let run = kyv(server.kubeconfig(), &[&both[..], &["-o", "json"]].concat());
    let told: Value = serde_json::from_str(&run.stdout).expect("it prints JSON");
    let expected = json!({
        "rollout": true,
        "immutable": ["/spec/selector/matchLabels/a"],
        "privilege": ["/spec/template/spec/hostNetwork"],
    });
    assert_eq!(told["objects"][0]["impact"], expected, "{run:?}");
    // What one rule of several does is no change of its own.
    let run = kyv(server.kubeconfig(), &[&both[..], &["--rule", "host"]].concat());
    assert!(!run.stdout.contains("ROLLOUT"), "{run:?}");
}
