//! Hexadecimal floating-point numbers, as `0x1.8p3`.

/// The bits of a double's fraction, with the first one.
const PRECISION: u32 = 53;

/// The value of the digits behind `0x`, rounded to the nearest double, to the even one of two. `None` for other texts and
/// values that are too large.
pub(super) fn parse(text: &str) -> Option<f64> {
    let (digits, exponent) = text.split_once(['p', 'P'])?;
    let unsigned = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    if unsigned.is_empty() || !unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let size: i64 = unsigned.parse().unwrap_or(i64::MAX / 2);
    let mut exponent = if exponent.starts_with('-') { -size } else { size };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut mantissa: u64 = 0;
    for (index, digit) in whole.chars().chain(fraction.chars()).enumerate() {
        let digit = u64::from(digit.to_digit(16)?);
        let is_whole = index < whole.len();
        if mantissa >> 60 == 0 {
            mantissa = mantissa << 4 | digit;
            exponent -= if is_whole { 0 } else { 4 };
        } else {
            // What does not fit only decides how the rest is rounded.
            mantissa |= u64::from(digit != 0);
            exponent += if is_whole { 4 } else { 0 };
        }
    }
    rounded(mantissa, exponent)
}

/// `mantissa` times two to the power of `exponent`.
fn rounded(mantissa: u64, exponent: i64) -> Option<f64> {
    if mantissa == 0 {
        return Some(0.0);
    }
    let bits = i64::from(u64::BITS - mantissa.leading_zeros());
    // The last bit of the result: of 53 bits, or the smallest that a double has.
    let last = (exponent + bits - i64::from(PRECISION)).max(-1074);
    let shift = last - exponent;
    let fraction = if shift <= 0 {
        mantissa << shift.unsigned_abs()
    } else if shift > i64::from(u64::BITS) {
        0
    } else {
        let wide = u128::from(mantissa);
        let (kept, rest, half) = (wide >> shift, wide & ((1 << shift) - 1), (1_u128 << shift) >> 1);
        u64::try_from(kept).ok()? + u64::from(rest > half || rest == half && kept & 1 == 1)
    };
    // Two factors: one alone may be smaller than the smallest double with all bits.
    let [first, second] =
        [last / 2, last - last / 2].map(|power| i32::try_from(power).ok().map(|power| 2_f64.powi(power)));
    let value = fraction as f64 * first? * second?;
    value.is_finite().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::parse;

    /// Values of Go's `strconv.ParseFloat`.
    #[test]
    fn digits_are_rounded_to_the_nearest_double() {
        for (text, expected) in [
            ("1p3", Some(8.0)),
            ("1.8p1", Some(3.0)),
            (".8p0", Some(0.5)),
            ("1.p0", Some(1.0)),
            ("00001p+0", Some(1.0)),
            ("Ap0", Some(10.0)),
            ("0p9999999999", Some(0.0)),
            ("1p-9999999999", Some(0.0)),
            ("1p-1074", Some(f64::from_bits(1))),
            ("1p-1075", Some(0.0)),
            ("1.8p-1075", Some(f64::from_bits(1))),
            ("1.fffffffffffffp1023", Some(f64::MAX)),
            ("1.00000000000008p0", Some(1.0)),
            ("1.00000000000018p0", Some(f64::from_bits(1.0_f64.to_bits() + 2))),
            ("1.000000000000080000000001p0", Some(f64::from_bits(1.0_f64.to_bits() + 1))),
            ("1p1024", None),
            ("1.fffffffffffff8p1023", None),
            ("1", None),
            ("p1", None),
            ("1p", None),
            ("1p+", None),
            ("gp1", None),
        ] {
            assert_eq!(parse(text), expected, "{text}");
        }
    }
}
