//! The Argo CD plugin: alone in the folder of an application, and in Argo CD's real plugin server.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use test_support::argocd::PluginServer;

use crate::workspace::{LABELLED, MAP, PROGRAM, Workspace, build, example, label, parameters, plugin};

#[test]
fn plain_manifests_are_printed_as_one_stream() {
    let json = r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "json"}}"#;
    let workspace = Workspace::new(&[
        ("a.json", json),
        ("b.yaml", &format!("# first\n{MAP}---\n# nothing\n---\nnull\n")),
        ("c.yml", "kind: Service\r\napiVersion: v1\r\nmetadata: {name: svc}\r\n"),
        ("d/e.yaml", &MAP.replace("map", "below")),
        ("README.md", "no manifest"),
    ]);
    let expected = format!(
        "{}{LABELLED}---\nkind: Service\napiVersion: v1\nmetadata:\n  name: svc\n",
        LABELLED.replace("map", "json")
    );
    let ended = workspace.generate(&[], &[]);
    ended.is(&expected);
    assert!(ended.stderr.ends_with("3 objects, 2 changed by 1 rule\n"), "{}", ended.stderr);
    let below = format!("{expected}{}", LABELLED.replace("map", "below"));
    workspace.generate(&[], &parameters(r#"[{"name":"recurse","string":"true"}]"#)).is(&below);
    workspace.generate(&["-q"], &parameters("null")).is(&expected);
}

#[test]
fn a_strict_run_prints_nothing_where_something_is_hardly_meant() {
    let workspace = Workspace::new(&[("a.yaml", MAP)]);
    workspace.write("policies/unmatched.yaml", &label("Secrets", "c", "d"));
    let warning = "`Secrets` matches no built-in kind of Kubernetes";
    let ended = workspace.generate(&[], &[]);
    ended.is(LABELLED);
    assert!(ended.stderr.contains("warning[KYV230]: ") && ended.stderr.contains(warning), "{}", ended.stderr);
    let strict = parameters(r#"[{"name":"strict","string":"true"}]"#);
    for (flags, variables) in [(&["--strict"][..], &[][..]), (&["--strict", "-q"], &[]), (&[], &strict)] {
        let ended = workspace.generate(flags, variables);
        ended.fails(3, warning);
        assert!(ended.stderr.contains("error[KYV230]: "), "{}", ended.stderr);
    }
    workspace.write("policies/unmatched.yaml", &label("ConfigMap", "a", "b"));
    workspace.generate(&["--strict"], &[]).is(LABELLED);
}

#[test]
fn a_run_that_keeps_going_leaves_out_what_fails() {
    let workspace = Workspace::new(&[("a.yaml", MAP)]);
    let refused = label("ConfigMap", "c", "d").replace("patchStrategicMerge", "patchStrategicMarge");
    workspace.write("policies/refused.yaml", &refused);
    workspace.generate(&[], &[]).fails(2, "patchStrategicMarge");
    let ended = workspace.generate(&["--keep-going"], &[]);
    ended.is(LABELLED);
    assert!(ended.stderr.contains("patchStrategicMarge"), "{}", ended.stderr);
    let failing = label("ConfigMap", "c", "{{ request.object.data.nothing }}");
    workspace.write("policies/refused.yaml", &failing);
    workspace.generate(&[], &[]).fails(3, "nothing");
    workspace.generate(&["--keep-going"], &[]).is(LABELLED);
    // Argo CD would delete the objects of a manifest that is left out.
    workspace.write("tree/app/bad.yaml", "a: [");
    workspace.generate(&["--keep-going"], &[]).fails(2, "bad.yaml");
}

#[test]
fn unsupported_policies_can_be_skipped() {
    let workspace = Workspace::new(&[("a.yaml", MAP)]);
    let later = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: later}\nspec:\n  \
    rules: [{name: r, match: {any: [{resources: {kinds: [Secret]}}]}, mutate: {overlay: {metadata: {labels: {a: b}}}}}]\n";
    workspace.write("policies/later.yaml", later);
    workspace
        .generate(&["--semantics=kyverno"], &[])
        .fails(3, "later/r: not evaluated: mutate rule with `overlay` or `patches`");
    workspace.generate(&["--semantics=kyverno", "--on-error=warn"], &[]).fails(3, "later/r: not evaluated");
    let ended = workspace.generate(&["--semantics=kyverno", "--skip-unsupported"], &[]);
    let note = "note[KYV223]: ";
    assert!(ended.is(LABELLED).stderr.contains(note), "{}", ended.stderr);
    let strict = ["--semantics=kyverno", "--skip-unsupported", "--strict"];
    workspace.generate(&strict, &[]).fails(3, "error[KYV223]: ");
}

#[test]
fn failed_rules_can_be_left_out() {
    let workspace = Workspace::new(&[("a.yaml", MAP)]);
    workspace.write("policies/bad.yaml", &label("ConfigMap", "c", "{{ request.object.data.nothing }}"));
    workspace.generate(&["--on-error=fail"], &[]).fails(3, "nothing");
    let ended = workspace.generate(&["--on-error=warn"], &[]);
    assert!(ended.is(LABELLED).stderr.contains("nothing"), "{}", ended.stderr);
    workspace.generate(&["--on-error=warn", "--strict"], &[]).fails(3, "nothing");
    let refused = label("ConfigMap", "c", "d").replace("patchStrategicMerge", "patchStrategicMarge");
    workspace.write("policies/bad.yaml", &refused);
    workspace.generate(&["--on-error=warn"], &[]).fails(2, "patchStrategicMarge");
}

#[test]
fn policies_that_change_their_own_result_are_noted() {
    let workspace = Workspace::new(&[("a.yaml", MAP)]);
    let policy = label("ConfigMap", "a", "{{ request.object.metadata.labels.a || '''' }}b");
    workspace.write("policies/label.yaml", &policy);
    let note = "a.yaml:1: ConfigMap/map: a/add: a second run would change metadata.labels.a\n";
    let ended = workspace.generate(&[], &[]);
    assert!(ended.is(LABELLED).stderr.contains(note), "{}", ended.stderr);
    let ended = workspace.generate(&["--check-idempotent=false"], &[]);
    assert!(!ended.is(LABELLED).stderr.contains("second run"), "{}", ended.stderr);
}

#[test]
fn policies_that_look_at_the_time_are_noted() {
    let workspace = Workspace::new(&[("a.yaml", MAP)]);
    workspace.write("policies/label.yaml", &label("ConfigMap", "a", "{{ time_now() && ''b'' }}"));
    let ended = workspace.generate(&[], &[]);
    let note = "note[KYV407]: a policy depends on the time: another run may have another result\n";
    assert!(ended.is(LABELLED).stderr.contains(note), "{}", ended.stderr);
}

#[test]
fn documents_without_kind_are_skipped_with_a_note() {
    let workspace = Workspace::new(&[("a.yaml", MAP), ("values.yaml", "replicas: 3\n")]);
    let ended = workspace.generate(&[], &[]);
    ended.is(LABELLED);
    assert!(ended.stderr.contains("1 document without apiVersion and kind left out: "), "{}", ended.stderr);
    workspace.write("tree/app/half.yaml", "kind: ConfigMap\n");
    workspace.generate(&[], &[]).fails(2, "half.yaml:1: an object needs both apiVersion and kind");
}

#[test]
fn no_objects_is_an_error() {
    let workspace = Workspace::new(&[]);
    workspace.generate(&[], &[]).fails(2, "no kustomization, no chart");
    workspace.generate(&["--allow-empty"], &[]).is("");
    workspace.write("tree/app/a.yaml", "# nothing\n---\nnull\n");
    workspace.generate(&[], &[]).fails(2, "no object was rendered");
    workspace.generate(&["--allow-empty"], &[]).is("");
    workspace.write("tree/app/kustomization.yaml", "");
    workspace.program("kustomize", "exit 0");
    workspace.generate(&[], &[]).fails(2, "no object was rendered");
}

#[test]
fn application_namespace_is_used_and_not_written() {
    let workspace = Workspace::new(&[("a.yaml", MAP)]);
    let policy =
        label("ConfigMap", "a", "{{ request.namespace }}").replace("kinds:", "namespaces: [shop], kinds:");
    workspace.write("policies/label.yaml", &policy);
    workspace.generate(&[], &[("ARGOCD_APP_NAMESPACE", "shop")]).is(&LABELLED.replace("a: b", "a: shop"));
    workspace.generate(&[], &[("ARGOCD_APP_NAMESPACE", "")]).is(&format!("---\n{MAP}"));
}

#[test]
fn failing_policies_fail_the_application() {
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {password: hunter22}\n";
    let workspace = Workspace::new(&[("a.yaml", MAP), ("b.yaml", secret)]);
    workspace.write(
        "policies/failing.yaml",
        &label("Secret", "x", "{{ parse_json(request.object.stringData.password) }}"),
    );
    let ended = workspace.generate(&[], &[]);
    ended.fails(3, "Secret");
    // The user interface shows this: the reason and nothing else, and no secret.
    assert!(ended.stderr.starts_with("error[KYV") && !ended.stderr.contains("note["), "{}", ended.stderr);
    assert!(!ended.stderr.contains("hunter22"), "{}", ended.stderr);
    workspace.write(
        "policies/failing.yaml",
        "kind: ClusterPolicy\napiVersion: kyverno.io/v1\nmetadata: {name: x}\nspec: {rulez: []}\n",
    );
    workspace.generate(&[], &[]).fails(2, "did you mean");
    let legacy = label("ConfigMap", "a", "b").replace("patchStrategicMerge", "overlay");
    workspace.write("policies/failing.yaml", &legacy);
    workspace
        .generate(&["--semantics=kyverno"], &[])
        .fails(3, "not evaluated: mutate rule with `overlay` or `patches`");
    workspace.write("tree/app/b.yaml", "a: [\n");
    workspace.generate(&[], &[]).fails(2, "b.yaml:1:4: unclosed bracket");
}

#[test]
fn plugin_paths_may_leave_the_application() {
    let workspace = Workspace::new(&[("a.yaml", MAP), ("policies/p.yaml", &label("ConfigMap", "c", "d"))]);
    workspace
        .run(&["generate", "-p", "policies"], &[])
        .fails(2, "error[KYV709]: --policy policies: not absolute");
    let inside = workspace.path("tree/app/policies");
    let inside = inside.to_str().expect("UTF-8");
    workspace.run(&["generate", "-p", inside], &[]).fails(2, "leads into the application");
    let beside = workspace.path("tree/other");
    fs::create_dir(&beside).expect("a folder");
    let variables = [("ARGOCD_APP_SOURCE_PATH", "app")];
    let beside = beside.to_str().expect("UTF-8");
    workspace.run(&["generate", "-p", beside], &variables).fails(2, "leads into the application");
    workspace.generate(&["--userinfo", inside], &[]).fails(2, "--userinfo");
    let glob = format!("{inside}/../policies/*.yaml");
    workspace.run(&["generate", "-p", &glob], &[]).fails(2, "leads into the application");
    let around = format!("{inside}/../../../policies");
    workspace.run(&["generate", "-p", &around], &[]).is(LABELLED);
    workspace.generate(&["-p", "/nowhere/at/all"], &[]).fails(2, "/nowhere/at/all: cannot be read");
    workspace.run(&["generate"], &[]).fails(2, "--policy <PATH>");
}

#[test]
fn application_policies_need_permission() {
    let workspace = Workspace::new(&[("a.yaml", MAP), ("own/p.yaml", &label("ConfigMap", "a", "own"))]);
    workspace.write("tree/app/own/q.yaml", &label("ConfigMap", "c", "d"));
    let own = parameters(r#"[{"name":"policies","array":["own"]}]"#);
    workspace
        .generate(&[], &own)
        .fails(2, "parameter policies: this plugin accepts no policies of applications");
    // Those of the plugin have the last word.
    workspace.generate(&["--app-policies"], &own).is(&format!("{LABELLED}    c: d\n"));
    for (path, reason) in [
        ("../x", "leads upwards"),
        ("/etc", "/etc: cannot be read"),
        ("none", "cannot be read"),
        ("", "not a path"),
    ] {
        let list = format!(r#"[{{"name":"policies","array":["{path}"]}}]"#);
        workspace.generate(&["--app-policies"], &parameters(&list)).fails(2, reason);
    }
}

#[test]
fn links_out_of_the_repository_are_refused() {
    let workspace = Workspace::new(&[("a.yaml", MAP)]);
    let link = workspace.path("tree/app/link.yaml");
    workspace.write("tree/shared/b.yaml", &MAP.replace("map", "shared"));
    workspace.write("secret.yaml", &MAP.replace("map", "secret"));
    let both = format!("{LABELLED}{}", LABELLED.replace("map", "shared"));
    let in_repository = [("ARGOCD_APP_SOURCE_PATH", "app")];
    symlink("../shared/b.yaml", &link).expect("a link");
    workspace.generate(&[], &in_repository).is(&both);
    workspace.generate(&[], &[]).fails(2, "link.yaml: a link that leads out");
    for target in ["../../secret.yaml", "/etc/passwd", "../../nothing", "../../policies"] {
        fs::remove_file(&link).expect("the link goes");
        symlink(target, &link).expect("a link");
        workspace.generate(&[], &in_repository).fails(2, "link.yaml: a link that leads out");
    }
    // What is read from it may never end.
    let made = Command::new("mkfifo").arg(workspace.path("tree/app/f.yaml")).status().expect("mkfifo starts");
    assert!(made.success());
    fs::remove_file(&link).expect("the link goes");
    workspace.generate(&[], &in_repository).fails(2, "f.yaml: neither a file nor a folder");
    fs::remove_file(workspace.path("tree/app/f.yaml")).expect("it goes");
    symlink("../../nothing", &link).expect("a link");
    // Programs would follow it wherever it is.
    fs::rename(&link, workspace.path("tree/shared/link.yaml")).expect("it can be moved");
    workspace.generate(&[], &in_repository).fails(2, "shared/link.yaml: a link that leads out");
}

#[test]
fn renderers_get_plain_arguments_and_no_secrets() {
    let workspace = Workspace::new(&[("kustomization.yaml", ""), ("a.yaml", "a: [")]);
    workspace.program(
        "kustomize",
        "printf 'apiVersion: v1\\nkind: ConfigMap\\nmetadata: {name: map, annotations: {a: \"%s\"}}\\n' \"$* $TOKEN$ARGOCD_ENV_X\"\n\
         echo a warning >&2",
    );
    let ended = workspace.generate(&[], &[("TOKEN", "x"), ("ARGOCD_ENV_X", "y")]);
    ended.is(&LABELLED.replace("  labels:", "  annotations:\n    a: 'build . '\n  labels:"));
    assert!(ended.stderr.contains("note[KYV711]: kustomize: a warning\n"), "{}", ended.stderr);
    workspace.program("kustomize", "echo 'kind: ConfigMap'; echo no such base >&2; exit 3");
    workspace
        .generate(&[], &[])
        .fails(2, "error[KYV707]: `kustomize build` failed: exit status: 3: no such base\n");
    workspace.program("kustomize", "yes 'a: b'");
    workspace
        .generate(&["--limit", "yaml-bytes=1000"], &[])
        .fails(2, "more than 1000 bytes (limit yaml-bytes)");
    workspace.program("kustomize", "echo 'a: b'");
    workspace.generate(&[], &[]).fails(2, "kustomize build:1: neither apiVersion nor kind");
    fs::remove_file(workspace.path("bin/kustomize")).expect("it goes");
    workspace.generate(&[], &[]).fails(2, "`kustomize` is not on the PATH");
}

#[test]
fn helm_gets_values_of_argo_cd_and_application() {
    let workspace = Workspace::new(&[("Chart.yaml", ""), ("values/prod.yaml", ""), ("odd,name.yaml", "")]);
    let script = "printf 'apiVersion: v1\\nkind: ConfigMap\\nmetadata: {name: map}\\ndata:\\n  a: |\\n'\n\
                  for a; do printf '    <%s>\\n' \"$a\"; done; sed 's/^/    /'";
    workspace.program("helm", script);
    let list = r#"[{"name":"helm-value-files","array":["values/prod.yaml"]},{"name":"helm-values","string":"x: $(id)"},
        {"name":"helm-parameters","map":{"a.b":"; touch /tmp/x `id` $(id),\\"}}]"#;
    let variables = [
        ("ARGOCD_APP_NAME", "web"),
        ("ARGOCD_APP_NAMESPACE", "shop"),
        ("KUBE_VERSION", "1.36"),
        ("KUBE_API_VERSIONS", "v1,apps/v1"),
        ("ARGOCD_APP_PARAMETERS", list),
    ];
    let ended = workspace.generate(&[], &variables);
    let tree = fs::canonicalize(workspace.path("tree/app")).expect("it is there");
    let expected = format!(
        "<template>\n    <web>\n    <.>\n    <--include-crds>\n    <--skip-schema-validation>\n    <--namespace=shop>\n    <--kube-version=1.36>\n    \
         <--api-versions=v1>\n    <--api-versions=apps/v1>\n    <--values={}/values/prod.yaml>\n    <--values=->\n    \
         <--set=a.b=; touch /tmp/x `id` $(id)\\,\\\\>\n    x: $(id)\n",
        tree.display()
    );
    assert!(ended.code == Some(0) && ended.stdout.contains(&expected), "{}{}", ended.stdout, ended.stderr);
    workspace.generate(&[], &[]).fails(2, "ARGOCD_APP_NAME: not set");
    for (list, reason) in [
        (r#"[{"name":"helm-value-files","array":["../../policies/label.yaml"]}]"#, "leads upwards"),
        (r#"[{"name":"helm-value-files","array":["odd,name.yaml"]}]"#, "a comma"),
        (r#"[{"name":"helm-value-files","array":["missing.yaml"]}]"#, "missing.yaml: cannot be read"),
        (r#"[{"name":"helm-values","map":{}}]"#, "expected `string`, found `map`"),
        (r#"[{"name":"helm-value-file","array":[]}]"#, "did you mean helm-value-files?"),
        ("[", "ARGOCD_APP_PARAMETERS: not JSON"),
    ] {
        workspace
            .generate(&[], &[("ARGOCD_APP_NAME", "web"), ("ARGOCD_APP_PARAMETERS", list)])
            .fails(2, reason);
    }
    // The application may say otherwise than its folder.
    workspace.write("tree/app/a.yaml", MAP);
    let plain = parameters(r#"[{"name":"renderer","string":"plain"}]"#);
    let ended = workspace.generate(&[], &plain);
    assert_eq!(ended.stdout, LABELLED, "{}", ended.stderr);
    let both = r#"[{"name":"renderer","string":"plain"},{"name":"helm-parameters","map":{"a":"b"}}]"#;
    let reason = "there are parameters for helm, but the application is rendered as plain";
    workspace.generate(&[], &parameters(both)).fails(2, reason);
    // A chart beside the application is not its own.
    workspace.write("Chart.yaml", "");
    for (address, is_refused) in [("file://../../", true), ("file:///etc", true), ("file://./values", false)]
    {
        workspace
            .write("tree/app/Chart.yaml", &format!("dependencies: [{{name: x, repository: '{address}'}}]"));
        let ended = workspace.generate(&["--remote"], &[("ARGOCD_APP_NAME", "web")]);
        let reason = format!("dependency {address}: a chart out of what was unpacked");
        assert_eq!(ended.stderr.contains(&reason), is_refused, "{address}: {}", ended.stderr);
        assert_eq!(ended.code == Some(2), is_refused, "{address}: {}", ended.stderr);
    }
}

#[test]
fn parameters_are_announced_for_the_source_type() {
    let workspace = Workspace::new(&[("a.yaml", MAP)]);
    let names = |flags: &[&str]| {
        let ended = workspace.run(&[&["parameters"], flags].concat(), &[]);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        let list: serde_json::Value = serde_json::from_str(&ended.stdout).expect("JSON");
        let entries = list.as_array().expect("a list").iter();
        entries.map(|entry| entry["name"].as_str().expect("a name").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&[]), ["recurse"]);
    assert_eq!(names(&["--app-policies"]), ["recurse", "policies"]);
    assert_eq!(names(&["--policy-sets", "/sets"]), ["recurse", "policy-sets"]);
    workspace.write("tree/app/kustomization.yaml", "");
    assert_eq!(names(&[]), ["kustomize-images"]);
    workspace.write("tree/app/Chart.yaml", "");
    assert_eq!(names(&[]), ["helm-value-files", "helm-values", "helm-parameters"]);
}

#[test]
fn closed_stdout_is_a_failure() {
    let workspace = Workspace::new(&[("a.yaml", MAP)]);
    let policies = workspace.path("policies");
    let arguments = ["generate", "-p", policies.to_str().expect("UTF-8")];
    let mut full = workspace.command(&arguments, &[]);
    full.stdout(fs::File::create("/dev/full").expect("a device"));
    let output = full.output().expect("the program runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && stderr.contains("cannot be written"), "{stderr}");
    let mut child = workspace.command(&arguments, &[]).spawn().expect("the program starts");
    drop(child.stdout.take());
    assert_eq!(child.wait().expect("it ends").code(), Some(2));
}

/// Waits for a file and returns its text.
fn awaited(path: &Path) -> String {
    let start = Instant::now();
    loop {
        match fs::read_to_string(path) {
            Ok(text) if text.ends_with('\n') => return text,
            _ => assert!(start.elapsed() < Duration::from_secs(30), "{} does not come", path.display()),
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// Whether a process ends soon.
fn ends(id: &str) -> bool {
    let start = Instant::now();
    let state = || fs::read_to_string(format!("/proc/{}/stat", id.trim()));
    while state().is_ok_and(|stat| !stat.contains(") Z ")) {
        if start.elapsed() > Duration::from_secs(10) {
            return false;
        }
        thread::sleep(Duration::from_millis(20));
    }
    true
}

/// A program that starts another one and does not listen to either.
const IGNORES_SIGNALS: &str =
    "trap '' TERM\nsleep 60 &\necho 'kind: half'; echo $! > ../child; echo $$ > ../own; wait; sleep 60";

fn signal(name: &str, child: &Child) {
    let kill = Command::new("kill").arg(format!("-{name}")).arg(child.id().to_string()).status();
    assert!(kill.expect("kill runs").success());
}

fn finished(mut child: Child) -> (Option<i32>, String, String) {
    let (mut out, mut err) = (String::new(), String::new());
    child.stdout.take().expect("a pipe").read_to_string(&mut out).expect("UTF-8");
    child.stderr.take().expect("a pipe").read_to_string(&mut err).expect("UTF-8");
    (child.wait().expect("it ends").code(), out, err)
}

#[test]
fn signals_end_the_run_and_its_children() {
    let workspace = Workspace::new(&[("kustomization.yaml", "")]);
    workspace.program("kustomize", IGNORES_SIGNALS);
    let policies = workspace.path("policies");
    for signal in ["TERM", "INT"] {
        let arguments = ["generate", "-p", policies.to_str().expect("UTF-8")];
        let child = workspace.command(&arguments, &[]).spawn().expect("the program starts");
        let (own, below) = (awaited(&workspace.path("tree/own")), awaited(&workspace.path("tree/child")));
        let start = Instant::now();
        self::signal(signal, &child);
        let (code, out, err) = finished(child);
        assert_eq!((code, &*out, &*err), (Some(130), "", "error[KYV011]: terminated before it was done\n"));
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
        assert!(ends(&own) && ends(&below));
        fs::remove_file(workspace.path("tree/own"))
            .and_then(|()| fs::remove_file(workspace.path("tree/child")))
            .expect("files");
    }
}

#[test]
fn signals_end_reading_inputs() {
    let workspace = Workspace::new(&[("a.yaml", MAP)]);
    let pipe = workspace.path("policies/pipe.yaml");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs").success());
    // A pipe is read where it is named.
    let arguments = ["generate", "-p", pipe.to_str().expect("UTF-8")];
    let child = workspace.command(&arguments, &[]).spawn().expect("the program starts");
    // It waits until somebody reads.
    let writer = fs::OpenOptions::new().write(true).open(&pipe).expect("a pipe");
    signal("TERM", &child);
    let (code, out, err) = finished(child);
    assert_eq!((code, &*out, &*err), (Some(130), "", "error[KYV011]: terminated before it was done\n"));
    drop(writer);
}

#[test]
fn signals_do_not_cut_output() {
    let many: String = (0..2000).map(|_| format!("---\n{MAP}")).collect();
    let workspace = Workspace::new(&[("a.yaml", &many)]);
    let policies = workspace.path("policies");
    let arguments = ["generate", "-q", "-p", policies.to_str().expect("UTF-8")];
    let start = || {
        let mut child = workspace.command(&arguments, &[]).spawn().expect("the program starts");
        // More than a pipe holds is to come.
        child.stdout.as_mut().expect("a pipe").read_exact(&mut [0]).expect("something is printed");
        signal("TERM", &child);
        child
    };
    let (code, out, err) = finished(start());
    assert_eq!((code, out.len() + 1, &*err), (Some(0), LABELLED.len() * 2000, ""));
    // One that nobody takes does not keep it.
    let mut child = start();
    let since = Instant::now();
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    assert!(since.elapsed() < Duration::from_secs(10), "{:?}", since.elapsed());
}

#[test]
fn renderers_have_a_timeout() {
    let workspace = Workspace::new(&[("kustomization.yaml", "")]);
    workspace.program("kustomize", IGNORES_SIGNALS);
    let start = Instant::now();
    workspace
        .generate(&["--timeout", "500ms"], &[])
        .fails(2, "`kustomize build` was ended: rendering took more than 0.5 seconds (--timeout)");
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    assert!(ends(&awaited(&workspace.path("tree/own"))) && ends(&awaited(&workspace.path("tree/child"))));
    workspace.program("kustomize", &format!("sleep 0.3; printf '{}'", MAP.replace('\n', "\\n")));
    workspace.generate(&["--timeout", "0"], &[]).is(LABELLED);
    workspace.program("kustomize", "exec sleep 60");
    let start = Instant::now();
    workspace.generate(&[], &[("ARGOCD_EXEC_TIMEOUT", "200ms")]).fails(2, "more than 0.2 seconds");
    assert!(start.elapsed() < Duration::from_secs(2), "a program that listens ends at once");
}

#[test]
fn signals_work_for_process_group_leaders() {
    let workspace = Workspace::new(&[("kustomization.yaml", "")]);
    workspace.program("kustomize", "echo 'kind: half'; echo $$ > ../own; exec sleep 60");
    let policies = workspace.path("policies");
    let arguments = ["generate", "-p", policies.to_str().expect("UTF-8")];
    let child = workspace.command(&arguments, &[]).process_group(0).spawn().expect("the program starts");
    let own = awaited(&workspace.path("tree/own"));
    // As the plugin server does it: to the whole group.
    let kill = Command::new("kill").args(["-TERM", "--", &format!("-{}", child.id())]).status();
    assert!(kill.expect("kill runs").success());
    let (code, out, err) = finished(child);
    assert_eq!((code, &*out, &*err), (Some(130), "", "error[KYV011]: terminated before it was done\n"));
    assert!(ends(&own));
    let late =
        workspace.command(&[&arguments[..], &["--timeout", "300ms"]].concat(), &[]).process_group(0).spawn();
    let (code, out, err) = finished(late.expect("the program starts"));
    assert_eq!((code, &*out), (Some(2), ""), "{err}");
    assert!(err.contains("more than 0.3 seconds") && ends(&awaited(&workspace.path("tree/own"))), "{err}");
}

#[test]
fn the_example_of_the_page_works() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/argocd.md")).expect("it is there");
    let start = "cd plugin/argocd/example/apps/jobs\n";
    let block =
        page.split("```console\n").find(|block| block.starts_with(start)).expect("the example is there");
    let commands = block.split("```").next().expect("a block ends");
    let workspace = Workspace::new(&[]);
    workspace.program("kubectl", &format!("shift; exec '{PROGRAM}' \"$@\""));
    let mut shell = Command::new("sh");
    shell.args(["-euc", commands]).current_dir(root).env_clear().stdin(Stdio::null());
    shell.env("PATH", format!("{}:/usr/bin:/bin", workspace.path("bin").display()));
    let output = shell.output().expect("sh runs");
    let expected = "---
apiVersion: batch/v1
kind: CronJob
metadata:
  name: report
  labels:
    owner: team-shop
spec:
  schedule: 0 6 * * *
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers:
          - name: report
            image: registry.example/report:latest
            securityContext:
              readOnlyRootFilesystem: true
";
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{stderr}");
    assert!(output.status.success(), "{stderr}");
}

#[test]
fn the_real_plugin_server_generates_the_examples() {
    if test_support::skip_without_real_programs("the Argo CD plugin in the real plugin server") {
        return;
    }
    let server = PluginServer::start(&plugin(&example().join("policies"), &[]), PROGRAM.as_ref(), None);
    let generate = |path: &str, parameters: &str| {
        let answer = server.ask("generate", &example(), path, &build(path, parameters));
        let again = server.ask("generate", &example(), path, &build(path, parameters));
        assert_eq!(answer.text, again.text);
        answer.manifests()
    };

    // A kustomization over a base beside it: hash suffix and reference are intact.
    let shop = generate("apps/shop/overlays/prod", "null");
    assert_eq!(shop.len(), 2, "{shop:?}");
    for object in &shop {
        assert_eq!(object["metadata"]["labels"]["owner"], "team-shop");
        assert_eq!(object["metadata"]["namespace"], serde_json::Value::Null);
    }
    let [settings, deployment] = &shop[..] else { unreachable!("there are two") };
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(deployment["spec"]["replicas"], 3);
    assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true);
    let name = settings["metadata"]["name"].as_str().expect("a name");
    assert!(name.starts_with("prod-settings-"), "{name}");
    assert_eq!(container["envFrom"][0]["configMapRef"]["name"], name);

    // A chart, with the parameters of the example's application.
    let application = fs::read_to_string(example().join("application.yaml")).expect("it is there");
    let application = kyv::yaml::parse_value(&application).expect("YAML");
    let source = |field| application.path(&["spec", "source", field]).expect("it is there");
    let parameters = source("plugin").get("parameters").expect("parameters").to_json();
    let path = source("path").as_str().expect("a path");
    assert_eq!(source("plugin").get("name").and_then(|name| name.as_str()), Some("kyv"));
    let web = generate(path, &parameters);
    assert_eq!(web.len(), 1, "{web:?}");
    let container = &web[0]["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(
        (&web[0]["metadata"]["name"], &web[0]["metadata"]["namespace"]),
        (&"web".into(), &"shop".into())
    );
    assert_eq!(web[0]["metadata"]["labels"]["owner"], "team-shop");
    assert_eq!(
        (&container["image"], &container["securityContext"]["readOnlyRootFilesystem"]),
        (&"registry.example/web:latest".into(), &true.into())
    );
    assert_eq!(container["env"][0]["value"], "Welcome");
    // Without parameters the image is a fixed one, and no rule concerns it.
    let container = &generate(path, "[]")[0]["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(
        (&container["image"], &container["securityContext"]),
        (&"registry.example/web:1.4".into(), &serde_json::Value::Null)
    );

    // Manifests as they are.
    let jobs = generate("apps/jobs", "");
    assert_eq!(jobs.len(), 1, "{jobs:?}");
    assert_eq!(jobs[0]["metadata"]["labels"]["owner"], "team-shop");
    let pod = &jobs[0]["spec"]["jobTemplate"]["spec"]["template"]["spec"];
    assert_eq!(pod["containers"][0]["securityContext"]["readOnlyRootFilesystem"], true);
    assert!(server.log().contains("1 object, 1 changed by 2 rules"), "{}", server.log());
}

#[test]
fn the_real_plugin_server_announces_parameters() {
    if test_support::skip_without_real_programs(
        "the parameters of the Argo CD plugin in the real plugin server",
    ) {
        return;
    }
    let server = PluginServer::start(&plugin(&example().join("policies"), &[]), PROGRAM.as_ref(), None);
    assert_eq!(server.ask("check", &example(), ".", &[]).text, "{}\n");
    assert_eq!(server.ask("match", &example(), "apps/jobs", &build("apps/jobs", "null")).text, "{}\n");
    for (path, expected) in [
        ("apps/jobs", "recurse renderer"),
        ("apps/shop/base", "kustomize-images renderer"),
        ("apps/web", "helm-value-files helm-values helm-parameters renderer"),
    ] {
        let answer = server.ask("parameters", &example(), path, &build(path, "null"));
        assert!(answer.is_success, "{}", answer.text);
        let told: serde_json::Value = serde_json::from_str(&answer.text).expect("JSON");
        let entries = told["parameterAnnouncements"].as_array().expect("a list");
        let names: Vec<_> = entries.iter().map(|entry| entry["name"].as_str().expect("a name")).collect();
        assert_eq!(names.join(" "), expected);
        assert!(
            entries.iter().all(|entry| entry["title"].is_string() && entry["tooltip"].is_string()),
            "{told}"
        );
        let last = entries.last().expect("the renderer");
        assert_eq!((&last["string"], &last["collectionType"]), (&"auto".into(), &"string".into()));
    }
}

#[test]
fn errors_reach_argo_cd() {
    if test_support::skip_without_real_programs("errors of the Argo CD plugin in the real plugin server") {
        return;
    }
    let workspace = Workspace::new(&[
        ("map/a.yaml", MAP),
        (
            "secret/a.yaml",
            "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {password: hunter22}\n",
        ),
        ("nothing/a.yaml", "# nothing\n"),
        ("broken/Chart.yaml", "apiVersion: v2\nname: broken\nversion: 0.1.0\n"),
        ("broken/templates/a.yaml", "apiVersion: v1\nkind: Secret\nstringData: {a: hunter22: [}\n"),
        ("fetched/kustomization.yaml", "resources: [https://kustomize.example/base.yaml]\n"),
        ("environment/kustomization.yaml", "configMapGenerator: [{name: map, envs: [x.env]}]\n"),
        ("environment/x.env", "TOKEN\nARGOCD_APP_NAME\n"),
        ("chart/Chart.yaml", "apiVersion: v2\nname: chart\nversion: 0.1.0\n"),
        ("chart/values.schema.json", r#"{"properties": {"a": {"$ref": "file:///etc/passwd"}}}"#),
        (
            "chart/templates/a.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: map}\ndata:\n  a: {{ .Values.a.b | quote }}\n",
        ),
    ]);
    workspace.write(
        "policies/failing.yaml",
        &label("Secret", "x", "{{ parse_json(request.object.stringData.password) }}"),
    );
    let server = PluginServer::start(&plugin(&workspace.path("policies"), &[]), PROGRAM.as_ref(), None);
    let tree = workspace.path("tree");
    let generate = |path: &str, parameters: &str| {
        let path = format!("app/{path}");
        server.ask("generate", &tree, &path, &build(&path, parameters))
    };
    for (path, parameters, reason) in [
        ("secret", "null", "failed exit status 3: error[KYV303]: "),
        ("nothing", "null", "failed exit status 2: error[KYV705]: no object was rendered"),
        ("broken", "null", "failed exit status 2: error[KYV707]: "),
        ("fetched", "null", "--remote"),
        ("map", "{", "failed exit status 2: error[KYV708]: ARGOCD_APP_PARAMETERS: not JSON"),
        ("map", r#"[{"name":"policies","array":["../../policies"]}]"#, "accepts no policies of applications"),
        ("chart", r#"[{"array":["../map/a.yaml"],"name":"helm-value-files"}]"#, "leads upwards"),
        ("map", r#"[{"name":"renderer","string":"; rm -rf /"}]"#, "expected auto, kustomize, helm or plain"),
    ] {
        let answer = generate(path, parameters);
        assert!(answer.refusal().contains(reason), "{path}: {}", answer.text);
        assert!(!answer.text.contains("hunter22"), "{path}: {}", answer.text);
    }
    assert!(!server.log().contains("hunter22"), "{}", server.log());

    // What a shell would run stays a text.
    let trace = workspace.path("trace");
    let value = format!("$(touch {0}); `touch {0}` && touch {0} | {{x}}, \\\"'", trace.display());
    let list = serde_json::json!([{"name": "helm-parameters", "map": {"a.b": value}}]).to_string();
    let answer = generate("chart", &list);
    assert_eq!(answer.manifests()[0]["data"]["a"], value.as_str());
    let list = serde_json::json!([{"name": "helm-values", "string": format!("a: {{b: '$(touch {})'}}", trace.display())}]);
    let answer = generate("chart", &list.to_string());
    assert_eq!(answer.manifests()[0]["data"]["a"], format!("$(touch {})", trace.display()));
    assert!(!trace.exists());

    // The variables of the sidecar are not for manifests; the server has this one.
    let answer = generate("environment", "null");
    assert_eq!(answer.manifests()[0]["data"], serde_json::json!({"TOKEN": "", "ARGOCD_APP_NAME": ""}));

    // Many objects.
    let many: String = (0..5000)
        .map(|number| format!("---\n{MAP}data: {{a: '{}'}}\n", "x".repeat(1000 + number % 7)))
        .collect();
    workspace.write("tree/app/many/a.yaml", &many);
    let objects = generate("many", "null").manifests();
    assert!(objects.len() == 5000 && objects.iter().all(|object| object["metadata"]["labels"]["a"] == "b"));

    symlink("/etc/passwd", workspace.path("tree/app/map/link.yaml")).expect("a link");
    generate("map", "null").refusal();
}

#[test]
fn plugin_flags_limit_applications() {
    if test_support::skip_without_real_programs("the flags of the Argo CD plugin in the real plugin server") {
        return;
    }
    let chart = "apiVersion: v2\nname: chart\nversion: 0.1.0\n\
                 dependencies:\n- {name: part, version: 0.1.0, repository: 'file://../part'}\n";
    let workspace = Workspace::new(&[
        ("chart/Chart.yaml", chart),
        ("chart/own.yaml", &label("ConfigMap", "own", "policy")),
        ("part/Chart.yaml", "apiVersion: v2\nname: part\nversion: 0.1.0\n"),
        ("part/templates/a.yaml", MAP),
    ]);
    let list = r#"[{"name":"policies","array":["own.yaml"]}]"#;
    let variables = build("app/chart", list);
    let (policies, tree) = (workspace.path("policies"), workspace.path("tree"));
    let closed = PluginServer::start(&plugin(&policies, &["--app-policies"]), PROGRAM.as_ref(), None);
    let answer = closed.ask("generate", &tree, "app/chart", &variables);
    assert!(answer.refusal().contains("--remote"), "{}", answer.text);
    let open =
        PluginServer::start(&plugin(&policies, &["--app-policies", "--remote"]), PROGRAM.as_ref(), None);
    let manifests = open.ask("generate", &tree, "app/chart", &variables).manifests();
    assert_eq!(manifests.len(), 1, "{manifests:?}");
    assert_eq!(manifests[0]["metadata"]["labels"], serde_json::json!({"a": "b", "own": "policy"}));
}

#[test]
fn timeouts_end_all_processes() {
    if test_support::skip_without_real_programs("time limits of the Argo CD plugin in the real plugin server")
    {
        return;
    }
    let workspace = Workspace::new(&[("kustomization.yaml", "")]);
    let traces = workspace.path("traces");
    fs::create_dir(&traces).expect("a folder");
    workspace.program("kustomize", &IGNORES_SIGNALS.replace("..", &traces.display().to_string()));
    let server = PluginServer::start(
        &plugin(&workspace.path("policies"), &["--timeout=3s"]),
        PROGRAM.as_ref(),
        Some(&workspace.path("bin")),
    );
    for (time, reason) in [("1500ms", ""), ("30s", "rendering took more than 3 seconds")] {
        let start = Instant::now();
        let answer =
            server.ask_within(time, "generate", &workspace.path("tree"), "app", &build("app", "null"));
        assert!(answer.refusal().contains(reason), "{}", answer.text);
        assert!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
        for trace in ["own", "child"] {
            assert!(ends(&awaited(&traces.join(trace))), "{trace} goes on");
            fs::remove_file(traces.join(trace)).expect("a file");
        }
    }
    let left = fs::read_dir(server.folder().join("work/_cmp_server")).expect("a folder").count();
    assert_eq!(left, 0, "the server keeps no application");
}
