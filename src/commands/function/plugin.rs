//! The legacy exec plugin of kustomize: the first argument is a file with the configuration, standard input and
//! standard output are streams of objects.

use std::env;
use std::ffi::OsString;
use std::path::Path;

use clap::CommandFactory as _;

use crate::diagnostics::Code;
use crate::krm::ItemOutcome;
use crate::source::Location;
use crate::yaml::{self, Document, Source};

use super::error::FunctionError;
use super::input::{FunctionInput, Node, Place};
use super::{Exit, Reporter, RunOptions, document, documents, on_threads, print, read, report, response};
use crate::commands::Cli;

/// The variables that kustomize sets for such a plugin; it leaves out a value that is too long.
const VARIABLES: [&str; 2] = ["KUSTOMIZE_PLUGIN_CONFIG_ROOT", "KUSTOMIZE_PLUGIN_CONFIG_STRING"];

/// The arguments if kustomize runs the program as a plugin: the file with the configuration, and the further
/// arguments that it sets.
pub(in crate::commands) fn plugin_config(arguments: &[OsString]) -> Option<(&Path, &[OsString])> {
    let (first, rest) = arguments.get(1..)?.split_first()?;
    let path = Path::new(first);
    (VARIABLES.iter().any(|name| env::var_os(name).is_some())
        && Cli::command().find_subcommand(first).is_none()
        && path.is_file())
    .then_some((path, rest))
}

/// Runs as such a plugin.
pub(in crate::commands) fn run(config: &Path, rest: &[OsString]) -> Exit {
    on_threads(&RunOptions::default(), |reporter| {
        if !rest.is_empty() {
            reporter.error(
                Exit::Input,
                Code::InvalidConfig,
                "argsOneLiner and argsFromFile are ignored: the configuration is in spec",
            );
        }
        match (read_config(config), read_items()) {
            (Ok(config), Ok(items)) if rest.is_empty() => serve(&config, &items, reporter),
            (config, items) => {
                let errors: Vec<_> = config.err().into_iter().chain(items.err()).flatten().collect();
                report(&errors, reporter);
            }
        }
    })
}

/// The configuration, named as in messages about a function: the file is a temporary one.
fn read_config(path: &Path) -> Result<Document, Vec<FunctionError>> {
    let source = read(&Location::File { path: path.to_owned(), named: true })?;
    document(&Source::new("functionConfig", source.text()).into())
}

fn read_items() -> Result<Vec<Document>, Vec<FunctionError>> {
    documents(&read(&Location::Stdin)?)
}

fn serve(config: &Document, documents: &[Document], reporter: &mut Reporter) {
    let Some(value) = config.value() else { return };
    let config = Node { document: config, place: Place::Root, value };
    let input = FunctionInput::of_documents(config, documents);
    let response = response(&input, reporter);
    // The format has no results, and an incomplete response would delete objects.
    if reporter.exit() != Exit::Done {
        return;
    }
    let mut out = String::new();
    let mut outcomes = response.items.iter();
    for document in documents {
        let outcome = document.value().and_then(|_| outcomes.next()).unwrap_or(&ItemOutcome::Kept);
        match outcome {
            ItemOutcome::Kept => out.push_str(document.text()),
            ItemOutcome::Replaced(text) => out.push_str(text),
            ItemOutcome::Dropped => {}
        }
    }
    for object in &response.added {
        if !out.is_empty() {
            if !out.ends_with('\n') {
                out.push('\n');
            }
            out.push_str("---\n");
        }
        yaml::print(object, &mut out);
    }
    print(|stdout| stdout.write_all(out.as_bytes()), reporter);
}
