//! Ranges of semantic versions, as Kyverno's library parses them.

use std::cmp::Ordering;

use crate::value::Version;

/// Alternatives of which one must hold, each a list of comparisons that must all hold.
#[derive(Debug)]
pub(super) struct Range(Vec<Vec<Comparator>>);

#[derive(Debug)]
struct Comparator {
    /// The accepted orders of a version relative to `version`.
    accepts: &'static [Ordering],
    version: Version<'static>,
}

/// Why a text is no range, in the library's words.
#[derive(Debug, thiserror::Error)]
pub(super) enum RangeError {
    #[error("First element in range is '||'")]
    LeadingOr,
    #[error("Last element in range is '||'")]
    TrailingOr,
    #[error("Could not get version from string: {0:?}")]
    NoVersion(String),
    #[error("Could not parse Range {range:?}: Could not parse comparator {operator:?} in {part:?}")]
    Operator { range: String, operator: String, part: String },
    #[error("Could not parse Range {range:?}: Could not parse version {version:?} in {part:?}: {cause}")]
    Version { range: String, version: String, part: String, cause: String },
}

impl Range {
    /// Parses a range.
    pub(super) fn parse(text: &str) -> Result<Self, RangeError> {
        let parts = parts(text);
        if parts.first().is_some_and(|first| first == "||") {
            return Err(RangeError::LeadingOr);
        }
        if parts.last().is_none_or(|last| last == "||") {
            return Err(RangeError::TrailingOr);
        }
        let mut alternatives = Vec::new();
        // Two `||` in a row have nothing between them.
        for alternative in parts.split(|part| part == "||").filter(|alternative| !alternative.is_empty()) {
            let mut expanded = Vec::new();
            for part in alternative {
                expand(part, &mut expanded)?;
            }
            alternatives.push(expanded);
        }
        let comparators =
            |parts: &Vec<String>| parts.iter().map(|part| comparator(part, text)).collect::<Result<_, _>>();
        Ok(Self(alternatives.iter().map(comparators).collect::<Result<_, _>>()?))
    }

    /// Whether the range contains a version.
    pub(super) fn contains(&self, version: &Version<'_>) -> bool {
        let holds = |comparator: &Comparator| comparator.accepts.contains(&version.cmp(&comparator.version));
        self.0.iter().any(|alternative| alternative.iter().all(holds))
    }
}

/// Splits at spaces, except after an operator. Parts of one character are dropped.
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
fn split(part: &str) -> Result<(&str, &str), RangeError> {
    let digit = part.find(char::is_numeric).ok_or_else(|| RangeError::NoVersion(part.to_owned()))?;
    Ok((part[..digit].trim(), &part[digit..]))
}

/// Replaces a version with `x` by its bounds.
fn expand(part: &str, into: &mut Vec<String>) -> Result<(), RangeError> {
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
    // The number before the last `x` is incremented.
    let bound = match (version.ends_with(".x"), version.split('.').count()) {
        _ if !next => flat,
        (true, 2) => increment(&flat, 0),
        (true, 3) => increment(&flat, 1),
        _ => String::new(),
    };
    into.push(format!("{operator}{bound}"));
    Ok(())
}

/// The version with one of its numbers incremented; empty if that is no number.
fn increment(version: &str, index: usize) -> String {
    let mut parts: Vec<String> = version.split('.').map(str::to_owned).collect();
    let Some(part) = parts.get_mut(index) else { return String::new() };
    let Some(next) = part.parse::<u64>().ok().and_then(|number| number.checked_add(1)) else {
        return String::new();
    };
    *part = next.to_string();
    parts.join(".")
}

fn comparator(part: &str, range: &str) -> Result<Comparator, RangeError> {
    use Ordering::{Equal, Greater, Less};
    let (operator, version) = split(part)?;
    let [range, part, operator_text] = [range, part, operator].map(str::to_owned);
    let accepts: &[Ordering] = match operator {
        "" | "=" | "==" => &[Equal],
        "!" | "!=" => &[Less, Greater],
        ">" => &[Greater],
        ">=" => &[Greater, Equal],
        "<" => &[Less],
        "<=" => &[Less, Equal],
        _ => return Err(RangeError::Operator { range, operator: operator_text, part }),
    };
    match Version::parse(version) {
        Ok(version) => Ok(Comparator { accepts, version: version.into_owned() }),
        Err(cause) => {
            let cause = cause.to_string();
            Err(RangeError::Version { range, version: version.to_owned(), part, cause })
        }
    }
}
