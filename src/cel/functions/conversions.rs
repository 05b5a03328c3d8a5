//! Conversions between types, and parts of times.

use super::{Row, open, row};
use super::{args, hexadecimal};
use crate::cel::env::Dialect;
use crate::cel::error::EvalError;
use crate::cel::meter::Meter;
use crate::cel::stamp::{Parts, Stamp};
use crate::cel::time::{
    duration_text, is_strict_timestamp, parse_duration, parse_timestamp, timestamp_text, zone,
};
use crate::cel::value::Val;
use crate::cel::value::number::{double_text, double_to_int, double_to_uint};

type Result = std::result::Result<Val, EvalError>;

pub(super) const ROWS: &[Row] = &[
    open("type", "type", "(A) type<A>", |_, args| Ok(Val::Type(args::value(args, 0).type_of().into()))),
    open("dyn", "to_dyn", "(A) dyn", |_, args| Ok(args::value(args, 0))),
    open("bool", "{}_to_bool", "({}) bool", to_bool).each(&["bool", "string"]),
    open("bytes", "{}_to_bytes", "({}) bytes", to_bytes).each(&["bytes", "string"]),
    open("double", "{}_to_double", "({}) double", to_double).each(&["double", "int", "string", "uint"]),
    open("duration", "{}_to_duration", "({}) duration", to_duration).each(&["duration", "string"]),
    open("duration", "int_to_duration", "(int) duration", to_duration).kubernetes(),
    open("int", "{}_to_int64", "({}) int", to_int).each(&[
        "int",
        "double",
        "duration",
        "string",
        "timestamp",
        "uint",
    ]),
    open("string", "{}_to_string", "({}) string", to_string).each(&[
        "string",
        "bool",
        "bytes",
        "double",
        "duration",
        "int",
        "timestamp",
        "uint",
    ]),
    open("timestamp", "{}_to_timestamp", "({}) timestamp", to_timestamp).each(&[
        "timestamp",
        "int",
        "string",
    ]),
    open("uint", "{}_to_uint64", "({}) uint", to_uint).each(&["uint", "double", "int", "string"]),
    row("getFullYear", "timestamp_to_year", "timestamp.() int", full_year),
    row("getFullYear", "timestamp_to_year_with_tz", "timestamp.(string) int", full_year),
    row("getMonth", "timestamp_to_month", "timestamp.() int", month),
    row("getMonth", "timestamp_to_month_with_tz", "timestamp.(string) int", month),
    row("getDayOfYear", "timestamp_to_day_of_year", "timestamp.() int", day_of_year),
    row("getDayOfYear", "timestamp_to_day_of_year_with_tz", "timestamp.(string) int", day_of_year),
    row("getDayOfMonth", "timestamp_to_day_of_month", "timestamp.() int", day_of_month),
    row("getDayOfMonth", "timestamp_to_day_of_month_with_tz", "timestamp.(string) int", day_of_month),
    row("getDate", "timestamp_to_day_of_month_1_based", "timestamp.() int", date),
    row("getDate", "timestamp_to_day_of_month_1_based_with_tz", "timestamp.(string) int", date),
    row("getDayOfWeek", "timestamp_to_day_of_week", "timestamp.() int", day_of_week),
    row("getDayOfWeek", "timestamp_to_day_of_week_with_tz", "timestamp.(string) int", day_of_week),
    row("getHours", "timestamp_to_hours", "timestamp.() int", hours),
    row("getHours", "timestamp_to_hours_with_tz", "timestamp.(string) int", hours),
    row("getHours", "duration_to_hours", "duration.() int", |_, args| whole(args, 3_600_000_000_000)),
    row("getMinutes", "timestamp_to_minutes", "timestamp.() int", minutes),
    row("getMinutes", "timestamp_to_minutes_with_tz", "timestamp.(string) int", minutes),
    row("getMinutes", "duration_to_minutes", "duration.() int", |_, args| whole(args, 60_000_000_000)),
    row("getSeconds", "timestamp_to_seconds_tz", "timestamp.() int", seconds),
    row("getSeconds", "timestamp_to_seconds_with_tz", "timestamp.(string) int", seconds),
    row("getSeconds", "duration_to_seconds", "duration.() int", |_, args| whole(args, 1_000_000_000)),
    row("getMilliseconds", "timestamp_to_milliseconds", "timestamp.() int", milliseconds),
    row("getMilliseconds", "timestamp_to_milliseconds_with_tz", "timestamp.(string) int", milliseconds),
    row("getMilliseconds", "duration_to_milliseconds", "duration.() int", |_, args| whole(args, 1_000_000)),
];

fn no_conversion(name: &str, args: &[Val]) -> EvalError {
    EvalError::NoSuchOverload(format!(": {name}({})", args::value(args, 0).type_name()))
}

fn conversion_error(from: &str, to: &str) -> EvalError {
    EvalError::failed(format!("type conversion error from '{from}' to '{to}'"))
}

fn to_bool(_: &mut Meter, args: &[Val]) -> Result {
    match args {
        [Val::Bool(value)] => Ok(Val::Bool(*value)),
        [Val::String(text)] => match &**text {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Val::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Val::Bool(false)),
            _ => Err(conversion_error("string", "bool")),
        },
        _ => Err(no_conversion("bool", args)),
    }
}

fn to_bytes(meter: &mut Meter, args: &[Val]) -> Result {
    match args {
        [Val::Bytes(bytes)] => Ok(Val::Bytes(bytes.clone())),
        [Val::String(text)] => {
            meter.make(text.len())?;
            Ok(Val::bytes(text.as_bytes()))
        }
        _ => Err(no_conversion("bytes", args)),
    }
}

#[expect(clippy::cast_precision_loss, reason = "the nearest double is asked for")]
fn to_double(_: &mut Meter, args: &[Val]) -> Result {
    match args {
        [Val::Double(value)] => Ok(Val::Double(*value)),
        [Val::Int(value)] => Ok(Val::Double(*value as f64)),
        [Val::Uint(value)] => Ok(Val::Double(*value as f64)),
        [Val::String(text)] => {
            parse_double(text).map(Val::Double).ok_or_else(|| conversion_error("string", "double"))
        }
        _ => Err(no_conversion("double", args)),
    }
}

/// A double as Go's `strconv.ParseFloat` reads it.
pub(super) fn parse_double(text: &str) -> Option<f64> {
    if text.contains('_') {
        return has_separators(text).then(|| parse_double(&text.replace('_', "")))?;
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if let Some(digits) = unsigned.strip_prefix("0x").or_else(|| unsigned.strip_prefix("0X")) {
        let value = hexadecimal::parse(digits)?;
        return Some(if text.starts_with('-') { -value } else { value });
    }
    let named = ["inf", "infinity", "nan"].iter().any(|name| unsigned.eq_ignore_ascii_case(name));
    let value: f64 = text.parse().ok()?;
    // Infinities have signs, and what is no number has none.
    let is_signed = unsigned.len() < text.len();
    (if value.is_nan() { !is_signed } else { named || value.is_finite() }).then_some(value)
}

/// Whether each `_` of a number is between two digits, or between its prefix and a digit.
fn has_separators(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let hexadecimal = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
    let is_digit = |c: char| if hexadecimal.is_some() { c.is_ascii_hexdigit() } else { c.is_ascii_digit() };
    let mut before = if hexadecimal.is_some() { '0' } else { '_' };
    let mut rest = hexadecimal.unwrap_or(digits).chars().peekable();
    while let Some(c) = rest.next() {
        if c == '_' && !(is_digit(before) && rest.peek().is_some_and(|next| is_digit(*next))) {
            return false;
        }
        before = c;
    }
    true
}

fn to_duration(_: &mut Meter, args: &[Val]) -> Result {
    match args {
        [Val::Duration(nanos)] => Ok(Val::Duration(*nanos)),
        // It is declared, but refused.
        [Val::Int(_)] => Err(conversion_error("int", "google.protobuf.Duration")),
        [Val::String(text)] => parse_duration(text).map(Val::Duration),
        _ => Err(no_conversion("duration", args)),
    }
}

fn to_int(_: &mut Meter, args: &[Val]) -> Result {
    let overflow = || EvalError::failed("integer overflow");
    match args {
        [Val::Int(value)] => Ok(Val::Int(*value)),
        [Val::Uint(value)] => i64::try_from(*value).map(Val::Int).map_err(|_| overflow()),
        [Val::Double(value)] => double_to_int(*value).map(Val::Int).ok_or_else(overflow),
        [Val::Duration(nanos)] => Ok(Val::Int(*nanos)),
        [Val::Timestamp(stamp)] => Ok(Val::Int(stamp.as_second())),
        [Val::String(text)] => text.parse().map(Val::Int).map_err(|_| conversion_error("string", "int")),
        _ => Err(no_conversion("int", args)),
    }
}

fn to_uint(_: &mut Meter, args: &[Val]) -> Result {
    let overflow = || EvalError::failed("unsigned integer overflow");
    match args {
        [Val::Uint(value)] => Ok(Val::Uint(*value)),
        [Val::Int(value)] => u64::try_from(*value).map(Val::Uint).map_err(|_| overflow()),
        [Val::Double(value)] => double_to_uint(*value).map(Val::Uint).ok_or_else(overflow),
        [Val::String(text)] if !text.starts_with('+') => {
            text.parse().map(Val::Uint).map_err(|_| conversion_error("string", "uint"))
        }
        [Val::String(_)] => Err(conversion_error("string", "uint")),
        _ => Err(no_conversion("uint", args)),
    }
}

fn to_string(meter: &mut Meter, args: &[Val]) -> Result {
    match args {
        [Val::String(text)] => Ok(Val::String(text.clone())),
        [value] => {
            let text = to_text(value)?.ok_or_else(|| no_conversion("string", args))?;
            meter.make(text.len())?;
            Ok(Val::string(text))
        }
        _ => Err(no_conversion("string", args)),
    }
}

/// A value as `string()` writes it; `None` for values that have no such text.
pub(in crate::cel) fn to_text(value: &Val) -> std::result::Result<Option<String>, EvalError> {
    Ok(Some(match value {
        Val::String(text) => text.to_string(),
        Val::Bool(value) => value.to_string(),
        Val::Int(value) => value.to_string(),
        Val::Uint(value) => value.to_string(),
        Val::Double(value) => double_text(*value),
        Val::Duration(nanos) => duration_text(*nanos),
        Val::Timestamp(stamp) => timestamp_text(*stamp),
        Val::Bytes(bytes) => std::str::from_utf8(bytes)
            .map_err(|_| EvalError::failed("invalid UTF-8 in bytes, cannot convert to string"))?
            .to_owned(),
        _ => return Ok(None),
    }))
}

fn to_timestamp(meter: &mut Meter, args: &[Val]) -> Result {
    match args {
        [Val::Timestamp(stamp)] => Ok(Val::Timestamp(*stamp)),
        [Val::Int(seconds)] => Stamp::from_second(*seconds).map(Val::Timestamp),
        // What Kyverno has of cel-go takes RFC 3339 alone; the API server takes all that Go reads.
        [Val::String(text)] if meter.dialect == Dialect::Kyverno && !is_strict_timestamp(text) => {
            Err(EvalError::failed(format!("invalid RFC 3339 timestamp \"{text}\"")))
        }
        [Val::String(text)] => parse_timestamp(text).map(Val::Timestamp),
        _ => Err(no_conversion("timestamp", args)),
    }
}

/// The date and time in the zone of the second argument; without one, with the offset of the timestamp.
fn local(args: &[Val]) -> std::result::Result<Parts, EvalError> {
    let Some(Val::Timestamp(stamp)) = args.first() else { return Err(EvalError::no_overload()) };
    let offset = if args.len() > 1 { zone(args::text(args, 1)?, *stamp)? } else { stamp.offset().into() };
    Ok(stamp.parts(offset))
}

fn full_year(_: &mut Meter, args: &[Val]) -> Result {
    Ok(Val::Int(local(args)?.year))
}

fn month(_: &mut Meter, args: &[Val]) -> Result {
    Ok(Val::Int(local(args)?.month - 1))
}

fn day_of_year(_: &mut Meter, args: &[Val]) -> Result {
    Ok(Val::Int(local(args)?.day_of_year - 1))
}

fn day_of_month(_: &mut Meter, args: &[Val]) -> Result {
    Ok(Val::Int(local(args)?.day - 1))
}

fn date(_: &mut Meter, args: &[Val]) -> Result {
    Ok(Val::Int(local(args)?.day))
}

fn day_of_week(_: &mut Meter, args: &[Val]) -> Result {
    Ok(Val::Int(local(args)?.weekday))
}

fn hours(_: &mut Meter, args: &[Val]) -> Result {
    Ok(Val::Int(local(args)?.hour))
}

fn minutes(_: &mut Meter, args: &[Val]) -> Result {
    Ok(Val::Int(local(args)?.minute))
}

fn seconds(_: &mut Meter, args: &[Val]) -> Result {
    Ok(Val::Int(local(args)?.second))
}

fn milliseconds(_: &mut Meter, args: &[Val]) -> Result {
    Ok(Val::Int((local(args)?.nanos / 1_000_000).into()))
}

fn whole(args: &[Val], unit: i64) -> Result {
    match args {
        [Val::Duration(nanos)] => Ok(Val::Int(nanos / unit)),
        _ => Err(EvalError::no_overload()),
    }
}
