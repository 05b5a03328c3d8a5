//! Numbers: order across types, conversions without loss, texts.

use std::cmp::Ordering;

use super::Val;

/// The order of two numbers by value; `None` for other values and NaN.
pub(in crate::cel) fn compare(a: &Val, b: &Val) -> Option<Ordering> {
    match (a, b) {
        (Val::Int(a), Val::Int(b)) => Some(a.cmp(b)),
        (Val::Uint(a), Val::Uint(b)) => Some(a.cmp(b)),
        (Val::Double(a), Val::Double(b)) => a.partial_cmp(b),
        (Val::Int(a), Val::Uint(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
        (Val::Uint(a), Val::Int(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
        (Val::Int(a), Val::Double(b)) => with_double(i128::from(*a), *b),
        (Val::Uint(a), Val::Double(b)) => with_double(i128::from(*a), *b),
        (Val::Double(a), Val::Int(b)) => with_double(i128::from(*b), *a).map(Ordering::reverse),
        (Val::Double(a), Val::Uint(b)) => with_double(i128::from(*b), *a).map(Ordering::reverse),
        _ => None,
    }
}

#[expect(clippy::cast_precision_loss, reason = "cel-go compares the nearest doubles")]
fn with_double(a: i128, b: f64) -> Option<Ordering> {
    (a as f64).partial_cmp(&b)
}

/// A number as an int, if it is one.
pub(in crate::cel) fn lossless_int(value: &Val) -> Option<i64> {
    match value {
        Val::Int(value) => Some(*value),
        Val::Uint(value) => i64::try_from(*value).ok(),
        Val::Double(value) => double_to_int(*value).filter(|_| value.fract() == 0.0),
        _ => None,
    }
}

/// A number as a uint, if it is one.
pub(in crate::cel) fn lossless_uint(value: &Val) -> Option<u64> {
    match value {
        Val::Int(value) => u64::try_from(*value).ok(),
        Val::Uint(value) => Some(*value),
        Val::Double(value) => double_to_uint(*value).filter(|_| value.fract() == 0.0),
        _ => None,
    }
}

/// A double without its fraction; `None` out of range.
pub(in crate::cel) fn double_to_int(value: f64) -> Option<i64> {
    #[expect(clippy::cast_possible_truncation, reason = "the fraction is to be cut")]
    (value > -9_223_372_036_854_775_808.0 && value < 9_223_372_036_854_775_808.0).then_some(value as i64)
}

/// A double without its fraction; `None` out of range.
pub(in crate::cel) fn double_to_uint(value: f64) -> Option<u64> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the fraction is to be cut")]
    ((0.0..18_446_744_073_709_551_616.0).contains(&value)).then_some(value as u64)
}

/// As Go writes a double with `%g`: the fewest digits that identify it, and an exponent outside of 1e-4..1e6.
pub(in crate::cel) fn double_text(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf".to_owned() } else { "-Inf".to_owned() };
    }
    let scientific = format!("{value:e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if !(-4..6).contains(&exponent) {
        return format!("{mantissa}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs());
    }
    format!("{value}")
}
