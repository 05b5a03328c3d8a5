//! What Kyverno keeps in a cluster besides policies: global context entries and its configuration.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use super::{
    KYVERNO, Policies, changed_objects, kyv, logged_requests, mutate_existing_rule, server_with_objects,
};
use test_support::api_server::{ADMINISTRATOR, ApiServer};
use test_support::kyverno::Kyverno;
use test_support::policy_installer::PolicyInstaller;
use test_support::rest::Rest;

/// The kind of the entries; what they say is not checked.
const ENTRIES_KIND: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: globalcontextentries.kyverno.io}
spec:
  group: kyverno.io
  names: {kind: GlobalContextEntry, plural: globalcontextentries, singular: globalcontextentry, shortNames: [gctxentry]}
  scope: Cluster
  versions:
  - name: v2alpha1
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
  - name: v2beta1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
";

const ENTRIES: &str = "
apiVersion: kyverno.io/v2alpha1
kind: GlobalContextEntry
metadata: {name: maps}
spec:
  kubernetesResource: {version: v1, resource: configmaps, namespace: web}
  projections:
  - {name: names, jmesPath: \"sort([?metadata.name != 'kube-root-ca.crt'].metadata.name)\"}
  - {name: broken, jmesPath: 'sum([].metadata.name)'}
  - {name: nothing, jmesPath: \"[?metadata.name == 'nope'] | [0]\"}
---
apiVersion: kyverno.io/v2beta1
kind: GlobalContextEntry
metadata: {name: call}
spec:
  apiCall: {urlPath: /api/v1/namespaces/web/configmaps/a, refreshInterval: 10s, retryLimit: 3, method: GET}
  projections:
  - {name: k, jmesPath: data.k}
  - {name: nothing, jmesPath: \"values(data)[?@ == 'nope'] | [0]\"}
---
apiVersion: kyverno.io/v2beta1
kind: GlobalContextEntry
metadata: {name: spoilt}
spec:
  apiCall: {urlPath: /api/v1/namespaces/web/configmaps/a, refreshInterval: 10s, retryLimit: 3, method: GET}
  projections:
  - {name: k, jmesPath: data.k}
  - {name: broken, jmesPath: 'sum(data.k)'}
---
apiVersion: kyverno.io/v2beta1
kind: GlobalContextEntry
metadata: {name: nodes}
spec: {kubernetesResource: {version: v1, resource: nodes}}
---
apiVersion: kyverno.io/v2beta1
kind: GlobalContextEntry
metadata: {name: unserved}
spec: {kubernetesResource: {group: example.com, version: v1, resource: widgets}}
---
apiVersion: kyverno.io/v2beta1
kind: GlobalContextEntry
metadata: {name: service}
spec: {apiCall: {service: {url: 'https://example.com/'}, refreshInterval: 10s, retryLimit: 3, method: GET}}
---
apiVersion: kyverno.io/v2beta1
kind: GlobalContextEntry
metadata: {name: inside}
spec: {apiCall: {urlPath: /api/v1/namespaces/web/services/s/proxy/admin, refreshInterval: 10s, retryLimit: 3, method: GET}}
";

/// A policy that writes the value of a reference to an entry into `ConfigMaps`.
fn reference(policies: &Policies, name: &str, path: &str) -> String {
    policies.write(
        "reference",
        &format!(
            "context: [{{name: found, globalReference: {{name: {name}, jmesPath: \"{path}\"}}}}]\n    \
             mutate: {{patchStrategicMerge: {{metadata: {{annotations: {{found: '{{{{ to_string(found) }}}}'}}}}}}}}"
        ),
    )
}

/// The kinds of Kyverno's own objects, served.
pub(crate) fn install_kinds(server: &ApiServer) {
    let crds = Command::new(test_support::tool("kyverno-crds")).output().expect("it starts").stdout;
    server.kubectl_ok(&["apply", "--server-side", "-f", "-"], &String::from_utf8(crds).expect("text"));
    for crd in ["clusterpolicies.kyverno.io", "policies.kyverno.io", "policyexceptions.kyverno.io"] {
        server.kubectl_ok(&["wait", "--for=condition=Established", &format!("crd/{crd}")], "");
    }
}

#[test]
fn global_context_entries_are_read_from_the_cluster() {
    if test_support::skip_without_real_programs("global context entries of a cluster") {
        return;
    }
    let server = server_with_objects();
    let policies = Policies::new();
    let admin = server.kubeconfig();
    let base = |policy: &str| ["diff", "cm", "z", "-n", "back", "-p", policy].map(str::to_owned);
    let run = |policy: &str, more: &[&str]| {
        let base = base(policy);
        let base: Vec<&str> = base.iter().map(String::as_str).collect();
        kyv(admin, &[&base[..], more].concat())
    };
    // If no such kind is served the lookup has no result.
    let maps = reference(&policies, "maps.names", "");
    let unknown = run(&maps, &[]);
    assert_eq!(unknown.code, Some(3), "{unknown:?}");
    assert!(unknown.stderr.contains("GlobalContextEntry maps"), "{unknown:?}");

    server.kubectl_ok(&["apply", "-f", "-"], ENTRIES_KIND);
    server.kubectl_ok(&["wait", "--for=condition=Established", "crd/globalcontextentries.kyverno.io"], "");
    server.kubectl_ok(&["apply", "-f", "-"], ENTRIES);
    // What each reference gives: written into the object, or named by the error; with the number of the difference
    // that is reached, and what the controllers would do there.
    let words = "no data available";
    for (name, path, found, difference) in [
        ("maps.names", "", Ok("[\"a\",\"b\",\"c\",\"d\",\"e\"]"), None),
        ("maps", "length([?kind == 'ConfigMap' && apiVersion == 'v1' && data.k])", Ok("5"), None),
        ("maps.broken", "", Err("projection broken of GlobalContextEntry maps"), None),
        ("maps.nothing", "", Ok("null"), None),
        ("maps.other", "", Err("projection other of GlobalContextEntry maps"), None),
        ("call", "metadata.name", Ok("a"), None),
        ("call.k", "", Ok("a"), None),
        ("call.nothing", "", Ok("null"), Some(("KYV-D56", words))),
        ("spoilt.k", "", Ok("a"), Some(("KYV-D55", "projection broken of GlobalContextEntry spoilt"))),
        ("spoilt", "data.k", Ok("a"), Some(("KYV-D55", "projection broken of GlobalContextEntry spoilt"))),
        ("spoilt.broken", "", Err("projection broken of GlobalContextEntry spoilt"), None),
        ("nodes", "length(@)", Ok("0"), None),
        ("unserved", "", Err("the server doesn't have a resource type \"widgets.v1.example.com\""), None),
        ("service", "", Err("calls of services are never sent"), None),
        ("inside", "", Err("calls through the API server to something else are never sent"), None),
        ("absent", "", Err("GlobalContextEntry absent"), None),
    ] {
        let policy = reference(&policies, name, path);
        for semantics in ["documented", "kyverno"] {
            let run = run(&policy, &["--semantics", semantics]);
            let expected = match difference {
                Some((_, failure)) if semantics == "kyverno" => Err(failure),
                _ => found,
            };
            match expected {
                Ok(found) => {
                    assert_eq!(run.code, Some(1), "{name} {run:?}");
                    let quoted = [
                        format!("found: '{found}'\n"),
                        format!("found: {found}\n"),
                        format!("found: \"{found}\"\n"),
                    ];
                    assert!(quoted.iter().any(|line| run.stdout.contains(line)), "{name} {found} {run:?}");
                }
                Err(words) => {
                    assert_eq!((run.code, &*run.stdout), (Some(3), ""), "{name} {run:?}");
                    assert!(run.stderr.contains(words), "{name} {words} {run:?}");
                }
            }
            let announced = run.stderr.matches("note[KYV-D").count();
            assert_eq!(announced, usize::from(difference.is_some()), "{name} {run:?}");
            assert!(difference.is_none_or(|(number, _)| run.stderr.contains(number)), "{name} {run:?}");
        }
    }

    // One request for all objects, and none for entries that no rule uses.
    let of_entries = |(_, path): &(String, String)| path.contains("globalcontextentries");
    let before = logged_requests(&server).len();
    let maps = reference(&policies, "maps.names", "");
    let all = kyv(admin, &["diff", "cm", "-n", "web", "-p", &maps]);
    assert_eq!((all.code, changed_objects(&all.stdout).len()), (Some(1), 5), "{all:?}");
    let read: Vec<_> = logged_requests(&server).split_off(before).into_iter().filter(of_entries).collect();
    assert_eq!(read.len(), 1, "{read:?}");

    // An entry of a file wins, and reads from the cluster; so does a recorded one.
    let given = policies.path("given");
    fs::write(
        &given,
        "apiVersion: kyverno.io/v2\nkind: GlobalContextEntry\nmetadata: {name: maps}\nspec:\n  \
         kubernetesResource: {version: v1, resource: configmaps, namespace: back}\n  \
         projections: [{name: names, jmesPath: \"[?metadata.name == 'z'].metadata.name\"}]\n",
    )
    .expect("the folder takes files");
    let own = run(&maps, &["--context-from", &policies.argument("given")]);
    assert!(own.code == Some(1) && own.stdout.contains("[\"z\"]"), "{own:?}");
    let tape = policies.path("tape").display().to_string();
    let recorded = run(&maps, &["--record", &tape]);
    assert_eq!(recorded.code, Some(1), "{recorded:?}");
    let requests = logged_requests(&server).len();
    let replayed = run(&maps, &["--replay", &tape]);
    assert_eq!((replayed.code, &replayed.stdout), (recorded.code, &recorded.stdout), "{replayed:?}");
    assert_eq!(logged_requests(&server).len(), requests);
    let other = reference(&policies, "call.k", "");
    let replayed = run(&other, &["--replay", &tape]);
    assert!(
        replayed.code == Some(4) && replayed.stderr.contains("the recording has no response"),
        "{replayed:?}"
    );

    // With the rights of the user of the kubeconfig.
    let reader = ["create", "clusterrole", "reader", "--verb=get,list", "--resource=configmaps"];
    server.kubectl_ok(&reader, "");
    let group = "--user=nobody-special";
    server.kubectl_ok(&["create", "clusterrolebinding", "reader", "--clusterrole=reader", group], "");
    let maps = reference(&policies, "maps.names", "");
    let base = ["diff", "cm", "z", "-n", "back", "-p", &maps];
    let refused = kyv(server.kubeconfig_without_rights(), &base);
    let words =
        "globalcontextentries.kyverno.io \"maps\" is forbidden: User \"nobody-special\" cannot get resource";
    assert!(refused.code == Some(4) && refused.stderr.contains(words), "{refused:?}");
    assert!(
        refused.stderr.contains(
            "error[KYV513]: the result is incomplete: not looked up: globalcontextentries.kyverno.io \"maps\"\n"
        ),
        "{refused:?}"
    );
    let entries =
        ["create", "clusterrole", "entries", "--verb=get", "--resource=globalcontextentries.kyverno.io"];
    server.kubectl_ok(&entries, "");
    server.kubectl_ok(&["create", "clusterrolebinding", "entries", "--clusterrole=entries", group], "");
    assert_eq!(kyv(server.kubeconfig_without_rights(), &base).code, Some(1));
    let nodes = reference(&policies, "nodes", "");
    let refused = kyv(server.kubeconfig_without_rights(), &["diff", "cm", "z", "-n", "back", "-p", &nodes]);
    let words = "nodes is forbidden: User \"nobody-special\" cannot list resource \"nodes\"";
    assert!(refused.code == Some(4) && refused.stderr.contains(words), "{refused:?}");
    assert!(
        refused.stderr.contains("error[KYV513]: the result is incomplete: not looked up: "),
        "{refused:?}"
    );

    for (verb, path) in logged_requests(&server) {
        assert!(matches!(&*verb, "get" | "list"), "{verb} {path}");
    }
}

#[test]
fn objects_hidden_by_kyverno_configuration_are_reported() {
    if test_support::skip_without_real_programs("the configuration of a cluster's Kyverno") {
        return;
    }
    let server = server_with_objects();
    let policies = Policies::new();
    let admin = server.kubeconfig();
    let team = policies.argument("team");
    let diff = ["diff", "cm", "-n", "web", "-p", &team];
    let hidden = "hidden from policies";
    let configured = |name: &str, data: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: kyverno}}\ndata: {{{data}}}\n"
        )
    };
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: kyverno}\n---\n";
    let filters = "resourceFilters: '[*/*,kube-system,*] [ConfigMap,web,a][Secret,*,*]'";
    server.kubectl_ok(&["apply", "-f", "-"], &format!("{namespace}{}", configured("kyverno", filters)));

    // No kinds of Kyverno, so no configuration is read.
    let run = kyv(admin, &diff);
    assert_eq!(
        (run.code, changed_objects(&run.stdout).len(), run.stderr.contains(hidden)),
        (Some(1), 5, false),
        "{run:?}"
    );
    assert!(
        !logged_requests(&server)
            .iter()
            .any(|(_, path)| path.ends_with("/namespaces/kyverno/configmaps/kyverno"))
    );
    install_kinds(&server);

    let run = kyv(admin, &diff);
    assert_eq!((run.code, changed_objects(&run.stdout).len()), (Some(1), 5), "{run:?}");
    let words = "note[KYV804]: 1 object that rules act on is hidden from policies by the configuration of the cluster's Kyverno, \
                 the cluster would leave it as it is, as --semantics kyverno shows: \
                 the resource filter [ConfigMap,web,a]\n";
    assert!(run.stderr.contains(words), "{run:?}");
    assert!(run.stderr.contains("note[KYV-D57]: "), "{run:?}");
    assert!(!run.stderr.contains("not evaluated here"), "{run:?}");
    let kyverno = [&diff[..], &["--semantics", "kyverno"]].concat();
    let run = kyv(admin, &kyverno);
    let rest = ["ConfigMap/web/b", "ConfigMap/web/c", "ConfigMap/web/d", "ConfigMap/web/e"];
    assert_eq!((run.code, changed_objects(&run.stdout)), (Some(1), rest.to_vec()), "{run:?}");
    assert!(run.stderr.contains("it stays as it is: the resource filter [ConfigMap,web,a]\n"), "{run:?}");
    let explain = ["explain", "cm", "a", "-n", "web", "-p", &team, "--semantics", "kyverno"];
    let run = kyv(admin, &explain);
    assert!(run.stdout.contains("SKIPPED        team/r: the resource filter [ConfigMap,web,a]"), "{run:?}");

    // Objects that no rule acts on need no word; an error of a rule is none for what no policy sees.
    let run = kyv(admin, &["diff", "cm", "a", "-n", "web", "-p", &policies.argument("create")]);
    assert!(
        run.code == Some(0) && !run.stderr.contains("KYV-D57") && !run.stderr.contains(hidden),
        "{run:?}"
    );
    let broken = policies
        .write("broken", "mutate: {patchStrategicMerge: {data: {x: '{{ request.object.data.nope }}'}}}");
    for (semantics, code) in [("documented", 3), ("kyverno", 0)] {
        let run = kyv(admin, &["diff", "cm", "a", "-n", "web", "-p", &broken, "--semantics", semantics]);
        assert!(run.code == Some(code) && run.stderr.contains("KYV-D57"), "{semantics} {run:?}");
    }

    // What triggers a rule with targets is hidden, too; targets are not.
    let patch = "patchStrategicMerge: {metadata: {labels: {touched: \"yes\"}}}";
    let targets = "targets: [{apiVersion: v1, kind: Secret, namespace: web, name: login}]";
    for (trigger, semantics, expected) in [
        ("a", "documented", &["Secret/web/login"][..]),
        ("a", "kyverno", &[]),
        ("b", "kyverno", &["Secret/web/login"]),
    ] {
        let matching = format!("kinds: [ConfigMap], namespaces: [web], names: [{trigger}]");
        let policy = mutate_existing_rule(&policies, "target", &matching, &format!("{targets}, {patch}"));
        let run = kyv(admin, &["diff", "cm", "-n", "web", "-p", &policy, "--semantics", semantics]);
        assert_eq!(changed_objects(&run.stdout), expected, "{trigger} {semantics} {run:?}");
        assert_eq!(run.stderr.contains("KYV-D57"), trigger == "a", "{trigger} {semantics} {run:?}");
    }

    // Manifests on their way into the cluster, and no others.
    let manifest = policies.path("manifest");
    fs::write(&manifest, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: web}}\n")
        .expect("the folder takes files");
    let manifest = policies.argument("manifest");
    let manifests = ["diff", "-f", &manifest, "-p", &team, "--semantics", "kyverno", "--live"];
    assert_eq!(kyv(admin, &manifests).code, Some(0));
    let run =
        kyv(admin, &["diff", "-f", &manifest, "-p", &team, "--semantics", "kyverno", "--cluster-policies"]);
    assert_eq!(run.code, Some(1), "{run:?}");

    // A replay says the same.
    let tape = policies.path("tape").display().to_string();
    let recorded = kyv(admin, &[&kyverno[..], &["--record", &tape]].concat());
    let replayed = kyv(admin, &[&kyverno[..], &["--replay", &tape]].concat());
    assert_eq!((replayed.code, &replayed.stdout), (recorded.code, &recorded.stdout), "{replayed:?}");
    assert!(replayed.stderr.contains("[ConfigMap,web,a]"), "{replayed:?}");

    // A configuration that may not be read is reported as unknown.
    let reader = ["create", "role", "reader", "-n", "web", "--verb=get,list", "--resource=configmaps"];
    server.kubectl_ok(&reader, "");
    let user = "--user=nobody-special";
    server.kubectl_ok(&["create", "rolebinding", "reader", "-n", "web", "--role=reader", user], "");
    let run = kyv(server.kubeconfig_without_rights(), &diff);
    assert_eq!((run.code, changed_objects(&run.stdout).len()), (Some(1), 5), "{run:?}");
    let words = "(ConfigMap kyverno/kyverno) cannot be read, so nothing is known of objects that it hides from policies: \
                 Error from server (Forbidden): configmaps \"kyverno\" is forbidden";
    assert!(run.stderr.contains(words), "{run:?}");

    // It is not needed if no rule acts.
    let idle = kyv(
        server.kubeconfig_without_rights(),
        &["diff", "cm", "-n", "web", "-p", &policies.argument("create")],
    );
    assert_eq!((idle.code, idle.stderr.contains("Kyverno")), (Some(0), false), "{idle:?}");

    // The controllers say where their configuration is.
    let elsewhere = KYVERNO
        .replace("namespace: policy-engine", "namespace: kyverno")
        .replace("name: kyverno, image", "name: kyverno, env: [{name: INIT_CONFIG, value: own}], image");
    let more = "resourceFilters: '[ConfigMap,web,b]', webhooks: '{\"namespaceSelector\": {}}', excludeGroups: '', \
         matchConditions: '[{\"name\": \"x\", \"expression\": \"true\"}]'";
    server.kubectl_ok(&["apply", "-f", "-"], &format!("{elsewhere}---\n{}", configured("own", more)));
    let run = kyv(admin, &kyverno);
    assert!(!changed_objects(&run.stdout).contains(&"ConfigMap/web/b"), "{run:?}");
    assert_eq!(changed_objects(&run.stdout).len(), 4, "{run:?}");
    let words = "note[KYV521]: the configuration of the cluster's Kyverno (ConfigMap kyverno/own) also has matchConditions, not evaluated here: requests that they exclude meet no policy\n";
    assert!(run.stderr.contains(words), "{run:?}");
    for (verb, path) in logged_requests(&server) {
        assert!(matches!(&*verb, "get" | "list"), "{verb} {path}");
    }
}

/// Configurations: entries, and whether requests of an administrator for a `ConfigMap` of the namespace `back` meet
/// policies then; what is said if they do not.
const CONFIGURATIONS: [(&str, &str, Option<&str>); 8] = [
    ("excludeUsernames", "adm*", Some("excludeUsernames adm*")),
    ("excludeUsernames", "adm*, !admin", None),
    ("excludeGroups", "system:nodes, system:masters", Some("excludeGroups system:masters")),
    ("excludeGroups", "system:nodes, system:*, ! system:authenticated", None),
    (
        "webhooks",
        r#"{"namespaceSelector": {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["back"]}]}}"#,
        Some("the namespaceSelector of the webhooks"),
    ),
    ("webhooks", r#"{"namespaceSelector": {"matchLabels": {"tier": "back"}}}"#, None),
    (
        "webhooks",
        r#"{"objectSelector": {"matchExpressions": [{"key": "seen", "operator": "Exists"}]}}"#,
        Some("the objectSelector of the webhooks"),
    ),
    (
        "webhooks",
        r#"{"objectSelector": {"matchExpressions": [{"key": "seen", "operator": "DoesNotExist"}]}}"#,
        None,
    ),
];

/// Writes a configuration of Kyverno with one entry.
fn configure(server: &ApiServer, key: &str, text: &str) {
    let mut data =
        json!({"resourceFilters": "", "excludeUsernames": "", "excludeGroups": "", "webhooks": "{}"});
    data[key] = text.into();
    let patch = json!({"data": data}).to_string();
    server.kubectl_ok(&["patch", "configmap", "kyverno", "-n", "kyverno", "--type=merge", "-p", &patch], "");
}

#[test]
fn requests_excluded_from_webhooks_are_reported() {
    if test_support::skip_without_real_programs("requests that Kyverno does not see") {
        return;
    }
    let server = server_with_objects();
    install_kinds(&server);
    let policies = Policies::new();
    let team = policies.argument("team");
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: kyverno}\n---\n";
    let empty = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kyverno, namespace: kyverno}\n";
    server.kubectl_ok(&["apply", "-f", "-"], &format!("{namespace}{empty}"));
    fs::write(policies.path("admin"), ADMINISTRATOR).expect("the folder takes files");
    let who = policies.argument("admin");
    let diff = ["diff", "cm", "z", "-n", "back", "-p", &team];
    for (key, text, hidden) in CONFIGURATIONS {
        configure(&server, key, text);
        let run = kyv(server.kubeconfig(), &[&diff[..], &["--userinfo", &who]].concat());
        assert_eq!(
            (run.code, changed_objects(&run.stdout)),
            (Some(1), vec!["ConfigMap/back/z"]),
            "{text} {run:?}"
        );
        let told = hidden.map(|part| {
            format!(
                "note[KYV804]: 1 object that rules act on is hidden from policies by the configuration of the cluster's Kyverno, \
                 the cluster would leave it as it is, as --semantics kyverno shows: {part}\n"
            )
        });
        match told {
            Some(told) => {
                assert!(run.stderr.contains(&told) && run.stderr.contains("KYV-D57"), "{text} {run:?}");
            }
            None => assert!(!run.stderr.contains("Kyverno"), "{text} {run:?}"),
        }
        let there = [&diff[..], &["--userinfo", &who, "--semantics", "kyverno"]].concat();
        let run = kyv(server.kubeconfig(), &there);
        assert_eq!(run.code, Some(i32::from(hidden.is_none())), "{text} {run:?}");

        // Nobody said who sends the requests.
        let run = kyv(server.kubeconfig(), &[&diff[..], &["--semantics", "kyverno"]].concat());
        let words = format!(
            "note[KYV521]: the configuration of the cluster's Kyverno (ConfigMap kyverno/kyverno) excludes requests of some users from policies; pass --userinfo to apply it ({key})\n"
        );
        assert_eq!(run.stderr.contains(&words), key.starts_with("exclude"), "{text} {run:?}");
    }
    // The label of its name says enough of a namespace.
    let asked = logged_requests(&server);
    let labels = asked.iter().filter(|(_, path)| path.ends_with("/namespaces/back")).count();
    assert_eq!(labels, 3, "one of the configurations asks for another label");
    // Where no request is sent, as when policies are installed, only the objects count.
    let targets = mutate_existing_rule(
        &policies,
        "targets",
        "kinds: [ConfigMap], names: [z]",
        "mutateExistingOnPolicyUpdate: true, targets: [{apiVersion: v1, kind: Secret, namespace: web, name: login}], \
         patchStrategicMerge: {metadata: {labels: {touched: \"yes\"}}}",
    );
    configure(&server, "excludeUsernames", "*");
    let update = ["diff", "cm", "-n", "back", "-p", &targets, "--userinfo", &who, "--semantics", "kyverno"];
    assert_eq!(kyv(server.kubeconfig(), &update).code, Some(0));
    let run = kyv(server.kubeconfig(), &[&update[..], &["--on-policy-update"]].concat());
    assert_eq!((run.code, changed_objects(&run.stdout)), (Some(1), vec!["Secret/web/login"]), "{run:?}");
}

/// References to entries, each with an optional expression that is applied to the value.
const REFERENCES: [(&str, &str); 11] = [
    ("maps.names", ""),
    ("maps", "length([?kind == 'ConfigMap' && data.k])"),
    ("maps.broken", ""),
    ("maps.nothing", ""),
    ("maps.other", ""),
    ("call", "metadata.name"),
    ("call.k", ""),
    ("call.nothing", ""),
    ("spoilt.k", ""),
    ("spoilt", "data.k"),
    ("absent", ""),
];

/// What a reference of `REFERENCES` is written into.
fn referring(number: usize) -> Value {
    let name = format!("reference-{number}");
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "back"}})
}

/// What was written, if anything.
fn written(object: &Value) -> Option<String> {
    object["metadata"]["annotations"]["found"].as_str().map(str::to_owned)
}

#[test]
fn global_entries_and_filters_match_real_kyverno() {
    if test_support::skip_without_real_programs("entries and filters of the real Kyverno") {
        return;
    }
    let server = server_with_objects();
    let _kyverno = Kyverno::start(&server);
    let rest = Rest::open(&server);
    let mut installer = PolicyInstaller::new(&rest);
    // The others would only be tried in vain, again and again.
    let entries: Vec<&str> = ENTRIES.split("---").take(3).collect();
    server.kubectl_ok(&["apply", "-f", "-"], &entries.join("---").replace("v2alpha1", "v2beta1"));
    let policies = REFERENCES.iter().enumerate().map(|(number, (name, path))| {
        let mut reference = json!({"name": name});
        if !path.is_empty() {
            reference["jmesPath"] = json!(path);
        }
        let name = format!("reference-{number}");
        json!({
            "apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": {"name": name},
            "spec": {"rules": [{
                "name": "r",
                "match": {"any": [{"resources": {"kinds": ["ConfigMap"], "names": [name]}}]},
                "context": [{"name": "found", "globalReference": reference}],
                "mutate": {"patchStrategicMerge": {"metadata": {"annotations": {"found": "{{ to_string(found) }}"}}}},
            }]},
        })
    });
    installer.install(&policies.collect::<Vec<_>>()).expect("the policies are taken");

    let objects: Vec<Value> = (0..REFERENCES.len()).map(referring).collect();
    let folder = Policies::new();
    fs::write(
        folder.path("objects"),
        json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string(),
    )
    .expect("the folder takes files");
    let manifests = folder.argument("objects");
    let said = |semantics: &str| -> Vec<Option<String>> {
        let mutate = ["mutate", "-f", &manifests, "--live", "--cluster-policies", "--semantics", semantics];
        let run = kyv(server.kubeconfig(), &[&mutate[..], &["-o", "json"]].concat());
        assert_eq!(run.code, Some(3), "{run:?}");
        let list: Value = serde_json::from_str(&run.stdout).expect("it prints JSON");
        list["items"].as_array().expect("a list").iter().map(written).collect()
    };
    let ask = |number: usize| rest.create(&referring(number), "dryRun=All");
    let did = || -> Vec<Option<String>> {
        (0..REFERENCES.len()).map(|number| ask(number).ok().as_ref().and_then(written)).collect()
    };

    // Entries are read some time after they were stored.
    installer.wait("an entry of objects is read", |_| ask(0).is_ok());
    for tries in 0.. {
        match ask(6) {
            Ok(_) => break,
            Err(refusal) => assert!(tries < 60, "an entry of a call is never read: {refusal:?}"),
        }
        std::thread::sleep(std::time::Duration::from_millis(500));
    }
    let found = |text: &str| Some(text.to_owned());
    let names = "[\"a\",\"b\",\"c\",\"d\",\"e\"]";
    let (done, told) = (did(), said("kyverno"));
    assert_eq!(done, told);
    let expected =
        [found(names), found("5"), None, found("null"), None, found("a"), found("a"), None, None, None, None];
    assert_eq!(done, expected);
    for (number, words) in
        [(7, "no data available"), (8, "Invalid type for: a"), (10, "failed to fetch entry key=absent")]
    {
        let refusal = ask(number).expect_err("it is refused");
        assert!(refusal.message.contains(words), "{refusal:?}");
    }
    let documented = said("documented");
    assert_eq!(documented[7..], [found("null"), found("a"), found("a"), None]);

    // What a filter hides stays as it is, be it refused otherwise.
    let filters = r#"{"data": {"resourceFilters": "[ConfigMap,back,reference-0][ConfigMap,back,*-1?]"}}"#;
    server.kubectl_ok(&["patch", "configmap", "kyverno", "-n", "kyverno", "--type=merge", "-p", filters], "");
    installer.wait("a filter is in force", |_| ask(0).is_ok_and(|object| written(&object).is_none()));
    assert!(ask(10).is_ok(), "it is hidden");
    let done = did();
    assert_eq!(done[0], None);
    assert_eq!(done[1..], expected[1..]);
    let mutate =
        ["mutate", "-f", &manifests, "--live", "--cluster-policies", "--semantics", "kyverno", "-o", "json"];
    let run = kyv(server.kubeconfig(), &mutate);
    let list: Value = serde_json::from_str(&run.stdout).expect("it prints JSON");
    let told: Vec<_> = list["items"].as_array().expect("a list").iter().map(written).collect();
    assert_eq!(done, told);
    assert!(
        run.stderr.contains("note[KYV804]: 2 objects that rules act on are hidden from policies"),
        "{run:?}"
    );
    assert!(!run.stderr.contains("key=absent"), "{run:?}");

    // Kyverno applies each configuration as predicted.
    fs::write(folder.path("admin"), ADMINISTRATOR).expect("the folder takes files");
    let who = folder.argument("admin");
    for (key, text, hidden) in CONFIGURATIONS {
        configure(&server, key, text);
        installer.wait(text, |_| ask(1).is_ok_and(|object| written(&object).is_none()) == hidden.is_some());
        let run = kyv(server.kubeconfig(), &[&mutate[..], &["--userinfo", &who]].concat());
        assert_eq!(run.code, Some(if hidden.is_some() { 0 } else { 3 }), "{text} {run:?}");
        let list: Value = serde_json::from_str(&run.stdout).expect("it prints JSON");
        let told: Vec<_> = list["items"].as_array().expect("a list").iter().map(written).collect();
        assert_eq!(did(), told, "{text}");
        assert_eq!(told[1].is_none(), hidden.is_some(), "{text}");
    }
}
