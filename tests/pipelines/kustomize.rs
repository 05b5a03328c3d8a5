//! The function in kustomize, and the legacy exec plugin in `kubectl kustomize`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::folder::{Folder, RunOutput, kyv_program};

const PROD: &str = "overlays/prod";
const PLUGINS: [&str; 3] = ["build", "--enable-alpha-plugins", "--enable-exec"];
const FUNCTION: &str = "  annotations:\n    config.kubernetes.io/function: \"exec: {path: kubectl-kyv}\"\n";
/// The expected output of the example, written by hand.
const RENDERED: &str = include_str!("kustomize.yaml");

fn build(folder: &Folder, root: &str) -> RunOutput {
    folder.run(&test_support::tool("kustomize"), &[&PLUGINS[..], &[root]].concat())
}

/// A function that applies a policy written in it.
fn kyv(name: &str, spec: &str) -> String {
    format!("apiVersion: kyv.dev/v1alpha1\nkind: Kyv\nmetadata:\n  name: {name}\n{FUNCTION}spec:\n{spec}")
}

/// A policy with one rule.
fn policy(name: &str, kind: &str, mutate: &str) -> String {
    format!(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: {name}}}\nspec:\n  rules:\n  - name: rule\n    \
         match: {{any: [{{resources: {{kinds: [{kind}]}}}}]}}\n    mutate: {mutate}\n"
    )
}

#[test]
fn kustomize_builds_the_example_reproducibly() {
    if test_support::skip_without_real_programs("the function in kustomize") {
        return;
    }
    let folder = Folder::example("kustomize");
    assert_eq!(build(&folder, PROD).succeeded(), RENDERED);
    assert_eq!(build(&folder, PROD).succeeded(), RENDERED);
}

#[test]
fn kubectl_kustomize_runs_the_plugin() {
    if test_support::skip_without_real_programs("the plugin in kubectl kustomize") {
        return;
    }
    let folder = Folder::example("kustomize");
    for file in ["generate", "mutate", "validate"] {
        // kubectl leaves out functions without a word.
        folder.edit(&format!("{PROD}/{file}.yaml"), FUNCTION, "");
    }
    let plugins = folder.path().join("plugins/kyv.dev/v1alpha1/kyv");
    fs::create_dir_all(&plugins).unwrap();
    symlink(kyv_program(), plugins.join("Kyv")).unwrap();
    let kubectl = test_support::tool("kubectl");
    let build = || folder.run(&kubectl, &["kustomize", "--enable-alpha-plugins", PROD]);
    assert_eq!(build().succeeded(), RENDERED);

    folder.edit(&format!("{PROD}/kustomization.yaml"), "transformers:\n  - mutate.yaml\n", "");
    let stderr = build().failed();
    assert!(
        stderr.contains(": Service/shop/prod-shop: team/label: would change metadata.labels\n"),
        "{stderr}"
    );
    folder.edit(&format!("{PROD}/validate.yaml"), "mode: validate", "mode: verify");
    let stderr = build().failed();
    let reason = "error[KYV702]: functionConfig: spec.mode: expected one of mutate, generate, validate\n";
    assert!(stderr.contains(reason), "{stderr}");
    folder.edit(&format!("{PROD}/validate.yaml"), "mode: verify", "policys: []");
    let stderr = build().failed();
    assert!(stderr.contains("spec.policys: unknown field, did you mean `policies`?"), "{stderr}");
}

/// kubectl has no `--enable-exec`, but it runs functions in containers: a `docker` of ours stands in for the image.
#[test]
fn kubectl_kustomize_runs_the_container() {
    if test_support::skip_without_real_programs("the function as a container in kubectl kustomize") {
        return;
    }
    let folder = Folder::example("kustomize");
    // A container sees no file beside the kustomization: the policies are written into the configuration.
    let policies: Vec<String> = folder
        .files()
        .into_iter()
        .filter(|(path, _)| path.starts_with("policies/"))
        .map(|(_, text)| format!("- {}\n", text.trim_end().replace('\n', "\n  ")))
        .collect();
    assert!(!policies.is_empty());
    let container = FUNCTION.replace("exec: {path: kubectl-kyv}", "container: {image: kubectl-kyv:test}");
    folder.edit(&format!("{PROD}/kustomization.yaml"), "generators:\n  - generate.yaml\n", "");
    folder.edit(&format!("{PROD}/kustomization.yaml"), "resources:\n", "resources:\n  - namespace.yaml\n");
    for file in ["mutate", "validate"] {
        let path = format!("{PROD}/{file}.yaml");
        folder.edit(&path, FUNCTION, &container);
        let text = folder.read(&path);
        let named =
            text.lines().position(|line| line.trim_start() == "policies:").expect("it names policies");
        let step = text.lines().nth(named + 1).expect("a path").find('-').expect("a list");
        let lines = text.lines().enumerate().filter(|(number, _)| *number != named + 1).map(|(_, line)| line);
        let indent = " ".repeat(step);
        let inline: String = policies.concat().lines().map(|line| format!("{indent}{line}\n")).collect();
        let mut written: Vec<String> = lines.map(str::to_owned).collect();
        written.insert(named + 1, inline.trim_end().to_owned());
        folder.write(&path, &(written.join("\n") + "\n"));
    }
    let docker = folder.path().join("bin/docker");
    folder.write(
        "bin/docker",
        "#!/bin/sh\necho \"$*\" >>\"$(dirname \"$0\")/log\"\ncd / && exec kubectl-kyv fn\n",
    );
    fs::set_permissions(&docker, fs::Permissions::from_mode(0o755)).unwrap();
    let kubectl = test_support::tool("kubectl");
    let program = format!("PATH=\"$PWD/bin:$PATH\" exec {} \"$@\"", kubectl.display());
    let arguments = ["-c", &program, "sh", "kustomize", "--enable-alpha-plugins", PROD];
    let documents =
        |text: &str| text.split("---\n").map(|one| one.trim_end().to_owned()).collect::<BTreeSet<_>>();
    let rendered = folder.run(Path::new("/bin/sh"), &arguments).succeeded();
    assert_eq!(documents(&rendered), documents(RENDERED));
    let log = folder.read("bin/log");
    assert!(log.lines().count() >= 2, "{log}");
    for line in log.lines() {
        assert!(line.starts_with("run ") && line.contains("--network none"), "{line}");
        assert!(line.contains("--user nobody") && line.ends_with("kubectl-kyv:test"), "{line}");
    }
}

#[test]
fn a_validator_fails_the_build_with_its_reasons() {
    if test_support::skip_without_real_programs("the validator in kustomize") {
        return;
    }
    let folder = Folder::example("kustomize");
    folder.edit(&format!("{PROD}/kustomization.yaml"), "transformers:\n  - mutate.yaml\n", "");
    let stderr = build(&folder, PROD).failed();
    for reason in [
        "Deployment/shop/prod-shop: secure/autogen-read-only: would change \
         spec.template.spec.containers[0].securityContext\n",
        "Service/shop/prod-shop: team/label: would change metadata.labels\n",
        "ConfigMap/shop/prod-shop: team/label: would change metadata.labels\n",
    ] {
        assert!(stderr.contains(reason), "{stderr}");
    }
    folder.edit(&format!("{PROD}/validate.yaml"), "mode: validate", "mode: validate\n  severity: warning");
    let RunOutput { success, stdout, stderr } = build(&folder, PROD);
    // The generator notes that no object of its own is for one of the rules.
    let lines: Vec<&str> =
        stderr.lines().filter(|line| !line.starts_with("note[KYV233]: 1 rule selected no object")).collect();
    assert!(success && lines.len() > 2, "{stderr}");
    assert!(lines.iter().all(|line| line.starts_with("warning[KYV704]: ")), "{stderr}");
    assert!(stdout.contains("name: prod-shop-hf678c7m2b\n"), "{stdout}");
}

#[test]
fn a_function_that_fails_fails_the_build_with_its_reasons() {
    if test_support::skip_without_real_programs("the failing function in kustomize") {
        return;
    }
    let folder = Folder::example("kustomize");
    let broken = r#"{patchStrategicMerge: {metadata: {labels: {a: "{{ request.object.data.nowhere }}"}}}}"#;
    folder.write("policies/broken.yaml", &policy("broken", "Service", broken));
    let stderr = build(&folder, PROD).failed();
    let reason = "broken.yaml:8:63: broken/rule: no value for `request.object.data.nowhere` in ";
    for text in [reason, "  on Service/shop/prod-shop (items["] {
        assert!(stderr.contains(text), "{stderr}");
    }
    fs::remove_dir_all(folder.path().join("policies")).unwrap();
    let stderr = build(&folder, PROD).failed();
    assert!(
        stderr.contains("error[KYV101]: ../../policies/: cannot be read: no such file or directory"),
        "{stderr}"
    );
}

/// kustomize keeps names, references and hashes in annotations that no policy may see or lose.
#[test]
fn internal_annotations_survive_policies() {
    if test_support::skip_without_real_programs("kustomize's annotations") {
        return;
    }
    let folder = Folder::example("kustomize");
    folder.edit(&format!("{PROD}/kustomization.yaml"), "generators:\n  - generate.yaml\n", "");
    let all = "Deployment, ConfigMap, Service";
    for (name, mutate) in [
        // Would be there on every object if kustomize's own counted.
        (
            "count",
            r#"{patchStrategicMerge: {metadata: {labels: {seen: "{{ length(keys(request.object.metadata.annotations || `{}`)) }}"}}}}"#,
        ),
        ("replace", "{patchesJson6902: '[{op: add, path: /metadata/annotations, value: {mine: only}}]'}"),
    ] {
        folder.write(&format!("policies/{name}.yaml"), &policy(name, all, mutate));
    }
    fs::remove_file(folder.path().join(PROD).join("validate.yaml")).unwrap();
    folder.edit(&format!("{PROD}/kustomization.yaml"), "validators:\n  - validate.yaml\n", "");
    let stdout = build(&folder, PROD).succeeded();
    assert_eq!(stdout.matches("prod-shop-hf678c7m2b").count(), 2, "{stdout}");
    assert_eq!(
        stdout.matches("  annotations:\n    mine: only\n  labels:\n    seen: \"0\"\n").count(),
        3,
        "{stdout}"
    );
    assert!(!stdout.contains("config.k"), "{stdout}");

    // The hash is that of the data as policies leave them.
    folder.write(
        "policies/replace.yaml",
        &policy("data", "ConfigMap", "{patchStrategicMerge: {data: {LOG_LEVEL: debug}}}"),
    );
    let changed = build(&folder, PROD).succeeded();
    folder.edit("base/kustomization.yaml", "LOG_LEVEL=info", "LOG_LEVEL=debug");
    assert_eq!(build(&folder, PROD).succeeded(), changed);
    assert!(!changed.contains("hf678c7m2b"), "{changed}");
}

#[test]
fn generated_objects_get_hashes_and_replace_others() {
    if test_support::skip_without_real_programs("the generator in kustomize") {
        return;
    }
    let spec = "  mode: generate\n  manifests: [conf.yaml]\n  policies:\n  - apiVersion: kyverno.io/v1\n    kind: ClusterPolicy\n    \
                metadata: {name: p}\n    spec:\n      rules:\n      - name: r\n        match: {any: [{resources: {kinds: [ConfigMap]}}]}\n        \
                mutate: {patchStrategicMerge: {data: {b: c}}}\n";
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: i, envFrom: [{configMapRef: {name: conf}}]}]}\n";
    let conf = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: conf\n  annotations: {kustomize.config.k8s.io/needs-hash: \"true\"}\ndata: {a: b}\n";
    let root = "resources: [pod.yaml]\n";
    let folder = Folder::with(&[
        ("kustomization.yaml", &format!("{root}generators: [generate.yaml]\n")),
        ("generate.yaml", &kyv("generate", spec)),
        ("conf.yaml", conf),
        ("pod.yaml", pod),
    ]);
    let ours = build(&folder, ".").succeeded();
    folder.write(
        "kustomization.yaml",
        &format!("{root}configMapGenerator: [{{name: conf, literals: [a=b, b=c]}}]\n"),
    );
    assert_eq!(ours, build(&folder, ".").succeeded());
}

/// Without `--enable-exec` kustomize leaves functions out and says nothing; `docs/kustomize.md` shows how to notice.
#[test]
fn diff_finds_a_missing_function() {
    if test_support::skip_without_real_programs("the function that kustomize leaves out") {
        return;
    }
    let folder = Folder::example("kustomize");
    let kustomize = test_support::tool("kustomize");
    let stderr = folder.run(&kustomize, &["build", PROD]).failed();
    assert!(stderr.contains("external plugins disabled"), "{stderr}");
    let rendered = folder.run(&kustomize, &["build", "--enable-alpha-plugins", PROD]).succeeded();
    assert!(!rendered.contains("team: shop"), "{rendered}");
    let guard = ["diff", "-f", "-", "-p", "policies", "-o", "summary"];
    assert!(!folder.pipe(kyv_program(), &guard, &rendered).success);
    assert!(folder.pipe(kyv_program(), &guard, RENDERED).success);
}

/// Three applications of an overlay, and thirty policies: the same bytes twice. What of the time is ours is
/// said on stderr; a debug build is no measure.
#[test]
fn three_applications_and_thirty_policies_give_the_same_bytes_twice() {
    if test_support::skip_without_real_programs("an overlay of three applications and thirty policies") {
        return;
    }
    let folder = Folder::with(&[("kyv.yaml", &kyv("kyv", "  policies: [policies/]\n"))]);
    let mut resources = String::from("resources:\n");
    for app in ["shop", "mail", "search"] {
        let _ = writeln!(resources, "- {app}");
        for (file, text) in application(app) {
            folder.write(&format!("{app}/{file}"), &text);
        }
    }
    for (number, policy) in policies().enumerate() {
        folder.write(&format!("policies/{number:02}.yaml"), &policy);
    }
    let root = format!("{resources}namePrefix: prod-\nnamespace: prod\n");
    folder.write("kustomization.yaml", &root);
    let (plain, without) = timed(&folder);
    folder.write("kustomization.yaml", &format!("{root}transformers: [kyv.yaml]\n"));
    let (first, with) = timed(&folder);
    let (second, _) = timed(&folder);
    assert_eq!(first, second);
    assert_eq!(plain.matches("\nkind: ").count(), first.matches("\nkind: ").count());
    for number in 0..30 {
        assert!(first.contains(&format!("policy-{number:02}")), "{number}");
    }
    eprintln!("kustomize build: {without:?} without the function, {with:?} with it");
}

/// What is built, and the best time of several.
fn timed(folder: &Folder) -> (String, Duration) {
    let built = (0..5).map(|_| {
        let start = Instant::now();
        let stdout = build(folder, ".").succeeded();
        (stdout, start.elapsed())
    });
    built.min_by_key(|(_, time)| *time).expect("it was built")
}

fn application(app: &str) -> impl Iterator<Item = (&'static str, String)> {
    let root = "resources: [deployment.yaml, worker.yaml, service.yaml, job.yaml, account.yaml]\n\
                configMapGenerator: [{name: APP, literals: [A=b]}]\nsecretGenerator: [{name: APP, literals: [token=b]}]\n";
    let workload = |kind: &str, name: &str| {
        format!(
            "apiVersion: apps/v1\nkind: {kind}\nmetadata: {{name: {name}, labels: {{app: APP}}}}\nspec:\n  \
             selector: {{matchLabels: {{app: {name}}}}}\n  template:\n    metadata: {{labels: {{app: {name}}}}}\n    spec:\n      \
             serviceAccountName: APP\n      containers:\n      - name: main\n        image: registry.example.org/APP:1\n        \
             envFrom: [{{configMapRef: {{name: APP}}}}, {{secretRef: {{name: APP}}}}]\n      - name: sidecar\n        image: proxy:2\n"
        )
    };
    let job = "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: APP}\nspec:\n  schedule: '0 4 * * *'\n  jobTemplate:\n    spec:\n      \
               template:\n        spec:\n          restartPolicy: Never\n          containers: [{name: main, image: tool:3}]\n";
    let files = [
        ("kustomization.yaml", root.to_owned()),
        ("deployment.yaml", workload("Deployment", "APP")),
        ("worker.yaml", workload("StatefulSet", "APP-worker")),
        ("service.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: APP}\nspec: {ports: [{port: 80}], selector: {app: APP}}\n".to_owned()),
        ("job.yaml", job.to_owned()),
        ("account.yaml", "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: APP}\n".to_owned()),
    ];
    files.into_iter().map(move |(file, text)| (file, text.replace("APP", app)))
}

/// Thirty policies: labels by kind, settings of containers, JSON patches under a condition.
fn policies() -> impl Iterator<Item = String> {
    const KINDS: [&str; 7] =
        ["Deployment", "StatefulSet", "CronJob", "Service", "ServiceAccount", "ConfigMap", "Secret"];
    KINDS.into_iter().cycle().zip(0..30).map(|(kind, number)| {
        let (kind, mutate) = match number % 3 {
            0 => {
                let label = format!("+(policy-{number:02}): '{{{{request.operation}}}}'");
                (kind, format!("{{patchStrategicMerge: {{metadata: {{labels: {{{label}}}}}}}}}"))
            }
            1 => {
                let only = "{all: [{key: '{{element}}', operator: Equals, value: name}]}";
                let patch = format!(
                    "|-\n          - op: add\n            path: /metadata/annotations/policy-{number:02}\n            value: '{{{{element}}}}'"
                );
                let list = "\n      foreach:\n      - list: keys(request.object.metadata)";
                (kind, format!("{list}\n        preconditions: {only}\n        patchesJson6902: {patch}"))
            }
            _ => {
                let container = format!("{{(name): '*', env: [{{name: policy-{number:02}, value: set}}]}}");
                ("Pod", format!("{{patchStrategicMerge: {{spec: {{containers: [{container}]}}}}}}"))
            }
        };
        policy(&format!("policy-{number:02}"), kind, &mutate)
    })
}

/// The finding of a rule for some users only: nobody says who they are, and the build says so.
#[test]
fn notes_of_a_function_are_shown_by_the_build() {
    if test_support::skip_without_real_programs("notes in kustomize") {
        return;
    }
    let folder = Folder::with(&[
        ("kustomization.yaml", "resources: [map.yaml]\ntransformers: [kyv.yaml]\n"),
        ("map.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: kyv\n"),
        ("kyv.yaml", &kyv("kyv", "  policies: [policy.yaml]\n")),
    ]);
    let labels = "{patchStrategicMerge: {metadata: {labels: {a: b}}}}";
    let of_users = policy("label", "ConfigMap", labels)
        .replace("kinds: [ConfigMap]}}", "kinds: [ConfigMap]}, roles: [shop:admin]}")
        .replace("spec:\n", "spec:\n  background: false\n");
    folder.write("policy.yaml", &of_users);
    let built = build(&folder, ".");
    let note = "rules select by user, and `userInfo` is not set";
    assert!(built.success && built.stderr.contains(&format!("note[KYV401]: {note}")), "{}", built.stderr);
    assert!(built.stdout.contains("  labels:\n    a: b\n"), "{}", built.stdout);
    folder.edit("kyv.yaml", "spec:\n", "spec:\n  strict: true\n");
    let stderr = build(&folder, ".").failed();
    assert!(stderr.contains(&format!("error[KYV401]: {note}")) && stderr.contains("(strict)"), "{stderr}");
    folder.edit("kyv.yaml", "strict: true", "quiet: true");
    let built = build(&folder, ".");
    assert!(built.success && built.stderr.is_empty(), "{}", built.stderr);
}

/// A ConfigMap configures the function, and a resource has the same name.
#[test]
fn a_resource_with_the_name_of_the_configuration_is_mutated() {
    if test_support::skip_without_real_programs("a shared name in kustomize") {
        return;
    }
    let config = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: map\n{FUNCTION}data:\n  policies: policy.yaml\n"
    );
    let folder = Folder::with(&[
        ("kustomization.yaml", "resources: [map.yaml]\ntransformers: [kyv.yaml]\n"),
        ("map.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: map\ndata:\n  colour: red\n"),
        ("kyv.yaml", &config),
        ("policy.yaml", &policy("label", "ConfigMap", "{patchStrategicMerge: {metadata: {labels: {a: b}}}}")),
    ]);
    let built = build(&folder, ".").succeeded();
    assert!(built.contains("  colour: red\n") && built.contains("  labels:\n    a: b\n"), "{built}");
}
