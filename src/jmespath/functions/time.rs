//! Functions over times and durations.

use std::num::IntErrorKind;

use jiff::tz::Offset;

use crate::jmespath::MAX_QUOTED_CHARS;
use crate::jmespath::error::{EvalError, SearchResult};
use crate::jmespath::layout::{RFC3339, parse};
use crate::jmespath::moment::{Civil, Moment};
use crate::value::{GoDuration, Value, shortened};

use super::signature::STRING;
use super::{Function, Invocation};

pub(super) const FUNCTIONS: &[Function] = &[
    Function::own("time_add", &[STRING, STRING], "string", |call| {
        show(call, time(call, 0)?.plus(duration(call, 1)?))
    })
    .describe("a time, a duration later"),
    Function::own("time_after", &[STRING, STRING], "boolean", |call| {
        Ok(Value::Bool(time(call, 0)?.nanos() > time(call, 1)?.nanos()))
    })
    .describe("whether the first time is later than the second"),
    Function::own("time_before", &[STRING, STRING], "boolean", |call| {
        Ok(Value::Bool(time(call, 0)?.nanos() < time(call, 1)?.nanos()))
    })
    .describe("whether the first time is earlier than the second"),
    Function::own("time_between", &[STRING, STRING, STRING], "boolean", |call| {
        let [time, start, end] = [time(call, 0)?, time(call, 1)?, time(call, 2)?].map(Moment::nanos);
        Ok(Value::Bool(start < time && time < end))
    })
    .describe("whether the first time is later than the second and earlier than the third"),
    Function::own("time_diff", &[STRING, STRING], "string", |call| {
        let (start, end) = (time(call, 0)?, time(call, 1)?);
        call.text_result(end.since(start).to_string())
    })
    .describe("the duration from the first time to the second"),
    Function::own("time_now", &[], "string", |call| {
        let clock = call.runtime.clock;
        show(call, Moment::from_timestamp(clock.now(), clock.offset()))
    })
    .describe("the time now, in local time"),
    Function::own("time_now_utc", &[], "string", |call| show(call, now(call)))
        .describe("the time now, in UTC"),
    Function::own("time_parse", &[STRING, STRING], "string", time_parse)
        .describe("a time written in a layout of Go, or in seconds since 1970 if the layout is a number"),
    Function::own("time_since", &[STRING, STRING, STRING], "string", time_since)
        .describe("the duration between two times in a layout, up to now if the second is empty"),
    Function::own("time_to_cron", &[STRING], "string", time_to_cron).describe("a time as cron expression"),
    Function::own("time_truncate", &[STRING, STRING], "string", |call| {
        show(call, time(call, 0)?.truncated(duration(call, 1)?))
    })
    .describe("a time rounded down to a multiple of a duration"),
    Function::own("time_utc", &[STRING], "string", |call| show(call, time(call, 0)?.utc()))
        .describe("a time in UTC"),
];

fn now(call: &Invocation<'_>) -> Moment {
    Moment::from_timestamp(call.runtime.clock.now(), Offset::UTC)
}

fn show(call: &Invocation<'_>, moment: Moment) -> SearchResult {
    call.text_result(moment.to_string())
}

/// An argument that is a time in RFC 3339.
fn time(call: &Invocation<'_>, index: usize) -> Result<Moment, EvalError> {
    parse(RFC3339, call.text(index)).map_err(|error| call.fail_plainly(error))
}

fn duration(call: &Invocation<'_>, index: usize) -> Result<GoDuration, EvalError> {
    GoDuration::parse(call.text(index)).map_err(|error| call.fail_plainly(error))
}

fn time_parse(call: &Invocation<'_>) -> SearchResult {
    let (layout, text) = (call.text(0), call.text(1));
    if layout.parse::<i64>().is_ok() {
        let seconds = text.parse::<i64>().map_err(|error| {
            let overflows = matches!(error.kind(), IntErrorKind::PosOverflow | IntErrorKind::NegOverflow);
            let why = if overflows { "value out of range" } else { "invalid syntax" };
            let text = shortened(text, MAX_QUOTED_CHARS);
            call.fail_plainly(format_args!("strconv.ParseInt: parsing {text:?}: {why}"))
        })?;
        return show(call, Moment::from_unix(seconds));
    }
    let moment = parse(layout, text).map_err(|error| call.fail_plainly(error))?;
    show(call, moment)
}

fn time_since(call: &Invocation<'_>) -> SearchResult {
    let layout = if call.text(0).is_empty() { RFC3339 } else { call.text(0) };
    let time = |index| parse(layout, call.text(index)).map_err(|error| call.fail_plainly(error));
    let start = time(1)?;
    let end = if call.text(2).is_empty() { now(call) } else { time(2)? };
    call.text_result(end.since(start).to_string())
}

fn time_to_cron(call: &Invocation<'_>) -> SearchResult {
    let moment = time(call, 0)?;
    let Civil { month, day, hour, minute, .. } = moment.civil();
    call.text_result(format!("{minute} {hour} {day} {month} {}", moment.weekday()))
}

#[cfg(test)]
mod tests {
    use crate::jmespath::testing::check;

    #[test]
    fn the_current_time_is_that_of_the_clock() {
        check(&[
            ("time_now_utc()", r#""2024-02-29T12:34:56Z""#),
            ("time_now()", r#""2024-02-29T12:34:56Z""#),
            ("time_since('', '2024-02-29T12:34:56Z', '')", r#""789ms""#),
            ("time_now(a)", "error: incorrect number of args"),
        ]);
    }
}
