//! Which mutants of policies no suite notices: as text and as JSON.

use std::fmt::Write as _;

use crate::report::Mutant;
use crate::value::Value;

use super::json::number;
use super::{printable_json, printable_line};

/// The mutants that no suite notices, and how many are noticed.
pub fn mutants_text<'m>(mutants: impl IntoIterator<Item = &'m Mutant>) -> String {
    let mut text = String::new();
    let (mut count, mut noticed) = (0, 0);
    for Mutant { policy, rule, place, at, fault, is_noticed } in mutants {
        count += 1;
        noticed += usize::from(*is_noticed);
        if !is_noticed {
            let title = if policy == rule { policy.to_string() } else { format!("{policy}/{rule}") };
            let line = format!("{}:{}: {title}: {at}: {fault}", place.file, place.line);
            let _ = writeln!(text, "{}", printable_line(&line));
        }
    }
    if !text.is_empty() {
        text.push('\n');
    }
    let _ = writeln!(text, "{noticed} of {count} mutants noticed");
    text
}

/// All mutants as one JSON object, with its line break.
pub fn mutants_json<'m>(mutants: impl IntoIterator<Item = &'m Mutant>) -> String {
    let row = |one: &Mutant| {
        Value::from_iter([
            ("policy", Value::String(one.policy.clone())),
            ("rule", Value::String(one.rule.clone())),
            ("file", Value::String(one.place.file.clone())),
            ("line", number(one.place.line)),
            ("path", one.at.to_string().into()),
            ("fault", one.fault.as_str().into()),
            ("noticed", one.is_noticed.into()),
        ])
    };
    let rows = mutants.into_iter().map(row).collect();
    let report = Value::from_iter([("version", Value::from(1)), ("mutants", Value::array(rows))]);
    printable_json(report.to_pretty_json(2)) + "\n"
}
