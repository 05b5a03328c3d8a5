//! `fn`: the KRM function. A `ResourceList` comes in, a `ResourceList` goes out.

mod apply;
mod error;
mod generate;
mod input;
mod load;
mod plugin;

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::Arc;

use clap::Args;

use crate::diagnostics::Coded as _;
use crate::krm::{
    FunctionResult, ItemOutcome, ItemTexts, ResourceList, Response, duplicates, write_response,
};
use crate::source::{Location, SourceError, read_text};
use crate::value::Value;
use crate::yaml::{self, Document, Limits, Source};

use super::HELP;
use super::exit::Exit;
use super::options::RunOptions;
use super::reporter::Reporter;
use super::session::on_threads;

use error::FunctionError;
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
/// The functionConfig is a Kyv (kyv.dev/v1alpha1) or a ConfigMap that names the policies. The program does
/// the same without arguments, if standard input is a ResourceList.
///
/// On failure the items are printed as they came in, with the reasons as results and on stderr.
#[derive(Debug, Args)]
#[command(name = "fn", before_help = EXAMPLES, help_template = HELP)]
pub(super) struct Arguments {}

pub(super) fn run(_arguments: &Arguments) -> Exit {
    run_on(read(&Location::Stdin).and_then(|source| document(&source)))
}

/// Runs as a function if standard input holds a ResourceList; `None` if it does not.
pub(super) fn detect() -> Option<Exit> {
    if io::stdin().is_terminal() {
        return None;
    }
    let source = match read(&Location::Stdin) {
        Ok(source) => source,
        Err(errors) => return Some(run_on(Err(errors))),
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

fn run_on(document: Result<Document, Vec<FunctionError>>) -> Exit {
    on_threads(&RunOptions::default(), |reporter| match document {
        Ok(document) => serve(&document, reporter),
        Err(errors) => report(&errors, reporter),
    })
}

fn report(errors: &[FunctionError], reporter: &mut Reporter) {
    errors.iter().for_each(|error| reporter.coded(Exit::Input, error));
}

fn read(location: &Location) -> Result<Arc<Source>, Vec<FunctionError>> {
    read_text(location, &Limits::default()).map_err(|error| vec![error.into()])
}

fn documents(source: &Arc<Source>) -> Result<Vec<Document>, Vec<FunctionError>> {
    let read = yaml::read(source, &Limits::default());
    read.map_err(|errors| errors.into_iter().map(|error| SourceError::from(error).into()).collect())
}

/// The one document of a text.
fn document(source: &Arc<Source>) -> Result<Document, Vec<FunctionError>> {
    let mut documents = documents(source)?;
    documents.retain(|document| document.value().is_some());
    match documents.pop() {
        Some(document) if documents.is_empty() => Ok(document),
        last => Err(vec![FunctionError::Documents(documents.len() + usize::from(last.is_some()))]),
    }
}

/// Runs the function on a ResourceList, and prints its response.
fn serve(document: &Document, reporter: &mut Reporter) {
    let list = match document.value().map(ResourceList::from_value) {
        Some(Ok(list)) => list,
        Some(Err(error)) => return report(&[error.into()], reporter),
        None => return,
    };
    let texts = ItemTexts::of(document);
    let response = response(&FunctionInput::of_list(document, &list, &texts), reporter);
    print(|out| write_response(&texts, &list, &response, out), reporter);
}

/// The response of the function. Errors are reported.
fn response(input: &FunctionInput<'_>, reporter: &mut Reporter) -> Response {
    match Function::open(input, reporter) {
        Ok(function) => function.response(input, reporter),
        Err(errors) => {
            // The excerpt on further lines is for standard error.
            let first = |error: &FunctionError| {
                let message = error.to_string();
                let message = message.lines().next().unwrap_or_default();
                FunctionResult::failure((&error.code().to_string(), message))
            };
            let results = errors.iter().map(first).collect();
            report(&errors, reporter);
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

/// Prints a response. It must not be truncated, so that even a closed pipe is an error.
fn print(write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>, reporter: &mut Reporter) {
    let mut out = io::stdout().lock();
    if let Err(error) = write(&mut out).and_then(|()| out.flush()) {
        reporter.unwritten(&error);
    }
}
