//! Functions over times and durations.

use std::num::IntErrorKind;

use jiff::tz::Offset;

use crate::jmespath::error::EvalError;
use crate::jmespath::layout::{RFC3339, parse};
use crate::jmespath::moment::{Civil, Moment};
use crate::jmespath::print::excerpt;
use crate::value::{GoDuration, Value};

use super::signature::STRING;
use super::{Function, Invocation};

type Answer = Result<Value, EvalError>;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::own("time_add", &[STRING, STRING], "string", "a time, a duration later", |call| {
        show(call, time(call, 0)?.plus(duration(call, 1)?))
    }),
    Function::own(
        "time_after",
        &[STRING, STRING],
        "boolean",
        "whether the first time is later than the second",
        |call| Ok(Value::Bool(time(call, 0)?.nanos() > time(call, 1)?.nanos())),
    ),
    Function::own(
        "time_before",
        &[STRING, STRING],
        "boolean",
        "whether the first time is earlier than the second",
        |call| Ok(Value::Bool(time(call, 0)?.nanos() < time(call, 1)?.nanos())),
    ),
    Function::own(
        "time_between",
        &[STRING, STRING, STRING],
        "boolean",
        "whether the first time is later than the second and earlier than the third",
        |call| {
            let [time, start, end] = [time(call, 0)?, time(call, 1)?, time(call, 2)?].map(Moment::nanos);
            Ok(Value::Bool(start < time && time < end))
        },
    ),
    Function::own(
        "time_diff",
        &[STRING, STRING],
        "string",
        "the duration from the first time to the second",
        |call| {
            let (start, end) = (time(call, 0)?, time(call, 1)?);
            call.text_result(end.since(start).to_string())
        },
    ),
    Function::own("time_now", &[], "string", "the time now, in local time", |call| {
        let clock = call.runtime().clock;
        show(call, Moment::at(clock.now(), clock.offset()))
    }),
    Function::own("time_now_utc", &[], "string", "the time now, in UTC", |call| show(call, now(call))),
    Function::own(
        "time_parse",
        &[STRING, STRING],
        "string",
        "a time written in a layout of Go, or in seconds since 1970 if the layout is a number",
        time_parse,
    ),
    Function::own(
        "time_since",
        &[STRING, STRING, STRING],
        "string",
        "the duration between two times in a layout, up to now if the second is empty",
        time_since,
    ),
    Function::own("time_to_cron", &[STRING], "string", "a time as cron expression", time_to_cron),
    Function::own(
        "time_truncate",
        &[STRING, STRING],
        "string",
        "a time rounded down to a multiple of a duration",
        |call| show(call, time(call, 0)?.truncated(duration(call, 1)?)),
    ),
    Function::own("time_utc", &[STRING], "string", "a time in UTC", |call| show(call, time(call, 0)?.utc())),
];

fn now(call: &Invocation<'_>) -> Moment {
    Moment::at(call.runtime().clock.now(), Offset::UTC)
}

fn show(call: &Invocation<'_>, moment: Moment) -> Answer {
    call.text_result(moment.to_string())
}

/// An argument that is a time in RFC 3339.
fn time(call: &Invocation<'_>, index: usize) -> Result<Moment, EvalError> {
    parse(RFC3339, call.text(index)).map_err(|error| call.fail_plainly(error))
}

fn duration(call: &Invocation<'_>, index: usize) -> Result<GoDuration, EvalError> {
    GoDuration::parse(call.text(index)).map_err(|error| call.fail_plainly(error))
}

fn time_parse(call: &Invocation<'_>) -> Answer {
    let (layout, text) = (call.text(0), call.text(1));
    if layout.parse::<i64>().is_ok() {
        let seconds = text.parse::<i64>().map_err(|error| {
            let beyond = matches!(error.kind(), IntErrorKind::PosOverflow | IntErrorKind::NegOverflow);
            let why = if beyond { "value out of range" } else { "invalid syntax" };
            call.fail_plainly(format_args!("strconv.ParseInt: parsing {:?}: {why}", excerpt(text)))
        })?;
        return show(call, Moment::from_unix(seconds));
    }
    let moment = parse(layout, text).map_err(|error| call.fail_plainly(error))?;
    show(call, moment)
}

fn time_since(call: &Invocation<'_>) -> Answer {
    let layout = if call.text(0).is_empty() { RFC3339 } else { call.text(0) };
    let read = |index| parse(layout, call.text(index)).map_err(|error| call.fail_plainly(error));
    let start = read(1)?;
    let end = if call.text(2).is_empty() { now(call) } else { read(2)? };
    call.text_result(end.since(start).to_string())
}

fn time_to_cron(call: &Invocation<'_>) -> Answer {
    let moment = time(call, 0)?;
    let Civil { month, day, hour, minute, .. } = moment.civil();
    call.text_result(format!("{minute} {hour} {day} {month} {}", moment.weekday()))
}

#[cfg(test)]
mod tests {
    use crate::jmespath::testing::check;

    #[test]
    fn now_is_what_the_clock_says() {
        check(&[
            ("time_now_utc()", r#""2024-02-29T12:34:56Z""#),
            ("time_now()", r#""2024-02-29T12:34:56Z""#),
            ("time_since('', '2024-02-29T12:34:56Z', '')", r#""789ms""#),
            ("time_now(a)", "error: incorrect number of args"),
        ]);
    }
}
