//! Functions over regular expressions.

use std::sync::Arc;

use crate::jmespath::error::{EvalError, SearchResult};
use crate::jmespath::runtime::Runtime;
use crate::regexp::{RandomError, RandomSource, Regexp, random_text};
use crate::value::Value;

use super::signature::{STRING, STRING_OR_NUMBER};
use super::{Function, Invocation};

pub(super) const FUNCTIONS: &[Function] = &[
    Function::own("random", &[STRING], "string", random)
        .describe("a random text that matches a regular expression"),
    Function::own("regex_match", &[STRING, STRING_OR_NUMBER], "boolean", |call| {
        let (regexp, text) = (compiled(call)?, call.text_or_number(1));
        spend(call, &regexp, &text)?;
        Ok(Value::Bool(regexp.is_match(&text)))
    })
    .describe("whether a regular expression matches anywhere in a text or number"),
    Function::own("regex_replace_all", &[STRING, STRING_OR_NUMBER, STRING_OR_NUMBER], "string", |call| {
        replaced(call, Regexp::replace_all)
    })
    .describe("a text, every match replaced by a template with `$1` or `${name}` for groups"),
    Function::own(
        "regex_replace_all_literal",
        &[STRING, STRING_OR_NUMBER, STRING_OR_NUMBER],
        "string",
        |call| replaced(call, Regexp::replace_all_literal),
    )
    .describe("a text, every match replaced by another text"),
];

/// The regular expression of the first argument. A literal is compiled once for all evaluations; of others the runtime
/// remembers the last.
fn compiled(call: &Invocation<'_>) -> Result<Arc<Regexp>, EvalError> {
    let pattern = call.text(0);
    let compile = || Regexp::new(pattern).map(Arc::new);
    let found = match call.prepared {
        Some(prepared) => prepared.get_or_init(compile).clone(),
        None => match call.runtime.recent_regexp(pattern) {
            Some(recent) => Ok(recent),
            None => {
                call.runtime.spend(200 + 20 * pattern.len() as u64)?;
                compile().inspect(|regexp| call.runtime.remember_regexp(pattern, regexp))
            }
        },
    };
    found.map_err(|error| match call.function.name {
        "regex_match" => call.fail_plainly(error),
        _ => call.fail(error),
    })
}

/// Spends the steps of searching a text.
fn spend(call: &Invocation<'_>, regexp: &Regexp, text: &str) -> Result<(), EvalError> {
    call.runtime.spend_for(text.len().saturating_mul(regexp.weight))
}

type Replace = fn(&Regexp, &str, &str, usize) -> Option<String>;

fn replaced(call: &Invocation<'_>, replace: Replace) -> SearchResult {
    let (regexp, text, by) = (compiled(call)?, call.text_or_number(1), call.text_or_number(2));
    spend(call, &regexp, &text)?;
    match replace(&regexp, &text, &by, call.runtime.limits.result_bytes) {
        Some(result) => call.text_result(result),
        None => Err(call.runtime.too_large()),
    }
}

fn random(call: &Invocation<'_>) -> SearchResult {
    let pattern = call.text(0);
    if pattern.is_empty() {
        return Err(call.fail_plainly("no pattern provided"));
    }
    call.runtime.spend(200 + 20 * pattern.len() as u64)?;
    let text = random_text(pattern, &mut Random(call.runtime)).map_err(|error| match error {
        RandomError::Refused(error) => call.fail_plainly(error),
        RandomError::NoText => call.fail_plainly("no text matches the expression"),
        RandomError::Limit(error) => error,
    })?;
    call.text_result(text)
}

struct Random<'a>(&'a Runtime<'a>);

impl RandomSource for Random<'_> {
    type Error = EvalError;

    fn next(&mut self) -> u64 {
        self.0.random.next()
    }

    fn step(&mut self, bytes: usize) -> Result<(), EvalError> {
        self.0.spend(1)?;
        if bytes > self.0.limits.result_bytes { Err(self.0.too_large()) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use crate::jmespath::testing::{check, search};

    #[test]
    fn random_text_matches_its_expression() {
        for pattern in [
            "[0-9a-z]{5}",
            "a|bc|d+",
            r"\w{3,6}-\d*",
            "(x(y|z)?){2}",
            "^[^a-z]$",
            "\\pL{2}",
            "(?i)abc",
            ".{8}",
            "[[:xdigit:]]{32}",
        ] {
            let whole = format!("regex_match('^(?:{pattern})$', random('{pattern}'))");
            assert_eq!(search("null", &whole), "true", "{pattern}");
        }
        check(&[
            ("random('')", "error: no pattern provided"),
            ("random('[')", "error: error parsing regexp: missing closing ]"),
            ("random('((a{1000}){1000}){1000}')", "error: error parsing regexp: invalid repeat count"),
            ("random('[^\\x00-\\x{10FFFF}]')", "error: no text matches the expression"),
            ("length(random('(a{30}){30}'))", "900"),
        ]);
    }

    #[test]
    fn two_calls_return_different_random_texts() {
        assert_eq!(search("null", "random('[0-9a-f]{32}') == random('[0-9a-f]{32}')"), "false");
    }

    #[test]
    fn computed_expressions_are_compiled() {
        check(&[
            ("nums[?regex_match(to_string(@), '12')]", "[1,2]"),
            ("list[?regex_match(y || '^$', 'p')].y", r#"["p"]"#),
        ]);
    }
}
