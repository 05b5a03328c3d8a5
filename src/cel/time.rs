//! Durations and timestamps: texts, ranges, time zones.

use std::sync::LazyLock;

use jiff::Timestamp;
use jiff::tz::TimeZoneDatabase;

use crate::value::GoDuration;

use super::error::EvalError;
use super::stamp::{Stamp, days_before, overflow};

const SECOND: i64 = 1_000_000_000;

pub(super) fn parse_duration(text: &str) -> Result<i64, EvalError> {
    GoDuration::parse(text).map(GoDuration::as_nanos).map_err(|error| EvalError::failed(error.to_string()))
}

/// As `string()` writes a duration: `5400s`, `0.5s`, with the digits that a double of seconds has.
#[expect(clippy::cast_precision_loss, reason = "Go's seconds of a duration are a double")]
pub(super) fn duration_text(nanos: i64) -> String {
    let seconds = (nanos / SECOND) as f64 + (nanos % SECOND) as f64 / 1e9;
    format!("{seconds}s")
}

/// A timestamp as Go reads RFC 3339: with capital letters; an hour may have one digit, a comma may be the decimal
/// point, and digits after the ninth are cut off.
pub(super) fn parse_timestamp(text: &str) -> Result<Stamp, EvalError> {
    let (seconds, nanos, offset) = rfc3339(text.as_bytes()).ok_or_else(|| {
        EvalError::failed(format!("parsing time \"{text}\" as \"2006-01-02T15:04:05Z07:00\": cannot parse"))
    })?;
    Stamp::new(seconds, nanos).map(|stamp| stamp.at_offset(offset))
}

/// Whether a text that Go reads as a timestamp is one of RFC 3339: an hour has two digits, the decimal mark is a point, and
/// an offset is less than a day.
pub(super) fn is_strict_timestamp(text: &str) -> bool {
    let has_short_hour = text.as_bytes().get(12) == Some(&b':');
    let offset = text.rsplit_once(['+', '-']).filter(|(_, offset)| offset.len() == 5);
    let is_long = offset.is_some_and(|(_, offset)| offset.starts_with("24:") || offset.ends_with(":60"));
    !has_short_hour && !text.contains(',') && !is_long
}

/// Seconds since 1970, nanoseconds after them, and the offset in seconds.
fn rfc3339(text: &[u8]) -> Option<(i64, u32, i32)> {
    let mut rest = text;
    let year = digits(&mut rest, 4, 0..=9999)?;
    mark(&mut rest, b"-")?;
    let month = digits(&mut rest, 2, 1..=12)?;
    mark(&mut rest, b"-")?;
    let next_month = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
    let length = days_before(next_month.0, next_month.1, 1) - days_before(year, month, 1);
    let day = digits(&mut rest, 2, 1..=length)?;
    mark(&mut rest, b"T")?;
    let is_short = !rest.get(1).is_some_and(u8::is_ascii_digit);
    let hour = digits(&mut rest, if is_short { 1 } else { 2 }, 0..=23)?;
    mark(&mut rest, b":")?;
    let minute = digits(&mut rest, 2, 0..=59)?;
    mark(&mut rest, b":")?;
    let second = digits(&mut rest, 2, 0..=59)?;
    let nanos = fraction(&mut rest)?;
    let offset = if rest == b"Z" {
        0
    } else {
        let sign = if rest.first() == Some(&b'-') { -1 } else { 1 };
        mark(&mut rest, b"+-")?;
        let hours = digits(&mut rest, 2, 0..=24)?;
        mark(&mut rest, b":")?;
        let minutes = digits(&mut rest, 2, 0..=60)?;
        rest.is_empty().then_some(sign * (hours * 3600 + minutes * 60))?
    };
    let days = days_before(year, month, day);
    let seconds = days * 86_400 + hour * 3600 + minute * 60 + second - offset;
    Some((seconds, nanos, i32::try_from(offset).ok()?))
}

/// Takes so many digits, if their number is in a range.
fn digits(rest: &mut &[u8], count: usize, range: std::ops::RangeInclusive<i64>) -> Option<i64> {
    let (number, after) = rest.split_at_checked(count)?;
    let number = number
        .iter()
        .try_fold(0, |number, digit| digit.is_ascii_digit().then(|| number * 10 + i64::from(digit - b'0')))?;
    *rest = after;
    range.contains(&number).then_some(number)
}

/// Takes one of these marks.
fn mark(rest: &mut &[u8], marks: &[u8]) -> Option<()> {
    let (first, after) = rest.split_first()?;
    *rest = after;
    marks.contains(first).then_some(())
}

/// Takes the fraction of a second, if there is one, in nanoseconds.
fn fraction(rest: &mut &[u8]) -> Option<u32> {
    let Some((b'.' | b',', after)) = rest.split_first() else { return Some(0) };
    let count = after.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (found, after) = after.split_at(count);
    *rest = after;
    let padded = found.iter().copied().chain(std::iter::repeat(b'0')).take(9);
    (count > 0).then(|| padded.fold(0, |number, digit| number * 10 + u32::from(digit - b'0')))
}

/// As `string()` writes a timestamp, with the offset that it was written with.
pub(super) fn timestamp_text(stamp: Stamp) -> String {
    let parts = stamp.parts(stamp.offset().into());
    let date = format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
        parts.year, parts.month, parts.day, parts.hour, parts.minute, parts.second
    );
    let fraction = match parts.nanos {
        0 => String::new(),
        nanos => format!(".{}", format!("{nanos:09}").trim_end_matches('0')),
    };
    let zone = match stamp.offset() / 60 {
        0 => "Z".to_owned(),
        minutes => {
            let sign = if minutes < 0 { '-' } else { '+' };
            format!("{sign}{:02}:{:02}", minutes.abs() / 60, minutes.abs() % 60)
        }
    };
    format!("{date}{fraction}{zone}")
}

pub(super) fn shifted(stamp: Stamp, nanos: i64) -> Result<Stamp, EvalError> {
    let sum = stamp.as_nanosecond().checked_add(i128::from(nanos)).ok_or_else(overflow)?;
    Stamp::from_nanosecond(sum).map(|shifted| shifted.at_offset(stamp.offset()))
}

/// The largest offset of a time zone in minutes; cel-go has no limit before its numbers overflow.
const MAX_OFFSET_MINUTES: i64 = 100_000_000;

/// The time zones of places, those of this version of the program.
static PLACES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// A time zone at a point in time, in seconds east of UTC: `UTC`, the name of a place such as `Europe/Paris`, or an offset
/// such as `+01:00` or `-5:30`.
pub(super) fn zone(text: &str, stamp: Stamp) -> Result<i64, EvalError> {
    if matches!(text, "" | "UTC") {
        return Ok(0);
    }
    let Some((hours, minutes)) = text.split_once(':') else {
        return place(text, stamp).ok_or_else(|| EvalError::failed(format!("unknown time zone {text}")));
    };
    let invalid = || EvalError::failed(format!("invalid time zone '{text}'"));
    let is_negative = hours.starts_with('-');
    let hours: i64 = hours.parse().map_err(|_| invalid())?;
    let minutes: i64 = minutes.parse().map_err(|_| invalid())?;
    let minutes = if is_negative { minutes.checked_neg() } else { Some(minutes) };
    let offset = hours.checked_mul(60).zip(minutes).and_then(|(hours, minutes)| hours.checked_add(minutes));
    let offset = offset.filter(|offset| offset.unsigned_abs() <= MAX_OFFSET_MINUTES.unsigned_abs());
    offset.map(|minutes| minutes * 60).ok_or_else(invalid)
}

/// The offset of a place; names are written as in the database, with capital letters.
fn place(name: &str, stamp: Stamp) -> Option<i64> {
    let zone = PLACES.get(name).ok().filter(|zone| zone.iana_name() == Some(name))?;
    let stamp = Timestamp::from_second(stamp.as_second()).ok()?;
    Some(zone.to_offset(stamp).seconds().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Go's `time.Parse` with `time.RFC3339`.
    #[test]
    fn timestamps_are_read_as_by_go() {
        for (text, seconds, nanos) in [
            ("9999-12-31T23:59:59.999999999Z", 253_402_300_799, 999_999_999),
            ("9999-12-31T23:59:59.9999999999Z", 253_402_300_799, 999_999_999),
            ("2024-01-01T00:00:00.1234567899999Z", 1_704_067_200, 123_456_789),
            ("2024-01-01T00:00:00,5Z", 1_704_067_200, 500_000_000),
            ("2024-01-01T3:00:00Z", 1_704_078_000, 0),
            ("2024-01-01T03:00:00+24:00", 1_703_991_600, 0),
            ("2024-01-01T03:00:00+24:60", 1_703_988_000, 0),
            ("2024-01-01T03:00:00-00:00", 1_704_078_000, 0),
            ("0001-01-01T00:00:00Z", -62_135_596_800, 0),
        ] {
            let stamp = parse_timestamp(text).unwrap();
            assert_eq!((stamp.as_second(), stamp.parts(0).nanos), (seconds, nanos), "{text}");
        }
        for text in ["0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00", "0000-01-01T00:00:00Z"] {
            assert_eq!(parse_timestamp(text), Err(overflow()), "{text}");
        }
        for text in [
            "",
            "2024-01-01",
            "2024-01-01T03:00:00",
            "2024-01-01T03:00:00.5",
            "2024-01-01T03:00:00.Z",
            "2024-01-01T03:00:00+25:00",
            "2024-01-01T03:00:00+23:61",
            "2024-01-01T03:00:00+0100",
            "2024-01-01T03:00:00+1:00",
            "2024-01-01T03:00:00−01:00",
            "2024-01-01T03:00:00Z07:00",
            "2024-01-01T03:00:00z",
            "2024-01-01T03:00:00 Z",
            "2024-01-01T03:00:60Z",
            "2024-01-01T03:60:00Z",
            "2024-01-01T24:00:00Z",
            "2024-02-30T03:00:00Z",
            "2023-02-29T03:00:00Z",
            "2024-00-01T03:00:00Z",
            "2024-01-00T03:00:00Z",
            "2024-1-01T03:00:00Z",
            "-024-01-01T03:00:00Z",
            "10000-01-01T00:00:00Z",
        ] {
            let message = format!("parsing time \"{text}\" as \"2006-01-02T15:04:05Z07:00\": cannot parse");
            assert_eq!(parse_timestamp(text), Err(EvalError::Failed(message)), "{text}");
        }
    }

    #[test]
    fn offsets_are_numbers_of_any_size_that_can_be_added() {
        let stamp = Stamp::from_second(0).unwrap();
        let zone = |text| zone(text, stamp);
        assert_eq!(zone("-01:30"), Ok(-5400));
        assert_eq!(zone("+26:00"), Ok(93_600));
        for text in
            ["99999999:00", "2147483647:2147483647", "9223372036854775807:0", "-1:-9223372036854775808"]
        {
            assert!(zone(text).is_err(), "{text}");
        }
    }
}
