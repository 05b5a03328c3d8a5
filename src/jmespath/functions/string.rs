//! Functions over text.

use std::cmp::Ordering;

use crate::jmespath::error::EvalError;
use crate::jmespath::print;
use crate::pattern;
use crate::semantics::Divergence;
use crate::value::{Number, Value};

use super::signature::{NUMBER, STRING, STRING_OR_NUMBER};
use super::{Function, Invocation};

type Answer = Result<Value, EvalError>;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::own(
        "compare",
        &[STRING, STRING],
        "number",
        "-1, 0 or 1 as the first text stands before, with or after the second",
        compare,
    ),
    Function::standard(
        "ends_with",
        &[STRING, STRING],
        "boolean",
        "whether a text ends with another",
        |call| Ok(call.text(0).ends_with(call.text(1)).into()),
    ),
    Function::own(
        "equal_fold",
        &[STRING, STRING],
        "boolean",
        "whether two texts differ at most in the case of their letters",
        equal_fold,
    ),
    Function::own(
        "path_canonicalize",
        &[STRING],
        "string",
        "a path without `.`, `..` and doubled slashes",
        path_canonicalize,
    ),
    Function::own(
        "pattern_match",
        &[STRING, STRING_OR_NUMBER],
        "boolean",
        "whether a text fits a pattern with the wildcards `*` and `?`",
        pattern_match,
    ),
    Function::own(
        "replace",
        &[STRING, STRING, STRING, NUMBER],
        "string",
        "a text, the first so many places of the second argument replaced by the third",
        replace,
    ),
    Function::own(
        "replace_all",
        &[STRING, STRING, STRING],
        "string",
        "a text, every place of the second argument replaced by the third",
        |call| replaced(call, None),
    ),
    Function::own(
        "split",
        &[STRING, STRING],
        "array[string]",
        "the parts of a text between the places of the second argument",
        split,
    ),
    Function::standard(
        "starts_with",
        &[STRING, STRING],
        "boolean",
        "whether a text starts with another",
        |call| Ok(call.text(0).starts_with(call.text(1)).into()),
    ),
    Function::own("to_boolean", &[STRING], "boolean", "the boolean that a text names", to_boolean),
    Function::own("to_lower", &[STRING], "string", "a text in small letters", |call| {
        call.text_result(call.text(0).chars().map(lower).collect::<String>())
    }),
    Function::own("to_upper", &[STRING], "string", "a text in capital letters", |call| {
        call.text_result(call.text(0).chars().map(upper).collect::<String>())
    }),
    Function::own(
        "trim",
        &[STRING, STRING],
        "string",
        "a text without the characters of the second argument at its ends",
        |call| {
            let cut = call.text(1);
            call.text_result(call.text(0).trim_matches(|c| cut.contains(c)))
        },
    ),
    Function::own(
        "trim_prefix",
        &[STRING, STRING],
        "string",
        "a text without the second argument at its start",
        |call| {
            let text = call.text(0);
            call.text_result(text.strip_prefix(call.text(1)).unwrap_or(text))
        },
    ),
    Function::own(
        "truncate",
        &[STRING, NUMBER],
        "string",
        "the first so many characters of a text",
        truncate,
    ),
];

fn compare(call: &Invocation<'_>) -> Answer {
    Ok(Value::from(match call.text(0).cmp(call.text(1)) {
        Ordering::Less => -1,
        Ordering::Equal => 0,
        Ordering::Greater => 1,
    }))
}

fn equal_fold(call: &Invocation<'_>) -> Answer {
    let (left, right) = (call.text(0).chars().map(fold), call.text(1).chars().map(fold));
    Ok(Value::Bool(left.eq(right)))
}

/// The character that stands for all that differ from it only in case. The two Turkish letters that fold
/// only in Turkish stand for themselves.
fn fold(c: char) -> char {
    if matches!(c, 'ı' | 'İ') { c } else { lower(upper(c)) }
}

/// The one character that is the capital of another, if it has one.
fn upper(c: char) -> char {
    // Greek letters with a iota below have a capital of their own, although the usual one is two letters.
    let iota_below = match c {
        '\u{1F80}'..='\u{1F87}' | '\u{1F90}'..='\u{1F97}' | '\u{1FA0}'..='\u{1FA7}' => 8,
        '\u{1FB3}' | '\u{1FC3}' | '\u{1FF3}' => 9,
        _ => 0,
    };
    if iota_below > 0 {
        return char::from_u32(u32::from(c) + iota_below).unwrap_or(c);
    }
    single(c.to_uppercase()).unwrap_or(c)
}

fn lower(c: char) -> char {
    if c == 'İ' { 'i' } else { single(c.to_lowercase()).unwrap_or(c) }
}

fn single(mut characters: impl ExactSizeIterator<Item = char>) -> Option<char> {
    if characters.len() == 1 { characters.next() } else { None }
}

/// Cleans a path by its text alone.
fn path_canonicalize(call: &Invocation<'_>) -> Answer {
    let path = call.text(0);
    if path.is_empty() {
        return Ok("".into());
    }
    let rooted = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => match parts.last() {
                Some(&"..") | None if rooted => {}
                Some(&"..") | None => parts.push(part),
                Some(_) => {
                    parts.pop();
                }
            },
            _ => parts.push(part),
        }
    }
    let clean = format!("{}{}", if rooted { "/" } else { "" }, parts.join("/"));
    call.text_result(if clean.is_empty() { ".".to_owned() } else { clean })
}

fn pattern_match(call: &Invocation<'_>) -> Answer {
    let text = call.text_or_number(1);
    // The matcher takes time in proportion to the product of both lengths.
    let pattern = call.text(0);
    call.runtime().spend_for(pattern.len().saturating_mul(text.len()) / 16)?;
    Ok(Value::Bool(pattern::matches(pattern, &text)))
}

fn replace(call: &Invocation<'_>) -> Answer {
    let count = call.number(3).as_f64().trunc();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, sign checked")]
    replaced(call, (count >= 0.0).then_some(count as usize))
}

/// The first places replaced, or all of them.
fn replaced(call: &Invocation<'_>, count: Option<usize>) -> Answer {
    let [text, old, new] = [0, 1, 2].map(|index| call.text(index));
    let count = count.unwrap_or(usize::MAX);
    let places = text.matches(old).take(count).count();
    call.runtime().allow_bytes(text.len().saturating_add(places.saturating_mul(new.len())))?;
    call.text_result(text.replacen(old, new, count))
}

fn split(call: &Invocation<'_>) -> Answer {
    let (text, by) = (call.text(0), call.text(1));
    call.runtime().spend_for(text.len())?;
    let parts = if by.is_empty() {
        text.chars().map(|c| Value::from(c.encode_utf8(&mut [0; 4]) as &str)).collect()
    } else {
        text.split(by).map(Value::from).collect()
    };
    Ok(Value::array(parts))
}

fn to_boolean(call: &Invocation<'_>) -> Answer {
    let text = call.text(0);
    match text.to_lowercase().as_str() {
        "true" => Ok(Value::Bool(true)),
        "false" => Ok(Value::Bool(false)),
        _ => Err(call.fail(format_args!(
            "lowercase argument must be 'true' or 'false' (provided: '{}')",
            print::excerpt(text)
        ))),
    }
}

fn truncate(call: &Invocation<'_>) -> Answer {
    let text = call.text(0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, also below 0")]
    let length = call.number(1).as_f64() as usize;
    match text.char_indices().nth(length) {
        Some((end, _)) => call.text_result(&text[..end]),
        None => Ok(call.value(0).clone()),
    }
}

impl Invocation<'_> {
    /// An argument as text, a number written out.
    pub(super) fn text_or_number(&self, index: usize) -> String {
        match self.value(index) {
            Value::Number(number) => self.number_text(number),
            _ => self.text(index).to_owned(),
        }
    }

    /// A number as text, never in exponent form. The controllers take it for a float of 32 bits.
    pub(super) fn number_text(&self, number: &Number) -> String {
        let value = number.as_f64();
        let text = match number.as_i64() {
            Some(integer) if value != 0.0 => integer.to_string(),
            _ => value.to_string(),
        };
        #[expect(clippy::cast_possible_truncation, reason = "the loss is what the controllers have")]
        let single = value as f32;
        let single = if single.is_finite() { single.to_string() } else { "+Inf".to_owned() };
        if single == text || self.runtime().tracker.documented(Divergence::SinglePrecision) {
            text
        } else {
            single
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jmespath::testing::{DOCUMENT, check, check_difference, searched};
    use crate::semantics::Semantics;

    #[test]
    fn letters_change_case_one_by_one() {
        check(&[
            ("to_upper('straße')", r#""STRAßE""#),
            ("to_lower('İ')", r#""i""#),
            ("to_upper('ŉ')", r#""ŉ""#),
            ("equal_fold('ß', 'SS')", "false"),
            ("equal_fold('ẞ', 'ß')", "true"),
            ("equal_fold('\u{212A}', 'k')", "true"),
            ("equal_fold('ς', 'Σ')", "true"),
            ("equal_fold('ı', 'i')", "false"),
        ]);
    }

    #[test]
    fn numbers_become_text_with_single_precision_in_the_controllers() {
        check_difference(
            Divergence::SinglePrecision,
            &[
                ("pattern_match('16777216', `16777217`)", "false", "true"),
                ("regex_replace_all('a', `16777217`, '')", r#""16777217""#, r#""16777216""#),
                ("object_from_lists(`[16777217]`, `[1]`)", r#"{"16777217":1}"#, r#"{"16777216":1}"#),
            ],
        );
        let (_, reached) = searched(DOCUMENT, "pattern_match('1*', `12`)", Semantics::Kyverno);
        assert!(reached.is_empty());
    }

    #[test]
    fn what_would_grow_too_long_is_refused_before_it_is_made() {
        let text = "'".to_owned() + &"a".repeat(2000) + "'";
        let expression = format!("replace_all({text}, '', {text})");
        check(&[(&expression, "error: the evaluation passes the limit `result-bytes`")]);
    }
}
