//! Points in time from the year 1 to the end of the year 9999, and their parts in a time zone.

use std::cmp::Ordering;

use super::error::EvalError;

const NANOS: i128 = 1_000_000_000;
const DAY: i64 = 86_400;

/// The first and the last second that a timestamp can have: years 1 to 9999.
const FIRST: i64 = -62_135_596_800;
const LAST: i64 = 253_402_300_799;

/// A point in time. It keeps the offset that it was written with, which is no part of what it equals.
#[derive(Clone, Copy, Debug)]
pub struct Stamp {
    /// Since 1970.
    seconds: i64,
    /// After the second.
    nanos: u32,
    /// Seconds east of UTC.
    offset: i32,
}

impl PartialEq for Stamp {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Stamp {}

impl PartialOrd for Stamp {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Stamp {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.seconds, self.nanos).cmp(&(other.seconds, other.nanos))
    }
}

/// The parts of a point in time in a time zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parts {
    pub(super) year: i64,
    /// From 1.
    pub(super) month: i64,
    /// From 1.
    pub(super) day: i64,
    /// From 1.
    pub(super) day_of_year: i64,
    /// From 0 for Sunday.
    pub(super) weekday: i64,
    pub(super) hour: i64,
    pub(super) minute: i64,
    pub(super) second: i64,
    pub(super) nanos: u32,
}

pub(super) fn overflow() -> EvalError {
    EvalError::failed("timestamp overflow")
}

impl Stamp {
    /// From seconds since 1970.
    ///
    /// # Errors
    ///
    /// Years before 1 and after 9999.
    pub fn from_second(seconds: i64) -> Result<Self, EvalError> {
        Self::new(seconds, 0)
    }

    pub(super) fn new(seconds: i64, nanos: u32) -> Result<Self, EvalError> {
        if (FIRST..=LAST).contains(&seconds) {
            Ok(Self { seconds, nanos, offset: 0 })
        } else {
            Err(overflow())
        }
    }

    pub(super) fn from_nanosecond(nanos: i128) -> Result<Self, EvalError> {
        let seconds = i64::try_from(nanos.div_euclid(NANOS)).map_err(|_| overflow())?;
        Self::new(seconds, u32::try_from(nanos.rem_euclid(NANOS)).unwrap_or(0))
    }

    /// The same with an offset in seconds east of UTC.
    #[must_use]
    pub(super) const fn at_offset(self, offset: i32) -> Self {
        Self { offset, ..self }
    }

    pub(super) const fn offset(self) -> i32 {
        self.offset
    }

    /// Seconds since 1970, rounded down.
    pub const fn as_second(self) -> i64 {
        self.seconds
    }

    /// Nanoseconds since 1970.
    pub fn as_nanosecond(self) -> i128 {
        i128::from(self.seconds) * NANOS + i128::from(self.nanos)
    }

    /// Its parts in a zone that is so many seconds east of UTC.
    pub(super) fn parts(self, offset: i64) -> Parts {
        let local = self.seconds.saturating_add(offset);
        let (days, second) = (local.div_euclid(DAY), local.rem_euclid(DAY));
        let (year, month, day) = date(days);
        Parts {
            year,
            month,
            day,
            day_of_year: days - days_before(year, 1, 1) + 1,
            // 1970 began on a Thursday.
            weekday: (days + 4).rem_euclid(7),
            hour: second / 3600,
            minute: second / 60 % 60,
            second: second % 60,
            nanos: self.nanos,
        }
    }
}

impl From<jiff::Timestamp> for Stamp {
    /// All years of the other type are in range but those before 1, which become the first second.
    fn from(stamp: jiff::Timestamp) -> Self {
        Self::from_nanosecond(stamp.as_nanosecond()).unwrap_or(Self { seconds: FIRST, nanos: 0, offset: 0 })
    }
}

/// The days from 1970 to a date of the Gregorian calendar. Years begin in March here, so that leap days are last.
pub(super) const fn days_before(year: i64, month: i64, day: i64) -> i64 {
    let year = if month > 2 { year } else { year - 1 };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Year, month and day so many days after 1970 began.
const fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (era * 400 + year + if month <= 2 { 1 } else { 0 }, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Go's `time` has them.
    #[test]
    fn parts_are_those_of_the_calendar() {
        for (seconds, offset, expected) in [
            (0, 0, "1970-1-1 1 4 0:0:0"),
            (951_782_400, 0, "2000-2-29 60 2 0:0:0"),
            (4_107_542_400, 0, "2100-3-1 60 1 0:0:0"),
            (1_735_603_200, 0, "2024-12-31 366 2 0:0:0"),
            (-1, 0, "1969-12-31 365 3 23:59:59"),
            (-2_203_977_600, 0, "1900-2-28 59 3 0:0:0"),
            (LAST, 0, "9999-12-31 365 5 23:59:59"),
            (LAST, 14 * 3600, "10000-1-1 1 6 13:59:59"),
            (FIRST, 0, "1-1-1 1 1 0:0:0"),
            (FIRST, -3600, "0-12-31 366 0 23:0:0"),
        ] {
            let parts = Stamp::from_second(seconds).unwrap().parts(offset);
            let Parts { year, month, day, day_of_year, weekday, hour, minute, second, .. } = parts;
            let found = format!("{year}-{month}-{day} {day_of_year} {weekday} {hour}:{minute}:{second}");
            assert_eq!(found, expected, "{seconds} {offset}");
        }
    }

    #[test]
    fn dates_are_those_of_their_days() {
        for days in (-719_162..2_932_897).step_by(7) {
            let (year, month, day) = date(days);
            assert_eq!(days_before(year, month, day), days, "{year}-{month}-{day}");
        }
    }
}
