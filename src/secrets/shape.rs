//! The texts that stand in for values: of a value they tell that it is a number, that it is JSON and of what build, that it
//! is empty, ends a line, or has fewer than four characters. They tell nothing of what it says, nor how long it is.

use crate::value::{Map, Value};

/// What most of the texts begin with. They fit into names, labels and paths, and are no pattern.
pub const STAND_IN: &str = "masked";

/// The same, encoded.
pub const STAND_IN_ENCODED: &str = "bWFza2Vk";

/// A text this short is masked only where it is a whole string: what stands in for it has to be as short.
const SHORT: usize = 4;

/// The names in JSON that stay: what everybody calls the parts of a login.
const NAMES: [&str; 16] = [
    "auth", "auths", "cert", "database", "email", "endpoint", "host", "key", "password", "port", "region",
    "secret", "token", "url", "user", "username",
];

/// What stands in for a value, the one of this number among those of a Secret. What stands in for a stand-in is the
/// stand-in itself.
pub(super) fn stand_in(value: &str, number: usize) -> String {
    let text = value.trim_end_matches('\n');
    let end = if text.len() < value.len() { "\n" } else { "" };
    let is_short = text.chars().nth(SHORT - 1).is_none();
    let shown = if text.is_empty() {
        String::new()
    } else if let Some(json) = json(text, number) {
        json
    } else if is_whole_number(text) {
        if is_short { (700 + number % 300).to_string() } else { (7_000_000 + number).to_string() }
    } else if is_decimal_number(text) {
        if is_short { format!("7.{}", number % 10) } else { format!("{}.5", 7_000_000 + number) }
    } else if is_short {
        let digit = |number: usize| char::from(DIGITS[number % DIGITS.len()]);
        format!("k{}{}", digit(number / DIGITS.len()), digit(number))
    } else {
        format!("{STAND_IN}{number}")
    };
    shown + end
}

const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

fn is_whole_number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && (text.len() == 1 || !text.starts_with('0'))
}

fn is_decimal_number(text: &str) -> bool {
    let parts = text.split_once('.');
    parts.is_some_and(|(whole, part)| {
        !whole.is_empty()
            && is_whole_number(whole)
            && !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// JSON of the same build; `None` if the text is none.
fn json(text: &str, number: usize) -> Option<String> {
    let value = text.starts_with(['{', '[']).then(|| Value::from_json(text).ok()).flatten()?;
    Some(Json { number: number * 1000, met: Vec::new() }.of(&value).to_json())
}

/// What stands in for the parts of a value, numbered in their order.
struct Json {
    number: usize,
    met: Vec<Value>,
}

impl Json {
    /// The depth of the recursion is that of the value, which its reader bounds.
    fn of(&mut self, value: &Value) -> Value {
        match value {
            Value::Null | Value::Bool(_) => value.clone(),
            Value::String(text) => stand_in(text, self.next(value)).into(),
            Value::Number(number) => {
                let other = stand_in(&number.to_string(), self.next(value));
                Value::from_json(&other).unwrap_or_else(|_| other.into())
            }
            Value::Array(items) => Value::array(items.iter().map(|item| self.of(item)).collect()),
            Value::Object(members) => {
                let mut others = Map::default();
                for (key, member) in members.iter() {
                    let name = if NAMES.contains(&&**key) {
                        key.clone()
                    } else {
                        let number = self.next(&Value::String(key.clone()));
                        format!("{STAND_IN}{number}").into()
                    };
                    let member = self.of(member);
                    others.insert(name, member);
                }
                Value::object(others)
            }
        }
    }

    fn next(&mut self, value: &Value) -> usize {
        let known = self.met.iter().take(MET).position(|met| met == value);
        self.number
            + 1
            + known.unwrap_or_else(|| {
                self.met.push(value.clone());
                self.met.len() - 1
            })
    }
}

/// So many parts of JSON are equal where their stand-ins are.
const MET: usize = 500;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stand_ins_tell_the_kind_of_a_value_and_nothing_else() {
        for (value, expected) in [
            ("hunter2-sesame", "masked3"),
            ("hunter", "masked3"),
            ("two\nlines\n", "masked3\n"),
            ("hQ", "k03"),
            ("x\n", "k03\n"),
            ("", ""),
            ("5", "703"),
            ("8080", "7000003"),
            ("47114.5", "7000003.5"),
            ("1.5", "7.3"),
            ("0042", "masked3"),
            ("-17", "k03"),
            ("1e9x", "masked3"),
            (
                r#"{"auths": {"reg.io": {"username": "me", "password": "hunter2", "n": [1, true, 12345]}}}"#,
                r#"{"auths":{"masked3001":{"username":"kbe","password":"masked3003","masked3004":[705,true,7003006]}}}"#,
            ),
            ("{not json", "masked3"),
        ] {
            let made = stand_in(value, 3);
            assert_eq!(made, expected, "{value}");
            assert_eq!(stand_in(&made, 3), made, "{value}");
        }
    }
}
