//! Membership of the key of a condition in its value.

use std::borrow::Cow;

use super::print::{Form, depends_on_form, printed};
use super::typed_operand::TypedOperand;
use super::{LeafPattern, Range, is_wildcard, matches};
use crate::semantics::{Divergence, DivergenceTracker};
use crate::value::{JsonReader, Value};

/// The relation that an operator requires between the elements of the key and the value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Membership {
    /// Whether one element of the key is enough.
    any: bool,
    /// Whether elements must not be members.
    negative: bool,
    /// Whether the operator accepts only sets of strings, without ranges and wildcards.
    deprecated: bool,
}

/// Whether the relation holds; false if key and value cannot be compared.
pub(super) fn holds(
    membership: Membership,
    key_operand: TypedOperand<'_>,
    value_operand: TypedOperand<'_>,
    tracker: &DivergenceTracker,
) -> bool {
    let (key, value) = (key_operand.value, value_operand.value);
    let plain = membership.holds(key, value, Form::Plain);
    if !depends_on_form(key) && !depends_on_form(value) {
        return plain;
    }
    let go = if membership.deprecated && key.as_array().is_some() {
        // Only a set of strings can be a member.
        membership.holds(key, value, Form::Go)
    } else {
        membership.holds(
            &key_operand.with_integers_as_text(),
            &value_operand.with_integers_as_text(),
            Form::Go,
        )
    };
    if plain == go || tracker.documented(Divergence::NumberText) { plain } else { go }
}

/// How many pairs of elements of two lists are compared because wildcards are in one of them.
pub(super) fn pairs(key: &Value, value: &Value) -> usize {
    let (Some(keys), Some(items)) = (key.as_array(), value.as_array()) else { return 0 };
    let wildcards =
        |list: &[Value]| list.iter().filter(|item| item.as_str().is_some_and(is_wildcard)).count();
    let of_keys = wildcards(keys).saturating_mul(items.len());
    of_keys.saturating_add(wildcards(items).saturating_mul(keys.len()))
}

impl Membership {
    pub(super) const IN: Self = Self { deprecated: true, ..Self::ALL_IN };
    pub(super) const ANY_IN: Self = Self { any: true, ..Self::ALL_IN };
    pub(super) const ALL_IN: Self = Self { any: false, negative: false, deprecated: false };
    pub(super) const NOT_IN: Self = Self { deprecated: true, ..Self::ANY_NOT_IN };
    pub(super) const ANY_NOT_IN: Self = Self { any: true, ..Self::ALL_NOT_IN };
    pub(super) const ALL_NOT_IN: Self = Self { negative: true, ..Self::ALL_IN };

    fn holds(self, key: &Value, value: &Value, form: Form) -> bool {
        let result = match key {
            Value::Null | Value::Object(_) => None,
            Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                self.of_scalar(&printed(key, form), value, form)
            }
            Value::Array(keys) => self.of_set(keys, value, form),
        };
        result.unwrap_or(false)
    }

    fn of_scalar(self, key: &str, value: &Value, form: Form) -> Option<bool> {
        let member = match value {
            Value::Array(items) => {
                let wild = is_wildcard(key);
                items.iter().any(|item| matches_either_way(key, wild, &printed(item, form)))
            }
            Value::String(text) => matches(text, key) || self.in_text(key, text)?,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return None,
        };
        Some(member != self.negative)
    }

    /// Whether a key is in the range or JSON list in a text.
    fn in_text(self, key: &str, text: &str) -> Option<bool> {
        if !self.deprecated && is_range(text) {
            return Some(LeafPattern::text(text).matches_text(key));
        }
        match parse_list(text) {
            ParsedText::List(items) => Some(items.iter().any(|item| item == key)),
            // Equality with the text was tested before.
            ParsedText::Text if !self.deprecated => Some(false),
            ParsedText::Text | ParsedText::OtherJson => None,
        }
    }

    fn of_set(self, keys: &[Value], value: &Value, form: Form) -> Option<bool> {
        let keys = self.texts(keys, form)?;
        match value {
            Value::Array(items) => Some(self.among(&keys, &self.texts(items, form)?)),
            Value::Number(_) | Value::Bool(_) if self.any && !self.deprecated => {
                Some(self.among(&keys, &[printed(value, form)]))
            }
            Value::String(text) => self.set_in_text(&keys, text),
            Value::Null | Value::Number(_) | Value::Bool(_) | Value::Object(_) => None,
        }
    }

    fn set_in_text(self, keys: &[Cow<'_, str>], text: &str) -> Option<bool> {
        if let [key] = keys
            && **key == *text
        {
            // `NotIn` is true here, like `In`: a defect of Kyverno.
            return Some(!self.negative || self.deprecated);
        }
        if !self.deprecated && is_range(text) {
            if self.any && self.negative {
                // The first `-` separates the ends only if the lower end has no sign: a defect of Kyverno.
                let outside = LeafPattern::text(text.replacen('-', "!-", 1));
                return Some(keys.iter().any(|key| outside.matches_text(key)));
            }
            let range = LeafPattern::text(text);
            return Some(self.of_members(keys.iter().map(|key| range.matches_text(key))));
        }
        match parse_list(text) {
            ParsedText::List(items) => {
                Some(self.among(keys, &items.into_iter().map(Cow::Owned).collect::<Vec<_>>()))
            }
            ParsedText::Text if !self.deprecated => Some(self.among(keys, &[text.into()])),
            ParsedText::Text | ParsedText::OtherJson => None,
        }
    }

    /// The elements as text. `None` if one is not a string and the operator requires strings.
    fn texts(self, items: &[Value], form: Form) -> Option<Vec<Cow<'_, str>>> {
        items
            .iter()
            .map(
                |item| {
                    if self.deprecated && item.as_str().is_none() { None } else { Some(printed(item, form)) }
                },
            )
            .collect()
    }

    fn among(self, keys: &[Cow<'_, str>], items: &[Cow<'_, str>]) -> bool {
        let set = Set::new(items, keys.len());
        self.of_members(keys.iter().map(|key| if self.deprecated { set.has(key) } else { set.matches(key) }))
    }

    /// Whether the relation holds, from which elements of the key are members.
    fn of_members(self, mut are_members: impl Iterator<Item = bool>) -> bool {
        if self.any {
            are_members.any(|is_member| is_member != self.negative)
        } else {
            are_members.all(|is_member| is_member != self.negative)
        }
    }
}

/// A set of elements.
struct Set<'a> {
    items: &'a [Cow<'a, str>],
    /// Built only for enough elements and lookups.
    index: Option<Index<'a>>,
}

struct Index<'a> {
    sorted: Vec<&'a str>,
    wildcards: Vec<&'a str>,
}

impl<'a> Set<'a> {
    fn new(items: &'a [Cow<'a, str>], lookups: usize) -> Self {
        let index = (items.len() > 8 && lookups > 8).then(|| {
            let mut sorted: Vec<&str> = items.iter().map(|item| &**item).collect();
            sorted.sort_unstable();
            let wildcards = sorted.iter().copied().filter(|item| is_wildcard(item)).collect();
            Index { sorted, wildcards }
        });
        Self { items, index }
    }

    fn has(&self, key: &str) -> bool {
        match &self.index {
            Some(index) => index.sorted.binary_search(&key).is_ok(),
            None => self.items.iter().any(|item| **item == *key),
        }
    }

    /// Whether some element equals the key, or one of the two is a wildcard pattern that matches the other.
    fn matches(&self, key: &str) -> bool {
        match &self.index {
            Some(index) if !is_wildcard(key) => {
                self.has(key) || index.wildcards.iter().any(|item| matches(item, key))
            }
            _ => {
                let wild = is_wildcard(key);
                self.items.iter().any(|item| matches_either_way(key, wild, item))
            }
        }
    }
}

/// Whether both are equal, or one is a wildcard pattern that matches the other. `wild`: the key is a pattern.
fn matches_either_way(key: &str, wild: bool, item: &str) -> bool {
    key == item || (is_wildcard(item) && matches(item, key)) || (wild && matches(key, item))
}

fn is_range(text: &str) -> bool {
    Range::parse(text).is_some_and(|range| !range.outside)
}

/// A text parsed as JSON.
enum ParsedText {
    /// A list of strings, in which null is an empty string; or null, which is an empty list.
    List(Vec<String>),
    /// Other JSON.
    OtherJson,
    /// Not JSON.
    Text,
}

fn parse_list(text: &str) -> ParsedText {
    let json = text.trim_matches([' ', '\t', '\n', '\r']);
    match json.as_bytes().first() {
        Some(b'[' | b'{' | b'"') => match JsonReader::new(json).last_wins().read() {
            Ok(Value::Array(items)) => items
                .iter()
                .map(|item| match item {
                    Value::Null => Some(String::new()),
                    _ => item.as_str().map(str::to_owned),
                })
                .collect::<Option<_>>()
                .map_or(ParsedText::OtherJson, ParsedText::List),
            Ok(_) => ParsedText::OtherJson,
            Err(_) => ParsedText::Text,
        },
        Some(b'-' | b'0'..=b'9') if is_json_number(json) => ParsedText::OtherJson,
        Some(b't' | b'f') if json == "true" || json == "false" => ParsedText::OtherJson,
        Some(b'n') if json == "null" => ParsedText::List(Vec::new()),
        _ => ParsedText::Text,
    }
}

/// Whether a text is a number of the JSON grammar, of any size.
fn is_json_number(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let text = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) =
        text.split_once(['e', 'E']).map_or((text, None), |(mantissa, exponent)| (mantissa, Some(exponent)));
    let (whole, fraction) =
        mantissa.split_once('.').map_or((mantissa, None), |(whole, fraction)| (whole, Some(fraction)));
    digits(whole)
        && (whole.len() == 1 || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(|exponent| digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)))
}
