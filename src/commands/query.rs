//! What `jp query` and `cel query` share: documents as input, a result for each, and lists of functions.

use std::fmt::Display;
use std::io::Write as _;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::diagnostics::{Code, Coded};
use crate::pattern;
use crate::render::printable_json;
use crate::source::{SourceError, read_text};
use crate::value::Value;
use crate::yaml::{self, Limits, Source, excerpt};

use super::exit::Exit;
use super::options::RunOptions;
use super::reporter::Reporter;
use super::session::{location, on_threads};
use super::spool::Spool;

/// The documents that an expression is evaluated on.
#[derive(Debug, Args)]
pub(super) struct QueryInput {
    /// Documents in YAML or JSON: a file, or - for standard input.
    #[arg(short = 'f', long = "filename", value_name = "FILE", default_value = "-", help_heading = "Input")]
    filename: PathBuf,
    /// Read no input: evaluate on null.
    #[arg(short, long, conflicts_with = "filename", help_heading = "Input")]
    null_input: bool,
}

/// How results are printed.
#[derive(Debug, Args)]
pub(super) struct QueryOutput {
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// JSON, indented.
    Json,
    /// YAML, one document for each result.
    Yaml,
}

impl QueryInput {
    /// Errors are reported; `None` if there are any.
    pub(super) fn documents(&self, limits: &Limits, reporter: &mut Reporter) -> Option<Vec<Value>> {
        if self.null_input {
            return Some(vec![Value::Null]);
        }
        let documents = reporter.loaded(self.read(limits))?;
        if documents.is_empty() {
            let text = "the input has no document; -n evaluates without one";
            reporter.error(Exit::Input, Code::NoDocument, text);
            return None;
        }
        Some(documents)
    }

    fn read(&self, limits: &Limits) -> Result<Vec<Value>, Vec<SourceError>> {
        let source = read_text(&location(&self.filename), limits).map_err(|error| vec![error])?;
        let documents = yaml::read(&source, limits)
            .map_err(|errors| errors.into_iter().map(SourceError::from).collect::<Vec<_>>())?;
        Ok(documents.into_iter().filter_map(yaml::Document::into_value).collect())
    }
}

impl QueryOutput {
    /// Prints the result of each document. Errors are reported, and the other documents evaluated.
    pub(super) fn print<E: Coded + Display>(
        &self,
        documents: &[Value],
        reporter: &mut Reporter,
        mut evaluate: impl FnMut(usize, &Value) -> Result<Value, E>,
    ) {
        let mut spool = Spool::new();
        for (index, document) in documents.iter().enumerate() {
            match evaluate(index, document) {
                Ok(value) => {
                    let text = self.text(&value, documents.len() > 1);
                    if let Err(error) = spool.write_all(text.as_bytes()) {
                        return reporter.unwritten(&error);
                    }
                }
                Err(error) if documents.len() > 1 => {
                    let text = format!("document {}: {error}", index + 1);
                    reporter.error(Exit::Evaluation, error.code(), text);
                }
                Err(error) => reporter.coded(Exit::Evaluation, &error),
            }
        }
        if let Err(error) = spool.print_all() {
            reporter.unwritten(&error);
        }
    }

    fn text(&self, value: &Value, is_one_of_several: bool) -> String {
        match value {
            Value::String(text) if self.unquoted => format!("{text}\n"),
            _ if self.output == Output::Yaml => {
                let mut text = String::from(if is_one_of_several { "---\n" } else { "" });
                yaml::print(value, &mut text);
                if !text.ends_with('\n') {
                    text.push('\n');
                }
                text
            }
            _ if self.compact => printable_json(value.to_json()) + "\n",
            _ => printable_json(value.to_pretty_json(2)) + "\n",
        }
    }
}

/// The faults of an expression, each with the place below it: messages and byte offsets.
pub(super) fn faults(expression: &str, faults: impl IntoIterator<Item = (String, usize)>) -> String {
    let source = Source::new("expression", expression);
    let fault = |(message, offset): (String, usize)| {
        let place = source.position(offset.min(expression.len()));
        format!("{message}\n{}", excerpt(&source, &place))
    };
    faults.into_iter().map(fault).collect::<Vec<_>>().join("\n")
}

/// Whether one of the patterns fits the name of a function; all names if there are no patterns.
pub(super) fn is_listed(patterns: &[String], name: &str) -> bool {
    patterns.is_empty() || patterns.iter().any(|pattern| pattern::matches(pattern, name))
}

/// Reports the patterns that fit no function, if there are any.
pub(super) fn unknown_functions(patterns: &[String], functions: &[&str]) -> Option<Exit> {
    let is_unknown = |wanted: &&String| !functions.iter().any(|name| pattern::matches(wanted, name));
    let unknown: Vec<&String> = patterns.iter().filter(is_unknown).collect();
    if unknown.is_empty() {
        return None;
    }
    Some(on_threads(&RunOptions::default(), |reporter| {
        for name in unknown {
            let nearest = pattern::nearest(name, functions.iter().copied());
            let hint = nearest.map_or_else(String::new, |name| format!(", did you mean {name}?"));
            let text = format!("no function is called {name}{hint}");
            reporter.error(Exit::Input, Code::UnknownFunction, text);
        }
    }))
}
