//! What test suites reach of policies: as text, as JSON and for programs that read LCOV.

use std::fmt::Write as _;

use crate::report::{MissingBranch, PartCoverage, RuleCoverage};
use crate::value::Value;

use super::{printable_json, printable_line};

/// The share of branches that are reached, and the rules that miss one.
pub fn coverage_text<'c>(rules: impl IntoIterator<Item = &'c RuleCoverage>) -> String {
    let mut text = String::new();
    let (mut branches, mut reached, mut count, mut whole) = (0, 0, 0, 0);
    let (mut parts, mut reached_parts) = (0, 0);
    for rule in rules {
        let missing: Vec<MissingBranch> = rule.missing().collect();
        let missing_parts: Vec<_> = rule.missing_parts().collect();
        branches += rule.branches();
        reached += rule.branches() - missing.len();
        parts += rule.parts.len();
        reached_parts += rule.parts.iter().filter(|part| part.missing().is_none()).count();
        count += 1;
        whole += usize::from(missing.is_empty() && missing_parts.is_empty());
        for one in missing {
            let RuleCoverage { policy, rule, place, .. } = rule;
            let _ = writeln!(
                text,
                "{}:{}: {}/{}: {}",
                place.file,
                place.line,
                printable_line(policy),
                printable_line(rule),
                one.text()
            );
        }
        for (part, what) in missing_parts {
            let title = printable_line(&format!("{}/{}: {}", rule.policy, rule.rule, part.path));
            let _ = writeln!(text, "{}:{}: {title}: {what}", rule.place.file, part.line);
        }
    }
    if !text.is_empty() {
        text.push('\n');
    }
    let _ = write!(text, "{whole} of {count} rules covered, {reached} of {branches} branches");
    let _ = if parts > 0 {
        writeln!(text, ", {reached_parts} of {parts} conditions and anchors")
    } else {
        writeln!(text)
    };
    text
}

/// The rules as one JSON object, with its line break.
pub fn coverage_json<'c>(rules: impl IntoIterator<Item = &'c RuleCoverage>) -> String {
    let part = |one: &PartCoverage| {
        let mut members = vec![
            ("path", Value::String(one.path.clone())),
            ("line", number(one.line)),
            ("held", number(one.held)),
            ("failed", number(one.failed)),
        ];
        members.extend(one.missing().map(|missing| ("missing", Value::from(missing))));
        Value::from_iter(members)
    };
    let rule = |one: &RuleCoverage| {
        Value::from_iter([
            ("policy", Value::String(one.policy.clone())),
            ("rule", Value::String(one.rule.clone())),
            ("file", Value::String(one.place.file.clone())),
            ("line", number(one.place.line)),
            ("hasConditions", Value::from(one.has_conditions)),
            ("changed", number(one.changed)),
            ("unchanged", number(one.unchanged)),
            ("parts", Value::array(one.parts.iter().map(part).collect())),
            ("missing", Value::array(one.missing().map(|branch| Value::from(branch.text())).collect())),
        ])
    };
    let rules = rules.into_iter().map(rule).collect();
    let report = Value::from_iter([("version", Value::from(1)), ("rules", Value::array(rules))]);
    printable_json(report.to_pretty_json(2)) + "\n"
}

/// A trace of LCOV: a record for each file, a function for each rule, a branch for each of its branches.
pub fn coverage_lcov<'c>(rules: impl IntoIterator<Item = &'c RuleCoverage>) -> String {
    let mut text = String::new();
    let mut rules = rules.into_iter().peekable();
    while let Some(first) = rules.next() {
        let file = &first.place.file;
        let mut of_file = vec![first];
        while let Some(next) = rules.next_if(|next| next.place.file == *file) {
            of_file.push(next);
        }
        record(&of_file, &mut text);
    }
    text
}

/// The record of a file.
fn record(rules: &[&RuleCoverage], text: &mut String) {
    let Some(first) = rules.first() else { return };
    let _ = writeln!(text, "TN:\nSF:{}", first.place.file);
    let name =
        |rule: &RuleCoverage| printable_line(&format!("{}/{}", rule.policy, rule.rule)).replace(',', ";");
    for rule in rules {
        let _ = writeln!(text, "FN:{},{}", rule.place.line, name(rule));
    }
    for rule in rules {
        let _ = writeln!(text, "FNDA:{},{}", rule.changed, name(rule));
    }
    let hit = rules.iter().filter(|rule| rule.changed > 0).count();
    let _ = writeln!(text, "FNF:{}\nFNH:{hit}", rules.len());
    let (mut found, mut reached) = (0, 0);
    for (block, rule) in rules.iter().enumerate().filter(|(_, rule)| rule.has_conditions) {
        let of_rule = [rule.changed, rule.unchanged].map(|taken| (rule.place.line, taken));
        let of_parts = rule.parts.iter().flat_map(|part| [(part.line, part.held), (part.line, part.failed)]);
        for (branch, (line, taken)) in of_rule.into_iter().chain(of_parts).enumerate() {
            let _ = writeln!(text, "BRDA:{line},{block},{branch},{taken}");
            found += 1;
            reached += usize::from(taken > 0);
        }
    }
    let _ = writeln!(text, "BRF:{found}\nBRH:{reached}");
    let mut lines: Vec<(usize, usize)> = Vec::new();
    for rule in rules {
        // Rules of autogen have the line of the rule that they were made of.
        match lines.iter_mut().find(|(line, _)| *line == rule.place.line) {
            Some((_, count)) => *count += rule.changed,
            None => lines.push((rule.place.line, rule.changed)),
        }
    }
    for (line, count) in &lines {
        let _ = writeln!(text, "DA:{line},{count}");
    }
    let hit = lines.iter().filter(|(_, count)| *count > 0).count();
    let _ = writeln!(text, "LF:{}\nLH:{hit}\nend_of_record", lines.len());
}

fn number(number: usize) -> Value {
    Value::from(i64::try_from(number).unwrap_or(i64::MAX))
}
