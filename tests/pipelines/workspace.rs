//! The folder of an application of Argo CD, and the plugin run in it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_kubectl-kyv");
pub(crate) const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: map\n";
pub(crate) const LABELLED: &str =
    "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: map\n  labels:\n    a: b\n";

/// A policy that gives every object of a kind a label.
pub(crate) fn label(kind: &str, label: &str, value: &str) -> String {
    format!(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: {label}}}\nspec:\n  rules:\n  - name: add\n    \
         match: {{any: [{{resources: {{kinds: [{kind}]}}}}]}}\n    \
         mutate: {{patchStrategicMerge: {{metadata: {{labels: {{{label}: '{value}'}}}}}}}}\n"
    )
}

/// The folder of an application, and beside it what belongs to the plugin.
pub(crate) struct Workspace(TempDir);

pub(crate) struct RunOutput {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Workspace {
    /// The application has these files; there is one policy, for `ConfigMap` objects.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let workspace = Self(tempfile::tempdir().expect("a folder"));
        workspace.write("policies/label.yaml", &label("ConfigMap", "a", "b"));
        fs::create_dir_all(workspace.path("tree/app")).expect("a folder");
        fs::create_dir_all(workspace.path("bin")).expect("a folder");
        for (name, text) in files {
            workspace.write(&format!("tree/app/{name}"), text);
        }
        workspace
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("the folder can be made");
        fs::write(path, text).expect("the file can be written");
    }

    /// Puts a script on the PATH.
    pub(crate) fn program(&self, name: &str, script: &str) {
        self.write(&format!("bin/{name}"), &format!("#!/bin/sh\n{script}"));
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(self.path(&format!("bin/{name}")), mode).expect("it can be made a program");
    }

    pub(crate) fn command(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Command {
        let mut command = Command::new(PROGRAM);
        let path = format!("{}:/usr/bin:/bin", self.path("bin").display());
        command.arg("argocd").args(arguments).current_dir(self.path("tree/app"));
        command.env_clear().env("PATH", path).envs(variables.iter().copied());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str], variables: &[(&str, &str)]) -> RunOutput {
        let output = self.command(arguments, variables).output().expect("the program runs");
        RunOutput {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("UTF-8"),
        }
    }

    /// Generates with the workspace's policies.
    pub(crate) fn generate(&self, flags: &[&str], variables: &[(&str, &str)]) -> RunOutput {
        let policies = self.path("policies");
        let policies = policies.to_str().expect("UTF-8");
        self.run(&[&["generate", "-p", policies], flags].concat(), variables)
    }
}

impl RunOutput {
    #[track_caller]
    pub(crate) fn is(&self, stdout: &str) -> &Self {
        assert_eq!((self.code, &*self.stdout), (Some(0), stdout), "{}", self.stderr);
        self
    }

    /// A failure says why, and nothing on standard output.
    #[track_caller]
    pub(crate) fn fails(&self, code: i32, reason: &str) -> &Self {
        assert_eq!((self.code, &*self.stdout), (Some(code), ""), "{}", self.stderr);
        assert!(self.stderr.contains(reason), "`{reason}` is not in:\n{}", self.stderr);
        self
    }
}

/// The list of parameters as Argo CD writes it.
pub(crate) fn parameters(json: &str) -> [(&str, &str); 1] {
    [("ARGOCD_APP_PARAMETERS", json)]
}

/// The example: its applications and policies.
pub(crate) fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("plugin/argocd/example")
}

/// The configuration that is in the tree, with other policies and further flags.
pub(crate) fn plugin(policies: &Path, flags: &[&str]) -> String {
    let text = fs::read_to_string(example().join("../plugin.yaml")).expect("the configuration is there");
    let policy = "--policy=/etc/kyv/policies";
    assert!(text.contains(policy), "{text}");
    let flags: String = flags.iter().map(|flag| format!("\n      - {flag}")).collect();
    text.replace(policy, &format!("--policy={}{flags}", policies.display()))
}

/// What the repository server tells of an application.
pub(crate) const BUILD: [(&str, &str); 6] = [
    ("ARGOCD_APP_NAME", "web"),
    ("ARGOCD_APP_NAMESPACE", "shop"),
    ("ARGOCD_APP_PROJECT_NAME", "default"),
    ("ARGOCD_APP_REVISION", "0123456789abcdef0123456789abcdef01234567"),
    ("KUBE_VERSION", "1.36.3"),
    ("KUBE_API_VERSIONS", "v1,v1/ConfigMap,apps/v1,apps/v1/Deployment,batch/v1"),
];

pub(crate) fn build<'a>(path: &'a str, parameters: &'a str) -> Vec<(&'a str, &'a str)> {
    [&BUILD[..], &[("ARGOCD_APP_SOURCE_PATH", path), ("ARGOCD_APP_PARAMETERS", parameters)]].concat()
}
