//! Regular expressions of Go's `regexp`.
//!
//! An expression is checked by Go's rules and translated for the `regex` crate, which also matches in linear time and
//! prefers the leftmost match. Classes such as `\d` are ASCII only; there are no back-references and no lookaround.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod class;
mod random;
mod syntax;

use std::ops::Range;

use regex::{Captures, Regex, RegexBuilder};

use crate::value::shortened;

pub use random::{RandomError, RandomSource, random_text};
pub use syntax::{Translated, translate};

/// The length to which error messages shorten expressions.
const MAX_QUOTED_CHARS: usize = 128;

/// A compiled expression.

#[derive(Debug)]
pub struct Regexp {
    regex: Regex,
    /// The names of the capturing groups, by number.
    names: Vec<Option<String>>,
    /// The worst cost of matching one byte of text, relative to a simple expression.
    pub weight: usize,
    /// About the states of the compiled expression.
    pub states: usize,
}

/// An expression that Go refuses, or that is too large to compile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("error parsing regexp: {0}")]
pub struct RegexpError(String);

impl RegexpError {
    /// The error of a text in the expression.
    fn new(what: &str, text: &str) -> Self {
        Self(format!("{what}: `{}`", shortened(text, MAX_QUOTED_CHARS)))
    }
}

impl Regexp {
    /// Compiles an expression.
    pub fn new(pattern: &str) -> Result<Self, RegexpError> {
        let translated = translate(pattern)?;
        let regex = RegexBuilder::new(&translated.pattern).build().map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => RegexpError("expression too large".to_owned()),
            _ => RegexpError::new("unsupported expression", pattern),
        })?;
        let states = states(&translated);
        Ok(Self { regex, names: translated.names, weight: 1 + pattern.len() / 16, states })
    }

    /// About the states that an expression has when it is compiled, which takes time for each of them. 0 for one that is
    /// refused.
    pub fn states_of(pattern: &str) -> usize {
        translate(pattern).map_or(0, |translated| states(&translated))
    }

    /// Whether the text has a match anywhere.
    pub fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// The number of capturing groups.
    pub fn group_count(&self) -> usize {
        self.regex.captures_len() - 1
    }

    /// The matches with their groups, the whole match as group 0.
    pub fn groups<'t>(&self, text: &'t str) -> impl Iterator<Item = Vec<Option<&'t str>>> {
        self.places(text).map(|(_, groups)| groups)
    }

    /// The same with the place of each match in the text.
    pub fn places<'t>(&self, text: &'t str) -> impl Iterator<Item = (Range<usize>, Vec<Option<&'t str>>)> {
        self.regex.captures_iter(text).map(|captures| {
            let groups = captures.iter().map(|group| group.map(|group| group.as_str())).collect();
            (captures.get_match().range(), groups)
        })
    }

    /// The text with each match replaced by what `write` appends; `None` if it is longer than `max_bytes`.
    fn replaced(
        &self,
        text: &str,
        max_bytes: usize,
        write: impl Fn(&Captures<'_>, &mut String),
    ) -> Option<String> {
        let mut out = String::new();
        let mut copied = 0;
        for captures in self.regex.captures_iter(text) {
            let whole = captures.get_match();
            out.push_str(&text[copied..whole.start()]);
            copied = whole.end();
            write(&captures, &mut out);
            if out.len() > max_bytes {
                return None;
            }
        }
        out.push_str(&text[copied..]);
        (out.len() <= max_bytes).then_some(out)
    }

    /// The text with each match replaced by a template, in which `$1`, `$name` and `${name}` are groups and `$$` is a
    /// dollar sign.
    pub fn replace_all(&self, text: &str, template: &str, max_bytes: usize) -> Option<String> {
        let parts = template_parts(template);
        self.replaced(text, max_bytes, |captures, out| {
            for part in &parts {
                match part {
                    TemplatePart::Text(text) => out.push_str(text),
                    TemplatePart::Group(name) => out.push_str(self.group(captures, name)),
                }
                if out.len() > max_bytes {
                    return;
                }
            }
        })
    }

    /// The text with each match replaced by another text.
    pub fn replace_all_literal(&self, text: &str, by: &str, max_bytes: usize) -> Option<String> {
        self.replaced(text, max_bytes, |_, out| out.push_str(by))
    }

    /// The match of the group with this number or name; of several with one name the first that matched.
    fn group<'t>(&self, captures: &Captures<'t>, name: &str) -> &'t str {
        let matched = |number: usize| captures.get(number).map(|found| found.as_str());
        if name.bytes().all(|byte| byte.is_ascii_digit()) && !(name.len() > 1 && name.starts_with('0')) {
            return name.parse().ok().and_then(matched).unwrap_or_default();
        }
        let named = |(number, found): (usize, &Option<String>)| {
            if found.as_deref() == Some(name) { matched(number) } else { None }
        };
        self.names.iter().enumerate().find_map(named).unwrap_or_default()
    }
}

/// Counts multiply what they repeat; classes of Unicode have hundreds of ranges.
fn states(translated: &Translated) -> usize {
    const CLASS: usize = 50;
    let pattern = &translated.pattern;
    let classes = pattern.matches(r"\p").count() + pattern.matches(r"\P").count();
    (pattern.len() + CLASS * classes).saturating_mul(translated.repeats as usize)
}

enum TemplatePart<'a> {
    Text(&'a str),
    /// The number or name of a group.
    Group(&'a str),
}

fn template_parts(template: &str) -> Vec<TemplatePart<'_>> {
    let mut parts = Vec::new();
    let mut rest = template;
    while let Some(dollar) = rest.find('$') {
        parts.push(TemplatePart::Text(&rest[..dollar]));
        let after = &rest[dollar + 1..];
        let word = |text: &str| text.find(|c: char| !is_word(c)).unwrap_or(text.len());
        if let Some(after) = after.strip_prefix('$') {
            parts.push(TemplatePart::Text("$"));
            rest = after;
            continue;
        }
        let (name, length) = match after.strip_prefix('{') {
            Some(braced) => match word(braced) {
                end if braced[end..].starts_with('}') => (&braced[..end], 2 + end),
                _ => ("", 0),
            },
            None => (&after[..word(after)], word(after)),
        };
        parts.push(if name.is_empty() { TemplatePart::Text("$") } else { TemplatePart::Group(name) });
        rest = &after[if name.is_empty() { 0 } else { length }..];
    }
    parts.push(TemplatePart::Text(rest));
    parts
}

fn is_word(c: char) -> bool {
    c.is_alphabetic() || c.is_numeric() || c == '_'
}
