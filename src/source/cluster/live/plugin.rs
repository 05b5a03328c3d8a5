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

use super::{ClusterError, ClusterResult};

/// The message of kubectl for a plugin that is not installed.
const NOT_INSTALLED: &str = "It looks like you are trying to use a client-go credential plugin that is not installed.\n\n\
                             To learn more about this feature, consult the documentation available at:\n      \
                             https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins";

/// The message of kubectl for a token that is no header value.
pub(super) const INVALID_TOKEN: &str = "net/http: invalid header field value for \"Authorization\"";

/// An exec plugin, and the credentials that it returned last.
#[derive(Debug)]
pub(super) struct Plugin {
    exec: ExecConfig,
    /// The `ExecCredential` that the plugin gets.
    info: String,
    current: Mutex<AuthHeader>,
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
    fn auth_header(&self) -> ClusterResult<AuthHeader> {
        let header = self.token.as_ref().map(|token| {
            let mut header = HeaderValue::try_from(format!("Bearer {token}"))
                .map_err(|_| ClusterError::Unreachable(INVALID_TOKEN.into()))?;
            header.set_sensitive(true);
            Ok(header)
        });
        Ok(AuthHeader { header: header.transpose()?, expires: self.expires })
    }
}

impl Plugin {
    /// Runs the plugin for the first time; returns the client certificate, too, if there is one.
    pub(super) fn start(exec: &ExecConfig, cluster: &Cluster) -> ClusterResult<(Self, Option<Pair>)> {
        let info = info(exec, cluster)?;
        let output = run(exec, &info)?;
        let current = Mutex::new(output.auth_header()?);
        Ok((Self { exec: exec.clone(), info, current }, output.pair))
    }

    /// The header of a request. The plugin runs again when its credentials are expired.
    pub(super) async fn header(self: &Arc<Self>) -> ClusterResult<Option<HeaderValue>> {
        let mut current = self.current.lock().await;
        if current.expires.is_some_and(|end| Timestamp::now() >= end) {
            let plugin = Arc::clone(self);
            let output = tokio::task::spawn_blocking(move || run(&plugin.exec, &plugin.info)).await;
            let output = output.map_err(|error| ClusterError::Unreachable(error.to_string()))?;
            // After the first time this is no error of the configuration.
            let output = output.map_err(|error| match error {
                ClusterError::Credentials(why) => {
                    ClusterError::Unreachable(format!("getting credentials: {why}"))
                }
                other => other,
            })?;
            *current = output.auth_header()?;
        }
        Ok(current.header.clone())
    }
}

fn credentials_error(why: impl Into<String>) -> ClusterError {
    ClusterError::Credentials(why.into())
}

/// Whether the plugin may ask the user.
fn is_interactive(exec: &ExecConfig) -> bool {
    exec.interactive_mode != Some(ExecInteractiveMode::Never) && io::stdin().is_terminal()
}

/// The input of the plugin: the run and, if the kubeconfig says so, the cluster.
fn info(exec: &ExecConfig, cluster: &Cluster) -> ClusterResult<String> {
    let is_always = exec.interactive_mode == Some(ExecInteractiveMode::Always);
    if is_always && !is_interactive(exec) {
        return Err(credentials_error(
            "exec plugin cannot support interactive mode: standard input is not a terminal",
        ));
    }
    let mut spec = vec![("interactive", Value::from(is_interactive(exec)))];
    if exec.provide_cluster_info {
        let cluster =
            ExecAuthCluster::try_from(cluster).map_err(|error| credentials_error(error.to_string()))?;
        let text = |name, text: Option<String>| text.map(|text| (name, Value::from(text)));
        let data = cluster.certificate_authority_data.map(|data| STANDARD.encode(data));
        let extension = cluster.config.and_then(|config| Value::from_json(&config.to_string()).ok());
        let members = [
            text("server", cluster.server),
            text("tls-server-name", cluster.tls_server_name),
            cluster.insecure_skip_tls_verify.map(|skips| ("insecure-skip-tls-verify", Value::from(skips))),
            text("certificate-authority-data", data),
            text("proxy-url", cluster.proxy_url),
            extension.map(|config| ("config", config)),
        ];
        spec.push(("cluster", members.into_iter().flatten().collect()));
    }
    let info: Value = [
        ("kind", Value::from("ExecCredential")),
        ("apiVersion", Value::from(exec.api_version.clone().unwrap_or_default())),
        ("spec", spec.into_iter().collect()),
    ]
    .into_iter()
    .collect();
    Ok(info.to_json())
}

/// Runs the plugin. Its standard error is ours, because it may ask for a login.
fn run(exec: &ExecConfig, info: &str) -> ClusterResult<PluginOutput> {
    let name = exec.command.as_deref().filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| credentials_error("exec: there is no command"))?;
    // kube leaves a `.` in the middle of a path relative to the kubeconfig.
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
        return Err(credentials_error(format!("exec: executable {name} failed with {end}")));
    }
    let text = String::from_utf8(output.stdout).map_err(|_| undecodable())?;
    parse_output(exec, &text)
}

/// Why the plugin does not run, with the hint of the kubeconfig for its installation.
fn unstarted(exec: &ExecConfig, name: &str, error: &io::Error) -> ClusterError {
    let is_path = Path::new(name).components().nth(1).is_some();
    match error.kind() {
        ErrorKind::NotFound if !is_path => {
            let mut words = format!("exec: executable {name} not found\n\n{NOT_INSTALLED}");
            if let Some(hint) = exec.install_hint.as_ref().filter(|hint| !hint.is_empty()) {
                words.extend(["\n\n", hint.trim_end()]);
            }
            credentials_error(words)
        }
        ErrorKind::NotFound => {
            credentials_error(format!("exec: fork/exec {name}: no such file or directory"))
        }
        ErrorKind::PermissionDenied => {
            credentials_error(format!("exec: fork/exec {name}: permission denied"))
        }
        _ => credentials_error(format!("exec: fork/exec {name}: {error}")),
    }
}

/// The output may contain a token, so it is not shown.
fn undecodable() -> ClusterError {
    credentials_error("decoding stdout: what the exec plugin printed is no ExecCredential")
}

/// Parses the output of the plugin, which is JSON or YAML.
fn parse_output(exec: &ExecConfig, text: &str) -> ClusterResult<PluginOutput> {
    let output = match Value::from_json(text) {
        Ok(output) => output,
        Err(_) => {
            let source = Arc::new(Source::new("credentials", text));
            let documents = parse(&source, &Limits::default()).map_err(|_| undecodable())?;
            documents.iter().find_map(|document| document.value()).cloned().ok_or_else(undecodable)?
        }
    };
    if output.get("kind").and_then(Value::as_str) != Some("ExecCredential") {
        return Err(undecodable());
    }
    let expected = exec.api_version.as_deref().unwrap_or_default();
    let found = output.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    if expected != found {
        let words = format!(
            "exec plugin is configured to use API version {expected}, plugin returned version {found}"
        );
        return Err(credentials_error(words));
    }
    let status = output.get("status").filter(|status| status.as_object().is_some());
    let status = status.ok_or_else(|| credentials_error("exec plugin didn't return a status field"))?;
    let text =
        |name| status.get(name).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned);
    let token = text("token");
    let pair = match (text("clientCertificateData"), text("clientKeyData")) {
        (Some(certificate), Some(key)) => Some((certificate, key)),
        (None, None) if token.is_none() => {
            return Err(credentials_error("exec plugin didn't return a token or cert/key pair"));
        }
        (None, None) => None,
        _ => return Err(credentials_error("exec plugin returned only certificate or key, not both")),
    };
    let expires = text("expirationTimestamp").map(|time| {
        time.parse().map_err(|_| credentials_error("decoding stdout: the expirationTimestamp is no time"))
    });
    Ok(PluginOutput { token, pair, expires: expires.transpose()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(status: &str) -> Result<PluginOutput, String> {
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
        parse_output(&exec, &text).map_err(|error| error.to_string())
    }

    #[test]
    fn the_output_is_parsed_as_by_kubectl() {
        let output = parse(r#"{"token":"t","expirationTimestamp":"2026-01-31T12:00:00Z"}"#).unwrap();
        assert_eq!(
            (output.token.as_deref(), output.expires),
            (Some("t"), "2026-01-31T12:00:00Z".parse().ok())
        );
        let output = parse(r#"{"clientCertificateData":"c","clientKeyData":"k"}"#).unwrap();
        assert_eq!(output.pair, Some(("c".into(), "k".into())));
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
            let message = format!("Unable to connect to the server: getting credentials: {words}");
            assert_eq!(parse(status).err(), Some(message), "{status}");
        }
    }

    #[test]
    fn a_token_that_is_no_header_value_is_refused() {
        for (status, is_valid) in [
            (r#"{"token":"t"}"#, true),
            (r#"{"token":"t "}"#, true),
            (r#"{"token":"t\n"}"#, false),
            (r#"{"token":"a\nb"}"#, false),
            (r#"{"token":"a\u0001"}"#, false),
        ] {
            let header = parse(status).unwrap().auth_header();
            assert_eq!(header.is_ok(), is_valid, "{status}");
        }
    }
}
