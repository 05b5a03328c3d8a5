//! Arguments that are read as kubectl reads them.

use clap::{ArgAction, Command};

/// Arguments with one value, the last of which wins: a script may add to what an alias says.
const LAST_WINS: [&str; 21] = [
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

/// Flags that may have a value: `--recursive=false`.
const BOOLEANS: [&str; 3] = ["all_namespaces", "insecure_skip_tls_verify", "recursive"];

/// Gives a command for live objects kubectl's grammar of flags.
pub(super) fn as_kubectl(command: Command) -> Command {
    if !command.get_arguments().any(|known| known.get_id() == "server") {
        return command;
    }
    command.mut_args(|known| {
        let named = |names: &[&'static str]| names.iter().copied().find(|name| known.get_id() == *name);
        let (last_wins, is_boolean) = (named(&LAST_WINS), named(&BOOLEANS).is_some());
        let known = match last_wins {
            Some(name) => known.overrides_with(name),
            None => known,
        };
        if !is_boolean {
            return known;
        }
        let known = known.action(ArgAction::Set).num_args(0..=1).require_equals(true);
        let known = known.value_parser(boolean).value_name("BOOL");
        known.default_value("false").default_missing_value("true").hide_default_value(true)
    })
}

/// Reads a boolean as kubectl does.
fn boolean(text: &str) -> Result<bool, &'static str> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err("expected true or false"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn booleans_are_written_as_in_kubectl() {
        for (text, expected) in [("T", Ok(true)), ("1", Ok(true)), ("False", Ok(false)), ("f", Ok(false))] {
            assert_eq!(boolean(text), expected, "{text}");
        }
        for text in ["", "yes", "tRUE", "2"] {
            assert!(boolean(text).is_err(), "{text}");
        }
    }
}
