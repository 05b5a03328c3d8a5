//! Ranges of semantic versions, as Kyverno's library parses them.

use std::cmp::Ordering;

use crate::value::Version;

/// A range: alternatives of which one must hold, each a list of comparisons that must all hold.
#[derive(Debug)]
pub(super) struct Range(Vec<Vec<Comparator>>);

#[derive(Debug)]
struct Comparator {
    /// How a version may compare to `version`.
    accepts: &'static [Ordering],
    version: Version<'static>,
}

impl Range {
    /// Parses a range.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let parts = parts(text);
        let mut alternatives = vec![Vec::new()];
        for (index, part) in parts.iter().enumerate() {
            if part != "||" {
                if let Some(last) = alternatives.last_mut() {
                    last.push(part.as_str());
                }
            } else if index == 0 {
                return Err("First element in range is '||'".into());
            } else {
                alternatives.push(Vec::new());
            }
        }
        if parts.last().is_none_or(|last| last == "||") {
            return Err("Last element in range is '||'".into());
        }
        let mut expanded = Vec::new();
        for alternative in &alternatives {
            let mut comparators = Vec::new();
            for part in alternative {
                expand(part, &mut comparators)?;
            }
            expanded.push(comparators);
        }
        let mut range = Vec::new();
        for alternative in &expanded {
            // Two `||` in a row leave nothing between them.
            if !alternative.is_empty() {
                range.push(alternative.iter().map(|part| comparator(part, text)).collect::<Result<_, _>>()?);
            }
        }
        Ok(Self(range))
    }

    /// Whether the range contains a version.
    pub(super) fn contains(&self, version: &Version<'_>) -> bool {
        let holds = |comparator: &Comparator| comparator.accepts.contains(&version.cmp(&comparator.version));
        self.0.iter().any(|alternative| alternative.iter().all(holds))
    }
}

/// Splits at spaces, but for those after an operator. A part of one character alone is dropped.
fn parts(text: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut part = String::new();
    let mut length = 0;
    for c in text.chars() {
        if c == ' ' && !part.ends_with(['>', '<', '=']) {
            if length > 1 {
                parts.push(std::mem::take(&mut part));
            }
            part.clear();
            length = 0;
        } else {
            length += c.len_utf8();
            if c != ' ' {
                part.push(c);
            }
        }
    }
    if length > 1 {
        parts.push(part);
    }
    parts
}

/// Operator and version of a comparison.
fn split(part: &str) -> Result<(&str, &str), String> {
    match part.find(char::is_numeric) {
        Some(digit) => Ok((part[..digit].trim(), &part[digit..])),
        None => Err(format!("Could not get version from string: {part:?}")),
    }
}

/// Turns a version with `x` at its end into the bounds it stands for.
fn expand(part: &str, into: &mut Vec<String>) -> Result<(), String> {
    if !part.contains('x') {
        into.push(part.to_owned());
        return Ok(());
    }
    let (operator, version) = split(part)?;
    let flat = version.replacen(".x.x", ".x", 1).replacen(".x", ".0", 1);
    let flat = if flat.split('.').count() == 2 { format!("{flat}.0") } else { flat };
    let (operator, next) = match operator {
        ">" => (">=", true),
        ">=" => (">=", false),
        "<" => ("<", false),
        "<=" => ("<", true),
        "" | "=" | "==" => {
            into.push(format!(">={flat}"));
            ("<", true)
        }
        "!=" | "!" => {
            into.push(format!("<{flat}"));
            (">=", true)
        }
        _ => ("", false),
    };
    // The place that the last `x` has decides which number the bound raises.
    let raised = match (version.ends_with(".x"), version.split('.').count()) {
        _ if !next => flat,
        (true, 2) => raise(&flat, 0),
        (true, 3) => raise(&flat, 1),
        _ => String::new(),
    };
    into.push(format!("{operator}{raised}"));
    Ok(())
}

/// The version with one of its numbers raised by one; nothing if that is no number.
fn raise(version: &str, place: usize) -> String {
    let mut parts: Vec<String> = version.split('.').map(str::to_owned).collect();
    let raised = parts.get(place).and_then(|part| part.parse::<u64>().ok()?.checked_add(1));
    match (raised, parts.get_mut(place)) {
        (Some(raised), Some(part)) => *part = raised.to_string(),
        _ => return String::new(),
    }
    parts.join(".")
}

fn comparator(part: &str, range: &str) -> Result<Comparator, String> {
    use Ordering::{Equal, Greater, Less};
    let (operator, version) = split(part)?;
    let fault = |why: String| format!("Could not parse Range {range:?}: {why}");
    let accepts: &[Ordering] = match operator {
        "" | "=" | "==" => &[Equal],
        "!" | "!=" => &[Less, Greater],
        ">" => &[Greater],
        ">=" => &[Greater, Equal],
        "<" => &[Less],
        "<=" => &[Less, Equal],
        _ => return Err(fault(format!("Could not parse comparator {operator:?} in {part:?}"))),
    };
    let parsed = Version::parse(version)
        .map_err(|why| fault(format!("Could not parse version {version:?} in {part:?}: {why}")))?;
    Ok(Comparator { accepts, version: parsed.into_owned() })
}
