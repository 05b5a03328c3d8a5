//! Values as the text that set operators compare.

use std::borrow::Cow;

use crate::value::{Number, Value, float_text};

/// The format of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Plain digits below 1e21.
    Plain,
    /// An exponent from a million on, as Go formats floats.
    Go,
}

/// The text of a value: strings unchanged, `<nil>` for null, `[a b]` for lists, `map[k:v]` for objects.
pub(super) fn printed(value: &Value, form: Form) -> Cow<'_, str> {
    match value {
        Value::Null => "<nil>".into(),
        Value::Bool(true) => "true".into(),
        Value::Bool(false) => "false".into(),
        Value::Number(number) => printed_number(number, form).into(),
        Value::String(text) => Cow::Borrowed(text),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(|item| printed(item, form)).collect();
            format!("[{}]", items.join(" ")).into()
        }
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|(key, _)| *key);
            let members: Vec<_> =
                members.into_iter().map(|(key, value)| format!("{key}:{}", printed(value, form))).collect();
            format!("map[{}]", members.join(" ")).into()
        }
    }
}

fn printed_number(number: &Number, form: Form) -> String {
    let float = number.as_f64();
    if form == Form::Go || float.abs() >= 1e21 {
        return float_text(float);
    }
    digits(number).unwrap_or_else(|| float.to_string())
}

/// The plain digits of an integer; `None` for a fraction.
pub(super) fn digits(number: &Number) -> Option<String> {
    number.as_i64().map(|integer| integer.to_string()).or_else(|| number.integer_text())
}

/// Whether the text of some number in a value depends on the format.
pub(super) fn depends_on_form(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => false,
        Value::Number(number) => {
            !(1e-4..1e6).contains(&number.as_f64().abs())
                && printed_number(number, Form::Plain) != printed_number(number, Form::Go)
        }
        Value::Array(items) => items.iter().any(depends_on_form),
        Value::Object(members) => members.values().any(depends_on_form),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_printed() {
        for (json, plain, go) in [
            ("null", "<nil>", "<nil>"),
            ("true", "true", "true"),
            ("5", "5", "5"),
            ("5.0", "5", "5"),
            ("100000", "100000", "100000"),
            ("123456", "123456", "123456"),
            ("1000000", "1000000", "1e+06"),
            ("1234567", "1234567", "1.234567e+06"),
            ("1234567.5", "1234567.5", "1.2345675e+06"),
            ("12345678901234567890", "12345678901234567890", "1.2345678901234567e+19"),
            ("1e20", "100000000000000000000", "1e+20"),
            ("1e21", "1e+21", "1e+21"),
            ("0.0001", "0.0001", "0.0001"),
            ("0.00001", "0.00001", "1e-05"),
            ("1.50", "1.5", "1.5"),
            (r#"["a",1,[null,"b c"]]"#, "[a 1 [<nil> b c]]", "[a 1 [<nil> b c]]"),
            (r#"{"b":[1],"a":{"c":"d"}}"#, "map[a:map[c:d] b:[1]]", "map[a:map[c:d] b:[1]]"),
        ] {
            let value = Value::from_json(json).unwrap();
            assert_eq!(printed(&value, Form::Plain), plain, "{json}");
            assert_eq!(printed(&value, Form::Go), go, "{json}");
            assert_eq!(depends_on_form(&value), plain != go, "{json}");
        }
    }
}
