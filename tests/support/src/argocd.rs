//! Argo CD's real plugin server, and its repository server's client.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::service_script::ServiceScript;
use crate::tool;

/// A plugin server with its own configuration, alive until this value is dropped or the test process ends in any way.
pub struct PluginServer {
    service: ServiceScript,
    folder: TempDir,
}

/// An answer of the server.
pub struct Answer {
    /// Whether the call succeeded.
    pub is_success: bool,
    /// The answer as JSON, or the message of the error.
    pub text: String,
}

impl PluginServer {
    /// Starts one with this plugin.yaml. `program`, kustomize and helm are on its PATH, behind the programs of `first`.
    pub fn start(plugin: &str, program: &Path, first: Option<&Path>) -> Self {
        // A socket's path must be short.
        let folder = tempfile::Builder::new().prefix("cmp").tempdir_in("/tmp").expect("a folder");
        fs::write(folder.path().join("plugin.yaml"), plugin).expect("the configuration is written");
        // Read before the PATH becomes another one.
        let programs = ["kustomize", "helm"].map(tool);
        let old = std::env::var_os("PATH").unwrap_or_default();
        let own = program.parent();
        let folders = first.into_iter().chain(own).chain(programs.iter().filter_map(|path| path.parent()));
        let folders = folders.map(Path::to_owned).chain(std::env::split_paths(&old));
        let path = std::env::join_paths(folders).expect("paths without colons");
        let service = ServiceScript::start_with(
            "cmp-server",
            &[folder.path().as_os_str()],
            &[("PATH", &path), ("TOKEN", "of-the-sidecar".as_ref())],
        );
        Self { service, folder }
    }

    /// The folder of its configuration and work.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The log of the server.
    pub fn log(&self) -> String {
        fs::read_to_string(self.service.fact("log")).expect("the log is there")
    }

    /// Makes a call about the application at a path of a tree.
    pub fn ask(&self, question: &str, tree: &Path, path: &str, env: &[(&str, &str)]) -> Answer {
        self.ask_within("60s", question, tree, path, env)
    }

    /// The same, with a timeout of the client such as `60s`.
    pub fn ask_within(
        &self,
        time: &str,
        question: &str,
        tree: &Path,
        path: &str,
        env: &[(&str, &str)],
    ) -> Answer {
        let mut command = Command::new(tool("argocd-cmp-client"));
        command.args(["-socket", self.service.fact("socket"), "-timeout", time, "-path", path]);
        for (name, value) in env {
            command.arg("-env").arg(format!("{name}={value}"));
        }
        let output = command.arg(question).arg(tree).stdin(Stdio::null()).output().expect("the client runs");
        let is_success = output.status.success();
        let text = if is_success { output.stdout } else { output.stderr };
        Answer { is_success, text: String::from_utf8(text).expect("UTF-8") }
    }
}

impl Answer {
    /// The manifests of an answer, each of which is JSON.
    #[track_caller]
    pub fn manifests(&self) -> Vec<serde_json::Value> {
        assert!(self.is_success, "{}", self.text);
        let answer: serde_json::Value = serde_json::from_str(&self.text).expect("JSON");
        let manifests = answer["manifests"].as_array().cloned().unwrap_or_default();
        let read = |text: &serde_json::Value| {
            serde_json::from_str(text.as_str().expect("a text")).expect("a manifest is JSON")
        };
        manifests.iter().map(read).collect()
    }

    /// The message of an error.
    #[track_caller]
    pub fn refusal(&self) -> &str {
        assert!(!self.is_success, "{}", self.text);
        &self.text
    }
}
