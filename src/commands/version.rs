//! `version`.

use std::io::{self, Write as _};

use clap::{Args, ValueEnum};

use crate::value::Value;

use super::exit::Exit;

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The commit that was built, where the build tells it.
const COMMIT: Option<&str> = option_env!("KYV_COMMIT");
/// What the build can do besides the engine.
const FEATURES: &[&str] = &[
    "cli",
    #[cfg(feature = "cluster")]
    "cluster",
];

/// Print the version.
#[derive(Debug, Args)]
#[command(help_template = super::HELP)]
pub(super) struct Arguments {
    /// The output format; by default a line of text.
    #[arg(short, long, value_name = "FORMAT", value_enum)]
    output: Option<Output>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// An object.
    Json,
}

pub(super) fn run(arguments: &Arguments) -> Exit {
    let text = match arguments.output {
        Some(Output::Json) => {
            let mut version = Value::empty_object();
            version.insert("version", VERSION.into());
            if let Some(commit) = COMMIT {
                version.insert("commit", commit.into());
            }
            version.insert(
                "features",
                FEATURES.iter().map(|feature| Value::from(*feature)).collect::<Vec<_>>().into(),
            );
            version.to_pretty_json(2)
        }
        None => {
            let commit = COMMIT.map(|commit| format!(" ({commit})")).unwrap_or_default();
            format!("{VERSION}{commit}\nfeatures: {}", FEATURES.join(", "))
        }
    };
    print(&format!("{text}\n"))
}

/// Prints a result at once. A closed pipe is no error.
pub(super) fn print(text: &str) -> Exit {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Exit::Input,
        _ => Exit::Done,
    }
}
