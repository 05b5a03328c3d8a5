//! Errors of connections, in kubectl's words.

use std::error::Error;
use std::io;

use kube::client::AuthError;

use super::ClusterError;

/// The error of a connection to a server.
pub(super) fn connection_error(error: &kube::Error, server: &str) -> ClusterError {
    match error {
        kube::Error::Auth(AuthError::AuthExecRun { out, .. }) => {
            // Its standard output and its environment may hold a token.
            let message = String::from_utf8_lossy(&out.stderr);
            let message = message.trim();
            ClusterError::Config(format!("the credential plugin failed with {}: {message}", out.status))
        }
        kube::Error::Auth(AuthError::AuthExecParse(_)) => {
            ClusterError::Config("what the credential plugin printed cannot be understood".into())
        }
        kube::Error::Auth(error) => ClusterError::Config(chain(error)),
        other if has_io_error(other, &[io::ErrorKind::ConnectionRefused]) => {
            ClusterError::ConnectionRefused(server.to_owned())
        }
        other if is_broken(other) => ClusterError::Unreachable("unexpected EOF".into()),
        other => ClusterError::Unreachable(certificate_error(root(other))),
    }
}

/// Whether the connection was not established in time.
pub(super) fn is_connect_timeout(error: &kube::Error) -> bool {
    has_io_error(error, &[io::ErrorKind::TimedOut])
        || causes(error).any(|cause| cause.to_string() == "deadline has elapsed")
}

/// An error of a certificate in kubectl's words; other errors as they are.
fn certificate_error(cause: String) -> String {
    match cause.strip_prefix("invalid peer certificate: ") {
        None => cause,
        Some("UnknownIssuer") => {
            "tls: failed to verify certificate: x509: certificate signed by unknown authority".to_owned()
        }
        Some(other) => format!("tls: failed to verify certificate: {other}"),
    }
}

/// Whether the connection broke after it was established.
pub(super) fn is_broken(error: &kube::Error) -> bool {
    const KINDS: [io::ErrorKind; 4] = [
        io::ErrorKind::ConnectionReset,
        io::ErrorKind::ConnectionAborted,
        io::ErrorKind::BrokenPipe,
        io::ErrorKind::UnexpectedEof,
    ];
    const MESSAGES: [&str; 3] = [
        "connection closed before message completed",
        "end of file before message length reached",
        "unexpected EOF during chunk size line",
    ];
    has_io_error(error, &KINDS)
        || causes(error).any(|cause| {
            let text = cause.to_string();
            MESSAGES.iter().any(|message| text.contains(message))
        })
}

/// Whether one of the causes is an error of the system of one of these kinds.
fn has_io_error(error: &kube::Error, kinds: &[io::ErrorKind]) -> bool {
    let mut errors = causes(error).filter_map(|cause| cause.downcast_ref::<io::Error>());
    errors.any(|error| kinds.contains(&error.kind()))
}

fn causes(error: &kube::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    let first: &(dyn Error + 'static) = error;
    std::iter::successors(Some(first), |error| (*error).source())
}

/// The innermost cause.
fn root(error: &kube::Error) -> String {
    causes(error).last().map_or_else(|| error.to_string(), ToString::to_string)
}

/// An error and its causes in one line, without repetitions.
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
