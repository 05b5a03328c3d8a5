//! The values of scalars by the rules of YAML 1.1, as the YAML library of Kubernetes implements them.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::value::{Number, Value};

use super::ErrorKind;

/// The value of a scalar.
#[derive(Debug, PartialEq)]
pub(super) enum Resolved<'a> {
    Null,
    Bool(bool),
    Number(Number),
    /// Infinity or NaN, by its canonical name.
    NotFinite(&'static str),
    Text(Cow<'a, str>),
}

/// The value of a plain scalar: `yes` is true, `0o17` is 15, `12:30` is a string.
///
/// Infinity and NaN, which JSON has no form for, stay the text they are.
pub fn resolve(text: &str) -> Value {
    match resolve_plain(text) {
        Resolved::Null => Value::Null,
        Resolved::Bool(value) => Value::Bool(value),
        Resolved::Number(number) => Value::Number(number),
        Resolved::NotFinite(_) | Resolved::Text(_) => Value::from(text),
    }
}

/// The value of a plain scalar without a tag.
pub(super) fn resolve_plain(text: &str) -> Resolved<'_> {
    let Some(first) = text.as_bytes().first() else {
        return Resolved::Null;
    };
    let special = match first {
        b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~' => word(text),
        b'.' => not_finite(text).or_else(|| point_first(text)),
        b'0'..=b'9' => number(text),
        b'+' | b'-' => not_finite(text).or_else(|| number(text)),
        _ => None,
    };
    special.unwrap_or(Resolved::Text(Cow::Borrowed(text)))
}

/// The value of a scalar with a tag, given without its prefix; `None` for a tag of another namespace.
pub(super) fn resolve_tagged<'a>(tag: Option<&str>, text: Cow<'a, str>) -> Result<Resolved<'a>, ErrorKind> {
    let Some(tag) = tag else {
        return Ok(Resolved::Text(text));
    };
    let resolved = match tag {
        "binary" => {
            let data: Vec<u8> = text.bytes().filter(|byte| !matches!(byte, b'\n' | b'\r')).collect();
            let decoded = STANDARD.decode(data).map_err(|_| ErrorKind::Tag("base64".into()))?;
            return Ok(Resolved::Text(Cow::Owned(String::from_utf8_lossy(&decoded).into_owned())));
        }
        "null" | "bool" | "int" | "float" => resolve_plain(&text),
        "timestamp" if is_timestamp(&text) => return Ok(Resolved::Text(text)),
        "timestamp" => return Err(ErrorKind::Tag("!!timestamp".into())),
        _ => return Ok(Resolved::Text(text)),
    };
    let fits = match (&resolved, tag) {
        (Resolved::Null, "null") | (Resolved::Bool(_), "bool") => true,
        (Resolved::Number(number), "int") => number.is_written_as_integer(),
        (Resolved::Number(_), "float") => true,
        (Resolved::NotFinite(_), tag) => tag == "float",
        _ => false,
    };
    if !fits {
        return Err(ErrorKind::Tag(format!("!!{tag}").into()));
    }
    Ok(match resolved {
        Resolved::Text(_) | Resolved::Null => Resolved::Null,
        Resolved::Bool(value) => Resolved::Bool(value),
        Resolved::Number(number) => Resolved::Number(number),
        Resolved::NotFinite(name) => Resolved::NotFinite(name),
    })
}

fn word(text: &str) -> Option<Resolved<'static>> {
    Some(match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Resolved::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Resolved::Bool(false)
        }
        "~" | "null" | "Null" | "NULL" => Resolved::Null,
        _ => return None,
    })
}

fn not_finite(text: &str) -> Option<Resolved<'static>> {
    Some(Resolved::NotFinite(match text {
        ".nan" | ".NaN" | ".NAN" => ".nan",
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => ".inf",
        "-.inf" | "-.Inf" | "-.INF" => "-.inf",
        _ => return None,
    }))
}

/// A scalar that starts with a point: underscores are allowed only between digits.
fn point_first(text: &str) -> Option<Resolved<'static>> {
    let bytes = text.as_bytes();
    let digit_at = |index: usize| bytes.get(index).is_some_and(u8::is_ascii_digit);
    let lone = |(index, byte): (usize, &u8)| *byte == b'_' && !(digit_at(index - 1) && digit_at(index + 1));
    if bytes.iter().enumerate().skip(1).any(lone) {
        return None;
    }
    float(&without_underscores(text)).map(Resolved::Number)
}

/// A scalar that starts with a digit or a sign: underscores are ignored.
fn number(text: &str) -> Option<Resolved<'static>> {
    let plain = without_underscores(text);
    integer(&plain).or_else(|| float(&plain)).or_else(|| signed_binary(&plain)).map(Resolved::Number)
}

fn without_underscores(text: &str) -> Cow<'_, str> {
    if text.contains('_') { Cow::Owned(text.replace('_', "")) } else { Cow::Borrowed(text) }
}

/// An integer of 64 bits, with or without a sign bit, in any of the bases.
fn integer(text: &str) -> Option<Number> {
    let (indicator, digits) = match text.as_bytes().first()? {
        b'-' => ("-", &text[1..]),
        b'+' => ("+", &text[1..]),
        _ => ("", text),
    };
    let bytes = digits.as_bytes();
    let base = match bytes {
        [b'0', prefix, _, ..] => match prefix.to_ascii_lowercase() {
            b'x' => 16,
            b'o' => 8,
            b'b' => 2,
            _ => 1,
        },
        [b'0', _] => 1,
        _ => 10,
    };
    let (base, digits) = match base {
        1 => (8, &digits[1..]),
        10 => (10, digits),
        base => (base, &digits[2..]),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    let magnitude = u64::from_str_radix(digits, base).ok()?;
    let value = match indicator {
        "-" => 0_i64.checked_sub_unsigned(magnitude)?,
        "+" => i64::try_from(magnitude).ok()?,
        _ => match i64::try_from(magnitude) {
            Ok(value) => value,
            Err(_) => return Number::parse(&magnitude.to_string()),
        },
    };
    Some(Number::from(value))
}

/// A decimal number, made a number of JSON: its digits stay, odd forms such as `+1`, `.5` and `5.` go.
fn float(text: &str) -> Option<Number> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (mantissa, exponent) =
        digits.find(['e', 'E']).map_or((digits, ""), |index| (&digits[..index], &digits[index..]));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let power = exponent.get(1..).map(|power| power.strip_prefix(['+', '-']).unwrap_or(power));
    if !is_digits(whole)
        || !is_digits(fraction)
        || whole.is_empty() && fraction.is_empty()
        || power.is_some_and(|power| power.is_empty() || !is_digits(power))
    {
        return None;
    }
    let trimmed = whole.trim_start_matches('0');
    let mut json = String::with_capacity(text.len() + 2);
    if negative {
        json.push('-');
    }
    json.push_str(if trimmed.is_empty() { "0" } else { trimmed });
    if !fraction.is_empty() {
        json.push('.');
        json.push_str(fraction);
    }
    json.push_str(exponent);
    Number::parse(&json)
}

/// `0b-101`: a sign is allowed after the prefix.
fn signed_binary(text: &str) -> Option<Number> {
    let digits = text.strip_prefix("0b")?;
    let number = i64::from_str_radix(digits, 2).ok()?;
    Some(Number::from(number))
}

/// Whether this has the shape of a date or a date with a time.
fn is_timestamp(text: &str) -> bool {
    let mut ranges = text.splitn(2, ['T', 't', ' ']);
    let date = ranges.next().unwrap_or_default();
    let numbers = |text: &str, widths: &[(usize, usize)], separator: char| {
        let fields: Vec<_> = text.split(separator).collect();
        fields.len() == widths.len()
            && fields.iter().zip(widths).all(|(field, (least, most))| {
                (*least..=*most).contains(&field.len()) && field.bytes().all(|byte| byte.is_ascii_digit())
            })
    };
    let time = |text: &str| {
        let clock = text.split(['Z', '+', '-', '.']).next().unwrap_or_default();
        numbers(clock, &[(1, 2); 3], ':')
    };
    numbers(date, &[(4, 4), (1, 2), (1, 2)], '-') && ranges.next().is_none_or(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_resolve_as_kubernetes_reads_them() {
        // Each right-hand side is the result of the YAML library of Kubernetes;
        // numbers beyond 64 bits and fractions are compared by their digits.
        for (text, json) in [
            ("", "null"),
            ("~", "null"),
            ("Null", "null"),
            ("nUll", "\"nUll\""),
            ("y", "true"),
            ("N", "false"),
            ("yes", "true"),
            ("Off", "false"),
            ("oN", "\"oN\""),
            ("True", "true"),
            ("0", "0"),
            ("-0", "0"),
            ("00", "0"),
            ("0777", "511"),
            ("+0777", "511"),
            ("-017", "-15"),
            ("0899", "899"),
            ("08.5", "8.5"),
            ("0o17", "15"),
            ("0O17", "15"),
            ("0x1F", "31"),
            ("-0X1f", "-31"),
            ("0x", "\"0x\""),
            ("0b101", "5"),
            ("0b-101", "-5"),
            ("0b12", "\"0b12\""),
            ("0x_1F", "31"),
            ("1_000", "1000"),
            ("1_0.5", "10.5"),
            ("_1", "\"_1\""),
            ("1__0_", "10"),
            ("+1", "1"),
            ("+-1", "\"+-1\""),
            ("1.0", "1.0"),
            ("1.10", "1.10"),
            ("5.", "5"),
            (".5", "0.5"),
            ("-.5", "-0.5"),
            (".5_0", "0.50"),
            ("._5", "\"._5\""),
            (".", "\".\""),
            ("1e3", "1e3"),
            ("1E+03", "1E+03"),
            ("1e", "\"1e\""),
            ("1.2.3", "\"1.2.3\""),
            ("781e4745", "\"781e4745\""),
            ("1e400", "\"1e400\""),
            ("12:30:45", "\"12:30:45\""),
            ("2001-01-01", "\"2001-01-01\""),
            (".inf", "\".inf\""),
            ("9223372036854775807", "9223372036854775807"),
            ("18446744073709551615", "18446744073709551615"),
            ("-9223372036854775808", "-9223372036854775808"),
            ("123456789012345678901234567890", "123456789012345678901234567890"),
            ("0xFFFFFFFFFFFFFFFF", "18446744073709551615"),
            ("0xFFFFFFFFFFFFFFFFF", "\"0xFFFFFFFFFFFFFFFFF\""),
            ("0777777777777777777777777", "777777777777777777777777"),
            ("-", "\"-\""),
            ("1é", "\"1é\""),
            ("0é", "\"0é\""),
        ] {
            assert_eq!(resolve(text).to_json(), json, "{text:?}");
        }
    }

    #[test]
    fn tags_select_the_type() {
        let tagged = |tag, text: &'static str| resolve_tagged(Some(tag), Cow::Borrowed(text));
        let text = |text| Ok(Resolved::Text(Cow::Borrowed(text)));
        assert_eq!(tagged("str", "12"), text("12"));
        assert_eq!(tagged("binary", "aGVs\nbG8="), text("hello"));
        assert_eq!(tagged("int", "0x10"), Ok(Resolved::Number(Number::from(16))));
        assert_eq!(tagged("float", "1"), Ok(Resolved::Number(Number::from(1))));
        assert_eq!(tagged("bool", "yes"), Ok(Resolved::Bool(true)));
        assert_eq!(tagged("timestamp", "2001-1-1 1:2:3.5"), text("2001-1-1 1:2:3.5"));
        assert_eq!(tagged("set", "x"), text("x"));
        assert_eq!(resolve_tagged(None, Cow::Borrowed("12")), text("12"));
        for (tag, text) in
            [("int", "x"), ("int", "1.5"), ("int", ""), ("null", "x"), ("binary", "?"), ("timestamp", "x")]
        {
            assert!(tagged(tag, text).is_err(), "{tag} {text}");
        }
    }
}
