//! Times as the API writes them.

use jiff::SignedDuration;
use jiff::civil::{Date, DateTime, Time};

use crate::value::Value;

/// A `metav1.Time`: UTC, whole seconds, `null` for the first second of year 1. `None` for other text.
pub(super) fn seconds(text: &str) -> Option<Value> {
    let (time, _) = parse(text)?;
    Some(json(time, |time| time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()))
}

/// A `metav1.MicroTime`: UTC with six decimals, which must be written, `null` for the start of year 1. `None` for other text.
pub(super) fn microseconds(text: &str) -> Option<Value> {
    let (time, decimals) = parse(text)?;
    (decimals == 6).then(|| json(time, |time| time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()))
}

fn json(time: DateTime, text: impl Fn(DateTime) -> String) -> Value {
    let zero = Date::constant(1, 1, 1).to_datetime(Time::midnight());
    if time == zero { Value::Null } else { Value::from(text(time)) }
}

/// A time of RFC 3339 as Go reads it, in UTC, and the number of its decimals.
fn parse(text: &str) -> Option<(DateTime, usize)> {
    let digits = |range: std::ops::Range<usize>| -> Option<i16> {
        let part = text.get(range)?;
        part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse().ok())?
    };
    let small = |start: usize| digits(start..start + 2).and_then(|number| i8::try_from(number).ok());
    let separators = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
    if !separators.iter().all(|(index, byte)| text.as_bytes().get(*index) == Some(byte)) {
        return None;
    }
    let date = Date::new(digits(0..4)?, small(5)?, small(8)?).ok()?;
    let mut rest = text.get(19..)?;
    let mut decimals = 0;
    let mut nanos = 0;
    if let Some(fraction) = rest.strip_prefix(['.', ',']) {
        decimals = fraction.bytes().take_while(u8::is_ascii_digit).count();
        nanos = format!("{:0<9}", &fraction[..decimals]).get(..9)?.parse().ok()?;
        rest = &fraction[decimals..];
        if decimals == 0 {
            return None;
        }
    }
    let time = Time::new(small(11)?, small(14)?, small(17)?, nanos).ok()?;
    let local = date.to_datetime(time);
    let utc = local.checked_sub(offset(rest)?).ok()?;
    Some((utc, decimals))
}

/// `Z` or `+07:00`.
fn offset(text: &str) -> Option<SignedDuration> {
    let sign = match text.as_bytes() {
        b"Z" => return Some(SignedDuration::ZERO),
        [b'+', ..] => 1,
        [b'-', ..] => -1,
        _ => return None,
    };
    let (hours, minutes) = text[1..].split_once(':')?;
    let number = |text: &str| -> Option<i64> {
        (text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    (hours <= 24 && minutes < 60).then(|| SignedDuration::from_mins(sign * (hours * 60 + minutes)))
}
