//! `fn`: the KRM function. A `ResourceList` comes in, a `ResourceList` goes out.

mod apply;
mod generate;
mod input;
mod load;
mod plugin;

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::Arc;

use clap::Args;

use crate::krm::{ItemOutcome, ResourceList, Response, duplicates, failure, response_text};
use crate::source::{Location, read_text};
use crate::value::Value;
use crate::yaml::{self, Document, Limits, Source};

use super::HELP;
use super::evaluate::{Evaluated, Evaluator};
use super::exit::Exit;
use super::pipeline::{chunks, evaluate_all};
use super::policy_notes::{exception_notes, policy_notes, unsupported};
use super::reporter::{NoteKind, Reporter, Verbosity};
use super::session::with_pool;

use input::FunctionInput;
use load::Function;

pub(super) use plugin::{plugin_config, run as run_plugin};

const EXAMPLES: &str = "\
Examples:
  # A transformer of a kustomization: transformers: [kyv.yaml], with this annotation in kyv.yaml
  #   config.kubernetes.io/function: \"exec: {path: kubectl-kyv}\"
  kustomize build --enable-alpha-plugins --enable-exec overlays/prod

  # All resources of a kpt package
  kpt fn eval PACKAGE --exec kubectl-kyv --fn-config kyv.yaml

  # By hand
  kpt fn source PACKAGE --fn-config kyv.yaml | kubectl kyv fn";

/// Run as a KRM function: a ResourceList in, a ResourceList out.
///
/// The functionConfig is a Kyv (kyv.dev/v1alpha1) or a ConfigMap and names the policies. Whoever calls the
/// program without arguments and with a ResourceList on standard input gets the same.
///
/// On failure the items come out as they came in, with the reasons as results and on standard error.
#[derive(Debug, Args)]
#[command(name = "fn", before_help = EXAMPLES, help_template = HELP)]
pub(super) struct Arguments {}

/// Runs the command.
pub(super) fn run(_arguments: &Arguments) -> Exit {
    let source = read_text(&Location::Stdin, &Limits::default());
    run_on(source.map_err(|error| vec![error.to_string()]).and_then(|source| document(&source)))
}

/// Runs as a function if standard input holds a ResourceList; `None` if it does not.
pub(super) fn detect() -> Option<Exit> {
    if io::stdin().is_terminal() {
        return None;
    }
    let source = match read_text(&Location::Stdin, &Limits::default()) {
        Ok(source) => source,
        Err(error) => return Some(run_on(Err(vec![error.to_string()]))),
    };
    if !source.text().contains("ResourceList") {
        return None;
    }
    let document = document(&source);
    let is_other = |document: &Document| {
        document.value().and_then(|value| value.get("kind")).and_then(Value::as_str) != Some("ResourceList")
    };
    // A broken ResourceList gets an error, not the usage.
    (!document.as_ref().is_ok_and(is_other)).then(|| run_on(document))
}

fn run_on(document: Result<Document, Vec<String>>) -> Exit {
    with_pool(0, Verbosity::default(), |reporter| match document {
        Ok(document) => serve(&document, reporter),
        Err(errors) => errors.iter().for_each(|error| reporter.error(Exit::Input, error)),
    })
}

/// The one document of standard input.
fn document(source: &Arc<Source>) -> Result<Document, Vec<String>> {
    let mut documents = yaml::read(source, &Limits::default())
        .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    documents.retain(|document| document.value().is_some());
    let found = documents.len();
    match documents.pop() {
        Some(document) if found == 1 => Ok(document),
        _ => Err(vec![format!("stdin: expected one document of kind ResourceList, found {found} documents")]),
    }
}

/// Runs the function on a ResourceList, and prints its response.
fn serve(document: &Document, reporter: &mut Reporter) {
    let list = match document.value().map(ResourceList::from_value) {
        Some(Ok(list)) => list,
        Some(Err(fault)) => return reporter.error(Exit::Input, &format!("stdin: {fault}")),
        None => return,
    };
    let response = response(&FunctionInput::of_list(document, &list), reporter);
    print(&response_text(document, &list, response), reporter);
}

/// The response of the function. Errors are reported.
fn response(input: &FunctionInput<'_>, reporter: &mut Reporter) -> Response {
    match Function::open(input, reporter) {
        Ok(function) => function.response(input, reporter),
        Err(faults) => {
            // The excerpt on further lines is for standard error.
            let first = |fault: &String| failure(fault.lines().next().unwrap_or_default());
            let results = faults.iter().map(first).collect();
            faults.iter().for_each(|fault| reporter.error(Exit::Input, fault));
            let mut response = Response::unchanged(input.items.len(), results);
            let items: Vec<_> = input.items.iter().map(|item| item.value).collect();
            for duplicate in duplicates(&items) {
                if let Some(outcome) = response.items.get_mut(duplicate) {
                    *outcome = ItemOutcome::Dropped;
                }
            }
            response
        }
    }
}

/// Prints a response. A part of it must not pass for the whole, so that even a closed pipe is an error.
fn print(text: &str, reporter: &mut Reporter) {
    let mut out = io::stdout().lock();
    if let Err(error) = out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        reporter.error(Exit::Input, &format!("the result cannot be written: {error}"));
    }
}
