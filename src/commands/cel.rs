//! `cel`: expressions in the Common Expression Language, without a policy.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::cel::{
    Activation, CompileError, Dialect, Env, Meter, Numbers, Program, Signature, Type, Val, signatures,
    to_json,
};
use crate::diagnostics::{Code, Coded as _};
use crate::pattern;
use crate::value::Value;
use crate::yaml::{self, Source, excerpt};

use super::exit::Exit;
use super::jp::documents;
use super::options::RunOptions;
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
    /// The expression.
    expression: String,
    /// Documents in YAML or JSON: a file, or - for standard input.
    #[arg(short = 'f', long = "filename", value_name = "FILE", default_value = "-", help_heading = "Input")]
    filename: PathBuf,
    /// Read no input: the object is null.
    #[arg(short, long, conflicts_with = "filename", help_heading = "Input")]
    null_input: bool,
    /// Whose functions and rules apply.
    #[arg(long, value_name = "NAME", value_enum, default_value_t = Environment::Kyverno, help_heading = "Evaluation")]
    dialect: Environment,
    /// The output format.
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t = Output::Json, help_heading = "Output")]
    output: Output,
    /// Print each JSON result on one line.
    #[arg(long, help_heading = "Output")]
    compact: bool,
    /// Print strings without quotes.
    #[arg(short, long, help_heading = "Output")]
    unquoted: bool,
}

/// Check an expression by types, without evaluating it, and print the type of its value.
#[derive(Debug, Args)]
#[command(help_template = super::HELP, before_help = "\
Examples:
  # Whether a cluster accepts a condition
  kubectl kyv cel check 'object.metadata.?labels.?team.hasValue()'")]
struct Check {
    /// The expression.
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// JSON, indented.
    Json,
    /// YAML, one document for each result.
    Yaml,
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
        let written = writeln!(spool, "{}", program.output()).and_then(|()| spool.print_all());
        if let Err(error) = written {
            reporter.unwritten(&error);
        }
    }
}

impl Functions {
    fn run(&self) -> Exit {
        let all = signatures(self.dialect.dialect());
        let missing: Vec<&String> = self
            .name
            .iter()
            .filter(|wanted| !all.iter().any(|function| pattern::matches(wanted, function.name)))
            .collect();
        if !missing.is_empty() {
            return on_threads(&RunOptions::default(), |reporter| {
                for name in missing {
                    let nearest = pattern::nearest(name, all.iter().map(|function| function.name));
                    let hint = nearest.map_or_else(String::new, |name| format!(", did you mean {name}?"));
                    reporter.error(
                        Exit::Input,
                        Code::UnknownFunction,
                        format_args!("no function is called {name}{hint}"),
                    );
                }
            });
        }
        let is_selected = |function: &&Signature| {
            self.name.is_empty() || self.name.iter().any(|wanted| pattern::matches(wanted, function.name))
        };
        let mut text = String::new();
        for function in all.iter().filter(is_selected) {
            let note = if function.is_supported { "" } else { " (not supported)" };
            let _ = writeln!(text, "{}{note}", written(function));
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
        let Some(documents) = self.documents(options, reporter) else { return };
        let mut spool = Spool::new();
        for (number, document) in documents.iter().enumerate() {
            match self.evaluated(&program, document) {
                Ok(value) => {
                    let text = self.printed(&value, documents.len() > 1);
                    if let Err(error) = spool.write_all(text.as_bytes()) {
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
        if let Err(error) = spool.print_all() {
            reporter.unwritten(&error);
        }
    }

    fn evaluated(&self, program: &Program, document: &Value) -> Result<Value, crate::cel::EvalError> {
        let env = self.dialect.env();
        let mut activation = Activation::new(&env, &[]);
        activation.set("object", Val::from_json(document, Numbers::Exact));
        activation.set("oldObject", Val::Null);
        let value = program.evaluate(&activation, &mut Meter::default())?;
        to_json(&value)
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

/// The faults of an expression, each with an excerpt.
fn shown(expression: &str, error: &CompileError) -> String {
    let source = Source::new("expression", expression);
    let faults = error.issues().iter().map(|issue| {
        let place = source.position(issue.offset.min(expression.len()));
        format!("{}\n{}", issue.message, excerpt(&source, &place))
    });
    faults.collect::<Vec<_>>().join("\n")
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
