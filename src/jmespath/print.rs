//! Values as Go's programs print them.

use std::fmt::Write as _;

use crate::value::{Number, Value, float_text};

use super::error::EvalError;
use super::runtime::Runtime;

/// An argument as an error text shows it: scalars that are no strings as they are, everything else by its
/// type, because it may be a secret.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".into(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => float_text(number.as_f64()),
        Value::String(_) | Value::Array(_) | Value::Object(_) => value.type_name().into(),
    }
}

/// A short text inside an error, cut after 128 characters.
pub(super) fn excerpt(text: &str) -> String {
    match text.char_indices().nth(128) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into(),
    }
}

/// A number as Go's JSON encoder writes its float.
pub(super) fn number(number: &Number) -> String {
    Number::from_f64(number.as_f64()).map_or_else(|| number.to_string(), |number| number.to_string())
}

/// A value as Go's JSON encoder writes it: sorted keys, numbers as floats, `<`, `>` and `&` escaped.
///
/// # Errors
///
/// Text longer than the runtime allows.
pub(super) fn json(value: &Value, runtime: &Runtime<'_>) -> Result<String, EvalError> {
    let mut out = String::new();
    write(value, &mut out, runtime)?;
    runtime.allow_bytes(out.len())?;
    Ok(out)
}

fn write(value: &Value, out: &mut String, runtime: &Runtime<'_>) -> Result<(), EvalError> {
    if out.len() > runtime.limits.result_bytes {
        return Err(runtime.too_large());
    }
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Number(value) => out.push_str(&number(value)),
        Value::String(text) => write_string(text, out),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(item, out, runtime)?;
            }
            out.push(']');
        }
        Value::Object(members) => {
            let mut entries: Vec<_> = members.iter().collect();
            entries.sort_unstable_by(|a, b| a.0.cmp(b.0));
            out.push('{');
            for (index, (key, member)) in entries.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_string(key, out);
                out.push(':');
                write(member, out, runtime)?;
            }
            out.push('}');
        }
    }
    Ok(())
}

fn write_string(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..'\u{20}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            _ => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_shows_no_text_of_a_value() {
        let json = |text| Value::from_json(text).unwrap();
        for (value, text) in
            [("null", "<nil>"), ("1e8", "1e+08"), (r#""secret""#, "string"), ("[1]", "array")]
        {
            assert_eq!(shown(&json(value)), text);
        }
        assert_eq!(excerpt(&"ä".repeat(200)).chars().count(), 129);
    }
}
