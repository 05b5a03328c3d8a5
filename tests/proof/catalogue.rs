//! The policies that Kyverno's catalogue has in both forms.
#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

use std::collections::BTreeMap;

use kyv::value::Value;
use test_support::conformance_folder;

use crate::pairs::run;

/// What a proof is expected to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    Equal,
    /// Equal but for `ReplicaSet` or `ReplicationController`.
    Replicas,
    /// Equal but for the order of list elements.
    Order,
    /// Equal but for both.
    OrderAndReplicas,
    /// The new policy does something else.
    Wrong,
    /// It denies requests that the old one admits.
    Refuses,
    /// Other mechanisms (targets), or data that a proof does not have.
    NotCompared,
}

use Expected::{Equal, NotCompared, Order, OrderAndReplicas, Refuses, Replicas, Wrong};

/// The pairs with their verdicts, found by hand with the Kyverno CLI and its controllers.
const PAIRS: [(&str, Expected); 50] = [
    ("best-practices/add-safe-to-evict", Refuses),
    ("castai/add-castai-removal-disabled", Equal),
    ("istio/add-ambient-mode-namespace", Wrong),
    ("istio/add-sidecar-injection-namespace", Equal),
    ("karpenter/add-karpenter-daemonset-priority-class", Equal),
    ("karpenter/add-karpenter-donot-evict", Equal),
    ("karpenter/add-karpenter-nodeselector", Wrong),
    ("karpenter/set-karpenter-non-cpu-limits", Replicas),
    ("kubecost/enable-kubecost-continuous-rightsizing", Equal),
    ("linkerd/add-linkerd-mesh-injection", Equal),
    ("linkerd/add-linkerd-policy-annotation", Equal),
    ("other/add-certificates-volume", Wrong),
    ("other/add-default-resources", OrderAndReplicas),
    // The default of autogen leaves out only ReplicationController.
    ("other/add-default-securitycontext", Replicas),
    ("other/add-emptydir-sizelimit", Refuses),
    ("other/add-env-vars-from-cm", Replicas),
    ("other/add-image-as-env-var", Equal),
    // `imagePullSecrets: [{}]` is admitted, and the new policy reads the missing name.
    ("other/add-imagepullsecrets", Refuses),
    ("other/add-imagepullsecrets-for-containers-and-initcontainers", Refuses),
    ("other/add-labels", Equal),
    ("other/add-ndots", Wrong),
    ("other/add-nodeSelector", Wrong),
    ("other/add-pod-priorityclassname", Equal),
    ("other/add-pod-proxies", Replicas),
    ("other/add-tolerations", Wrong),
    ("other/add-ttl-jobs", Equal),
    ("other/add-volume-deployment", Wrong),
    ("other/always-pull-images", Replicas),
    ("other/annotate-base-images", Refuses),
    ("other/apply-pss-restricted-profile", Wrong),
    ("other/disable-automountserviceaccounttoken", Equal),
    ("other/disable-service-discovery", Equal),
    ("other/inject-sidecar-deployment", Order),
    ("other/label-existing-namespaces", NotCompared),
    ("other/label-nodes-cri", NotCompared),
    ("other/mitigate-log4shell", OrderAndReplicas),
    ("other/mutate-large-termination-gps", Equal),
    ("other/prepend-image-registry", Wrong),
    ("other/remove-hostpath-volumes", Wrong),
    ("other/replace-image-registry", Wrong),
    ("other/replace-ingress-hosts", Wrong),
    ("other/resolve-image-to-digest", NotCompared),
    // An objectSelector selects updates by the labels of the stored object, too.
    ("other/spread-pods-across-topology", Wrong),
    ("other/update-image-tag", NotCompared),
    ("psa/add-privileged-existing-namespaces", NotCompared),
    ("psa/add-psa-labels", Equal),
    ("psp-migration/add-apparmor", Refuses),
    ("psp-migration/add-capabilities", Refuses),
    ("psp-migration/add-runtimeClassName", Wrong),
    ("velero/backup-all-volumes", Wrong),
];

fn verdict(pair: &Value) -> Expected {
    let text = |field: &str| pair.get(field).and_then(Value::as_str).unwrap();
    let names: Vec<&str> =
        pair.get("differences").and_then(Value::as_array).unwrap().iter().filter_map(Value::as_str).collect();
    match text("verdict") {
        "equal" => Equal,
        "equalBut" => match &*names {
            ["order"] => Order,
            ["replicationcontroller"] => Replicas,
            _ => OrderAndReplicas,
        },
        "differs" if pair.get("refuses").and_then(Value::as_bool).unwrap() => Refuses,
        "differs" => Wrong,
        _ => NotCompared,
    }
}

#[test]
fn the_twins_of_the_catalogue_have_the_known_verdicts() {
    let Some(root) = conformance_folder("the twins of the catalogue") else { return };
    let policies = root.join("policies");
    let mut folders: BTreeMap<&str, Vec<(&str, Expected)>> = BTreeMap::new();
    for (name, expected) in PAIRS {
        let (folder, policy) = name.split_once('/').unwrap();
        if policies.join(format!("{folder}-mpol/{policy}")).is_dir() {
            folders.entry(folder).or_default().push((policy, expected));
        }
    }
    assert!(!folders.is_empty());
    let mut faults = Vec::new();
    for (folder, pairs) in folders {
        let new = format!("{folder}-mpol");
        let (code, stdout, stderr) =
            run(&policies, &["convert", "--check", folder, &new, "-o", "json", "--quiet"]);
        assert_ne!(code, Some(2), "{stderr}");
        let result = Value::from_json(&stdout).unwrap();
        let found = result.get("pairs").and_then(Value::as_array).unwrap();
        for (policy, expected) in pairs {
            let pair = found.iter().find(|pair| pair.get("name").and_then(Value::as_str) == Some(policy));
            let verdict = pair.map(verdict);
            // Whether some rare object is denied does not matter where the policy is wrong anyway.
            let is_expected = verdict == Some(expected) || expected == Wrong && verdict == Some(Refuses);
            if !is_expected {
                faults.push(format!("{folder}/{policy}: {verdict:?}, expected {expected:?}"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
