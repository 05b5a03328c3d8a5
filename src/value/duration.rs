//! Durations, as Go parses and formats them.

use std::fmt;

use super::split_digits;

/// A duration: 64 bits of nanoseconds, like Go's `time.Duration`.
///
/// ```
/// use kyv::value::GoDuration;
///
/// assert_eq!(GoDuration::parse("1.5h")?.to_string(), "1h30m0s");
/// # Ok::<(), kyv::value::DurationError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GoDuration(i64);

const SECOND: i64 = 1_000_000_000;

/// The largest magnitude, that of the most negative duration.
const LIMIT: u64 = 1 << 63;

impl GoDuration {
    /// Zero.
    pub const ZERO: Self = Self(0);

    /// A duration in nanoseconds.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// A duration in seconds, truncated to nanoseconds. `None` for NaN and out of range.
    pub fn from_seconds(seconds: f64) -> Option<Self> {
        let nanos = seconds * 1e9;
        // Every float below 2^63 is at most 2^63 - 1024, so the bounds are exact.
        let in_range = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&nanos);
        #[expect(clippy::cast_possible_truncation, reason = "the fraction is to be cut")]
        in_range.then_some(Self(nanos as i64))
    }

    /// A duration in whole seconds: fractions are truncated, and values out of range saturate.
    pub fn from_whole_seconds(seconds: f64) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "the fraction is to be cut")]
        Self((seconds as i64).saturating_mul(SECOND))
    }

    /// The nanoseconds.
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// The seconds, with the rounding of Go's `Duration.Seconds`.
    #[expect(clippy::cast_precision_loss, reason = "Go rounds the same way")]
    pub const fn as_seconds(self) -> f64 {
        (self.0 / SECOND) as f64 + (self.0 % SECOND) as f64 / 1e9
    }

    /// The sum; `None` out of range.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).map(Self)
    }

    /// The difference; `None` out of range.
    pub fn checked_sub(self, other: Self) -> Option<Self> {
        self.0.checked_sub(other.0).map(Self)
    }

    /// The remainder of a division, with the sign of the dividend; `None` for a divisor of zero.
    pub fn checked_rem(self, divisor: Self) -> Option<Self> {
        if divisor.0 == 0 { None } else { Some(Self(self.0.wrapping_rem(divisor.0))) }
    }

    /// Parses a duration such as `1h30m`, as Go's `time.ParseDuration` does.
    ///
    /// # Errors
    ///
    /// Other text, and durations of more than 64 bits of nanoseconds; with the messages of Go.
    pub fn parse(text: &str) -> Result<Self, DurationError<'_>> {
        scan(text)
    }

    /// Parses a duration as [`GoDuration::parse`] does.
    pub fn read(text: &str) -> Option<Self> {
        scan(text).ok()
    }
}

/// Why a text is not a duration, in the words of Go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DurationError<'a> {
    /// It is not a duration, or out of range.
    #[error("time: invalid duration {}", quoted(.0))]
    Invalid(&'a str),
    /// A number without a unit.
    #[error("time: missing unit in duration {}", quoted(.0))]
    MissingUnit(&'a str),
    /// An unknown unit.
    #[error("time: unknown unit {} in duration {}", quoted(.unit), quoted(.text))]
    UnknownUnit {
        /// The unit.
        unit: &'a str,
        /// The whole text.
        text: &'a str,
    },
}

fn scan(text: &str) -> Result<GoDuration, DurationError<'_>> {
    let invalid = DurationError::Invalid(text);
    let (negative, mut rest) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Ok(GoDuration::ZERO);
    }
    if rest.is_empty() {
        return Err(invalid);
    }
    let mut total = 0_u64;
    while !rest.is_empty() {
        let (whole, after) = split_digits(rest);
        let (fraction, after) = after.strip_prefix('.').map_or(("", after), split_digits);
        let count = whole_number(whole).ok_or(invalid)?;
        if whole.is_empty() && fraction.is_empty() {
            return Err(invalid);
        }
        let end = after.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        if unit.is_empty() {
            return Err(DurationError::MissingUnit(text));
        }
        let nanos = nanos_of(unit).ok_or(DurationError::UnknownUnit { unit, text })?;
        let span = count.checked_mul(nanos).and_then(|span| span.checked_add(part_of(fraction, nanos)));
        total =
            span.and_then(|span| total.checked_add(span)).filter(|total| *total <= LIMIT).ok_or(invalid)?;
        rest = after;
    }
    if negative {
        // The magnitude of the most negative duration has no positive counterpart.
        return Ok(GoDuration(0_i64.wrapping_sub_unsigned(total)));
    }
    i64::try_from(total).map(GoDuration).map_err(|_| invalid)
}

fn whole_number(digits: &str) -> Option<u64> {
    digits.bytes().try_fold(0_u64, |number, digit| {
        number.checked_mul(10)?.checked_add(u64::from(digit - b'0')).filter(|number| *number <= LIMIT)
    })
}

/// The nanoseconds of a decimal fraction of a unit. As in Go, only as many digits as fit 63 bits count, and floats are
/// multiplied.
#[expect(clippy::cast_precision_loss, reason = "Go rounds the same way")]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive, and to be cut")]
fn part_of(fraction: &str, nanos: u64) -> u64 {
    let mut number = 0_u64;
    let mut scale = 1.0_f64;
    for digit in fraction.bytes() {
        if number > (LIMIT - 1) / 10 {
            break;
        }
        let next = number * 10 + u64::from(digit - b'0');
        if next > LIMIT {
            break;
        }
        number = next;
        scale *= 10.0;
    }
    (number as f64 * (nanos as f64 / scale)) as u64
}

fn nanos_of(unit: &str) -> Option<u64> {
    Some(match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    })
}

/// A text in quotes, as Go's package `time` quotes it in errors; truncated if long.
fn quoted(text: &str) -> String {
    const MAX_QUOTED_BYTES: usize = 200;
    let end =
        if text.len() <= MAX_QUOTED_BYTES { text.len() } else { text.floor_char_boundary(MAX_QUOTED_BYTES) };
    let mut out = String::from('"');
    for c in text[..end].chars() {
        if c < ' ' || !c.is_ascii() {
            let mut bytes = [0; 4];
            for byte in c.encode_utf8(&mut bytes).bytes() {
                out.push_str("\\x");
                out.extend(
                    [byte >> 4, byte & 15].map(|half| char::from_digit(half.into(), 16).unwrap_or('0')),
                );
            }
        } else {
            if matches!(c, '"' | '\\') {
                out.push('\\');
            }
            out.push(c);
        }
    }
    out.push_str(if end < text.len() { "…\"" } else { "\"" });
    out
}

/// As Go formats a duration: `1h0m0s`, `1.5s`, `100ms`.
impl fmt::Display for GoDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.unsigned_abs();
        if self.0 < 0 {
            f.write_str("-")?;
        }
        match nanos {
            0 => f.write_str("0s"),
            1..1_000 => write!(f, "{nanos}ns"),
            1_000..1_000_000 => write_decimal(f, nanos, 1_000, "µs"),
            1_000_000..1_000_000_000 => write_decimal(f, nanos, 1_000_000, "ms"),
            _ => {
                let minutes = nanos / 60_000_000_000;
                if minutes >= 60 {
                    write!(f, "{}h", minutes / 60)?;
                }
                if minutes > 0 {
                    write!(f, "{}m", minutes % 60)?;
                }
                write_decimal(f, nanos % 60_000_000_000, 1_000_000_000, "s")
            }
        }
    }
}

/// Writes `nanos / unit` without trailing zeros.
fn write_decimal(f: &mut fmt::Formatter<'_>, nanos: u64, unit: u64, name: &str) -> fmt::Result {
    write!(f, "{}", nanos / unit)?;
    let mut fraction = nanos % unit;
    if fraction > 0 {
        let mut width = unit.ilog10() as usize;
        while fraction.is_multiple_of(10) {
            fraction /= 10;
            width -= 1;
        }
        write!(f, ".{fraction:0width$}")?;
    }
    f.write_str(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nanos(text: &str) -> i64 {
        GoDuration::parse(text).unwrap().as_nanos()
    }

    #[test]
    fn durations_are_read_as_go_reads_them() {
        let (second, hour) = (SECOND, 3_600 * SECOND);
        for (text, expected) in [
            ("0", 0),
            ("+0", 0),
            ("-0", 0),
            ("0s", 0),
            ("1h", hour),
            ("1.5h", hour * 3 / 2),
            ("1h30m", hour * 3 / 2),
            ("-1.5h", -hour * 3 / 2),
            ("+5s", 5 * second),
            (".5s", second / 2),
            ("1.s", second),
            ("1h1h", 2 * hour),
            ("30m1h", hour * 3 / 2),
            ("100ms", second / 10),
            ("1us", 1_000),
            ("1µs", 1_000),
            ("1μs", 1_000),
            ("1ns", 1),
            ("90m", hour * 3 / 2),
            ("3600s", hour),
            ("0.5ns", 0),
            ("1.0000000001s", second),
            ("0.3333333333333333333333333h", 1_200 * second),
            ("2562047h47m16.854775807s", i64::MAX),
            ("-9223372036854775808ns", i64::MIN),
        ] {
            assert_eq!(nanos(text), expected, "{text}");
        }
    }

    #[test]
    fn other_text_is_refused_with_the_words_of_go() {
        for (text, message) in [
            ("", r#"time: invalid duration """#),
            ("-", r#"time: invalid duration "-""#),
            ("X", r#"time: invalid duration "X""#),
            (".s", r#"time: invalid duration ".s""#),
            ("h", r#"time: invalid duration "h""#),
            (" 1s", r#"time: invalid duration " 1s""#),
            ("3000000h", r#"time: invalid duration "3000000h""#),
            ("9223372036854775808ns", r#"time: invalid duration "9223372036854775808ns""#),
            ("1", r#"time: missing unit in duration "1""#),
            ("1m1", r#"time: missing unit in duration "1m1""#),
            ("1d", r#"time: unknown unit "d" in duration "1d""#),
            ("1H", r#"time: unknown unit "H" in duration "1H""#),
            ("1s ", r#"time: unknown unit "s " in duration "1s ""#),
            ("1e3s", r#"time: unknown unit "e" in duration "1e3s""#),
            ("1h-5m", r#"time: unknown unit "h-" in duration "1h-5m""#),
            ("1µ\"d", r#"time: unknown unit "\xc2\xb5\"d" in duration "1\xc2\xb5\"d""#),
        ] {
            assert_eq!(GoDuration::parse(text).unwrap_err().to_string(), message);
            assert_eq!(GoDuration::read(text), None);
        }
    }

    #[test]
    fn a_long_text_is_cut_in_the_error() {
        let message = GoDuration::parse(&"é".repeat(100_000)).unwrap_err().to_string();
        assert!(message.len() < 1_000);
    }

    #[test]
    fn durations_are_printed_as_go_prints_them() {
        for (text, expected) in [
            ("0", "0s"),
            ("1ns", "1ns"),
            ("1500ns", "1.5µs"),
            ("100ms", "100ms"),
            ("1.501s", "1.501s"),
            ("100s", "1m40s"),
            ("60m", "1h0m0s"),
            ("2h", "2h0m0s"),
            ("514.285714285s", "8m34.285714285s"),
            ("180h10m", "180h10m0s"),
            ("-1801s", "-30m1s"),
            ("-9223372036854775808ns", "-2562047h47m16.854775808s"),
        ] {
            assert_eq!(GoDuration::parse(text).unwrap().to_string(), expected);
        }
    }

    #[test]
    fn arithmetic_stays_in_range() {
        let most = GoDuration::from_nanos(i64::MAX);
        let least = GoDuration::from_nanos(i64::MIN);
        let one = GoDuration::from_nanos(1);
        assert_eq!(most.checked_add(one), None);
        assert_eq!(least.checked_sub(one), None);
        assert_eq!(least.checked_rem(GoDuration::from_nanos(-1)), Some(GoDuration::ZERO));
        assert_eq!(one.checked_rem(GoDuration::ZERO), None);
        assert_eq!(GoDuration::from_seconds(1e10), None);
        assert_eq!(GoDuration::from_seconds(f64::NAN), None);
        assert_eq!(GoDuration::from_seconds(-1.5), GoDuration::read("-1.5s"));
        assert_eq!(GoDuration::from_whole_seconds(1e300), most);
        assert_eq!(GoDuration::from_whole_seconds(-60.9), GoDuration::read("-1m").unwrap());
    }
}
