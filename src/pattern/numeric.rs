//! Comparing numbers, and numbers in text.

use std::cmp::Ordering;

use crate::value::Number;

/// Compares two numbers: integers exactly, anything else as 64-bit floats, as Kyverno does.
pub(super) fn compare_numbers(a: &Number, b: &Number) -> Option<Ordering> {
    if a.is_written_as_integer() && b.is_written_as_integer() {
        return Some(a.cmp(b));
    }
    a.as_f64().partial_cmp(&b.as_f64())
}

/// Whether two numbers are equal, with the rule of [`compare_numbers`].
pub(super) fn same_number(a: &Number, b: &Number) -> bool {
    compare_numbers(a, b) == Some(Ordering::Equal)
}

/// Whether a text is a number equal to another, with the rule of [`compare_numbers`].
pub(super) fn number_in_text(text: &str, number: &Number) -> bool {
    match text.parse::<i64>() {
        Ok(integer) => same_number(&Number::from(integer), number),
        Err(_) => float_of_text(text) == Some(number.as_f64()),
    }
}

/// Parses a text as a float: decimal, with or without exponent, infinities and NaN; `None` for other text
/// and for numbers out of range.
///
/// Unlike Kyverno, hexadecimal floats and underscores between digits are not accepted.
pub(super) fn float_of_text(text: &str) -> Option<f64> {
    let number: f64 = text.parse().ok()?;
    // A number too large for a float is an error in Go; infinity is written in letters.
    (number.is_finite() || !text.contains(|c: char| c.is_ascii_digit())).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_compared_exactly_and_fractions_as_floats() {
        let number = |text| Number::parse(text).unwrap();
        assert!(!same_number(&number("9007199254740993"), &number("9007199254740992")));
        assert!(same_number(&number("0.1"), &number("0.10000000000000001")));
        assert!(same_number(&number("3"), &number("3.0")));
    }

    #[test]
    fn floats_are_read_from_text() {
        for (text, expected) in [
            ("5", Some(5.0)),
            ("5.0", Some(5.0)),
            ("+5", Some(5.0)),
            (".5", Some(0.5)),
            ("5.", Some(5.0)),
            ("1e3", Some(1000.0)),
            ("inf", Some(f64::INFINITY)),
            ("-Infinity", Some(f64::NEG_INFINITY)),
            ("1e999", None),
            ("0x1", None),
            ("1_000", None),
            ("", None),
            (" 1", None),
            ("1Gi", None),
        ] {
            assert_eq!(float_of_text(text), expected, "{text}");
        }
        assert!(float_of_text("NaN").is_some_and(f64::is_nan));
    }
}
