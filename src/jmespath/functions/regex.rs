//! Functions over regular expressions.

use std::sync::Arc;

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind};

use crate::jmespath::error::{EvalError, SearchResult};
use crate::jmespath::runtime::Runtime;
use crate::regexp::{Regexp, translate};
use crate::value::Value;

use super::signature::{STRING, STRING_OR_NUMBER};
use super::{Function, Invocation};

/// The maximum number of repetitions beyond the minimum in random text, for a repetition without maximum.
const MAX_RANDOM_REPEATS: u32 = 32;

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
    let pattern = translate(pattern).map_err(|error| call.fail_plainly(error))?.pattern;
    let tree = regex_syntax::parse(&pattern).map_err(|_| call.fail_plainly("unsupported expression"))?;
    let mut text = String::new();
    if !generate(&tree, call.runtime, &mut text)? {
        return Err(call.fail_plainly("no text matches the expression"));
    }
    call.text_result(text)
}

/// Appends a text that matches. Returns whether there is one.
fn generate(tree: &Hir, runtime: &Runtime<'_>, out: &mut String) -> Result<bool, EvalError> {
    runtime.spend(1)?;
    if out.len() > runtime.limits.result_bytes {
        return Err(runtime.too_large());
    }
    match tree.kind() {
        HirKind::Empty | HirKind::Look(_) => Ok(true),
        HirKind::Literal(literal) => {
            out.push_str(&String::from_utf8_lossy(&literal.0));
            Ok(true)
        }
        HirKind::Class(Class::Unicode(class)) => Ok(push_one_of(class, runtime, out)),
        HirKind::Class(Class::Bytes(_)) => Ok(false),
        HirKind::Capture(group) => generate(&group.sub, runtime, out),
        HirKind::Repetition(repetition) => {
            let max = repetition.max.unwrap_or(repetition.min + MAX_RANDOM_REPEATS);
            let spread = u64::from(max.saturating_sub(repetition.min)) + 1;
            for _ in 0..u64::from(repetition.min) + runtime.random.next() % spread {
                if !generate(&repetition.sub, runtime, out)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        HirKind::Concat(parts) => {
            for part in parts {
                if !generate(part, runtime, out)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        HirKind::Alternation(choices) => match choices.get(pick(runtime, choices.len())) {
            Some(choice) => generate(choice, runtime, out),
            None => Ok(false),
        },
    }
}

/// A random index below a length.
fn pick(runtime: &Runtime<'_>, length: usize) -> usize {
    let chosen = runtime.random.next().checked_rem(length as u64).unwrap_or(0);
    usize::try_from(chosen).unwrap_or(0)
}

/// Appends a character of a class, a printable ASCII character if the class contains any.
fn push_one_of(class: &ClassUnicode, runtime: &Runtime<'_>, out: &mut String) -> bool {
    let mut plain = ClassUnicode::new([ClassUnicodeRange::new(' ', '~')]);
    plain.intersect(class);
    let ranges = if plain.ranges().is_empty() { class.ranges() } else { plain.ranges() };
    let mut index = pick(runtime, ranges.iter().map(ClassUnicodeRange::len).sum());
    for range in ranges {
        if index < range.len() {
            out.extend((range.start()..=range.end()).nth(index));
            return true;
        }
        index -= range.len();
    }
    false
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
