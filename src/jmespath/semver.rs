//! Semantic versions and ranges of them, as Kyverno's library reads them.

use std::cmp::Ordering;

/// A version `MAJOR.MINOR.PATCH[-pre][+build]`; what is built with it does not count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Version {
    major: u64,
    minor: u64,
    patch: u64,
    pre: Vec<Identifier>,
}

/// A part of a pre-release: numbers stand before words.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Identifier {
    Number(u64),
    Word(String),
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A pre-release stands before its release.
impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        let numbers = |version: &Self| (version.major, version.minor, version.patch, version.pre.is_empty());
        numbers(self).cmp(&numbers(other)).then_with(|| self.pre.cmp(&other.pre))
    }
}

impl Version {
    /// Reads a version.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("Version string empty".into());
        }
        let mut parts = text.splitn(3, '.');
        let (Some(major), Some(minor), Some(rest)) = (parts.next(), parts.next(), parts.next()) else {
            return Err("No Major.Minor.Patch elements found".into());
        };
        let (major, minor) = (number("major", major)?, number("minor", minor)?);
        let (rest, build) = rest.split_once('+').map_or((rest, None), |(rest, build)| (rest, Some(build)));
        let (patch, pre) = rest.split_once('-').map_or((rest, None), |(patch, pre)| (patch, Some(pre)));
        let patch = number("patch", patch)?;
        let pre = pre.into_iter().flat_map(|pre| pre.split('.')).map(identifier).collect::<Result<_, _>>()?;
        for part in build.into_iter().flat_map(|build| build.split('.')) {
            if part.is_empty() {
                return Err("Build meta data is empty".into());
            }
            if !is_word(part) {
                return Err(format!("Invalid character(s) found in build meta data {part:?}"));
            }
        }
        Ok(Self { major, minor, patch, pre })
    }
}

fn is_word(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn has_leading_zero(text: &str) -> bool {
    text.len() > 1 && text.starts_with('0')
}

fn unsigned(text: &str) -> Result<u64, String> {
    let why = if text.is_empty() { "invalid syntax" } else { "value out of range" };
    text.parse().map_err(|_| format!("strconv.ParseUint: parsing {text:?}: {why}"))
}

fn number(name: &str, text: &str) -> Result<u64, String> {
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("Invalid character(s) found in {name} number {text:?}"));
    }
    if has_leading_zero(text) {
        let name = name[..1].to_ascii_uppercase() + &name[1..];
        return Err(format!("{name} number must not contain leading zeroes {text:?}"));
    }
    unsigned(text)
}

fn identifier(text: &str) -> Result<Identifier, String> {
    if text.is_empty() {
        return Err("Prerelease is empty".into());
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        if has_leading_zero(text) {
            return Err(format!("Numeric PreRelease version must not contain leading zeroes {text:?}"));
        }
        return unsigned(text).map(Identifier::Number);
    }
    if !is_word(text) {
        return Err(format!("Invalid character(s) found in prerelease {text:?}"));
    }
    Ok(Identifier::Word(text.to_owned()))
}

/// A range: alternatives of which one must hold, each a list of comparisons that must all hold.
#[derive(Debug)]
pub(super) struct Range(Vec<Vec<Comparator>>);

#[derive(Debug)]
struct Comparator {
    /// The orders of the compared version to this one that it accepts.
    accepts: &'static [Ordering],
    version: Version,
}

impl Range {
    /// Reads a range.
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

    /// Whether a version lies in the range.
    pub(super) fn contains(&self, version: &Version) -> bool {
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
    let parsed = Version::parse(version);
    let version =
        parsed.map_err(|why| fault(format!("Could not parse version {version:?} in {part:?}: {why}")))?;
    Ok(Comparator { accepts, version })
}
