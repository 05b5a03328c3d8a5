//! Floats as text, as Go formats them.

/// The text of a float as Go's `%v` formats it: the shortest digits that parse to the same float, plain from 1e-4 up to
/// a million, otherwise with an exponent.
///
/// ```
/// assert_eq!(kyv::value::float_text(123456.0), "123456");
/// assert_eq!(kyv::value::float_text(1000000.0), "1e+06");
/// ```
pub fn float_text(value: f64) -> String {
    if !value.is_finite() {
        return if value.is_nan() {
            "NaN".into()
        } else if value > 0.0 {
            "+Inf".into()
        } else {
            "-Inf".into()
        };
    }
    let magnitude = value.abs();
    if magnitude == 0.0 || (1e-4..1e6).contains(&magnitude) {
        return value.to_string();
    }
    exponent_text(value, 'e')
}

/// The shortest exponent form of a finite float, with a sign and at least two digits in the exponent, as
/// Go's `%e` and `%E` write it.
///
/// ```
/// assert_eq!(kyv::value::exponent_text(12.5, 'E'), "1.25E+01");
/// ```
pub fn exponent_text(value: f64, letter: char) -> String {
    let text = format!("{value:e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |digits| ('-', digits));
    format!("{mantissa}{letter}{sign}{exponent:0>2}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_printed_as_go_prints_them() {
        for (value, text) in [
            (100_000.0, "100000"),
            (123_456.0, "123456"),
            (1_000_000.0, "1e+06"),
            (1_234_567.0, "1.234567e+06"),
            (1e21, "1e+21"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1.5, "1.5"),
            (0.0, "0"),
            (-0.0, "-0"),
            (-1e-7, "-1e-07"),
            (1e100, "1e+100"),
            (123_456_789_012_345_680.0, "1.2345678901234568e+17"),
            (f64::INFINITY, "+Inf"),
            (f64::NEG_INFINITY, "-Inf"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(float_text(value), text);
        }
    }

    #[test]
    fn the_exponent_form_has_two_digits_at_least() {
        for (value, text) in
            [(1.0, "1E+00"), (12.0, "1.2E+01"), (1e6, "1E+06"), (0.0, "0E+00"), (-0.5, "-5E-01")]
        {
            assert_eq!(exponent_text(value, 'E'), text);
        }
    }
}
