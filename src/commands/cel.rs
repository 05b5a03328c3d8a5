//! `cel`: expressions in the Common Expression Language, without a policy.

use std::fmt::Write as _;
use std::io::Write as _;

use clap::{Args, Subcommand, ValueEnum};

use crate::cel::{
    Activation, CompileError, Dialect, Env, EvalError, Meter, Numbers, Program, Signature, Type, Val,
    signatures, to_json,
};
use crate::diagnostics::{Code, Coded};

use super::exit::Exit;
use super::options::RunOptions;
use super::query::{QueryInput, QueryOutput, faults, is_listed, unknown_functions};
use super::reporter::Reporter;
use super::session::on_threads;
use super::spool::Spool;
use super::version::print;

const EXAMPLES: &str = "\
Examples:
  # The images of a Pod
  kubectl kyv cel query 'object.spec.containers.map(c, c.image)' -f pod.yaml

  # What a patch of a MutatingPolicy makes of a live object
  kubectl get deploy web -o json | kubectl kyv cel query 'Object{spec: Object.spec{replicas: 3}}'

  # Without any input
  kubectl kyv cel query -n '\"a,b\".split(\",\")'";

/// Evaluate the Common Expression Language as policies do, and list its functions.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Query(Box<Query>),
    Check(Check),
    Functions(Functions),
}

/// Evaluate an expression on documents.
///
/// Each document has one result, in the order of the input. The expression sees the document as object.
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, help_template = super::HELP)]
struct Query {
    /// The expression; it may begin with a hyphen.
    #[arg(allow_hyphen_values = true)]
    expression: String,
    #[command(flatten)]
    input: QueryInput,
    /// Whose functions and rules apply.
    #[arg(long, value_name = "NAME", value_enum, default_value_t = Environment::Kyverno, help_heading = "Evaluation")]
    dialect: Environment,
    #[command(flatten)]
    output: QueryOutput,
}

/// Check an expression by types, without evaluating it, and print its type and cost.
///
/// The cost is counted as the API server does it; it stops an expression at 1,000,000.
#[derive(Debug, Args)]
#[command(help_template = super::HELP, before_help = "\
Examples:
  # Whether a cluster accepts a condition
  kubectl kyv cel check 'object.metadata.?labels.?team.hasValue()'")]
struct Check {
    /// The expression; it may begin with a hyphen.
    #[arg(allow_hyphen_values = true)]
    expression: String,
    /// Whose functions and rules apply.
    #[arg(long, value_name = "NAME", value_enum, default_value_t = Environment::Kyverno, help_heading = "Evaluation")]
    dialect: Environment,
}

/// List the functions with their parameters and results.
#[derive(Debug, Args)]
#[command(help_template = super::HELP, before_help = "\
Examples:
  # All functions of the API server
  kubectl kyv cel functions --dialect kubernetes

  # The functions on addresses
  kubectl kyv cel functions 'ip*' 'cidr*'")]
struct Functions {
    /// Names of functions; * and ? are wildcards.
    name: Vec<String>,
    /// Whose functions.
    #[arg(long, value_name = "NAME", value_enum, default_value_t = Environment::Kyverno)]
    dialect: Environment,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Environment {
    /// Those of `MutatingPolicy`.
    Kyverno,
    /// Those of `MutatingAdmissionPolicy` in the API server.
    Kubernetes,
}

impl Environment {
    const fn dialect(self) -> Dialect {
        match self {
            Self::Kyverno => Dialect::Kyverno,
            Self::Kubernetes => Dialect::Kubernetes,
        }
    }

    fn env(self) -> Env {
        let env = Env::policy(self.dialect()).with_messages();
        match self {
            Self::Kyverno => env,
            Self::Kubernetes => env.with_variable("params", Type::Dyn),
        }
    }
}

pub(super) fn run(arguments: &Arguments) -> Exit {
    // The stack of the threads suits the limits on depth.
    let options = RunOptions { workers: 1, ..RunOptions::default() };
    match &arguments.command {
        Command::Query(query) => on_threads(&options, |reporter| query.run(&options, reporter)),
        Command::Check(check) => on_threads(&options, |reporter| check.run(reporter)),
        Command::Functions(functions) => functions.run(),
    }
}

/// The program of an expression, unless its faults are reported.
fn compiled(expression: &str, environment: Environment, reporter: &mut Reporter) -> Option<Program> {
    match Program::compile(&environment.env(), expression) {
        Ok(program) => Some(program),
        Err(error) => {
            reporter.error(Exit::Input, error.code(), shown(expression, &error));
            None
        }
    }
}

impl Check {
    fn run(&self, reporter: &mut Reporter) {
        let Some(program) = compiled(&self.expression, self.dialect, reporter) else { return };
        let mut spool = Spool::new();
        let written = writeln!(spool, "{}\ncost: {}", program.output(), program.cost());
        let written = written.and_then(|()| spool.print_all());
        if let Err(error) = written {
            reporter.unwritten(&error);
        }
    }
}

impl Functions {
    fn run(&self) -> Exit {
        let all = signatures(self.dialect.dialect());
        let names: Vec<&str> = all.iter().map(|function| function.name).collect();
        if let Some(exit) = unknown_functions(&self.name, &names) {
            return exit;
        }
        let mut text = String::new();
        for function in all.iter().filter(|function| is_listed(&self.name, function.name)) {
            let _ = writeln!(text, "{}", written(function));
        }
        print(&text)
    }
}

/// A signature with its name: `string.indexOf(string) -> int`.
fn written(function: &Signature) -> String {
    match function.text.split_once(".(") {
        Some((receiver, rest)) => format!("{receiver}.{}({rest}", function.name),
        None => format!("{}{}", function.name, function.text),
    }
}

impl Query {
    fn run(&self, options: &RunOptions, reporter: &mut Reporter) {
        let Some(program) = compiled(&self.expression, self.dialect, reporter) else { return };
        let Some(documents) = self.input.documents(&options.input_limits, reporter) else { return };
        let env = self.dialect.env();
        self.output.print(&documents, reporter, |_, document| {
            let mut activation = Activation::new(&env, &[]);
            activation.set("object", Val::from_json(document, Numbers::Exact));
            activation.set("oldObject", Val::Null);
            let mut meter = Meter::default();
            let value = program.evaluate(&activation, &mut meter);
            let value = value.and_then(|value| to_json(&value, &mut meter));
            value.map_err(|error| {
                let at = program.fault(&env, &activation, &error).span.start;
                Failed { code: error.code(), text: faults(&self.expression, [(in_query(&error), at)]) }
            })
        });
    }
}

/// Why an expression has no value, with the place below it.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
struct Failed {
    code: Code,
    text: String,
}

impl Coded for Failed {
    fn code(&self) -> Code {
        self.code
    }
}

/// The message of an error where there is a document and nothing else.
fn in_query(error: &EvalError) -> String {
    match error {
        EvalError::NoSuchAttribute(name) => format!("the variable '{name}' has a value only in policies"),
        other => other.to_string(),
    }
}

fn shown(expression: &str, error: &CompileError) -> String {
    faults(expression, error.issues().iter().map(|issue| (issue.message.clone(), issue.offset)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_points_into_the_expression() {
        for (text, expected) in [("object.a +", 10), ("1 + 'a'", 2), ("foo.bar", 0), ("size(1)", 4)] {
            let error = Program::compile(&Environment::Kyverno.env(), text).unwrap_err();
            let message = shown(text, &error);
            let caret = message.lines().last().unwrap();
            assert_eq!(caret.find('^'), Some("1 | ".len() + expected), "{message}");
        }
    }
}
