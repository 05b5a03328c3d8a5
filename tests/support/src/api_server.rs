//! A real API server for one test.

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::service_script::ServiceScript;

/// A real API server with its own empty etcd, alive until this value is dropped or the test process ends in any way.
///
/// No controllers run beside it: no default service accounts, no `ReplicaSets`, deleted namespaces stay Terminating.
/// The server signs its own certificate; the kubeconfigs name it.
pub struct ApiServer {
    service: ServiceScript,
}

impl ApiServer {
    /// Starts one, in about three seconds once the programs are built.
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts one with further flags of kube-apiserver.
    pub fn start_with(flags: &[&str]) -> Self {
        let flags: Vec<&OsStr> = flags.iter().map(OsStr::new).collect();
        Self { service: ServiceScript::start("apiserver", &flags) }
    }

    /// The kubeconfig of the administrator, of group `system:masters`.
    pub fn kubeconfig(&self) -> &Path {
        self.path("kubeconfig")
    }

    /// The kubeconfig of a user whom nothing is granted beyond discovery: real 403s.
    pub fn kubeconfig_without_rights(&self) -> &Path {
        self.path("kubeconfig-without-rights")
    }

    /// The certificate and the key of a user whom nothing is granted: `certified`, of the group `certified-ones`.
    pub fn client_certificate(&self) -> (&Path, &Path) {
        (self.path("client-certificate"), self.path("client-key"))
    }

    /// The path of the kubectl that belongs to the server.
    pub fn kubectl(&self) -> &Path {
        self.path("kubectl")
    }

    /// The log of every request: one JSON object a line, of stage `ResponseComplete` when it was answered.
    pub fn audit_log(&self) -> &Path {
        self.path("audit-log")
    }

    /// The server's address, `https://127.0.0.1:PORT`.
    pub fn address(&self) -> &str {
        self.service.fact("server")
    }

    /// A fact that `tests/tools/apiserver` prints.
    pub(crate) fn fact(&self, name: &str) -> &str {
        self.service.fact(name)
    }

    /// Runs kubectl as the administrator with a text on its stdin.
    pub fn kubectl_with(&self, arguments: &[&str], stdin: &str) -> Output {
        let mut child = Command::new(self.kubectl())
            .arg("--kubeconfig")
            .arg(self.kubeconfig())
            .args(arguments)
            .env_remove("KUBECONFIG")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("kubectl starts");
        let mut input = child.stdin.take().expect("stdin is piped");
        let text = stdin.to_owned();
        // From a thread, lest both wait for each other. kubectl may end before it has read everything.
        let writer = std::thread::spawn(move || drop(input.write_all(text.as_bytes())));
        let output = child.wait_with_output().expect("kubectl ends");
        writer.join().expect("the writer ends");
        output
    }

    /// Runs kubectl as the administrator, expects success and returns its stdout.
    pub fn kubectl_ok(&self, arguments: &[&str], stdin: &str) -> String {
        let output = self.kubectl_with(arguments, stdin);
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "kubectl {arguments:?}: {}: {message}", output.status);
        String::from_utf8(output.stdout).expect("kubectl prints text")
    }

    fn path(&self, fact: &str) -> &Path {
        Path::new(self.service.fact(fact))
    }
}

/// Who sends the requests of the administrator's kubeconfig, as a file for `--userinfo`.
pub const ADMINISTRATOR: &str = "apiVersion: cli.kyverno.io/v1alpha1
kind: UserInfo
metadata: {name: admin}
clusterRoles: []
userInfo:
  username: admin
  uid: admin
  groups: [system:masters, system:authenticated]
";
