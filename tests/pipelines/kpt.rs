//! The function in kpt.

use std::collections::BTreeMap;

use crate::folder::{Folder, RunOutput, kyv_program};

const CHANGED: &str = "        securityContext:\n          readOnlyRootFilesystem: true\n";

fn kpt(folder: &Folder, arguments: &[&str]) -> RunOutput {
    folder.run(&test_support::tool("kpt"), arguments)
}

/// The function over a package, with its configuration in it.
fn eval(folder: &Folder, config: &str, further: &[&str]) -> RunOutput {
    let arguments = ["fn", "eval", ".", "--exec", "kubectl-kyv", "--fn-config", config];
    kpt(folder, &[&arguments, further].concat())
}

/// The example as it must be afterwards: lines added to one file, nothing else touched.
fn expected(folder: &Folder) -> BTreeMap<String, String> {
    let mut files = folder.files();
    let deployment = files.get_mut("deployment.yaml").expect("the example has it");
    deployment.push_str(CHANGED);
    files
}

#[test]
fn eval_is_minimal_and_idempotent() {
    if test_support::skip_without_real_programs("the function in kpt") {
        return;
    }
    let folder = Folder::example("kpt");
    let expected = expected(&folder);
    let said = eval(&folder, "mutate.yaml", &[]);
    assert!(said.success, "{}", said.stderr);
    let result = "[info] apps/v1/Deployment/shop spec.template.spec.containers[0].securityContext: \
                  secure/autogen-read-only: changed spec.template.spec.containers[0].securityContext";
    assert!(said.stderr.contains(result), "{}", said.stderr);
    assert_eq!(folder.files(), expected);
    let said = eval(&folder, "mutate.yaml", &[]);
    assert!(said.success && !said.stderr.contains("[Results]"), "{}", said.stderr);
    assert_eq!(folder.files(), expected);
}

#[test]
fn eval_writes_to_another_folder() {
    if test_support::skip_without_real_programs("the output of kpt") {
        return;
    }
    let folder = Folder::example("kpt");
    let (before, expected) = (folder.files(), expected(&folder));
    let unwrapped = eval(&folder, "mutate.yaml", &["--output", "unwrap"]).succeeded();
    assert!(unwrapped.contains(CHANGED) && !unwrapped.contains("internal.config"), "{unwrapped}");
    assert_eq!(folder.files(), before);
    let output = folder.path().join("../out-of-kpt").display().to_string();
    let output = format!("{output}-{}", std::process::id());
    assert!(eval(&folder, "mutate.yaml", &["--output", &output]).success);
    let written = Folder::with(&[]);
    for (name, _) in folder.files() {
        written.write(&name, &std::fs::read_to_string(format!("{output}/{name}")).unwrap());
    }
    std::fs::remove_dir_all(&output).unwrap();
    assert_eq!(written.files(), expected);
    assert_eq!(folder.files(), before);
}

#[test]
fn source_and_sink_can_be_piped() {
    if test_support::skip_without_real_programs("kpt's source and sink") {
        return;
    }
    let folder = Folder::example("kpt");
    let expected = expected(&folder);
    let list = kpt(&folder, &["fn", "source", ".", "--fn-config", "mutate.yaml"]).succeeded();
    let answer = folder.pipe(kyv_program(), &["fn"], &list).succeeded();
    assert_eq!(folder.pipe(kyv_program(), &[], &list).succeeded(), answer);
    let sunk = folder.pipe(&test_support::tool("kpt"), &["fn", "sink", "sunk"], &answer);
    assert!(sunk.success, "{}", sunk.stderr);
    for (name, text) in expected {
        // Without the pipeline of `eval` nobody puts comments back but we.
        assert_eq!(folder.read(&format!("sunk/{name}")), text, "{name}");
    }
}

#[test]
fn render_runs_the_pipeline_of_the_kptfile_with_its_selectors() {
    if test_support::skip_without_real_programs("kpt's pipeline") {
        return;
    }
    let folder = Folder::example("kpt");
    let render = || kpt(&folder, &["fn", "render", ".", "--allow-exec"]);
    let mut wanted = expected(&folder);
    let said = render();
    assert!(said.success, "{}", said.stderr);
    let without_status = |mut files: BTreeMap<String, String>| {
        // Later kpts note there how the run ended.
        let kptfile = files.get_mut("Kptfile").expect("a package has it");
        let end = kptfile.find("\nstatus:").map_or(kptfile.len(), |end| end + 1);
        kptfile.truncate(end);
        files
    };
    assert_eq!(without_status(folder.files()), wanted);
    assert!(render().success);
    assert_eq!(without_status(folder.files()), wanted);

    // A package within, and selectors that each choose another kind.
    let folder = Folder::example("kpt");
    let selectors = "      configPath: mutate.yaml\n      selectors:\n        - kind: Deployment\n        - kind: ClusterPolicy\n      \
                     exclude:\n        - labels: {skip: \"true\"}\n";
    folder.edit("Kptfile", "      configPath: mutate.yaml\n", selectors);
    let validators = folder.read("Kptfile").find("  validators:").unwrap();
    folder.write("Kptfile", &folder.read("Kptfile")[..validators]);
    let inner = folder.read("deployment.yaml").replace("name: shop", "name: inner");
    folder.write("inner/deployment.yaml", &inner);
    folder.write("inner/Kptfile", "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: inner\n");
    let skipped = inner.replace("name: inner\n", "name: skipped\n  labels: {skip: \"true\"}\n");
    folder.write("skipped.yaml", &skipped);
    wanted = expected(&folder);
    wanted.insert("inner/deployment.yaml".into(), inner + CHANGED);
    let render = || kpt(&folder, &["fn", "render", ".", "--allow-exec"]);
    let said = render();
    assert!(said.success, "{}", said.stderr);
    assert_eq!(without_status(folder.files()), wanted);

    // Two selectors that choose the same: kpt itself would speak of a place that is taken.
    let before = folder.files();
    folder.edit(
        "Kptfile",
        "        - kind: ClusterPolicy\n",
        "        - kind: ClusterPolicy\n        - name: shop\n",
    );
    let said = render();
    let reason = "are one document (deployment.yaml, index 0): do two selectors choose it?";
    assert!(!said.success && format!("{}{}", said.stdout, said.stderr).contains(reason), "{}", said.stderr);
    assert_eq!(folder.read("deployment.yaml"), before["deployment.yaml"]);
}

#[test]
fn failing_function_leaves_the_package_and_saves_results() {
    if test_support::skip_without_real_programs("the failing function in kpt") {
        return;
    }
    let folder = Folder::example("kpt");
    folder.edit("policy.yaml", "+(readOnlyRootFilesystem): true", "user: \"{{ request.object.nowhere }}\"");
    let before = folder.files();
    let said = eval(&folder, "mutate.yaml", &["--results-dir", "results"]);
    let reason =
        "secure/autogen-read-only: no value for `request.object.nowhere` in mutate.patchStrategicMerge";
    assert!(!said.success && said.stderr.contains(reason), "{}", said.stderr);
    let mut after = folder.files();
    let results = after.remove("results/results.yaml").expect("kpt saves results");
    assert!(results.contains(reason) && results.contains("severity: error"), "{results}");
    assert_eq!(after, before);
    let said = kpt(&folder, &["fn", "render", ".", "--allow-exec"]);
    assert!(!said.success, "{}", said.stderr);
    let untouched = folder.read("deployment.yaml");
    assert_eq!(untouched, before["deployment.yaml"]);
}

/// Items that do not come back are files that kpt deletes.
#[test]
fn validator_leaves_files() {
    if test_support::skip_without_real_programs("the validator in kpt") {
        return;
    }
    let folder = Folder::example("kpt");
    let before = folder.files();
    let said = eval(&folder, "validate.yaml", &[]);
    let reason = "deployment.yaml: Deployment/shop: secure/autogen-read-only: would change \
                  spec.template.spec.containers[0].securityContext";
    assert!(!said.success && said.stderr.contains(reason), "{}", said.stderr);
    assert_eq!(folder.files(), before);
    folder.edit("validate.yaml", "mode: validate", "mode: validate\n  severity: warning");
    let before = folder.files();
    let said = eval(&folder, "validate.yaml", &[]);
    assert!(said.success && said.stderr.contains("[warning] apps/v1/Deployment/shop"), "{}", said.stderr);
    assert_eq!(folder.files(), before);
}

#[test]
fn generated_objects_become_files_once() {
    if test_support::skip_without_real_programs("the generator in kpt") {
        return;
    }
    let folder = Folder::example("kpt");
    let config = folder.read("mutate.yaml").replace("name: mutate", "name: generate");
    folder.write("generate.yaml", &format!("{config}  mode: generate\n  manifests: [templates/pod.txt]\n"));
    // kpt takes every file that ends like YAML for a resource.
    folder.write(
        "templates/pod.txt",
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: tool\nspec:\n  containers:\n  - name: main\n    image: tool:1\n",
    );
    let before = folder.files();
    let said = eval(&folder, "generate.yaml", &[]);
    assert!(said.success, "{}", said.stderr);
    let mut after = folder.files();
    let pod = after.remove("pod_tool.yaml").expect("kpt writes a file for it");
    assert!(pod.contains("    securityContext:\n      readOnlyRootFilesystem: true\n"), "{pod}");
    assert_eq!(after, before);
    let once = folder.files();
    assert!(eval(&folder, "generate.yaml", &[]).success);
    assert_eq!(folder.files(), once);
}

#[test]
fn file_layouts_are_kept() {
    if test_support::skip_without_real_programs("layouts of files in kpt") {
        return;
    }
    let folder = Folder::example("kpt");
    // Untouched ones, and one that changes.
    let untouched = "# a header\n\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: 'untouched'} # beside\ndata:\n    wide:   |-\n        text\n    folded: >-\n        folded\n        text\n    quoted: 'single'\n    other: \"double\"\n    list: |\n        - a\n";
    let json = "{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"json\"}, \"data\": {\"a\": \"b\"}}\n";
    let pod = "apiVersion: v1\nkind: Pod\nmetadata:\n  # about the name\n  name: 'tool'\nspec:\n  containers:\n    # the first\n    - name: \"main\" # beside\n      args: [\"-c\", 'x']\n      image: tool:1\n    # the second\n    - name: more\n      image: 'tool:2'\n";
    folder.write("untouched.yaml", untouched);
    folder.write("object.json", json);
    folder.write("pod.yaml", pod);
    let mut expected = expected(&folder);
    let added = "      securityContext:\n        readOnlyRootFilesystem: true\n";
    let pod = pod.replace("tool:1\n", &format!("tool:1\n{added}")) + added;
    expected.insert("pod.yaml".into(), pod);
    let said = eval(&folder, "mutate.yaml", &[]);
    assert!(said.success, "{}", said.stderr);
    let mut after = folder.files();
    // kpt itself writes some of these anew, whatever the function: that is no change of ours.
    let own = Folder::example("kpt");
    own.write("untouched.yaml", untouched);
    own.write("object.json", json);
    assert!(kpt(&own, &["fn", "eval", ".", "--exec", "cat"]).success);
    for name in ["untouched.yaml", "object.json"] {
        assert_eq!(after.remove(name).as_deref(), Some(&*own.read(name)), "{name}");
        expected.remove(name);
    }
    assert_eq!(after, expected);
}

#[test]
fn command_line_arguments_are_a_function_config() {
    if test_support::skip_without_real_programs("kpt's arguments") {
        return;
    }
    let folder = Folder::example("kpt");
    let expected = expected(&folder);
    let arguments =
        ["fn", "eval", ".", "--exec", "kubectl-kyv", "--", "policies=policy.yaml", "onError=fail"];
    let said = kpt(&folder, &arguments);
    assert!(said.success, "{}", said.stderr);
    assert_eq!(folder.files(), expected);
    let before = folder.files();
    let said = kpt(&folder, &["fn", "eval", ".", "--exec", "kubectl-kyv"]);
    assert!(!said.success && said.stderr.contains("functionConfig: no policy found"), "{}", said.stderr);
    assert_eq!(folder.files(), before);
}

/// A policy that adds to its own result: three renders are three changes, and each of them says so.
#[test]
fn policies_that_are_not_idempotent_are_noted() {
    if test_support::skip_without_real_programs("notes in kpt") {
        return;
    }
    let folder = Folder::example("kpt");
    let policy = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata:\n  name: arguments\n  annotations:\n    \
                  config.kubernetes.io/local-config: 'true'\nspec:\n  rules:\n  - name: add\n    \
                  match: {any: [{resources: {kinds: [Deployment]}}]}\n    mutate:\n      patchesJson6902: |-\n        \
                  - {op: add, path: /spec/template/spec/containers/0/args/-, value: --verbose}\n";
    folder.write("policy.yaml", policy);
    let image = folder.read("deployment.yaml");
    let image = image.lines().find(|line| line.trim_start().starts_with("image:")).expect("a container");
    folder.edit("deployment.yaml", image, &format!("{image}\n        args: [serve]"));
    let note = "[warning] apps/v1/Deployment/shop: arguments/add: a second run would change \
                spec.template.spec.containers[0].args[";
    for run in 1..=3 {
        let said = eval(&folder, "mutate.yaml", &[]);
        assert!(said.success && said.stderr.contains(note), "{}", said.stderr);
        assert_eq!(folder.read("deployment.yaml").matches("--verbose").count(), run);
    }
    folder.edit("mutate.yaml", "spec:\n", "spec:\n  strict: true\n");
    let said = eval(&folder, "mutate.yaml", &[]);
    assert!(!said.success && said.stderr.contains("[error] apps/v1/Deployment/shop"), "{}", said.stderr);
    assert_eq!(folder.read("deployment.yaml").matches("--verbose").count(), 3);
}
