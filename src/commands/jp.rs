//! `jp`: expressions in Kyverno's dialect of JMESPath, without a policy.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use jiff::Timestamp;

use crate::diagnostics::{Code, Coded as _};
use crate::jmespath::{self, Expression, FixedClock, ParseError, Runtime, SeededRandom, functions};
use crate::pattern;
use crate::semantics::{DivergenceSet, DivergenceTracker, Semantics};
use crate::source::{SourceError, read_text};
use crate::value::Value;
use crate::yaml::{self, Limits, Source, excerpt};

use super::argument_values::choice_parser;
use super::arguments::{EngineArguments, SEMANTICS};
use super::exit::Exit;
use super::options::RunOptions;
use super::reporter::Reporter;
use super::session::{location, on_threads};
use super::spool::Spool;
use super::version::print;

const EXAMPLES: &str = "\
Examples:
  # The images of a Pod
  kubectl kyv jp query 'spec.containers[*].image' -f pod.yaml

  # The name of a live object, as plain text
  kubectl get pod web -o json | kubectl kyv jp query -u 'metadata.name'

  # Without any input
  kubectl kyv jp query -n \"time_add('2026-01-31T12:00:00Z', '36h')\"";

const NOW_HELP: &str =
    "The time that expressions see, such as 2026-01-31T12:00:00Z; the start of the run by default";

const LIMIT_HELP: &str = "Set a limit on the size of the input or on the work on a document, such as steps=5000000; `help` lists all limits";

/// Evaluate JMESPath in Kyverno's dialect, and list its functions.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Query(Box<Query>),
    Function(Function),
}

/// Evaluate an expression on documents.
///
/// Each document has one result, in the order of the input. The text between {{ and }} in a policy is such an
/// expression. There, the document is the context, with the object at request.object.
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, help_template = super::HELP)]
#[command(mut_arg("now", |now| now.help(NOW_HELP)), mut_arg("limit", |limit| limit.help(LIMIT_HELP)))]
struct Query {
    /// The expression.
    expression: String,
    /// Documents in YAML or JSON: a file, or - for standard input.
    #[arg(short = 'f', long = "filename", value_name = "FILE", default_value = "-", help_heading = "Input")]
    filename: PathBuf,
    /// Read no input: evaluate on null.
    #[arg(short, long, conflicts_with = "filename", help_heading = "Input")]
    null_input: bool,
    /// Which side to take where Kyverno's documentation and its controllers differ.
    #[arg(
        long,
        value_name = "NAME",
        value_parser = choice_parser(&SEMANTICS),
        default_value = "documented",
        help_heading = "Evaluation"
    )]
    semantics: Semantics,
    #[command(flatten)]
    engine: EngineArguments,
    /// The output format.
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t = Output::Json, help_heading = "Output")]
    output: Output,
    /// Print each JSON result on one line.
    #[arg(long, help_heading = "Output")]
    compact: bool,
    /// Print strings without quotes.
    #[arg(short, long, help_heading = "Output")]
    unquoted: bool,
    /// Print only errors on stderr, no notes.
    #[arg(short, long, help_heading = "Output")]
    quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// JSON, indented.
    Json,
    /// YAML, one document for each result.
    Yaml,
}

/// List the functions with their parameters, results and descriptions.
#[derive(Debug, Args)]
#[command(help_template = super::HELP, before_help = "\
Examples:
  # All functions
  kubectl kyv jp function

  # The functions on time
  kubectl kyv jp function 'time_*'")]
struct Function {
    /// Names of functions; * and ? are wildcards.
    name: Vec<String>,
}

pub(super) fn run(arguments: &Arguments) -> Exit {
    match &arguments.command {
        Command::Query(query) => {
            // The stack of the threads suits the limits on depth.
            let options = RunOptions { quiet: query.quiet, workers: 1, ..query.engine.options() };
            on_threads(&options, |reporter| query.run(&options, reporter))
        }
        Command::Function(function) => function.run(),
    }
}

impl Function {
    fn run(&self) -> Exit {
        let is_selected = |name: &str| {
            self.name.is_empty() || self.name.iter().any(|pattern| pattern::matches(pattern, name))
        };
        let missing: Vec<&String> = self
            .name
            .iter()
            .filter(|pattern| !functions().any(|function| pattern::matches(pattern, function.name)))
            .collect();
        if !missing.is_empty() {
            return on_threads(&RunOptions::default(), |reporter| {
                for name in missing {
                    let nearest = pattern::nearest(name, functions().map(|function| function.name));
                    let hint = nearest.map_or_else(String::new, |name| format!(", did you mean {name}?"));
                    reporter.error(
                        Exit::Input,
                        Code::UnknownFunction,
                        format_args!("no function is called {name}{hint}"),
                    );
                }
            });
        }
        let mut text = String::new();
        for function in functions().filter(|function| is_selected(function.name)) {
            let _ = writeln!(text, "{function}\n    {}", function.description);
        }
        print(&text)
    }
}

impl Query {
    fn run(&self, options: &RunOptions, reporter: &mut Reporter) {
        let semantics = self.semantics;
        let expression = match Expression::parse(&self.expression) {
            Ok(expression) => expression,
            Err(error) => return reporter.error(Exit::Input, error.code(), shown(&self.expression, &error)),
        };
        let Some(documents) = self.documents(options, reporter) else { return };
        let clock = FixedClock(options.now.unwrap_or_else(Timestamp::now));
        let limits = jmespath::Limits {
            steps: options.evaluation_limits.steps as u64,
            result_bytes: options.evaluation_limits.result_bytes,
            ..jmespath::Limits::default()
        };
        let mut divergences = DivergenceSet::NONE;
        let mut spool = Spool::new();
        for (number, document) in documents.iter().enumerate() {
            let tracker = DivergenceTracker::new(semantics);
            let random = SeededRandom::new(options.seed.wrapping_add(number as u64));
            let runtime = Runtime::new(&clock, &random, &tracker).with_limits(limits);
            let found = expression.search(document, &runtime);
            divergences.extend(tracker.reached());
            match found {
                Ok(value) => {
                    if let Err(error) = spool.write_all(self.printed(&value, documents.len() > 1).as_bytes())
                    {
                        return reporter.unwritten(&error);
                    }
                }
                Err(error) if documents.len() > 1 => {
                    reporter.error(
                        Exit::Evaluation,
                        error.code(),
                        format_args!("document {}: {error}", number + 1),
                    );
                }
                Err(error) => reporter.coded(Exit::Evaluation, &error),
            }
        }
        reporter.divergences(divergences, semantics);
        if let Err(error) = spool.print_all() {
            reporter.unwritten(&error);
        }
    }

    /// The documents that the expression is evaluated on. Errors are reported; `None` if there are any.
    fn documents(&self, options: &RunOptions, reporter: &mut Reporter) -> Option<Vec<Value>> {
        if self.null_input {
            return Some(vec![Value::Null]);
        }
        let documents = reporter.loaded(documents(&self.filename, &options.input_limits))?;
        if documents.is_empty() {
            reporter.error(
                Exit::Input,
                Code::NoDocument,
                "the input has no document; -n evaluates without one",
            );
            return None;
        }
        Some(documents)
    }

    fn printed(&self, value: &Value, several: bool) -> String {
        match value {
            Value::String(text) if self.unquoted => format!("{text}\n"),
            _ if self.output == Output::Yaml => {
                let mut text = String::from(if several { "---\n" } else { "" });
                yaml::print(value, &mut text);
                if !text.ends_with('\n') {
                    text.push('\n');
                }
                text
            }
            _ if self.compact => format!("{}\n", value.to_json()),
            _ => format!("{}\n", value.to_pretty_json(2)),
        }
    }
}

/// The documents of a file or of standard input.
pub(super) fn documents(path: &Path, limits: &Limits) -> Result<Vec<Value>, Vec<SourceError>> {
    let source = read_text(&location(path), limits).map_err(|error| vec![error])?;
    let documents = yaml::read(&source, limits)
        .map_err(|errors| errors.into_iter().map(SourceError::from).collect::<Vec<_>>())?;
    Ok(documents.into_iter().filter_map(yaml::Document::into_value).collect())
}

/// The error of an expression with an excerpt.
fn shown(expression: &str, error: &ParseError) -> String {
    let source = Source::new("expression", expression);
    let excerpt = excerpt(&source, &source.position(error.offset.min(expression.len())));
    format!("{error}\n{excerpt}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_syntax_error_points_into_the_expression() {
        for (text, expected) in [("a.b[", 4), ("foo(@, ", 7), ("a. .b", 3)] {
            let error = Expression::parse(text).unwrap_err();
            let message = shown(text, &error);
            let caret = message.lines().last().unwrap();
            assert_eq!(caret.find('^'), Some("1 | ".len() + expected), "{message}");
        }
    }
}
