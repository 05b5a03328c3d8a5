//! Points in time with an offset from UTC.

use std::fmt;

use jiff::Timestamp;
use jiff::tz::Offset;

use crate::value::GoDuration;

const SECOND: i128 = 1_000_000_000;
const DAY_SECONDS: i64 = 86_400;

/// Seconds from the first instant of the year 1 to that of 1970.
const YEAR_ONE_TO_1970: i128 = 62_135_596_800;

/// A point in time, and the offset from UTC that it is printed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    /// Nanoseconds since 1970.
    nanos: i128,
    /// Seconds east of UTC.
    offset: i32,
}

/// A day and a time of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Civil {
    pub(super) year: i64,
    pub(super) month: i64,
    pub(super) day: i64,
    pub(super) hour: i64,
    pub(super) minute: i64,
    pub(super) second: i64,
}

impl Moment {
    /// A local time.
    pub(super) fn new(civil: Civil, nanos: i64, offset: i32) -> Self {
        let Civil { year, month, day, hour, minute, second } = civil;
        let seconds = days(year, month, day) * DAY_SECONDS + hour * 3600 + minute * 60 + second;
        Self { nanos: (i128::from(seconds) - i128::from(offset)) * SECOND + i128::from(nanos), offset }
    }

    pub(super) fn from_timestamp(timestamp: Timestamp, offset: Offset) -> Self {
        Self { nanos: timestamp.as_nanosecond(), offset: offset.seconds() }
    }

    /// Seconds since 1970, in UTC.
    pub(super) fn from_unix(seconds: i64) -> Self {
        Self { nanos: i128::from(seconds) * SECOND, offset: 0 }
    }

    /// The same point in time in UTC.
    pub(super) const fn utc(self) -> Self {
        self.with_offset(0)
    }

    /// The same point in time with another offset.
    pub(super) const fn with_offset(self, offset: i32) -> Self {
        Self { nanos: self.nanos, offset }
    }

    /// The nanoseconds since 1970.
    pub(super) const fn nanos(self) -> i128 {
        self.nanos
    }

    /// The time from another moment to this one, at limit the longest duration.
    pub(super) fn since(self, other: Self) -> GoDuration {
        let nanos = self.nanos - other.nanos;
        let limit = if nanos < 0 { i64::MIN } else { i64::MAX };
        GoDuration::from_nanos(i64::try_from(nanos).unwrap_or(limit))
    }

    pub(super) fn plus(self, span: GoDuration) -> Self {
        Self { nanos: self.nanos + i128::from(span.as_nanos()), offset: self.offset }
    }

    /// Rounded down to a multiple of the span since the year 1; unchanged if the span is not positive.
    pub(super) fn truncated(self, span: GoDuration) -> Self {
        if span.as_nanos() <= 0 {
            return self;
        }
        let since = self.nanos + YEAR_ONE_TO_1970 * SECOND;
        Self { nanos: self.nanos - since.rem_euclid(i128::from(span.as_nanos())), offset: self.offset }
    }

    /// The local time.
    pub(super) fn civil(self) -> Civil {
        let seconds = self.nanos.div_euclid(SECOND) + i128::from(self.offset);
        let seconds = i64::try_from(seconds).unwrap_or_default();
        let (day_number, time) = (seconds.div_euclid(DAY_SECONDS), seconds.rem_euclid(DAY_SECONDS));
        let (year, month, day) = date(day_number);
        Civil { year, month, day, hour: time / 3600, minute: time / 60 % 60, second: time % 60 }
    }

    /// The day of the week, from Sunday as 0.
    pub(super) fn weekday(self) -> i64 {
        let Civil { year, month, day, .. } = self.civil();
        // 1970 began on a Thursday.
        (days(year, month, day) + 4).rem_euclid(7)
    }
}

/// RFC 3339, without fractions of a second.
impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Civil { year, month, day, hour, minute, second } = self.civil();
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")?;
        if self.offset == 0 {
            return f.write_str("Z");
        }
        let sign = if self.offset < 0 { '-' } else { '+' };
        let minutes = self.offset.abs() / 60;
        write!(f, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
    }
}

/// The days since 1970-01-01, in the proleptic Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    // Years begin in March here, so that the leap day is the last of a year.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// Year, month and day from the days since 1970-01-01.
fn date(number: i64) -> (i64, i64, i64) {
    let shifted = number + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// The number of days in a month.
pub(super) fn days_in(year: i64, month: i64) -> i64 {
    match month {
        12 => 31,
        _ => days(year, month + 1, 1) - days(year, month, 1),
    }
}

/// Month and day from the day of the year, from 1.
pub(super) fn day_of_year(year: i64, number: i64) -> Option<(i64, i64)> {
    let (found, month, day) = date(days(year, 1, 1) + number - 1);
    (number >= 1 && found == year).then_some((month, day))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_dates_are_inverse() {
        for number in (-800_000..800_000).step_by(97) {
            let (year, month, day) = date(number);
            assert_eq!(days(year, month, day), number);
        }
        assert_eq!(date(0), (1970, 1, 1));
        assert_eq!(date(19_782), (2024, 2, 29));
        assert_eq!(
            [days_in(2024, 2), days_in(2023, 2), days_in(1900, 2), days_in(2023, 12)],
            [29, 28, 28, 31]
        );
        assert_eq!(day_of_year(2024, 60), Some((2, 29)));
        assert_eq!(day_of_year(2023, 366), None);
    }

    #[test]
    fn a_moment_is_printed_with_its_offset() {
        let civil = Civil { year: 2021, month: 1, day: 3, hour: 0, minute: 0, second: 0 };
        let moment = Moment::new(civil, 0, 7200);
        assert_eq!(moment.to_string(), "2021-01-03T00:00:00+02:00");
        assert_eq!(moment.utc().to_string(), "2021-01-02T22:00:00Z");
        assert_eq!([moment.weekday(), moment.utc().weekday()], [0, 6]);
    }
}
