//! Durations and timestamps: texts, ranges, time zones.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone};

use crate::value::GoDuration;

use super::error::EvalError;

const SECOND: i64 = 1_000_000_000;

/// The first and the last second that a timestamp can have: years 1 to 9999.
const FIRST: i64 = -62_135_596_800;
const LAST: i64 = 253_402_300_799;

pub(super) fn parse_duration(text: &str) -> Result<i64, EvalError> {
    GoDuration::parse(text).map(GoDuration::as_nanos).map_err(|error| EvalError::failed(error.to_string()))
}

/// As `string()` writes a duration: `5400s`, `0.5s`.
pub(super) fn duration_text(nanos: i64) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    let magnitude = nanos.unsigned_abs();
    let (seconds, fraction) = (magnitude / SECOND.unsigned_abs(), magnitude % SECOND.unsigned_abs());
    if fraction == 0 {
        return format!("{sign}{seconds}s");
    }
    let digits = format!("{fraction:09}");
    format!("{sign}{seconds}.{}s", digits.trim_end_matches('0'))
}

/// A timestamp in the form of RFC 3339, with capital letters.
pub(super) fn parse_timestamp(text: &str) -> Result<Timestamp, EvalError> {
    let error = || {
        EvalError::failed(format!("parsing time \"{text}\" as \"2006-01-02T15:04:05Z07:00\": cannot parse"))
    };
    let bytes = text.as_bytes();
    let digits = |from: usize, length: usize| {
        bytes.get(from..from + length).is_some_and(|part| part.iter().all(u8::is_ascii_digit))
    };
    let marks = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
    let shaped = marks.iter().all(|(at, mark)| bytes.get(*at) == Some(mark))
        && digits(0, 4)
        && [5, 8, 11, 14, 17].iter().all(|at| digits(*at, 2));
    let rest = text.get(19..).ok_or_else(error)?;
    let zone = rest.trim_start_matches(|c: char| c == '.' || c == ',' || c.is_ascii_digit());
    let zone_bytes = zone.as_bytes();
    let offset =
        zone == "Z" || (zone.len() == 6 && matches!(zone_bytes[0], b'+' | b'-') && zone_bytes[3] == b':');
    let in_day = zone == "Z" || (zone.get(1..3) <= Some("23") && zone.get(4..6) <= Some("59"));
    if !shaped || !offset || !in_day || &text[17..19] == "60" {
        return Err(error());
    }
    let stamp: Timestamp = text.replace(',', ".").parse().map_err(|_| error())?;
    in_range(stamp)
}

/// A timestamp, unless its year is out of range.
pub(super) fn in_range(stamp: Timestamp) -> Result<Timestamp, EvalError> {
    // Fractions before the first second round towards it.
    let second = stamp.as_nanosecond().div_euclid(i128::from(SECOND));
    let is_in_range = (i128::from(FIRST)..=i128::from(LAST)).contains(&second);
    if is_in_range { Ok(stamp) } else { Err(overflow()) }
}

pub(super) fn overflow() -> EvalError {
    EvalError::failed("timestamp overflow")
}

/// As `string()` writes a timestamp.
pub(super) fn timestamp_text(stamp: Timestamp) -> String {
    let local = civil(stamp, Offset::UTC);
    let date = format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
        local.year(),
        local.month(),
        local.day(),
        local.hour(),
        local.minute(),
        local.second()
    );
    let nanos = local.subsec_nanosecond();
    if nanos == 0 {
        return format!("{date}Z");
    }
    let digits = format!("{nanos:09}");
    format!("{date}.{}Z", digits.trim_end_matches('0'))
}

pub(super) fn civil(stamp: Timestamp, offset: Offset) -> DateTime {
    TimeZone::fixed(offset).to_datetime(stamp)
}

pub(super) fn shifted(stamp: Timestamp, nanos: i64) -> Result<Timestamp, EvalError> {
    let sum = stamp.as_nanosecond().checked_add(i128::from(nanos)).ok_or_else(overflow)?;
    Timestamp::from_nanosecond(sum).map_err(|_| overflow()).and_then(in_range)
}

pub(super) fn from_seconds(seconds: i64) -> Result<Timestamp, EvalError> {
    Timestamp::from_second(seconds).map_err(|_| overflow()).and_then(in_range)
}

/// Whether a text may be the name of a place with a time zone, which is not supported.
pub(super) fn is_place(text: &str) -> bool {
    const ALONE: &[&str] = &[
        "CET",
        "CST6CDT",
        "Cuba",
        "EET",
        "EST",
        "EST5EDT",
        "Egypt",
        "Eire",
        "GB",
        "GMT",
        "HST",
        "Hongkong",
        "Iceland",
        "Iran",
        "Israel",
        "Jamaica",
        "Japan",
        "Kwajalein",
        "Libya",
        "Local",
        "MET",
        "MST",
        "MST7MDT",
        "NZ",
        "Navajo",
        "PRC",
        "PST8PDT",
        "Poland",
        "Portugal",
        "ROC",
        "ROK",
        "Singapore",
        "Turkey",
        "UCT",
        "Universal",
        "W-SU",
        "WET",
        "Zulu",
    ];
    ALONE.contains(&text) || (text.contains('/') && !text.contains(['.', '\\', ' ']))
}

/// A time zone: `UTC`, or an offset such as `+01:00` or `-5:30`. Names of places are not supported.
pub(super) fn zone(text: &str) -> Result<Offset, EvalError> {
    if matches!(text, "" | "UTC" | "Z") {
        return Ok(Offset::UTC);
    }
    let Some((hours, minutes)) = text.split_once(':') else {
        return Err(EvalError::failed(format!("unknown time zone {text}")));
    };
    let invalid = || EvalError::failed(format!("invalid time zone '{text}'"));
    let negative = hours.starts_with('-');
    let hours: i32 = hours.parse().map_err(|_| invalid())?;
    let minutes: i32 = minutes.parse().map_err(|_| invalid())?;
    let seconds = hours * 3600 + if negative { -minutes * 60 } else { minutes * 60 };
    Offset::from_seconds(seconds).map_err(|_| invalid())
}
