//! What a failed request means, in kubectl's words.

use std::error::Error;
use std::io;

use kube::client::AuthError;

use super::ClusterError;

/// What a failed request means, in kubectl's words.
pub(super) fn fault(error: &kube::Error, server: &str) -> ClusterError {
    match error {
        kube::Error::Api(status) if status.code == 401 => ClusterError::Unauthorized,
        kube::Error::Api(status) => {
            let known = !status.reason.is_empty() && !status.reason.contains(' ');
            let reason = if known { status.reason.clone() } else { format!("status {}", status.code) };
            ClusterError::Refused { reason, message: status.message.clone() }
        }
        kube::Error::Auth(AuthError::AuthExecRun { cmd, out }) => {
            // Its standard output may hold a token.
            let told = String::from_utf8_lossy(&out.stderr);
            ClusterError::Config(format!("`{cmd}` failed with {}: {}", out.status, told.trim()))
        }
        kube::Error::Auth(error) => ClusterError::Config(chain(error)),
        kube::Error::SerdeError(error) => {
            ClusterError::Malformed { asked: "the kinds it serves".into(), fault: error.to_string() }
        }
        other if is_refusal(other) => ClusterError::ConnectionRefused(server.to_owned()),
        other => ClusterError::Unreachable(root(other)),
    }
}

/// Whether somewhere below stands an operating system that found nobody listening.
fn is_refusal(error: &kube::Error) -> bool {
    let mut cause = error.source();
    while let Some(error) = cause {
        if error
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
        {
            return true;
        }
        cause = error.source();
    }
    false
}

/// The innermost cause, which says most.
fn root(error: &dyn Error) -> String {
    let mut innermost = error;
    while let Some(cause) = innermost.source() {
        innermost = cause;
    }
    innermost.to_string()
}

/// An error and its causes in one line, each said once.
pub(super) fn chain(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !line.contains(&text) {
            line = format!("{line}: {text}");
        }
        cause = error.source();
    }
    line
}
