//! Times in layouts, as Go's `time.Parse` reads them.
//!
//! A layout shows how the time `Mon Jan 2 15:04:05 MST 2006` would be written.

use super::moment::{Civil, Moment, day_of_year, days_in};
use super::print::excerpt;

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
    LongMonth,
    Month,
    /// Whether it always has two digits.
    NumericMonth(bool),
    LongWeekday,
    Weekday,
    /// Whether it always has two digits, or may start with a blank.
    Day {
        fixed: bool,
        blank: bool,
    },
    DayOfYear {
        fixed: bool,
    },
    Hour,
    Hour12(bool),
    Minute(bool),
    Second(bool),
    /// So many digits exactly, with the point.
    Fraction(usize),
    /// Any number of digits, or none.
    OptionalFraction,
    /// `PM`, in capitals or not.
    Noon(bool),
    /// Whether `Z` stands for UTC; with colons; how many parts.
    Offset {
        utc: bool,
        colons: bool,
        parts: usize,
    },
    ZoneName,
}

/// The text before the first element, the element, its length.
fn next_element(layout: &[u8]) -> Option<(usize, Element, usize)> {
    (0..layout.len()).find_map(|at| {
        let (element, skipped, length) = element_at(layout, at)?;
        Some((at + skipped, element, length))
    })
}

/// The element at a place: what it is, what stands before it, its length.
fn element_at(layout: &[u8], at: usize) -> Option<(Element, usize, usize)> {
    let rest = &layout[at..];
    let starts = |text: &str| rest.starts_with(text.as_bytes());
    let word_ends = |length: usize| !rest.get(length).is_some_and(u8::is_ascii_lowercase);
    let found = |element, length| Some((element, 0, length));
    match rest[0] {
        b'J' if starts("January") => found(Element::LongMonth, 7),
        b'J' if starts("Jan") && word_ends(3) => found(Element::Month, 3),
        b'M' if starts("Monday") => found(Element::LongWeekday, 6),
        b'M' if starts("Mon") && word_ends(3) => found(Element::Weekday, 3),
        b'M' if starts("MST") => found(Element::ZoneName, 3),
        b'0' => match rest.get(1)? {
            b'1' => found(Element::NumericMonth(true), 2),
            b'2' => found(Element::Day { fixed: true, blank: false }, 2),
            b'3' => found(Element::Hour12(true), 2),
            b'4' => found(Element::Minute(true), 2),
            b'5' => found(Element::Second(true), 2),
            b'6' => found(Element::Year, 2),
            b'0' if starts("002") => found(Element::DayOfYear { fixed: true }, 3),
            _ => None,
        },
        b'1' if starts("15") => found(Element::Hour, 2),
        b'1' => found(Element::NumericMonth(false), 1),
        b'2' if starts("2006") => found(Element::LongYear, 4),
        b'2' => found(Element::Day { fixed: false, blank: false }, 1),
        // The line before a year is text.
        b'_' if starts("_2006") => Some((Element::LongYear, 1, 4)),
        b'_' if starts("_2") => found(Element::Day { fixed: false, blank: true }, 2),
        b'_' if starts("__2") => found(Element::DayOfYear { fixed: false }, 3),
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

/// What was read of a time so far.
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
    /// Whether the hour is of the afternoon.
    afternoon: Option<bool>,
    utc: bool,
    offset: Option<i32>,
    /// The offset that a zone named after Greenwich has in its name; 0 for other names.
    named_offset: Option<i32>,
}

/// Why an element does not fit.
enum Misfit {
    /// The text is no such element.
    Bad,
    /// The number is out of its range.
    Range(&'static str),
}

type Read<'v, T> = Result<(T, &'v [u8]), Misfit>;

/// Reads a time.
///
/// # Errors
///
/// Text that does not fit the layout, in Go's words.
pub(super) fn parse(layout: &str, text: &str) -> Result<Moment, String> {
    let mut fields = Fields::default();
    let mut value = text.as_bytes();
    let mut rest = layout.as_bytes();
    let misfit = |value: &[u8], element: &[u8]| {
        format!(
            "parsing time {} as {}: cannot parse {} as {}",
            quoted(text.as_bytes()),
            quoted(layout.as_bytes()),
            quoted(value),
            quoted(element)
        )
    };
    let fault = |message: &str| format!("parsing time {}: {message}", quoted(text.as_bytes()));
    while let Some((start, element, length)) = next_element(rest) {
        let (prefix, written) = (&rest[..start], &rest[start..start + length]);
        value = skip(value, prefix).map_err(|left| misfit(left, prefix))?;
        rest = &rest[start + length..];
        let fraction_follows =
            matches!(next_element(rest), Some((_, Element::Fraction(_) | Element::OptionalFraction, _)));
        value = fields.read(element, value, fraction_follows).map_err(|why| match why {
            Misfit::Bad => misfit(value, written),
            Misfit::Range(what) => fault(&format!("{what} out of range")),
        })?;
    }
    value = skip(value, rest).map_err(|left| misfit(left, rest))?;
    if !value.is_empty() {
        return Err(fault(&format!("extra text: {}", quoted(value))));
    }
    fields.moment().map_err(fault)
}

impl Fields {
    /// Reads one element; what is left of the text.
    fn read<'v>(
        &mut self,
        element: Element,
        value: &'v [u8],
        fraction_follows: bool,
    ) -> Result<&'v [u8], Misfit> {
        let rest;
        match element {
            Element::Year => {
                let (year, after) = digits(value, 2)?;
                rest = after;
                self.year = if year >= 69 { year + 1900 } else { year + 2000 };
            }
            Element::LongYear => (self.year, rest) = digits(value, 4)?,
            Element::Month | Element::LongMonth => {
                let length = if element == Element::Month { 3 } else { usize::MAX };
                let (month, after) = named(&MONTHS, length, value)?;
                (self.month, rest) = (Some(month + 1), after);
            }
            Element::Weekday | Element::LongWeekday => {
                let length = if element == Element::Weekday { 3 } else { usize::MAX };
                rest = named(&WEEKDAYS, length, value)?.1;
            }
            Element::NumericMonth(fixed) => {
                let (month, after) = number(value, fixed)?;
                if !(1..=12).contains(&month) {
                    return Err(Misfit::Range("month"));
                }
                (self.month, rest) = (Some(month), after);
            }
            Element::Day { fixed, blank } => {
                let value = if blank { value.strip_prefix(b" ").unwrap_or(value) } else { value };
                let (day, after) = number(value, fixed)?;
                (self.day, rest) = (Some(day), after);
            }
            Element::DayOfYear { fixed } => {
                let (day, after) = three_digits(value, fixed)?;
                (self.day_of_year, rest) = (Some(day), after);
            }
            Element::Hour => (self.hour, rest) = ranged(number(value, false)?, 23, "hour")?,
            Element::Hour12(fixed) => (self.hour, rest) = ranged(number(value, fixed)?, 12, "hour")?,
            Element::Minute(fixed) => (self.minute, rest) = ranged(number(value, fixed)?, 59, "minute")?,
            Element::Second(fixed) => {
                let (second, after) = ranged(number(value, fixed)?, 59, "second")?;
                self.second = second;
                // A fraction may stand where the layout has none.
                rest = match fraction(after) {
                    Some(length) if !fraction_follows => {
                        self.nanos = nanos(after, length)?;
                        &after[length..]
                    }
                    _ => after,
                };
            }
            Element::Fraction(length) => {
                self.nanos = nanos(value.get(..length).ok_or(Misfit::Bad)?, length)?;
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
                let found = names.iter().position(|name| value.starts_with(name)).ok_or(Misfit::Bad)?;
                // Where both stand, the afternoon wins.
                self.afternoon = Some(found == 1 || self.afternoon == Some(true));
                rest = &value[2..];
            }
            Element::Offset { utc, colons, parts } => {
                if let Some(after) = value.strip_prefix(b"Z").filter(|_| utc) {
                    (self.utc, rest) = (true, after);
                } else {
                    let (offset, after) = offset(value, colons, parts)?;
                    (self.offset, rest) = (Some(offset), after);
                }
            }
            Element::ZoneName => {
                if let Some(after) = value.strip_prefix(b"UTC") {
                    (self.utc, rest) = (true, after);
                } else {
                    let length = zone_name(value).ok_or(Misfit::Bad)?;
                    self.named_offset = Some(greenwich_offset(&value[..length]));
                    rest = &value[length..];
                }
            }
        }
        Ok(rest)
    }

    fn moment(self) -> Result<Moment, &'static str> {
        let hour = match self.afternoon {
            Some(true) if self.hour < 12 => self.hour + 12,
            Some(false) if self.hour == 12 => 0,
            _ => self.hour,
        };
        let (month, day) = match self.day_of_year {
            None => (self.month.unwrap_or(1), self.day.unwrap_or(1)),
            Some(number) => {
                let (month, day) = day_of_year(self.year, number).ok_or("day-of-year out of range")?;
                if self.month.is_some_and(|found| found != month) {
                    return Err("day-of-year does not match month");
                }
                if self.day.is_some_and(|found| found != day) {
                    return Err("day-of-year does not match day");
                }
                (month, day)
            }
        };
        if !(1..=days_in(self.year, month)).contains(&day) {
            return Err("day out of range");
        }
        let civil = Civil { year: self.year, month, day, hour, minute: self.minute, second: self.second };
        Ok(match (self.utc, self.offset, self.named_offset) {
            (false, Some(offset), _) => Moment::new(civil, self.nanos, offset),
            // The zone of a name is not known: the time is taken for UTC, and shown with what the name says.
            (false, None, Some(offset)) => Moment::new(civil, self.nanos, 0).with_offset(offset),
            _ => Moment::new(civil, self.nanos, 0),
        })
    }
}

/// Passes the text between elements; where it goes wrong.
fn skip<'v>(mut value: &'v [u8], mut prefix: &[u8]) -> Result<&'v [u8], &'v [u8]> {
    while let Some((wanted, after)) = prefix.split_first() {
        if *wanted == b' ' {
            if value.first().is_some_and(|byte| *byte != b' ') {
                return Err(value);
            }
            prefix = trimmed(prefix);
            value = trimmed(value);
        } else {
            value = value.strip_prefix(&[*wanted]).ok_or(value)?;
            prefix = after;
        }
    }
    Ok(value)
}

fn trimmed(text: &[u8]) -> &[u8] {
    &text[text.iter().take_while(|byte| **byte == b' ').count()..]
}

fn ranged<'v>(read: (i64, &'v [u8]), most: i64, what: &'static str) -> Read<'v, i64> {
    if read.0 > most { Err(Misfit::Range(what)) } else { Ok(read) }
}

/// So many digits.
fn digits(value: &[u8], count: usize) -> Read<'_, i64> {
    let (found, rest) = value.split_at_checked(count).ok_or(Misfit::Bad)?;
    if !found.iter().all(u8::is_ascii_digit) {
        return Err(Misfit::Bad);
    }
    Ok((decimal(found), rest))
}

fn decimal(digits: &[u8]) -> i64 {
    digits.iter().fold(0, |number, digit| number * 10 + i64::from(digit - b'0'))
}

/// One or two digits, two if the element is fixed.
fn number(value: &[u8], fixed: bool) -> Read<'_, i64> {
    digits(value, 2).or_else(|misfit| if fixed { Err(misfit) } else { digits(value, 1) })
}

/// One to three digits, blanks before them if the element is not fixed.
fn three_digits(value: &[u8], fixed: bool) -> Read<'_, i64> {
    let blanks = if fixed { 0 } else { value.iter().take(2).take_while(|byte| **byte == b' ').count() };
    let value = &value[blanks..];
    let count = value.iter().take(3).take_while(|byte| byte.is_ascii_digit()).count();
    if count == 0 || (fixed && count < 3) { Err(Misfit::Bad) } else { digits(value, count) }
}

/// One of some names, so many letters of each, whatever their case.
fn named<'v>(names: &[&str], length: usize, value: &'v [u8]) -> Read<'v, i64> {
    let found = names.iter().zip(0..).find_map(|(name, index)| {
        let (start, rest) = value.split_at_checked(name.len().min(length))?;
        start.eq_ignore_ascii_case(&name.as_bytes()[..start.len()]).then_some((index, rest))
    });
    found.ok_or(Misfit::Bad)
}

/// The length of a fraction with its point, if there is one.
fn fraction(value: &[u8]) -> Option<usize> {
    let digits = value.strip_prefix(b".").or(value.strip_prefix(b","))?;
    let count = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (count > 0).then_some(1 + count)
}

/// The nanoseconds of a fraction of this length; digits beyond the ninth do not count.
fn nanos(value: &[u8], length: usize) -> Result<i64, Misfit> {
    if fraction(value).is_none_or(|found| found < length) {
        return Err(Misfit::Bad);
    }
    let digits = &value[1..length.min(10)];
    let missing = 9 - digits.len();
    Ok((0..missing).fold(decimal(digits), |number, _| number * 10))
}

/// `+07:00` and the like, in seconds.
fn offset(value: &[u8], colons: bool, parts: usize) -> Read<'_, i32> {
    const UNITS: [(i64, i64, &str); 3] = [
        (3600, 24, "time zone offset hour"),
        (60, 60, "time zone offset minute"),
        (1, 60, "time zone offset second"),
    ];
    let (sign, mut rest) = value.split_first().ok_or(Misfit::Bad)?;
    let mut numbers = [0; UNITS.len()];
    for (index, number) in numbers.iter_mut().take(parts).enumerate() {
        if colons && index > 0 {
            rest = rest.strip_prefix(b":").ok_or(Misfit::Bad)?;
        }
        (*number, rest) = digits(rest, 2)?;
    }
    let mut seconds = 0;
    for (number, (unit, most, what)) in numbers.into_iter().zip(UNITS) {
        if number > most {
            return Err(Misfit::Range(what));
        }
        seconds += number * unit;
    }
    let seconds = i32::try_from(seconds).map_err(|_| Misfit::Bad)?;
    match sign {
        b'+' => Ok((seconds, rest)),
        b'-' => Ok((-seconds, rest)),
        _ => Err(Misfit::Bad),
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

/// The length of a sign with up to 23 hours.
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
    format!("{:?}", excerpt(&String::from_utf8_lossy(text)))
}
