//! `drift` for Flux: what its dry run shows, and the rules that ignore it. `tests/cluster/flux.rs` has the controllers.

use crate::folder::Folder;

const OBJECTS: &str = "apiVersion: apps/v1
kind: Deployment
metadata: {name: web.v1, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: 'web:1'}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop}
data: {a: b}
";

/// A policy with one rule, given its resources and mutation.
fn policy(name: &str, resources: &str, mutation: &str) -> String {
    format!(
        "---\napiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: {name}}}\nspec:\n  rules:\n  - name: rule\n    \
         match: {{any: [{{resources: {{{resources}}}}}]}}\n    mutate: {{{mutation}}}\n"
    )
}

fn policies() -> String {
    let image = "patchStrategicMerge: {spec: {template: {spec: {containers: [{(name): '*', image: 'mirror/web:1'}]}}}}";
    let count = "patchesJson6902: '[{\"op\": \"add\", \"path\": \"/data/count\", \
                 \"value\": \"{{ request.object.data.count || '''' }}x\"}]'";
    [
        policy("created", "kinds: [Deployment], operations: [CREATE]", image),
        policy("replicas", "kinds: [Deployment]", "patchStrategicMerge: {spec: {replicas: 5}}"),
        policy("count", "kinds: [ConfigMap]", count),
    ]
    .concat()
}

#[test]
fn flux_shows_what_policies_do_not_do_again_and_what_they_do_twice() {
    let folder = Folder::new(&[("policies.yaml", &policies()), ("objects.yaml", OBJECTS)]);
    let run = folder.run(&["drift", "-q", "-p", "policies.yaml", "-f", "objects.yaml", "--tool", "flux"]);
    assert_eq!(
        run.stdout,
        "Deployment/shop/web.v1 (objects.yaml:1): drift until Flux applies it
  /spec/template/spec/containers/0/image: another value by created/rule
ConfigMap/shop/settings (objects.yaml:12): drift at each reconciliation
  /data/count: another value by count/rule

drift of 2 of 2 objects in Flux
"
    );
    assert_eq!(run.code, Some(1));
    let run = folder.run(&["drift", "-q", "-p", "policies.yaml", "-f", "objects.yaml", "-o", "flux"]);
    assert_eq!(
        run.stdout,
        r"driftDetection:
  ignore:
  - paths:
    - /spec/template/spec/containers/0/image
    target:
      group: apps
      kind: Deployment
      name: web\.v1
      namespace: shop
  - paths:
    - /data/count
    target:
      kind: ConfigMap
      name: settings
      namespace: shop
"
    );
}

#[test]
fn what_policies_do_again_is_no_drift_in_flux() {
    let stable = policy("replicas", "kinds: [Deployment]", "patchStrategicMerge: {spec: {replicas: 5}}");
    let folder = Folder::new(&[("policies.yaml", &stable), ("objects.yaml", OBJECTS)]);
    let flux = folder.run(&["drift", "-q", "-p", "policies.yaml", "-f", "objects.yaml", "--tool", "flux"]);
    assert_eq!((&*flux.stdout, flux.code), ("drift of 0 of 2 objects in Flux\n", Some(0)));
    let argocd = folder.run(&["drift", "-q", "-p", "policies.yaml", "-f", "objects.yaml"]);
    assert_eq!(argocd.code, Some(1));
    assert!(argocd.stdout.ends_with("1 of 2 objects OutOfSync in Argo CD\n"), "{}", argocd.stdout);
}

#[test]
fn what_depends_on_the_time_of_a_request_is_drift_for_ever_in_flux() {
    let [time, random, kept] =
        [("time", "time_now_utc()"), ("random", "random('[a-z]{8}')"), ("kept", "random('[a-z]{8}')")].map(
            |(name, value)| {
                let key = if name == "kept" { "+(kept)" } else { name };
                let overlay = format!("patchStrategicMerge: {{data: {{{key}: \"{{{{ {value} }}}}\"}}}}");
                policy(name, "kinds: [ConfigMap]", &overlay)
            },
        );
    let folder = Folder::new(&[("policies.yaml", &[time, random, kept].concat()), ("objects.yaml", OBJECTS)]);
    let run = folder.run(&["drift", "-q", "-p", "policies.yaml", "-f", "objects.yaml", "--tool", "flux"]);
    let expected = "ConfigMap/shop/settings (objects.yaml:12): drift at each reconciliation
  /data/time: another value by time/rule
  /data/random: another value by random/rule

drift of 1 of 2 objects in Flux
";
    assert_eq!((&*run.stdout, run.code), (expected, Some(1)));
}

#[test]
fn an_object_that_gets_another_name_is_never_in_sync() {
    let rename = policy("rename", "kinds: [ConfigMap]", "patchStrategicMerge: {metadata: {name: other}}");
    let folder = Folder::new(&[("policies.yaml", &rename), ("objects.yaml", OBJECTS)]);
    for (tool, expected) in [
        (
            "argocd",
            "ConfigMap/shop/settings (objects.yaml:12): OutOfSync\n  .metadata.name: another object by rename/rule\n\n\
             1 of 2 objects OutOfSync in Argo CD\n",
        ),
        (
            "flux",
            "ConfigMap/shop/settings (objects.yaml:12): drift at each reconciliation\n  /metadata/name: another object by \
             rename/rule\n\ndrift of 1 of 2 objects in Flux\n",
        ),
    ] {
        let run = folder.run(&["drift", "-q", "-p", "policies.yaml", "-f", "objects.yaml", "--tool", tool]);
        assert_eq!((&*run.stdout, run.code), (expected, Some(1)));
        // No rule ignores that.
        let run = folder.run(&["drift", "-q", "-p", "policies.yaml", "-f", "objects.yaml", "-o", tool]);
        assert!(
            run.stdout.starts_with("# ConfigMap/shop/settings: ") && !run.stdout.contains("- "),
            "{}",
            run.stdout
        );
    }
}

#[test]
fn an_object_whose_namespace_is_removed_stays_in_it() {
    let remove = policy(
        "remove",
        "kinds: [ConfigMap]",
        "patchesJson6902: \"[{op: remove, path: /metadata/namespace}]\"",
    );
    let folder = Folder::new(&[("policies.yaml", &remove), ("objects.yaml", OBJECTS)]);
    for tool in ["argocd", "flux"] {
        let run = folder.run(&["drift", "-q", "-p", "policies.yaml", "-f", "objects.yaml", "--tool", tool]);
        assert_eq!(run.code, Some(0), "{tool}: {}", run.stdout);
    }
}

#[test]
fn rules_with_targets_are_noted() {
    let targets = "targets: [{apiVersion: apps/v1, kind: Deployment, name: web.v1, namespace: shop}], \
                   patchStrategicMerge: {spec: {replicas: 7}}";
    let policies = policy("scale", "kinds: [ConfigMap]", targets);
    let folder = Folder::new(&[("policies.yaml", &policies), ("objects.yaml", OBJECTS)]);
    for command in ["drift", "check"] {
        let run = folder.run(&[command, "-p", "policies.yaml", "-f", "objects.yaml"]);
        let note =
            "note[KYV808]: rules with targets change other objects, which are not looked at here: scale\n";
        assert!(run.stderr.contains(note), "{}", run.stderr);
    }
}

#[test]
fn rules_are_those_of_their_tool() {
    let folder = Folder::new(&[("policies.yaml", &policies()), ("objects.yaml", OBJECTS)]);
    let run =
        folder.run(&["drift", "-p", "policies.yaml", "-f", "objects.yaml", "--tool", "argocd", "-o", "flux"]);
    assert_eq!(run.code, Some(2));
    assert_eq!(run.stdout, "");
    assert!(run.stderr.contains("-o argocd and -o flux are rules of that tool"), "{}", run.stderr);
}

#[test]
fn rules_that_fail_in_the_dry_run_of_flux_are_named() {
    let fails = policy(
        "settled",
        "kinds: [ConfigMap], operations: [UPDATE]",
        "patchesJson6902: '[{\"op\": \"test\", \
        \"path\": \"/data/a\", \"value\": \"c\"}]'",
    );
    let folder = Folder::new(&[("policies.yaml", &fails), ("objects.yaml", OBJECTS)]);
    let run = folder.run(&["drift", "-q", "-p", "policies.yaml", "-f", "objects.yaml", "--tool", "flux"]);
    assert_eq!(
        run.stdout,
        "ConfigMap/shop/settings (objects.yaml:12): not compared
  the dry run of Flux fails, because of settled/rule

drift of 0 of 2 objects in Flux
"
    );
    assert_eq!(run.code, Some(1));
}

#[test]
fn rules_tell_objects_that_were_not_compared_in_full() {
    let widget = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec: {a: b}\n";
    let patch = policy("other", "kinds: [Widget]", "patchStrategicMerge: {metadata: {labels: {team: shop}}}");
    let folder = Folder::new(&[("policies.yaml", &patch), ("objects.yaml", widget)]);
    for (tool, rules) in [("argocd", "ignoreDifferences: []\n"), ("flux", "driftDetection:\n  ignore: []\n")]
    {
        let run = folder.run(&["drift", "-q", "-p", "policies.yaml", "-f", "objects.yaml", "-o", tool]);
        let note = "# Widget/w: incomplete: the defaults of this kind are not known\n";
        assert_eq!((&*run.stdout, run.code), (&*format!("{note}{rules}"), Some(1)), "{tool}");
    }
}

#[test]
fn data_that_replaces_a_text_of_a_secret_is_a_difference() {
    let secret =
        "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {password: own, user: robot}\n";
    let patch = policy("forced", "kinds: [Secret]", "patchStrategicMerge: {data: {password: Zm9yY2Vk}}");
    let folder = Folder::new(&[("policies.yaml", &patch), ("objects.yaml", secret)]);
    let run = folder.run(&["drift", "-q", "-p", "policies.yaml", "-f", "objects.yaml"]);
    let shown = "Secret/s (objects.yaml:1): OutOfSync\n  .data.password: another value by forced/rule\n";
    assert!(run.stdout.starts_with(shown), "{}", run.stdout);
    assert_eq!(run.code, Some(1));
}
