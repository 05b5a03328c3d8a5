//! Functions over text.

use std::cmp::Ordering;

use crate::jmespath::MAX_QUOTED_CHARS;
use crate::jmespath::error::SearchResult;
use crate::pattern;
use crate::semantics::Divergence;
use crate::value::{Number, Value, shortened};

use super::signature::{NUMBER, STRING, STRING_OR_NUMBER};
use super::{Function, Invocation};

pub(super) const FUNCTIONS: &[Function] = &[
    Function::own("compare", &[STRING, STRING], "number", compare)
        .describe("-1, 0 or 1 if the first text sorts before, with or after the second"),
    Function::standard("ends_with", &[STRING, STRING], "boolean", |call| {
        Ok(call.text(0).ends_with(call.text(1)).into())
    })
    .describe("whether a text ends with another"),
    Function::own("equal_fold", &[STRING, STRING], "boolean", equal_fold)
        .describe("whether two texts differ at most in the case of their letters"),
    Function::own("path_canonicalize", &[STRING], "string", path_canonicalize)
        .describe("a path without `.`, `..` and doubled slashes"),
    Function::own("pattern_match", &[STRING, STRING_OR_NUMBER], "boolean", pattern_match)
        .describe("whether a text matches a pattern with the wildcards `*` and `?`"),
    Function::own("replace", &[STRING, STRING, STRING, NUMBER], "string", replace)
        .describe("a text, the first so many places of the second argument replaced by the third"),
    Function::own("replace_all", &[STRING, STRING, STRING], "string", |call| replaced(call, None))
        .describe("a text, every place of the second argument replaced by the third"),
    Function::own("split", &[STRING, STRING], "array[string]", split)
        .describe("the parts of a text between the places of the second argument"),
    Function::standard("starts_with", &[STRING, STRING], "boolean", |call| {
        Ok(call.text(0).starts_with(call.text(1)).into())
    })
    .describe("whether a text starts with another"),
    Function::own("to_boolean", &[STRING], "boolean", to_boolean).describe("the boolean that a text names"),
    Function::own("to_lower", &[STRING], "string", |call| {
        call.text_result(call.text(0).chars().map(lower).collect::<String>())
    })
    .describe("a text in small letters"),
    Function::own("to_upper", &[STRING], "string", |call| {
        call.text_result(call.text(0).chars().map(upper).collect::<String>())
    })
    .describe("a text in capital letters"),
    Function::own("trim", &[STRING, STRING], "string", |call| {
        let cut = call.text(1);
        call.text_result(call.text(0).trim_matches(|c| cut.contains(c)))
    })
    .describe("a text without the characters of the second argument at its ends"),
    Function::own("trim_prefix", &[STRING, STRING], "string", |call| {
        let text = call.text(0);
        call.text_result(text.strip_prefix(call.text(1)).unwrap_or(text))
    })
    .describe("a text without the second argument at its start"),
    Function::own("truncate", &[STRING, NUMBER], "string", truncate)
        .describe("the first so many characters of a text"),
];

fn compare(call: &Invocation<'_>) -> SearchResult {
    Ok(Value::from(match call.text(0).cmp(call.text(1)) {
        Ordering::Less => -1,
        Ordering::Equal => 0,
        Ordering::Greater => 1,
    }))
}

fn equal_fold(call: &Invocation<'_>) -> SearchResult {
    let (left, right) = (call.text(0).chars().map(fold), call.text(1).chars().map(fold));
    Ok(Value::Bool(left.eq(right)))
}

/// A character that is the same for all characters that differ only in case. The two letters that fold only in Turkish
/// are unchanged.
fn fold(c: char) -> char {
    if matches!(c, 'ı' | 'İ') { c } else { lower(upper(c)) }
}

/// The uppercase of a character if it is one character.
fn upper(c: char) -> char {
    // Greek letters with iota subscript have an uppercase letter of their own, and a usual one of two letters.
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

/// Cleans a path lexically.
fn path_canonicalize(call: &Invocation<'_>) -> SearchResult {
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

fn pattern_match(call: &Invocation<'_>) -> SearchResult {
    let text = call.text_or_number(1);
    // The worst-case time of the matcher is the product of both lengths.
    let pattern = call.text(0);
    call.runtime.spend_for(pattern.len().saturating_mul(text.len()) / 16)?;
    Ok(Value::Bool(pattern::matches(pattern, &text)))
}

fn replace(call: &Invocation<'_>) -> SearchResult {
    let count = call.number(3).as_f64().trunc();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, sign checked")]
    replaced(call, (count >= 0.0).then_some(count as usize))
}

/// The text with the first `count` occurrences replaced; all of them for `None`.
fn replaced(call: &Invocation<'_>, count: Option<usize>) -> SearchResult {
    let [text, old, new] = [0, 1, 2].map(|index| call.text(index));
    let count = count.unwrap_or(usize::MAX);
    let occurrences = text.matches(old).take(count).count();
    call.runtime.allow_bytes(text.len().saturating_add(occurrences.saturating_mul(new.len())))?;
    call.text_result(text.replacen(old, new, count))
}

fn split(call: &Invocation<'_>) -> SearchResult {
    let (text, by) = (call.text(0), call.text(1));
    call.runtime.spend_for(text.len())?;
    let parts = if by.is_empty() {
        text.chars().map(|c| Value::from(c.encode_utf8(&mut [0; 4]) as &str)).collect()
    } else {
        text.split(by).map(Value::from).collect()
    };
    Ok(Value::array(parts))
}

fn to_boolean(call: &Invocation<'_>) -> SearchResult {
    let text = call.text(0);
    match text.to_lowercase().as_str() {
        "true" => Ok(Value::Bool(true)),
        "false" => Ok(Value::Bool(false)),
        _ => Err(call.fail(format_args!(
            "lowercase argument must be 'true' or 'false' (provided: '{}')",
            shortened(text, MAX_QUOTED_CHARS)
        ))),
    }
}

fn truncate(call: &Invocation<'_>) -> SearchResult {
    let text = call.text(0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, also below 0")]
    let length = call.number(1).as_f64() as usize;
    match text.char_indices().nth(length) {
        Some((end, _)) => call.text_result(&text[..end]),
        None => Ok(call.value(0).clone()),
    }
}

impl Invocation<'_> {
    /// An argument as text, also if it is a number.
    pub(super) fn text_or_number(&self, index: usize) -> String {
        match self.value(index) {
            Value::Number(number) => self.number_text(number),
            _ => self.text(index).to_owned(),
        }
    }

    /// A number as text, without exponent. Kyverno formats it as a 32-bit float.
    pub(super) fn number_text(&self, number: &Number) -> String {
        let value = number.as_f64();
        let text = match number.as_i64() {
            Some(integer) if value != 0.0 => integer.to_string(),
            _ => value.to_string(),
        };
        #[expect(clippy::cast_possible_truncation, reason = "Kyverno has this loss, too")]
        let single = value as f32;
        let single = if single.is_finite() { single.to_string() } else { "+Inf".to_owned() };
        if single == text || self.runtime.tracker.documented(Divergence::SinglePrecision) {
            text
        } else {
            single
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jmespath::testing::{DOCUMENT, check, check_divergence, search_with};
    use crate::semantics::Semantics;

    #[test]
    fn each_character_changes_case_by_itself() {
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
        check_divergence(
            Divergence::SinglePrecision,
            &[
                ("pattern_match('16777216', `16777217`)", "false", "true"),
                ("regex_replace_all('a', `16777217`, '')", r#""16777217""#, r#""16777216""#),
                ("object_from_lists(`[16777217]`, `[1]`)", r#"{"16777217":1}"#, r#"{"16777216":1}"#),
            ],
        );
        let (_, reached) = search_with(DOCUMENT, "pattern_match('1*', `12`)", Semantics::Kyverno);
        assert!(reached.is_empty());
    }

    #[test]
    fn a_result_that_is_too_long_is_refused_before_it_is_built() {
        let text = "'".to_owned() + &"a".repeat(2000) + "'";
        let expression = format!("replace_all({text}, '', {text})");
        check(&[(&expression, "error: the evaluation exceeds the limit `result-bytes`")]);
    }
}
