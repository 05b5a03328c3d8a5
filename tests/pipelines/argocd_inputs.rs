//! What the admin and the application may choose: policy sets, paths of the repository, options of kustomize, images.

use std::fs;

use test_support::argocd::PluginServer;

use crate::workspace::{LABELLED, MAP, PROGRAM, Workspace, build, label, parameters, plugin};

/// A workspace whose plugin has three policy sets.
fn with_sets() -> Workspace {
    let workspace = Workspace::new(&[("a.yaml", MAP)]);
    workspace.write("sets/pci/p.yaml", &label("ConfigMap", "pci", "x"));
    workspace.write("sets/web/p.yaml", &label("ConfigMap", "web", "x"));
    workspace.write("sets/none/none.yaml", "");
    // The folders of Kubernetes in a volume.
    workspace.write("sets/..data/p.yaml", &label("ConfigMap", "data", "x"));
    workspace
}

#[test]
fn applications_choose_policy_sets() {
    let workspace = with_sets();
    let sets = workspace.path("sets");
    let flags = ["--policy-sets", sets.to_str().expect("UTF-8")];
    workspace.generate(&flags, &[]).is(LABELLED);
    let chosen = parameters(r#"[{"name":"policy-sets","array":["web","pci"]}]"#);
    // In the order of the parameter; those of the plugin are the last.
    let expected = LABELLED.replace("    a: b\n", "    web: x\n    pci: x\n    a: b\n");
    workspace.generate(&flags, &chosen).is(&expected);
    let reason = "error[KYV710]: parameter policy-sets: this plugin has no sets that applications may choose";
    workspace.generate(&[], &chosen).fails(2, reason);
    for name in ["../policies", "..data", "/etc", "", "web/"] {
        let list = format!(r#"[{{"name":"policy-sets","array":["{name}"]}}]"#);
        let reason = format!("`{name}` is none of the plugin's sets: none, pci, web\n");
        workspace.generate(&flags, &parameters(&list)).fails(2, &reason);
    }
    workspace.generate(&["--policy-sets", "sets"], &[]).fails(2, "--policy-sets sets: not absolute");
    let inside = workspace.path("tree/app");
    let flags = ["--policy-sets", inside.to_str().expect("UTF-8")];
    workspace.generate(&flags, &[]).fails(2, "leads into the application");
    workspace
        .generate(&["--policy-sets", "/nowhere"], &[])
        .fails(2, "--policy-sets /nowhere: cannot be read");
}

#[test]
fn projects_have_policy_sets() {
    let workspace = with_sets();
    let sets = workspace.path("sets");
    let flags = ["generate", "--policy-sets", sets.to_str().expect("UTF-8"), "--project-set"];
    let generate = |project: &str| workspace.run(&flags, &[("ARGOCD_APP_PROJECT_NAME", project)]);
    generate("pci").is(&LABELLED.replace("a: b", "pci: x"));
    generate("none").fails(2, "sets/none: no policy found");
    for project in ["", "..data", "default", "../policies"] {
        let reason = format!("--project-set: there is no policy set for the project `{project}`");
        generate(project).fails(2, &reason);
    }
    workspace.run(&flags[..3], &[]).fails(2, "--policy <PATH>");
    workspace.generate(&["--project-set"], &[]).fails(2, "--policy-sets <DIR>");
}

#[test]
fn paths_with_a_slash_start_in_the_repository() {
    let workspace = Workspace::new(&[("a.yaml", MAP)]);
    workspace.write("tree/policies/p.yaml", &label("ConfigMap", "c", "d"));
    let list = r#"[{"name":"policies","array":["/policies"]}]"#;
    let run = |source_path: &str, list: &str| {
        let variables = [("ARGOCD_APP_SOURCE_PATH", source_path), ("ARGOCD_APP_PARAMETERS", list)];
        workspace.generate(&["--app-policies"], &variables)
    };
    let both = LABELLED.replace("    a: b\n", "    c: d\n    a: b\n");
    run("app", list).is(&both);
    // Argo CD may unpack only a part of the repository.
    run("apps/app", &list.replace("/policies", "/apps/policies")).is(&both);
    let reason = "parameter policies: /policies: not in what Argo CD unpacked";
    run("apps/app", list).fails(2, reason);
    run("app", &list.replace("/policies", "/../policies")).fails(2, "leads upwards");
    run("app", &list.replace("/policies", "/")).fails(2, "not a path");
}

#[test]
fn kustomize_gets_options_of_the_admin_and_images_of_the_application() {
    let workspace = Workspace::new(&[("kustomization.yaml", ""), (".git/config", "")]);
    workspace.program(
        "kustomize",
        "echo \"$PWD: $*\" >>\"$HOME/log\"; ls -A >>\"$HOME/log\"; echo x >>kustomization.yaml; case $1 in build) cat \"$HOME/map\"; esac",
    );
    workspace.write("map", MAP);
    let home = workspace.path("");
    let images = r#"[{"name":"kustomize-images","array":["web=registry.example/web:2","nginx@sha256:00"]}]"#;
    let variables = [
        ("HOME", home.to_str().expect("UTF-8")),
        ("ARGOCD_APP_PARAMETERS", images),
        ("KUBE_VERSION", "1.36"),
    ];
    let flags = ["--kustomize-options", "--enable-helm --load-restrictor LoadRestrictionsNone"];
    workspace.generate(&flags, &variables).is(LABELLED);
    let log = fs::read_to_string(workspace.path("log")).expect("it ran");
    let lines: Vec<&str> = log.lines().collect();
    let [edited, "kustomization.yaml", built, "kustomization.yaml"] = lines[..] else { panic!("{log}") };
    let (folder, arguments) = edited.split_once(": ").expect("a folder");
    assert_eq!(arguments, "edit set image -- web=registry.example/web:2 nginx@sha256:00");
    let expected = "build . --enable-helm --load-restrictor LoadRestrictionsNone --helm-kube-version=1.36";
    assert_eq!(built, format!("{folder}: {expected}"));
    // The application itself is as it was, and the copy is gone.
    assert_eq!(fs::read_to_string(workspace.path("tree/app/kustomization.yaml")).expect("a file"), "");
    assert!(!std::path::Path::new(folder).exists(), "{folder}");
    for image in ["nginx", "--all", "a b"] {
        let list = format!(r#"[{{"name":"kustomize-images","array":["{image}"]}}]"#);
        workspace.generate(&[], &parameters(&list)).fails(2, "parameter kustomize-images: expected ");
    }
    let list = r#"[{"name":"kustomize-images","array":["a:1"]},{"name":"renderer","string":"plain"}]"#;
    let reason = "there are parameters for kustomize, but the application is rendered as plain";
    workspace.generate(&[], &parameters(list)).fails(2, reason);
}

#[test]
fn a_missing_temporary_folder_is_an_error() {
    let workspace = Workspace::new(&[("kustomization.yaml", "")]);
    workspace.program("kustomize", "");
    let images = parameters(r#"[{"name":"kustomize-images","array":["a:1"]}]"#);
    let variables = [images[0], ("TMPDIR", "/nowhere")];
    let reason = "error[KYV012]: a copy of the application cannot be made: No such file or directory";
    workspace.generate(&[], &variables).fails(2, reason);
}

#[test]
fn the_real_plugin_server_takes_policies_of_the_repository() {
    if test_support::skip_without_real_programs("policies of the repository in the real plugin server") {
        return;
    }
    let workspace = Workspace::new(&[("a.yaml", MAP)]);
    workspace.write("tree/policies/p.yaml", &label("ConfigMap", "c", "d"));
    let (policies, tree) = (workspace.path("policies"), workspace.path("tree"));
    let server = PluginServer::start(&plugin(&policies, &["--app-policies"]), PROGRAM.as_ref(), None);
    let list = r#"[{"name":"policies","array":["/policies"]}]"#;
    let manifests = server.ask("generate", &tree, "app", &build("app", list)).manifests();
    assert_eq!(manifests[0]["metadata"]["labels"], serde_json::json!({"a": "b", "c": "d"}));
    // With manifest-generate-paths only the folder of the application is sent.
    let alone = server.ask("generate", &tree.join("app"), ".", &build("app", list));
    assert!(alone.refusal().contains("not in what Argo CD unpacked"), "{}", alone.text);
}

/// A kustomization that needs both build options: a chart of the repository, and a file outside of its folder.
const NEEDS_OPTIONS: [(&str, &str); 5] = [
    (
        "kustomization.yaml",
        "resources: [../shared.yaml]\nhelmGlobals: {chartHome: charts}\n\
         helmCharts: [{name: part, releaseName: part, valuesInline: {a: b}}]\n",
    ),
    ("charts/part/Chart.yaml", "apiVersion: v2\nname: part\nversion: 0.1.0\n"),
    (
        "charts/part/templates/a.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: part}\nspec:\n  template:\n    spec:\n      containers:\n      \
         - {name: a, image: nginx, args: [{{ .Values.a }}, {{ .Capabilities.KubeVersion.Version | quote }}]}\n",
    ),
    ("charts/part/values.yaml", "a: x\n"),
    ("../shared.yaml", MAP),
];

#[test]
fn the_real_kustomize_takes_options_and_images() {
    if test_support::skip_without_real_programs("options of kustomize in the real plugin server") {
        return;
    }
    let workspace = Workspace::new(&NEEDS_OPTIONS);
    let (policies, tree) = (workspace.path("policies"), workspace.path("tree"));
    let options = "'--kustomize-options=--enable-helm --load-restrictor LoadRestrictionsNone'";
    let closed = PluginServer::start(&plugin(&policies, &[]), PROGRAM.as_ref(), None);
    let open = PluginServer::start(&plugin(&policies, &[options]), PROGRAM.as_ref(), None);
    let refused = closed.ask("generate", &tree, "app", &build("app", "null"));
    assert!(refused.refusal().contains("kustomize build` failed"), "{}", refused.text);
    let list = r#"[{"name":"kustomize-images","array":["nginx=registry.example/nginx:1.25"]}]"#;
    let before = fs::read_to_string(workspace.path("tree/app/kustomization.yaml")).expect("a file");
    for (list, image) in [("null", "nginx"), (list, "registry.example/nginx:1.25")] {
        let objects = open.ask("generate", &tree, "app", &build("app", list)).manifests();
        let [map, deployment] = &objects[..] else { panic!("{objects:?}") };
        assert_eq!(map["metadata"]["labels"]["a"], "b");
        let container = &deployment["spec"]["template"]["spec"]["containers"][0];
        assert_eq!(container["image"], image);
        assert_eq!(container["args"], serde_json::json!(["b", "v1.36.3"]));
    }
    assert_eq!(fs::read_to_string(workspace.path("tree/app/kustomization.yaml")).expect("a file"), before);
}
