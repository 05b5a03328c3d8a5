//! Arguments that are read as kubectl reads them.

use std::time::Duration;

use clap::Command;

use crate::value::GoDuration;

/// The arguments of kubectl's grammar that have one value. The last one given counts, as there: a script may add to
/// what an alias says.
const OF_KUBECTL: [&str; 22] = [
    "all_namespaces",
    "as_uid",
    "as_user",
    "certificate_authority",
    "chunk_size",
    "client_certificate",
    "client_key",
    "cluster",
    "context",
    "field_selector",
    "insecure_skip_tls_verify",
    "kubeconfig",
    "kustomize",
    "namespace",
    "output",
    "recursive",
    "request_timeout",
    "selector",
    "server",
    "tls_server_name",
    "token",
    "user",
];

/// Makes the last value of kubectl's arguments win, in a command for live objects.
pub(super) fn as_kubectl(command: Command) -> Command {
    let has = |command: &Command, name: &str| command.get_arguments().any(|known| known.get_id() == name);
    if !has(&command, "all_namespaces") {
        return command;
    }
    OF_KUBECTL.into_iter().fold(command, |command, name| {
        if has(&command, name) { command.mut_arg(name, |known| known.overrides_with(name)) } else { command }
    })
}

/// Reads a boolean as kubectl does.
pub(super) fn truth(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err("expected true or false".to_owned()),
    }
}

/// Reads the maximum number of objects of a page. As with kubectl, a number below 1 is no limit.
pub(super) fn chunk_size(text: &str) -> Result<u32, String> {
    let number: i64 = text.parse().map_err(|error| format!("{error}"))?;
    Ok(u32::try_from(number.max(0)).unwrap_or(u32::MAX))
}

/// Reads a timeout as kubectl does: seconds, or a Go duration.
pub(super) fn request_timeout(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().map(Duration::from_secs);
    let time = seconds.or_else(|| Duration::try_from_secs_f64(GoDuration::read(text)?.as_seconds()).ok());
    time.ok_or_else(|| {
        "Invalid timeout value. Timeout must be a single integer in seconds, or an integer followed by a \
         corresponding time unit (e.g. 1s | 2m | 3h)"
            .to_owned()
    })
}

/// Reads a name with a value.
pub(super) fn extra(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truth_is_written_as_in_kubectl() {
        for (text, expected) in [("T", Ok(true)), ("1", Ok(true)), ("False", Ok(false)), ("f", Ok(false))] {
            assert_eq!(truth(text), expected, "{text}");
        }
        for text in ["", "yes", "tRUE", "2"] {
            assert!(truth(text).is_err(), "{text}");
        }
    }
}
