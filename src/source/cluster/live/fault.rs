//! What a failed request means, in kubectl's words.

use std::error::Error;
use std::io;

use kube::client::AuthError;

use super::config::connect_limit;
use super::request::{Failure, StatusError};
use super::{ClusterError, LiveCluster};

impl LiveCluster {
    /// What a failed request means. `asked` is what was asked for.
    pub(super) fn fault(&self, failure: &Failure, asked: &str) -> ClusterError {
        match failure {
            Failure::Status(StatusError { code: 401, .. }) => ClusterError::Unauthorized,
            Failure::Status(told) => {
                let known = !told.reason.is_empty() && !told.reason.contains(' ');
                let reason = if known { told.reason.clone() } else { format!("status {}", told.code) };
                ClusterError::Refused { reason, message: told.message.clone() }
            }
            Failure::Broken(error) if is_late(error) => {
                let limit = connect_limit(self.limit);
                ClusterError::Unreachable(format!("no connection within {}s", limit.as_secs_f64()))
            }
            Failure::Broken(error) => fault(error, &self.server),
            Failure::Credentials(error) => error.clone(),
            Failure::Timeout(limit) => ClusterError::Unreachable(format!(
                "no answer within {}s (--request-timeout gives another limit)",
                limit.as_secs_f64()
            )),
            Failure::Unreadable(fault) => {
                ClusterError::Malformed { asked: asked.to_owned(), fault: fault.clone() }
            }
        }
    }
}

/// What a connection without an answer means.
pub(super) fn fault(error: &kube::Error, server: &str) -> ClusterError {
    match error {
        kube::Error::Auth(AuthError::AuthExecRun { out, .. }) => {
            // Its standard output may hold a token, and so may the environment that it is called with.
            let told = String::from_utf8_lossy(&out.stderr);
            ClusterError::Config(format!("the credential plugin failed with {}: {}", out.status, told.trim()))
        }
        kube::Error::Auth(AuthError::AuthExecParse(_)) => {
            ClusterError::Config("what the credential plugin printed cannot be understood".into())
        }
        kube::Error::Auth(error) => ClusterError::Config(chain(error)),
        other if is_refusal(other) => ClusterError::ConnectionRefused(server.to_owned()),
        other if is_torn(other) => ClusterError::Unreachable("unexpected EOF".into()),
        other => ClusterError::Unreachable(in_words(root(other))),
    }
}

/// Whether the connection did not come about in time.
fn is_late(error: &kube::Error) -> bool {
    causes(error).any(|cause| {
        let system = cause.downcast_ref::<io::Error>();
        system.is_some_and(|error| error.kind() == io::ErrorKind::TimedOut)
            || cause.to_string() == "deadline has elapsed"
    })
}

/// What is wrong with a certificate, as kubectl says it.
fn in_words(cause: String) -> String {
    let Some(fault) = cause.strip_prefix("invalid peer certificate: ") else { return cause };
    let fault = match fault {
        "UnknownIssuer" => "x509: certificate signed by unknown authority",
        other => other,
    };
    format!("tls: failed to verify certificate: {fault}")
}

/// Whether somewhere below stands an operating system that found nobody listening.
fn is_refusal(error: &kube::Error) -> bool {
    causes(error).any(|cause| {
        let system = cause.downcast_ref::<io::Error>();
        system.is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
    })
}

/// Whether the connection broke off after it had come about.
pub(super) fn is_torn(error: &kube::Error) -> bool {
    const KINDS: [io::ErrorKind; 4] = [
        io::ErrorKind::ConnectionReset,
        io::ErrorKind::ConnectionAborted,
        io::ErrorKind::BrokenPipe,
        io::ErrorKind::UnexpectedEof,
    ];
    const WORDS: [&str; 3] = [
        "connection closed before message completed",
        "end of file before message length reached",
        "unexpected EOF during chunk size line",
    ];
    causes(error).any(|cause| {
        cause.downcast_ref::<io::Error>().is_some_and(|error| KINDS.contains(&error.kind())) || {
            let text = cause.to_string();
            WORDS.iter().any(|words| text.contains(words))
        }
    })
}

fn causes(error: &kube::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    let first: &(dyn Error + 'static) = error;
    std::iter::successors(Some(first), |error| (*error).source())
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
