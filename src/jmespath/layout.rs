//! Times in Go's layouts, parsed like `time.Parse`.
//!
//! A layout is the time `Mon Jan 2 15:04:05 MST 2006` in the format to be parsed.

use std::ops::RangeInclusive;

use crate::value::shortened;

use super::MAX_QUOTED_CHARS;
use super::moment::{Civil, Moment, day_of_year, days_in};

/// The layout of RFC 3339.
pub(super) const RFC3339: &str = "2006-01-02T15:04:05Z07:00";

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const WEEKDAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// An element of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    LongYear,
    Year,
    /// A name with at most this many letters.
    MonthName(usize),
    /// Whether it always has two digits.
    Month(bool),
    /// A name with at most this many letters.
    Weekday(usize),
    /// Whether it always has two digits, or may start with a blank.
    Day {
        fixed: bool,
        blank: bool,
    },
    /// Whether it always has three digits.
    DayOfYear(bool),
    Hour,
    /// Like the next two, whether it always has two digits.
    Hour12(bool),
    Minute(bool),
    Second(bool),
    /// The point and digits, of this length.
    Fraction(usize),
    /// Any number of digits, or none.
    OptionalFraction,
    /// `PM`, whether in capitals.
    Noon(bool),
    /// Whether `Z` is UTC, whether with colons, and the number of parts.
    Offset {
        utc: bool,
        colons: bool,
        parts: usize,
    },
    ZoneName,
}

/// The length of a name that is not abbreviated.
const FULL: usize = usize::MAX;

/// The offset of the first element, the element, its length.
fn next_element(layout: &[u8]) -> Option<(usize, Element, usize)> {
    (0..layout.len()).find_map(|at| {
        let (element, skipped, length) = element_at(layout, at)?;
        Some((at + skipped, element, length))
    })
}

/// The element at an offset, the length of literal text before it, and its length.
fn element_at(layout: &[u8], at: usize) -> Option<(Element, usize, usize)> {
    let rest = &layout[at..];
    let starts = |text: &str| rest.starts_with(text.as_bytes());
    let word_ends = |length: usize| !rest.get(length).is_some_and(u8::is_ascii_lowercase);
    let found = |element, length| Some((element, 0, length));
    match rest[0] {
        b'J' if starts("January") => found(Element::MonthName(FULL), 7),
        b'J' if starts("Jan") && word_ends(3) => found(Element::MonthName(3), 3),
        b'M' if starts("Monday") => found(Element::Weekday(FULL), 6),
        b'M' if starts("Mon") && word_ends(3) => found(Element::Weekday(3), 3),
        b'M' if starts("MST") => found(Element::ZoneName, 3),
        b'0' => match rest.get(1)? {
            b'1' => found(Element::Month(true), 2),
            b'2' => found(Element::Day { fixed: true, blank: false }, 2),
            b'3' => found(Element::Hour12(true), 2),
            b'4' => found(Element::Minute(true), 2),
            b'5' => found(Element::Second(true), 2),
            b'6' => found(Element::Year, 2),
            b'0' if starts("002") => found(Element::DayOfYear(true), 3),
            _ => None,
        },
        b'1' if starts("15") => found(Element::Hour, 2),
        b'1' => found(Element::Month(false), 1),
        b'2' if starts("2006") => found(Element::LongYear, 4),
        b'2' => found(Element::Day { fixed: false, blank: false }, 1),
        // The underscore before a year is literal.
        b'_' if starts("_2006") => Some((Element::LongYear, 1, 4)),
        b'_' if starts("_2") => found(Element::Day { fixed: false, blank: true }, 2),
        b'_' if starts("__2") => found(Element::DayOfYear(false), 3),
        b'3' => found(Element::Hour12(false), 1),
        b'4' => found(Element::Minute(false), 1),
        b'5' => found(Element::Second(false), 1),
        b'P' if starts("PM") => found(Element::Noon(true), 2),
        b'p' if starts("pm") => found(Element::Noon(false), 2),
        sign @ (b'-' | b'Z') => {
            let offset = |colons, parts| Element::Offset { utc: sign == b'Z', colons, parts };
            let after = &rest[1..];
            [("070000", offset(false, 3)), ("07:00:00", offset(true, 3)), ("0700", offset(false, 2))]
                .into_iter()
                .chain([("07:00", offset(true, 2)), ("07", offset(false, 1))])
                .find(|(text, _)| after.starts_with(text.as_bytes()))
                .map(|(text, element)| (element, 0, 1 + text.len()))
        }
        b'.' | b',' => {
            let digit = *rest.get(1).filter(|byte| matches!(byte, b'0' | b'9'))?;
            let digits = rest[1..].iter().take_while(|byte| **byte == digit).count();
            if rest.get(1 + digits).is_some_and(u8::is_ascii_digit) {
                return None;
            }
            let element =
                if digit == b'0' { Element::Fraction(1 + digits) } else { Element::OptionalFraction };
            found(element, 1 + digits)
        }
        _ => None,
    }
}

/// The parsed elements of a time.
#[derive(Default)]
struct Fields {
    year: i64,
    month: Option<i64>,
    day: Option<i64>,
    day_of_year: Option<i64>,
    hour: i64,
    minute: i64,
    second: i64,
    nanos: i64,
    afternoon: Option<bool>,
    utc: bool,
    offset: Option<i32>,
    /// The offset in the name of a zone such as `GMT+3`; 0 for other names.
    named_offset: Option<i32>,
}

/// Why a text is no time in a layout, in Go's words. All texts are quoted and shortened.
#[derive(Debug, thiserror::Error)]
pub(super) enum LayoutError {
    #[error("parsing time {text} as {layout}: cannot parse {value} as {element}")]
    Mismatch { text: String, layout: String, value: String, element: String },
    #[error("parsing time {text}: {what} out of range")]
    OutOfRange { text: String, what: &'static str },
    #[error("parsing time {text}: day-of-year does not match {with}")]
    DayOfYear { text: String, with: &'static str },
    #[error("parsing time {text}: extra text: {extra}")]
    ExtraText { text: String, extra: String },
}

/// Why an element does not match.
enum Mismatch {
    /// The text is no such element.
    Text,
    /// The number is out of range.
    Range(&'static str),
    /// The day of the year is another month or day than the one given.
    DayOfYear(&'static str),
}

/// A parsed element and the rest of the text.
type Parsed<'v, T> = Result<(T, &'v [u8]), Mismatch>;

/// Parses a time.
pub(super) fn parse(layout: &str, text: &str) -> Result<Moment, LayoutError> {
    let mut fields = Fields::default();
    let mut value = text.as_bytes();
    let mut rest = layout.as_bytes();
    let error = |mismatch, value: &[u8], element: &[u8]| {
        let text = quoted(text.as_bytes());
        match mismatch {
            Mismatch::Text => LayoutError::Mismatch {
                text,
                layout: quoted(layout.as_bytes()),
                value: quoted(value),
                element: quoted(element),
            },
            Mismatch::Range(what) => LayoutError::OutOfRange { text, what },
            Mismatch::DayOfYear(with) => LayoutError::DayOfYear { text, with },
        }
    };
    while let Some((start, element, length)) = next_element(rest) {
        let (literal, written) = (&rest[..start], &rest[start..start + length]);
        value = skip(value, literal).map_err(|left| error(Mismatch::Text, left, literal))?;
        rest = &rest[start + length..];
        let fraction_follows =
            matches!(next_element(rest), Some((_, Element::Fraction(_) | Element::OptionalFraction, _)));
        value = fields
            .parse(element, value, fraction_follows)
            .map_err(|mismatch| error(mismatch, value, written))?;
    }
    value = skip(value, rest).map_err(|left| error(Mismatch::Text, left, rest))?;
    if !value.is_empty() {
        return Err(LayoutError::ExtraText { text: quoted(text.as_bytes()), extra: quoted(value) });
    }
    fields.moment().map_err(|mismatch| error(mismatch, &[], &[]))
}

/// A parsed element for an optional field.
fn some<T>((parsed, rest): (T, &[u8])) -> (Option<T>, &[u8]) {
    (Some(parsed), rest)
}

impl Fields {
    /// Parses an element. Returns the rest of the text.
    fn parse<'v>(
        &mut self,
        element: Element,
        value: &'v [u8],
        fraction_follows: bool,
    ) -> Result<&'v [u8], Mismatch> {
        let rest;
        match element {
            Element::Year => {
                let (year, after) = digits(value, 2)?;
                rest = after;
                self.year = if year >= 69 { year + 1900 } else { year + 2000 };
            }
            Element::LongYear => (self.year, rest) = digits(value, 4)?,
            Element::MonthName(length) => (self.month, rest) = some(name(&MONTHS, length, value)?),
            Element::Weekday(length) => rest = name(&WEEKDAYS, length, value)?.1,
            Element::Month(fixed) => {
                (self.month, rest) = some(ranged(number(value, fixed)?, 1..=12, "month")?);
            }
            Element::Day { fixed, blank } => {
                let value = if blank { value.strip_prefix(b" ").unwrap_or(value) } else { value };
                (self.day, rest) = some(number(value, fixed)?);
            }
            Element::DayOfYear(fixed) => (self.day_of_year, rest) = some(three_digits(value, fixed)?),
            Element::Hour => (self.hour, rest) = ranged(number(value, false)?, 0..=23, "hour")?,
            Element::Hour12(fixed) => (self.hour, rest) = ranged(number(value, fixed)?, 0..=12, "hour")?,
            Element::Minute(fixed) => (self.minute, rest) = ranged(number(value, fixed)?, 0..=59, "minute")?,
            Element::Second(fixed) => {
                let (second, after) = ranged(number(value, fixed)?, 0..=59, "second")?;
                self.second = second;
                // A fraction is accepted also if the layout has none.
                rest = match fraction(after) {
                    Some(length) if !fraction_follows => {
                        self.nanos = nanos(after, length)?;
                        &after[length..]
                    }
                    _ => after,
                };
            }
            Element::Fraction(length) => {
                self.nanos = nanos(value.get(..length).ok_or(Mismatch::Text)?, length)?;
                rest = &value[length..];
            }
            Element::OptionalFraction => {
                let length = fraction(value).unwrap_or(0);
                if length > 0 {
                    self.nanos = nanos(value, length)?;
                }
                rest = &value[length..];
            }
            Element::Noon(capitals) => {
                let names: [&[u8]; 2] = if capitals { [b"AM", b"PM"] } else { [b"am", b"pm"] };
                let found = names.iter().position(|name| value.starts_with(name)).ok_or(Mismatch::Text)?;
                // Of two elements `PM` wins.
                self.afternoon = Some(found == 1 || self.afternoon == Some(true));
                rest = &value[2..];
            }
            Element::Offset { utc: true, .. } if value.starts_with(b"Z") => {
                (self.utc, rest) = (true, &value[1..]);
            }
            Element::Offset { colons, parts, .. } => {
                (self.offset, rest) = some(offset(value, colons, parts)?);
            }
            Element::ZoneName if value.starts_with(b"UTC") => (self.utc, rest) = (true, &value[3..]),
            Element::ZoneName => {
                let length = zone_name(value).ok_or(Mismatch::Text)?;
                self.named_offset = Some(greenwich_offset(&value[..length]));
                rest = &value[length..];
            }
        }
        Ok(rest)
    }

    fn moment(self) -> Result<Moment, Mismatch> {
        let hour = match self.afternoon {
            Some(true) if self.hour < 12 => self.hour + 12,
            Some(false) if self.hour == 12 => 0,
            _ => self.hour,
        };
        let (month, day) = match self.day_of_year {
            None => (self.month.unwrap_or(1), self.day.unwrap_or(1)),
            Some(number) => {
                let (month, day) = day_of_year(self.year, number).ok_or(Mismatch::Range("day-of-year"))?;
                if self.month.is_some_and(|found| found != month) {
                    return Err(Mismatch::DayOfYear("month"));
                }
                if self.day.is_some_and(|found| found != day) {
                    return Err(Mismatch::DayOfYear("day"));
                }
                (month, day)
            }
        };
        if !(1..=days_in(self.year, month)).contains(&day) {
            return Err(Mismatch::Range("day"));
        }
        let civil = Civil { year: self.year, month, day, hour, minute: self.minute, second: self.second };
        Ok(match (self.utc, self.offset, self.named_offset) {
            (false, Some(offset), _) => Moment::new(civil, self.nanos, offset),
            // The offset of a named zone is unknown: the time is in UTC, and printed with the offset in the name.
            (false, None, Some(offset)) => Moment::new(civil, self.nanos, 0).with_offset(offset),
            _ => Moment::new(civil, self.nanos, 0),
        })
    }
}

/// Skips the literal text between elements. The error is the rest of the text at the mismatch.
fn skip<'v>(mut value: &'v [u8], mut prefix: &[u8]) -> Result<&'v [u8], &'v [u8]> {
    while let Some((expected, after)) = prefix.split_first() {
        if *expected == b' ' {
            if value.first().is_some_and(|byte| *byte != b' ') {
                return Err(value);
            }
            prefix = trimmed(prefix);
            value = trimmed(value);
        } else {
            value = value.strip_prefix(&[*expected]).ok_or(value)?;
            prefix = after;
        }
    }
    Ok(value)
}

fn trimmed(text: &[u8]) -> &[u8] {
    &text[text.iter().take_while(|byte| **byte == b' ').count()..]
}

fn ranged<'v>(parsed: (i64, &'v [u8]), range: RangeInclusive<i64>, what: &'static str) -> Parsed<'v, i64> {
    if range.contains(&parsed.0) { Ok(parsed) } else { Err(Mismatch::Range(what)) }
}

/// A number of `count` digits.
fn digits(value: &[u8], count: usize) -> Parsed<'_, i64> {
    let (found, rest) = value.split_at_checked(count).ok_or(Mismatch::Text)?;
    if !found.iter().all(u8::is_ascii_digit) {
        return Err(Mismatch::Text);
    }
    Ok((decimal(found), rest))
}

fn decimal(digits: &[u8]) -> i64 {
    digits.iter().fold(0, |number, digit| number * 10 + i64::from(digit - b'0'))
}

/// One or two digits; always two if fixed.
fn number(value: &[u8], fixed: bool) -> Parsed<'_, i64> {
    digits(value, 2).or_else(|mismatch| if fixed { Err(mismatch) } else { digits(value, 1) })
}

/// One to three digits after up to two blanks; always three digits if fixed.
fn three_digits(value: &[u8], fixed: bool) -> Parsed<'_, i64> {
    let blanks = if fixed { 0 } else { value.iter().take(2).take_while(|byte| **byte == b' ').count() };
    let value = &value[blanks..];
    let count = value.iter().take(3).take_while(|byte| byte.is_ascii_digit()).count();
    if count == 0 || (fixed && count < 3) { Err(Mismatch::Text) } else { digits(value, count) }
}

/// The number of a name, from 1, in any case. Of each name `length` letters are compared.
fn name<'v>(names: &[&str], length: usize, value: &'v [u8]) -> Parsed<'v, i64> {
    let found = names.iter().zip(1..).find_map(|(name, index)| {
        let (start, rest) = value.split_at_checked(name.len().min(length))?;
        start.eq_ignore_ascii_case(&name.as_bytes()[..start.len()]).then_some((index, rest))
    });
    found.ok_or(Mismatch::Text)
}

/// The length of a fraction with its point.
fn fraction(value: &[u8]) -> Option<usize> {
    let digits = value.strip_prefix(b".").or(value.strip_prefix(b","))?;
    let count = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (count > 0).then_some(1 + count)
}

/// The nanoseconds of a fraction of this length; digits after the ninth are ignored.
fn nanos(value: &[u8], length: usize) -> Result<i64, Mismatch> {
    if fraction(value).is_none_or(|found| found < length) {
        return Err(Mismatch::Text);
    }
    let digits = &value[1..length.min(10)];
    let missing = 9 - digits.len();
    Ok((0..missing).fold(decimal(digits), |number, _| number * 10))
}

/// An offset such as `+07:00`, in seconds.
fn offset(value: &[u8], colons: bool, parts: usize) -> Parsed<'_, i32> {
    const UNITS: [(i64, i64, &str); 3] = [
        (3600, 24, "time zone offset hour"),
        (60, 60, "time zone offset minute"),
        (1, 60, "time zone offset second"),
    ];
    let (sign, mut rest) = value.split_first().ok_or(Mismatch::Text)?;
    let mut numbers = [0; UNITS.len()];
    for (index, number) in numbers.iter_mut().take(parts).enumerate() {
        if colons && index > 0 {
            rest = rest.strip_prefix(b":").ok_or(Mismatch::Text)?;
        }
        (*number, rest) = digits(rest, 2)?;
    }
    let mut seconds = 0;
    for (number, (unit, max, what)) in numbers.into_iter().zip(UNITS) {
        if number > max {
            return Err(Mismatch::Range(what));
        }
        seconds += number * unit;
    }
    let seconds = i32::try_from(seconds).map_err(|_| Mismatch::Text)?;
    match sign {
        b'+' => Ok((seconds, rest)),
        b'-' => Ok((-seconds, rest)),
        _ => Err(Mismatch::Text),
    }
}

/// The length of the abbreviation of a zone.
fn zone_name(value: &[u8]) -> Option<usize> {
    if value.len() < 3 {
        return None;
    }
    if value.starts_with(b"ChST") || value.starts_with(b"MeST") {
        return Some(4);
    }
    if let Some(rest) = value.strip_prefix(b"GMT") {
        return Some(3 + signed_hours(rest).unwrap_or(0));
    }
    if matches!(value[0], b'+' | b'-') {
        return signed_hours(value);
    }
    match value.iter().take(6).take_while(|byte| byte.is_ascii_uppercase()).count() {
        3 => Some(3),
        4 if value[3] == b'T' || value.starts_with(b"WITA") => Some(4),
        5 if value[4] == b'T' => Some(5),
        _ => None,
    }
}

/// The length of a sign and a number of hours up to 23.
fn signed_hours(value: &[u8]) -> Option<usize> {
    let digits = value.strip_prefix(b"+").or(value.strip_prefix(b"-"))?;
    let count = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (count > 0 && count < 10 && decimal(&digits[..count]) <= 23).then_some(1 + count)
}

fn greenwich_offset(name: &[u8]) -> i32 {
    match name.strip_prefix(b"GMT") {
        Some([sign, hours @ ..]) => {
            let seconds = i32::try_from(decimal(hours)).unwrap_or(0) * 3600;
            if *sign == b'-' { -seconds } else { seconds }
        }
        _ => 0,
    }
}

fn quoted(text: &[u8]) -> String {
    format!("{:?}", shortened(&String::from_utf8_lossy(text), MAX_QUOTED_CHARS))
}
