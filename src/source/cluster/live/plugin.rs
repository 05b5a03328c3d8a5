//! Credentials from an exec plugin of the kubeconfig, called as kubectl calls it.

use std::io::{self, ErrorKind, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use jiff::Timestamp;
use kube::config::{Cluster, ExecAuthCluster, ExecConfig, ExecInteractiveMode};
use tokio::sync::Mutex;

use crate::source::text::parse;
use crate::value::Value;
use crate::yaml::{Limits, Source};

use super::ClusterError;

/// What kubectl says where a program is not installed.
const NOT_INSTALLED: &str = "It looks like you are trying to use a client-go credential plugin that is not installed.\n\n\
                             To learn more about this feature, consult the documentation available at:\n      \
                             https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins";

/// What kubectl says of a token that no header can hold.
pub(super) const UNFIT: &str = "net/http: invalid header field value for \"Authorization\"";

/// An exec plugin, and the credentials that it returned last.
#[derive(Debug)]
pub(super) struct Plugin {
    exec: ExecConfig,
    /// The `ExecCredential` that the plugin gets.
    info: String,
    held: Mutex<AuthHeader>,
}

/// The authorization header of requests.
#[derive(Debug)]
struct AuthHeader {
    header: Option<HeaderValue>,
    expires: Option<Timestamp>,
}

/// A certificate and its key as PEM.
pub(super) type Pair = (String, String);

/// The output of the plugin.
struct PluginOutput {
    token: Option<String>,
    pair: Option<Pair>,
    expires: Option<Timestamp>,
}

impl PluginOutput {
    fn held(&self) -> Result<AuthHeader, ClusterError> {
        let header = self.token.as_ref().map(|token| {
            let mut header = HeaderValue::try_from(format!("Bearer {token}"))
                .map_err(|_| ClusterError::Unreachable(UNFIT.into()))?;
            header.set_sensitive(true);
            Ok(header)
        });
        Ok(AuthHeader { header: header.transpose()?, expires: self.expires })
    }
}

impl Plugin {
    /// Runs the plugin for the first time; returns the client certificate, too, if there is one.
    pub(super) fn start(exec: &ExecConfig, cluster: &Cluster) -> Result<(Self, Option<Pair>), ClusterError> {
        let info = info(exec, cluster)?;
        let made = run(exec, &info)?;
        let held = Mutex::new(made.held()?);
        Ok((Self { exec: exec.clone(), info, held }, made.pair))
    }

    /// The header of a request. The plugin runs again when its credentials are expired.
    pub(super) async fn header(self: &Arc<Self>) -> Result<Option<HeaderValue>, ClusterError> {
        let mut held = self.held.lock().await;
        if held.expires.is_some_and(|end| Timestamp::now() >= end) {
            let plugin = Arc::clone(self);
            let made = tokio::task::spawn_blocking(move || run(&plugin.exec, &plugin.info)).await;
            let made = made.map_err(|error| ClusterError::Unreachable(error.to_string()))?;
            // The run has begun: this is no fault of the configuration any more.
            let made = made.map_err(|error| match error {
                ClusterError::Credentials(why) => {
                    ClusterError::Unreachable(format!("getting credentials: {why}"))
                }
                other => other,
            })?;
            *held = made.held()?;
        }
        Ok(held.header.clone())
    }
}

fn fault(why: impl Into<String>) -> ClusterError {
    ClusterError::Credentials(why.into())
}

/// Whether the program may ask who runs it.
fn is_interactive(exec: &ExecConfig) -> bool {
    exec.interactive_mode != Some(ExecInteractiveMode::Never) && io::stdin().is_terminal()
}

/// What the program is told of the run and, where it wants it, of the cluster.
fn info(exec: &ExecConfig, cluster: &Cluster) -> Result<String, ClusterError> {
    let is_always = exec.interactive_mode == Some(ExecInteractiveMode::Always);
    if is_always && !is_interactive(exec) {
        return Err(fault("exec plugin cannot support interactive mode: standard input is not a terminal"));
    }
    let mut spec = vec![("interactive", Value::from(is_interactive(exec)))];
    if exec.provide_cluster_info {
        let told = ExecAuthCluster::try_from(cluster).map_err(|error| fault(error.to_string()))?;
        let text = |name, text: Option<String>| text.map(|text| (name, Value::from(text)));
        let data = told.certificate_authority_data.map(|data| STANDARD.encode(data));
        let extension = told.config.and_then(|config| Value::from_json(&config.to_string()).ok());
        let members = [
            text("server", told.server),
            text("tls-server-name", told.tls_server_name),
            told.insecure_skip_tls_verify.map(|skips| ("insecure-skip-tls-verify", Value::from(skips))),
            text("certificate-authority-data", data),
            text("proxy-url", told.proxy_url),
            extension.map(|config| ("config", config)),
        ];
        spec.push(("cluster", members.into_iter().flatten().collect()));
    }
    let told: Value = [
        ("kind", Value::from("ExecCredential")),
        ("apiVersion", Value::from(exec.api_version.clone().unwrap_or_default())),
        ("spec", spec.into_iter().collect()),
    ]
    .into_iter()
    .collect();
    Ok(told.to_json())
}

/// Runs the program. What it says on standard error goes to ours, as it may ask for a login.
fn run(exec: &ExecConfig, info: &str) -> Result<PluginOutput, ClusterError> {
    let name = exec.command.as_deref().filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| fault("exec: no command is given"))?;
    // A path from the kubeconfig's folder has a `.` in its middle.
    let path: PathBuf = Path::new(name).components().collect();
    let name = &*path.display().to_string();
    let mut command = Command::new(&path);
    command.args(exec.args.iter().flatten()).env("KUBERNETES_EXEC_INFO", info);
    for variable in exec.env.iter().flatten() {
        if let (Some(name), Some(value)) = (variable.get("name"), variable.get("value")) {
            command.env(name, value);
        }
    }
    command.stdin(if is_interactive(exec) { Stdio::inherit() } else { Stdio::null() });
    let output = command.stderr(Stdio::inherit()).output().map_err(|error| unstarted(exec, name, &error))?;
    if !output.status.success() {
        let end = output
            .status
            .code()
            .map_or_else(|| output.status.to_string(), |code| format!("exit code {code}"));
        return Err(fault(format!("exec: executable {name} failed with {end}")));
    }
    let text = String::from_utf8(output.stdout).map_err(|_| undecodable())?;
    made(exec, &text)
}

/// Why the program does not run, with what its owner says of how to get it.
fn unstarted(exec: &ExecConfig, name: &str, error: &io::Error) -> ClusterError {
    let is_path = Path::new(name).components().nth(1).is_some();
    match error.kind() {
        ErrorKind::NotFound if !is_path => {
            let mut words = format!("exec: executable {name} not found\n\n{NOT_INSTALLED}");
            if let Some(hint) = exec.install_hint.as_ref().filter(|hint| !hint.is_empty()) {
                words.extend(["\n\n", hint.trim_end()]);
            }
            fault(words)
        }
        ErrorKind::NotFound => fault(format!("exec: fork/exec {name}: no such file or directory")),
        ErrorKind::PermissionDenied => fault(format!("exec: fork/exec {name}: permission denied")),
        _ => fault(format!("exec: fork/exec {name}: {error}")),
    }
}

/// The answer may hold a token: nothing of it is told.
fn undecodable() -> ClusterError {
    fault("decoding stdout: what the exec plugin printed is no ExecCredential")
}

/// Reads what the program printed: JSON, or YAML, as kubectl takes it.
fn made(exec: &ExecConfig, text: &str) -> Result<PluginOutput, ClusterError> {
    let answer = match Value::from_json(text) {
        Ok(answer) => answer,
        Err(_) => {
            let source = Arc::new(Source::new("credentials", text));
            let documents = parse(&source, &Limits::default()).map_err(|_| undecodable())?;
            documents.iter().find_map(|document| document.value()).cloned().ok_or_else(undecodable)?
        }
    };
    if answer.get("kind").and_then(Value::as_str) != Some("ExecCredential") {
        return Err(undecodable());
    }
    let wanted = exec.api_version.as_deref().unwrap_or_default();
    let given = answer.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    if wanted != given {
        let words =
            format!("exec plugin is configured to use API version {wanted}, plugin returned version {given}");
        return Err(fault(words));
    }
    let status = answer.get("status").filter(|status| status.as_object().is_some());
    let status = status.ok_or_else(|| fault("exec plugin didn't return a status field"))?;
    let text =
        |name| status.get(name).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned);
    let token = text("token");
    let pair = match (text("clientCertificateData"), text("clientKeyData")) {
        (Some(certificate), Some(key)) => Some((certificate, key)),
        (None, None) if token.is_none() => {
            return Err(fault("exec plugin didn't return a token or cert/key pair"));
        }
        (None, None) => None,
        _ => return Err(fault("exec plugin returned only certificate or key, not both")),
    };
    let expires = text("expirationTimestamp")
        .map(|time| time.parse().map_err(|_| fault("decoding stdout: the expirationTimestamp is no time")));
    Ok(PluginOutput { token, pair, expires: expires.transpose()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(status: &str) -> Result<PluginOutput, String> {
        let exec = ExecConfig {
            api_version: Some("client.authentication.k8s.io/v1".into()),
            command: None,
            args: None,
            env: None,
            drop_env: None,
            install_hint: None,
            interactive_mode: None,
            provide_cluster_info: false,
            cluster: None,
            other: std::collections::BTreeMap::new(),
        };
        let text = format!(
            r#"{{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{status}}}"#
        );
        made(&exec, &text).map_err(|error| error.to_string())
    }

    #[test]
    fn an_answer_is_taken_as_kubectl_takes_it() {
        let made = answered(r#"{"token":"t","expirationTimestamp":"2026-01-31T12:00:00Z"}"#).unwrap();
        assert_eq!((made.token.as_deref(), made.expires), (Some("t"), "2026-01-31T12:00:00Z".parse().ok()));
        let made = answered(r#"{"clientCertificateData":"c","clientKeyData":"k"}"#).unwrap();
        assert_eq!(made.pair, Some(("c".into(), "k".into())));
        for (status, words) in [
            ("null", "exec plugin didn't return a status field"),
            ("{}", "exec plugin didn't return a token or cert/key pair"),
            (r#"{"token":""}"#, "exec plugin didn't return a token or cert/key pair"),
            (
                r#"{"token":"t","clientKeyData":"k"}"#,
                "exec plugin returned only certificate or key, not both",
            ),
            (
                r#"{"token":"t","expirationTimestamp":"soon"}"#,
                "decoding stdout: the expirationTimestamp is no time",
            ),
        ] {
            let told = format!("Unable to connect to the server: getting credentials: {words}");
            assert_eq!(answered(status).err(), Some(told), "{status}");
        }
    }

    #[test]
    fn a_token_that_no_header_can_hold_is_refused() {
        for (status, is_fit) in [
            (r#"{"token":"t"}"#, true),
            (r#"{"token":"t "}"#, true),
            (r#"{"token":"t\n"}"#, false),
            (r#"{"token":"a\nb"}"#, false),
            (r#"{"token":"a\u0001"}"#, false),
        ] {
            let held = answered(status).unwrap().held();
            assert_eq!(held.is_ok(), is_fit, "{status}");
        }
    }
}
