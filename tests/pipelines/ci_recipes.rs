//! The recipes of `docs/ci.md`, and the hooks of `.pre-commit-hooks.yaml`, run in the example that they are for.

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

use serde_json::Value;

use crate::folder::{Folder, files_of, kyv_program};
use crate::recipes::block;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The example of the page, with programs that only write down how they are started.
fn repository() -> Folder {
    let folder = Folder::with(&[]);
    for (path, text) in files_of(&Path::new(ROOT).join("examples/shop")) {
        folder.write(&path, &text);
    }
    for name in ["cargo", "gh"] {
        crate::page_runner::script(&folder, &format!(".bin/{name}"), &format!("echo \"$*\" >>{name}.log"));
    }
    folder
}

fn parse(text: &str) -> Value {
    let source = Arc::new(kyv::yaml::Source::new("recipe", text.to_owned()));
    let documents = kyv::yaml::read(&source, &kyv::yaml::Limits::default()).expect("YAML");
    let value = documents.first().and_then(kyv::yaml::Document::value).expect("a document");
    serde_json::from_str(&value.to_json()).expect("JSON")
}

fn texts(value: &Value) -> Vec<&str> {
    value.as_array().expect("a list").iter().map(|text| text.as_str().expect("a text")).collect()
}

/// Runs a script in the repository, as GitHub and GitLab do.
fn run(folder: &Folder, script: &str) -> Output {
    let program = kyv_program().parent().expect("it is in a folder").to_owned();
    let path = env::var_os("PATH").unwrap_or_default();
    let path = [folder.path().join(".bin"), program].into_iter().chain(env::split_paths(&path));
    Command::new("bash")
        .args(["-eo", "pipefail", "-c", script])
        .current_dir(folder.path())
        .env("PATH", env::join_paths(path).expect("paths without colons"))
        .env("GITHUB_STEP_SUMMARY", folder.path().join("step-summary.md"))
        .env("PULL_REQUEST", "7")
        .env("KYV_VERSION", "v0.1.0")
        .output()
        .expect("bash runs")
}

#[track_caller]
fn succeed(folder: &Folder, script: &str) {
    let output = run(folder, script);
    assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A policy whose rule cannot be evaluated.
fn fail_a_rule(folder: &Folder) {
    folder.edit("policies/owner-label.yaml", "{{ request.namespace }}", "{{ request.object.data.owner }}");
}

#[test]
fn github_actions() {
    let workflow = parse(&block("docs/ci.md", ".github/workflows/policies.yaml"));
    let steps = workflow["jobs"]["kyv"]["steps"].as_array().expect("steps");
    let scripts: Vec<&str> = steps.iter().filter_map(|step| step["run"].as_str()).collect();
    assert_eq!(scripts.len(), 4, "{scripts:?}");
    let folder = repository();
    scripts.iter().for_each(|script| succeed(&folder, script));
    assert!(folder.read("suites.xml").contains("<testsuite "));
    assert!(folder.read("report.md").contains("+    owner: team-shop"));
    assert_eq!(folder.read("step-summary.md"), folder.read("report.md"));
    assert_eq!(folder.read("gh.log"), "pr comment 7 --body-file report.md --edit-last --create-if-none\n");
    assert_eq!(
        folder.read("cargo.log"),
        "install --locked --git https://github.com/kubectl-kyv/kubectl-kyv --tag v0.1.0\n"
    );
    fail_a_rule(&folder);
    assert_eq!(run(&folder, scripts[2]).status.code(), Some(3));
}

#[test]
fn the_step_that_requires_mutated_manifests() {
    let page = fs::read_to_string(Path::new(ROOT).join("docs/ci.md")).expect("it is there");
    let (_, rest) = page.split_once("      - name: Check the manifests\n").expect("the step");
    let step = parse(rest.split("```").next().unwrap_or_default());
    let script = step["run"].as_str().expect("a command");
    let folder = repository();
    assert_eq!(run(&folder, script).status.code(), Some(1));
    succeed(&folder, &script.replace(" --check", ""));
    succeed(&folder, script);
}

#[test]
fn gitlab() {
    let pipeline = parse(&block("docs/ci.md", ".gitlab-ci.yml"));
    let job = &pipeline["policies"];
    let script = [texts(&job["before_script"]), texts(&job["script"])].concat().join("\n");
    let folder = repository();
    succeed(&folder, &script);
    for file in [&job["artifacts"]["paths"][0], &job["artifacts"]["reports"]["junit"]] {
        assert!(!folder.read(file.as_str().expect("a path")).is_empty());
    }
    fail_a_rule(&folder);
    assert_eq!(run(&folder, &script).status.code(), Some(1));
}

#[test]
fn pre_commit() {
    let hooks = fs::read_to_string(Path::new(ROOT).join(".pre-commit-hooks.yaml")).expect("it is there");
    let hooks = parse(&hooks);
    let hooks = hooks.as_array().expect("a list");
    let config = parse(&block("docs/ci.md", ".pre-commit-config.yaml"));
    let used = config["repos"][0]["hooks"].as_array().expect("hooks");
    let command = |id: &str, args: &Value| {
        let hook = hooks.iter().find(|hook| hook["id"] == id).unwrap_or_else(|| panic!("no hook {id}"));
        // What pre-commit needs of a hook, and what these do: they find their files by their arguments.
        for field in ["name", "description", "entry", "language", "files"] {
            assert!(hook[field].is_string(), "{id} has no {field}");
        }
        assert_eq!((&hook["language"], &hook["pass_filenames"]), (&"system".into(), &false.into()), "{id}");
        format!("{} {}", hook["entry"].as_str().expect("a command"), texts(args).join(" "))
    };
    let folder = repository();
    let commands: Vec<String> =
        used.iter().map(|hook| command(hook["id"].as_str().expect("an id"), &hook["args"])).collect();
    let codes: Vec<_> = commands.iter().map(|command| run(&folder, command).status.code()).collect();
    assert_eq!(codes, [Some(1), Some(0)], "{commands:?}");
    succeed(&folder, &command("kyv-mutate", &used[0]["args"]));
    commands.iter().for_each(|command| succeed(&folder, command));
}
