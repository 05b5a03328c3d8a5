//! The extension `math`, which Kyverno has.

use std::cmp::Ordering;

use super::args;
use super::{Row, open, row};
use crate::cel::error::EvalError;
use crate::cel::meter::Meter;
use crate::cel::value::Val;
use crate::cel::value::number::compare;

type Result = std::result::Result<Val, EvalError>;

const NUMBERS: &[&str] = &["double", "int", "uint"];

pub(super) const ROWS: &[Row] = &[
    open("math.@min", "math_@min_{}", "({}) {}", min).each(NUMBERS).kyverno(),
    open("math.@min", "math_@min_{}_{}", "({}, {}) {}", min).each(NUMBERS).kyverno(),
    open("math.@min", "math_@min_int_{}", "(int, {}) dyn", min).each(&["uint", "double"]).kyverno(),
    open("math.@min", "math_@min_double_{}", "(double, {}) dyn", min).each(&["int", "uint"]).kyverno(),
    open("math.@min", "math_@min_uint_{}", "(uint, {}) dyn", min).each(&["int", "double"]).kyverno(),
    open("math.@min", "math_@min_list_{}", "(list<{}>) {}", min).each(NUMBERS).kyverno(),
    open("math.@max", "math_@max_{}", "({}) {}", max).each(NUMBERS).kyverno(),
    open("math.@max", "math_@max_{}_{}", "({}, {}) {}", max).each(NUMBERS).kyverno(),
    open("math.@max", "math_@max_int_{}", "(int, {}) dyn", max).each(&["uint", "double"]).kyverno(),
    open("math.@max", "math_@max_double_{}", "(double, {}) dyn", max).each(&["int", "uint"]).kyverno(),
    open("math.@max", "math_@max_uint_{}", "(uint, {}) dyn", max).each(&["int", "double"]).kyverno(),
    open("math.@max", "math_@max_list_{}", "(list<{}>) {}", max).each(NUMBERS).kyverno(),
    row("math.ceil", "math_ceil_double", "(double) double", |_, args| map(args, f64::ceil)).kyverno(),
    row("math.floor", "math_floor_double", "(double) double", |_, args| map(args, f64::floor)).kyverno(),
    row("math.round", "math_round_double", "(double) double", |_, args| map(args, f64::round)).kyverno(),
    row("math.round", "math_round_float_int", "(double, int) double", round).kyverno(),
    row("math.trunc", "math_trunc_double", "(double) double", |_, args| map(args, f64::trunc)).kyverno(),
    row("math.isInf", "math_isInf_double", "(double) bool", |_, args| test(args, f64::is_infinite)).kyverno(),
    row("math.isNaN", "math_isNaN_double", "(double) bool", |_, args| test(args, f64::is_nan)).kyverno(),
    row("math.isFinite", "math_isFinite_double", "(double) bool", |_, args| test(args, f64::is_finite))
        .kyverno(),
    row("math.abs", "math_abs_{}", "({}) {}", abs).each(NUMBERS).kyverno(),
    row("math.sign", "math_sign_{}", "({}) {}", sign).each(NUMBERS).kyverno(),
    row("math.bitAnd", "math_bitAnd_{}_{}", "({}, {}) {}", |_, args| bits(args, |a, b| a & b))
        .each(WHOLE)
        .kyverno(),
    row("math.bitOr", "math_bitOr_{}_{}", "({}, {}) {}", |_, args| bits(args, |a, b| a | b))
        .each(WHOLE)
        .kyverno(),
    row("math.bitXor", "math_bitXor_{}_{}", "({}, {}) {}", |_, args| bits(args, |a, b| a ^ b))
        .each(WHOLE)
        .kyverno(),
    row("math.bitNot", "math_bitNot_{}_{}", "({}) {}", bit_not).each(WHOLE).kyverno(),
    row("math.bitShiftLeft", "math_bitShiftLeft_{}_int", "({}, int) {}", shift_left).each(WHOLE).kyverno(),
    row("math.bitShiftRight", "math_bitShiftRight_{}_int", "({}, int) {}", shift_right).each(WHOLE).kyverno(),
    row("math.sqrt", "math_sqrt_{}", "({}) double", sqrt).each(NUMBERS).kyverno(),
];

const WHOLE: &[&str] = &["int", "uint"];

/// The number that no other is in that order to; of equal ones the first.
fn extreme(meter: &mut Meter, args: &[Val], name: &str, replaced_if: Ordering) -> Result {
    let list: Vec<Val> = match args {
        [Val::List(list)] => {
            meter.visit_items(list.len())?;
            list.iter().collect()
        }
        _ => args.to_vec(),
    };
    let mut items = list.into_iter();
    let Some(mut best) = items.next() else {
        return Err(EvalError::failed(format!("{name}(list) argument must not be empty")));
    };
    let is_number = |value: &Val| matches!(value, Val::Int(_) | Val::Uint(_) | Val::Double(_));
    if !is_number(&best) {
        return Err(EvalError::no_overload());
    }
    for item in items {
        if !is_number(&item) {
            return Err(EvalError::no_overload());
        }
        if compare(&best, &item) == Some(replaced_if) {
            best = item;
        }
    }
    Ok(best)
}

fn min(meter: &mut Meter, args: &[Val]) -> Result {
    extreme(meter, args, "math.@min", Ordering::Greater)
}

fn max(meter: &mut Meter, args: &[Val]) -> Result {
    extreme(meter, args, "math.@max", Ordering::Less)
}

fn double(args: &[Val]) -> std::result::Result<f64, EvalError> {
    match args.first() {
        Some(Val::Double(value)) => Ok(*value),
        _ => Err(EvalError::no_overload()),
    }
}

fn map(args: &[Val], apply: impl Fn(f64) -> f64) -> Result {
    Ok(Val::Double(apply(double(args)?)))
}

fn test(args: &[Val], apply: impl Fn(f64) -> bool) -> Result {
    Ok(Val::Bool(apply(double(args)?)))
}

/// To so many decimals, as Kyverno rounds. Where the power of ten or the product with it is no double any more, there
/// is nothing to round: the number has no such decimals, or is less than half of the power.
#[expect(clippy::cast_precision_loss, reason = "as Kyverno computes")]
fn round(_: &mut Meter, args: &[Val]) -> Result {
    let (number, decimals) = (double(args)?, args::int(args, 1)?);
    let shift = 10_f64.powf(decimals as f64);
    // As Kyverno computes it: beyond the range of doubles the result is infinite or no number.
    Ok(Val::Double((number * shift).round() / shift))
}

fn abs(_: &mut Meter, args: &[Val]) -> Result {
    match args {
        [Val::Int(value)] => {
            value.checked_abs().map(Val::Int).ok_or_else(|| EvalError::failed("integer overflow"))
        }
        [Val::Double(value)] => Ok(Val::Double(value.abs())),
        _ => Ok(args::value(args, 0)),
    }
}

fn sign(_: &mut Meter, args: &[Val]) -> Result {
    match args {
        [Val::Int(value)] => Ok(Val::Int(value.signum())),
        [Val::Uint(value)] => Ok(Val::Uint((*value).min(1))),
        [Val::Double(value)] if value.is_nan() => Ok(Val::Double(*value)),
        [Val::Double(value)] if *value == 0.0 => Ok(Val::Double(0.0)),
        [Val::Double(value)] => Ok(Val::Double(value.signum())),
        _ => Err(EvalError::no_overload()),
    }
}

fn bits(args: &[Val], apply: impl Fn(u64, u64) -> u64) -> Result {
    match args {
        [Val::Int(a), Val::Int(b)] => Ok(Val::Int(apply(a.cast_unsigned(), b.cast_unsigned()).cast_signed())),
        [Val::Uint(a), Val::Uint(b)] => Ok(Val::Uint(apply(*a, *b))),
        _ => Err(EvalError::no_overload()),
    }
}

fn bit_not(_: &mut Meter, args: &[Val]) -> Result {
    match args {
        [Val::Int(value)] => Ok(Val::Int(!value)),
        [Val::Uint(value)] => Ok(Val::Uint(!value)),
        _ => Err(EvalError::no_overload()),
    }
}

fn shift(args: &[Val], name: &str, apply: impl Fn(u64, u32) -> Option<u64>) -> Result {
    let by = args::int(args, 1)?;
    if by < 0 {
        return Err(EvalError::failed(format!("math.{name}() negative offset: {by}")));
    }
    // As in Go, shifts by the width and more leave nothing.
    let by = u32::try_from(by).unwrap_or(u32::MAX);
    match args.first() {
        Some(Val::Int(value)) => Ok(Val::Int(apply(value.cast_unsigned(), by).unwrap_or(0).cast_signed())),
        Some(Val::Uint(value)) => Ok(Val::Uint(apply(*value, by).unwrap_or(0))),
        _ => Err(EvalError::no_overload()),
    }
}

fn shift_left(_: &mut Meter, args: &[Val]) -> Result {
    shift(args, "bitShiftLeft", u64::checked_shl)
}

fn shift_right(_: &mut Meter, args: &[Val]) -> Result {
    shift(args, "bitShiftRight", u64::checked_shr)
}

#[expect(clippy::cast_precision_loss, reason = "the nearest double is asked for")]
fn sqrt(_: &mut Meter, args: &[Val]) -> Result {
    Ok(Val::Double(match args {
        [Val::Double(value)] => value.sqrt(),
        [Val::Int(value)] => (*value as f64).sqrt(),
        [Val::Uint(value)] => (*value as f64).sqrt(),
        _ => return Err(EvalError::no_overload()),
    }))
}
