//! `jp`: expressions in Kyverno's dialect of JMESPath, without a policy.

use std::fmt::Write as _;

use clap::{Args, Subcommand};
use jiff::Timestamp;

use crate::diagnostics::Coded as _;
use crate::jmespath::{self, Expression, FixedClock, ParseError, Runtime, SeededRandom, functions};
use crate::semantics::{DivergenceSet, DivergenceTracker, Semantics};

use super::argument_values::choice_parser;
use super::arguments::{EngineArguments, SEMANTICS};
use super::exit::Exit;
use super::options::RunOptions;
use super::query::{QueryInput, QueryOutput, faults, is_listed, unknown_functions};
use super::reporter::Reporter;
use super::session::on_threads;
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

/// Evaluate and parse JMESPath in Kyverno's dialect, and list its functions.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Query(Box<Query>),
    Parse(Parse),
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
    #[command(flatten)]
    input: QueryInput,
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
    #[command(flatten)]
    output: QueryOutput,
    /// Print only errors on stderr, no notes.
    #[arg(short, long, help_heading = "Output")]
    quiet: bool,
}

/// Print the syntax tree of expressions.
///
/// Each node is on a line below its parent: what a chain, a pipe, a projection or a function is applied to comes first.
#[derive(Debug, Args)]
#[command(help_template = super::HELP, before_help = "\
Examples:
  # What the pipe and the projection belong to
  kubectl kyv jp parse 'spec.containers[*].name | [0]'")]
struct Parse {
    /// The expressions.
    #[arg(required = true)]
    expression: Vec<String>,
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
        Command::Parse(parse) => {
            on_threads(&RunOptions { workers: 1, ..RunOptions::default() }, |reporter| {
                parse.run(reporter);
            })
        }
        Command::Function(function) => function.run(),
    }
}

impl Parse {
    fn run(&self, reporter: &mut Reporter) {
        let mut text = String::new();
        for expression in &self.expression {
            match Expression::parse(expression) {
                Ok(parsed) if self.expression.len() == 1 => _ = write!(text, "{}", parsed.tree()),
                Ok(parsed) => _ = write!(text, "# {expression}\n{}", parsed.tree()),
                Err(error) => reporter.error(Exit::Input, error.code(), shown(expression, &error)),
            }
        }
        print(&text);
    }
}

impl Function {
    fn run(&self) -> Exit {
        let names: Vec<&str> = functions().map(|function| function.name).collect();
        if let Some(exit) = unknown_functions(&self.name, &names) {
            return exit;
        }
        let mut text = String::new();
        for function in functions().filter(|function| is_listed(&self.name, function.name)) {
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
        let Some(documents) = self.input.documents(&options.input_limits, reporter) else { return };
        let clock = FixedClock(options.now.unwrap_or_else(Timestamp::now));
        let limits = jmespath::Limits {
            steps: options.evaluation_limits.steps as u64,
            result_bytes: options.evaluation_limits.result_bytes,
            ..jmespath::Limits::default()
        };
        let mut divergences = DivergenceSet::NONE;
        self.output.print(&documents, reporter, |index, document| {
            let tracker = DivergenceTracker::new(semantics);
            let random = SeededRandom::new(options.seed.wrapping_add(index as u64));
            let runtime = Runtime::new(&clock, &random, &tracker).with_limits(limits);
            let found = expression.search(document, &runtime);
            divergences.extend(tracker.reached());
            found
        });
        reporter.divergences(divergences, semantics);
    }
}

fn shown(expression: &str, error: &ParseError) -> String {
    faults(expression, [(error.to_string(), error.offset)])
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
