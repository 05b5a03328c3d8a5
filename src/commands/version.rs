//! `version`.

use std::io::{self, Write as _};

use clap::{Args, ValueEnum};

use crate::value::Value;

use super::exit::Exit;

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The commit that was built, where the build tells it.
const COMMIT: Option<&str> = option_env!("KYV_COMMIT");

/// Print the version.
#[derive(Debug, Args)]
#[command(help_template = super::HELP)]
pub(super) struct Arguments {
    /// How to print it; a line of text by default.
    #[arg(short, long, value_name = "FORMAT", value_enum)]
    output: Option<Output>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// An object.
    Json,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Exit {
    let text = match arguments.output {
        Some(Output::Json) => {
            let mut version = Value::empty_object();
            version.insert("version", VERSION.into());
            if let Some(commit) = COMMIT {
                version.insert("commit", commit.into());
            }
            version.to_pretty_json(2)
        }
        None => COMMIT.map_or_else(|| VERSION.to_owned(), |commit| format!("{VERSION} ({commit})")),
    };
    print(&format!("{text}\n"))
}

/// Prints a result at once. That nobody reads it is no error.
pub(super) fn print(text: &str) -> Exit {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Exit::Input,
        _ => Exit::Done,
    }
}
