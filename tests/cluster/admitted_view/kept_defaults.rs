//! Changes on which no default depends: the object as written with them needs no second admission.

use kyv::admission::{Admission, restore};
use kyv::value::{GroupVersionKind, Segment, Value};
use kyv::yaml;
use proptest::prelude::*;
use proptest::sample::{Index, subsequence};

const KINDS: [(&str, &str); 8] = [
    ("apps/v1", "Deployment"),
    ("apps/v1", "StatefulSet"),
    ("apps/v1", "DaemonSet"),
    ("apps/v1", "ReplicaSet"),
    ("batch/v1", "CronJob"),
    ("batch/v1", "Job"),
    ("v1", "Pod"),
    ("v1", "Service"),
];

/// Members of Pods, below their specification.
const OF_PODS: [&str; 25] = [
    "containers: [{name: a, image: 'nginx:1.0'}]",
    "containers: [{name: a, image: nginx}]",
    "containers: [{name: a, image: nginx}, {name: b, image: 'busybox:latest'}]",
    "containers: [{name: b, image: 'busybox:latest'}, {name: a, image: nginx}]",
    "containers: [{name: a, image: nginx, env: [{name: x, value: y}], ports: [{containerPort: 80}]}]",
    "containers: [{name: a, image: nginx, env: [{name: z}, {name: x, value: y}]}]",
    "containers: [{name: a, image: nginx, env: [{name: x, valueFrom: {fieldRef: {fieldPath: p}}}, {name: z}]}]",
    "containers: [{name: a, image: nginx, imagePullPolicy: Never, livenessProbe: {httpGet: {port: 80}}}]",
    "containers: [{name: a, image: nginx, resources: {limits: {cpu: '1'}}, securityContext: {}}]",
    "containers: [{name: a, image: nginx, resources: {limits: {cpu: '0.5'}, requests: {memory: 1Gi}}}]",
    "containers: [{name: a, image: nginx, securityContext: {privileged: true}, lifecycle: {preStop: {exec: {}}}}]",
    "containers: [{name: a, image: nginx, resources: {requests: {cpu: 500m}}}]",
    "volumes: [{name: v}]",
    "volumes: [{name: v, hostPath: {path: /a}}, {name: w, configMap: {name: c}}]",
    "volumes: [{name: v, configMap: {name: c}}]",
    "securityContext: {runAsUser: 1}",
    "securityContext: {}",
    "hostNetwork: true",
    "serviceAccountName: robot",
    "serviceAccount: robot",
    "tolerations: [{key: a, operator: Exists}]",
    "tolerations: [{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute}]",
    "terminationGracePeriodSeconds: 0",
    "dnsPolicy: Default",
    "priorityClassName: system-node-critical",
];

/// Members of the objects themselves.
const OF_OBJECTS: [&str; 22] = [
    "metadata: {labels: {a: b}}",
    "metadata: {annotations: {a: b}}",
    "metadata: {annotations: {deprecated.daemonset.template.generation: '07'}}",
    "metadata: {annotations: {deprecated.deployment.rollback.to: '07'}}",
    "metadata: {finalizers: [a/b]}",
    "spec: {replicas: 3}",
    "spec: {strategy: {type: Recreate}}",
    "spec: {strategy: {rollingUpdate: {maxSurge: 1}}}",
    "spec: {updateStrategy: {type: OnDelete}}",
    "spec: {updateStrategy: {rollingUpdate: {partition: 2}}}",
    "spec: {revisionHistoryLimit: 1, parallelism: 2, successfulJobsHistoryLimit: 0}",
    "spec: {template: {metadata: {labels: {c: d}}}}",
    "spec: {parallelism: 1, backoffLimitPerIndex: 1}",
    "metadata: {annotations: {kubernetes.io/config.mirror: m}}",
    "spec: {type: NodePort, ports: [{port: 80}]}",
    "spec: {type: LoadBalancer, ports: [{port: 80}, {port: 81, targetPort: http}]}",
    "status: {loadBalancer: {ingress: [{ip: 10.0.0.1}]}}",
    "spec: {sessionAffinity: ClientIP}",
    "spec: {externalIPs: [10.0.0.1]}",
    "spec: {resources: {limits: {cpu: '2'}}}",
    "spec: {initContainers: [{name: i, image: i, resources: {limits: {cpu: '2'}}}]}",
    "spec: {template: {metadata: {annotations: {pod.beta.kubernetes.io/init-containers: x}}}}",
];

/// The path from an object to the specification of its Pods.
fn path_of_pods(kind: &str) -> &'static [&'static str] {
    match kind {
        "Pod" => &["spec"],
        "CronJob" => &["spec", "jobTemplate", "spec", "template", "spec"],
        _ => &["spec", "template", "spec"],
    }
}

/// Merges a value into another one; lists element by element.
fn merge(into: &mut Value, from: &Value) {
    match (&mut *into, from) {
        (Value::Object(_), Value::Object(members)) => {
            for (key, member) in members.iter() {
                match into.as_object_mut().and_then(|into| into.get_mut(key)) {
                    Some(into) => merge(into, member),
                    None => into.insert(key.clone(), member.clone()),
                }
            }
        }
        (Value::Array(own), Value::Array(elements)) if own.len() <= elements.len() => {
            let (same, more) = elements.split_at(own.len());
            for (index, element) in same.iter().enumerate() {
                merge(into.pointed_mut(&[Segment::Index(index)]).expect("an element"), element);
            }
            into.as_array_mut().expect("a list").extend_from_slice(more);
        }
        _ => *into = from.clone(),
    }
}

fn merge_all(object: &mut Value, kind: &str, (of_pods, of_object): &(Vec<&str>, Vec<&str>)) {
    for text in of_object {
        merge(object, &yaml::parse_value(text).expect("YAML"));
    }
    for text in of_pods {
        let member = yaml::parse_value(text).expect("YAML");
        let below = path_of_pods(kind).iter().rev();
        let nested = below.fold(member, |value, key| [(key.to_string(), value)].into_iter().collect());
        merge(object, &nested);
    }
}

fn members(
    of_pods: usize,
    of_object: usize,
) -> impl Strategy<Value = (Vec<&'static str>, Vec<&'static str>)> {
    (
        subsequence(&OF_PODS[..], 0..=of_pods).prop_shuffle(),
        subsequence(&OF_OBJECTS[..], 0..=of_object).prop_shuffle(),
    )
}

#[test]
fn defaults_are_kept_unless_a_change_may_concern_one() {
    let pods = |members: &str| format!("spec: {{template: {{spec: {{{members}}}}}}}");
    let container =
        |image: &str, more: &str| pods(&format!("containers: [{{name: a, image: {image}{more}}}]"));
    for (change, keeps) in [
        ("metadata: {labels: {a: b}}".to_owned(), true),
        ("spec: {replicas: 3}".to_owned(), true),
        ("spec: {strategy: {rollingUpdate: {maxSurge: 1}}}".to_owned(), false),
        (pods("securityContext: {runAsUser: 1}"), true),
        (pods("volumes: [{name: v, hostPath: {path: /a}}]"), true),
        (pods("serviceAccountName: robot"), false),
        (container("other:1", ", imagePullPolicy: Never"), true),
        (container("'other:1'", ", env: [{name: x, value: y}]"), true),
        (container("'other:latest'", ""), false),
        (pods("containers: [{name: b, image: 'nginx:1.0'}, {name: a, image: 'nginx:1.0'}]"), false),
        (pods("containers: [{name: a, image: 'nginx:1.0'}, {name: b, image: nginx}]"), true),
    ] {
        let written = format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: a}}\n{}",
            container("'nginx:1.0'", "")
        );
        let written = yaml::parse_value(&written).unwrap();
        let kind = GroupVersionKind::of(&written).unwrap();
        let view = Admission::default().view(&written, &kind).unwrap();
        let mut after = view.clone();
        merge(&mut after, &yaml::parse_value(&change).unwrap());
        assert_eq!(Admission::default().keeps_defaults(&kind, (&written, &view, &after)), keeps, "{change}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn changes_that_keep_defaults_need_no_second_look(
        (kind, own, changed) in (any::<Index>(), members(8, 4), members(3, 2)),
    ) {
        let (version, kind) = KINDS[kind.index(KINDS.len())];
        let mut written = yaml::parse_value(&format!(
            "apiVersion: {version}\nkind: {kind}\nmetadata: {{name: a}}\nspec: {{}}\n"
        )).unwrap();
        merge_all(&mut written, kind, &own);
        let kind_of_object = GroupVersionKind::of(&written).unwrap();
        let admission = Admission::default();
        let Ok(view) = admission.view(&written, &kind_of_object) else { return Ok(()) };
        let mut after = view.clone();
        merge_all(&mut after, kind, &changed);
        let admit = |object: &Value| admission.view(object, &kind_of_object).ok();
        let keeps_defaults = admission.keeps_defaults(&kind_of_object, (&written, &view, &after));
        let looked = restore(&written, (&view, &after), || false, admit);
        if keeps_defaults {
            let fast = restore(&written, (&view, &after), || true, admit);
            prop_assert_eq!(fast.to_json(), looked.to_json(), "{}", after.to_json());
        }
    }
}
