//! Values of arguments, read from their texts.

use std::fmt::Write as _;
use std::num::ParseIntError;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::engine;
use crate::policy::Operation;
use crate::value::GoDuration;
use crate::yaml::{Limit, Limits};

/// Why a value of an argument is refused.
#[derive(Debug, thiserror::Error)]
pub(super) enum ArgumentError {
    #[error("expected {0}")]
    Expected(&'static str),
    #[error("expected one of {}", Operation::ALL.map(Operation::name).join(", "))]
    Operation,
    #[error(transparent)]
    Number(#[from] ParseIntError),
    #[error("`{0}` is no number")]
    NotANumber(String),
    #[error("no limit is called `{name}`; there are {}", limit_names().collect::<Vec<_>>().join(", "))]
    UnknownLimit { name: String },
    /// In kubectl's words.
    #[error(
        "Invalid timeout value. Timeout must be a single integer in seconds, or an integer followed by a \
         corresponding time unit (e.g. 1s | 2m | 3h)"
    )]
    Timeout,
    #[error("`{0}` is none of policy, rule, resource")]
    SelectorKey(String),
    #[error("the pattern of `{0}` is empty")]
    EmptyPattern(String),
    #[error("`{0}` is set twice")]
    Duplicate(String),
}

/// A value that an argument may have: its name, its help text, and its meaning.
pub(super) type Choice<T> = (&'static str, &'static str, T);

/// Reads the name of a choice.
pub(super) fn choice_parser<T: Clone + Send + Sync + 'static>(
    choices: &'static [Choice<T>],
) -> impl TypedValueParser<Value = T> {
    let values = choices.iter().map(|(name, help, _)| PossibleValue::new(*name).help(*help));
    let find = |name: String| choices.iter().find(|choice| choice.0 == name).map(|choice| choice.2.clone());
    PossibleValuesParser::new(values).try_map(move |name| find(name).ok_or("not among the choices"))
}

/// Reads an operation, whatever its case.
pub(super) fn operation(text: &str) -> Result<Operation, ArgumentError> {
    Operation::parse(&text.to_uppercase()).ok_or(ArgumentError::Operation)
}

/// Reads a limit of the input or the evaluation.
pub(super) fn limit(text: &str) -> Result<(String, usize), ArgumentError> {
    let (name, value) = extra(text).map_err(|_| ArgumentError::Expected("NAME=N"))?;
    let Ok(number) = value.parse() else { return Err(ArgumentError::NotANumber(value)) };
    let is_known = limit_names().any(|known| known == name);
    if is_known { Ok((name, number)) } else { Err(ArgumentError::UnknownLimit { name }) }
}

/// What each limit limits.
const LIMITS: [(&str, &str); 13] = [
    ("yaml-depth", "nesting of a document, aliases included"),
    ("yaml-documents", "documents of an input"),
    ("yaml-bytes", "bytes of an input"),
    ("yaml-alias-nodes", "nodes from aliases before their share is limited"),
    ("steps", "steps of a rule on an object"),
    ("result-bytes", "bytes of a value that an expression returns"),
    ("result-depth", "nesting of a value that an expression returns"),
    ("rounds", "scans of one string for variables"),
    ("foreach-iterations", "iterations of the loops of a rule on an object"),
    ("context-depth", "context entries that load within one another"),
    ("report-bytes", "bytes that reports of one object hold beside it"),
    ("object-steps", "steps of all rules on an object"),
    ("targets", "targets of the rules of a run"),
];

/// The limits with their defaults, one per line.
pub(super) fn limits_help() -> String {
    let (inputs, evaluation) = (Limits::default(), engine::Limits::default());
    let default = |name: &str| {
        let input = Limit::ALL.into_iter().find(|limit| limit.name() == name).map(|limit| inputs.get(limit));
        input.or_else(|| evaluation.get(name)).unwrap_or_default()
    };
    let mut text = format!("{:<20}{:<12}WHAT IT LIMITS\n", "NAME", "DEFAULT");
    for (name, what) in LIMITS {
        let _ = writeln!(text, "{name:<20}{:<12}{what}", default(name));
    }
    text
}

/// The names of the limits of the input and the evaluation.
pub(super) fn limit_names() -> impl Iterator<Item = &'static str> {
    Limit::ALL.iter().map(|limit| limit.name()).chain(engine::Limits::NAMES)
}

/// The limits on the size of inputs and those on the evaluation of one rule, with some of them set.
pub(super) fn limits(set: &[(String, usize)]) -> (Limits, engine::Limits) {
    let (mut inputs, mut evaluation) = (Limits::default(), engine::Limits::default());
    for (name, value) in set {
        // Other names were refused.
        let _is_known = inputs.set(name, *value) || evaluation.set(name, *value);
    }
    (inputs, evaluation)
}

/// Reads the maximum number of objects of a page. As with kubectl, a number below 1 is no limit.
pub(super) fn chunk_size(text: &str) -> Result<u32, ArgumentError> {
    let number = text.parse::<i64>()?;
    Ok(u32::try_from(number.max(0)).unwrap_or(u32::MAX))
}

/// Reads a timeout as kubectl does: seconds, or a Go duration.
pub(super) fn request_timeout(text: &str) -> Result<Duration, ArgumentError> {
    let seconds = text.parse().ok().map(Duration::from_secs);
    let go = || Duration::try_from_secs_f64(GoDuration::read(text)?.as_seconds()).ok();
    seconds.or_else(go).ok_or(ArgumentError::Timeout)
}

/// Reads `NAME=VALUE`.
pub(super) fn extra(text: &str) -> Result<(String, String), ArgumentError> {
    let (name, value) = text.split_once('=').ok_or(ArgumentError::Expected("NAME=VALUE"))?;
    Ok((name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_on_limits_has_all_of_them() {
        assert_eq!(LIMITS.map(|(name, _)| name).to_vec(), limit_names().collect::<Vec<_>>());
        let help = limits_help();
        assert!(help.lines().all(|line| line.len() <= 80 && !line.contains(" 0 ")), "{help}");
    }
}
