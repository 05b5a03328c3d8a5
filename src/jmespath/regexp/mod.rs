//! Regular expressions as Go's `regexp` reads them.
//!
//! The expression is checked by Go's rules and rewritten for the `regex` crate, which is also linear in
//! time and prefers the leftmost match. Classes such as `\d` are of ASCII only; inside brackets nothing but
//! Go's own syntax has a meaning; back-references and looking around do not exist.

mod class;
mod syntax;

use regex::{Captures, Regex, RegexBuilder};

use super::print::excerpt;

pub(super) use syntax::translate;

/// A compiled expression.
#[derive(Debug)]
pub(super) struct Regexp {
    regex: Regex,
    /// The name of each group that captures, by its number.
    names: Vec<Option<String>>,
    /// How much matching one byte of text costs at worst, against a simple expression.
    pub(super) weight: usize,
}

/// An expression that Go refuses, or one too large to compile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("error parsing regexp: {0}")]
pub(super) struct RegexpError(String);

impl Regexp {
    /// Compiles an expression.
    pub(super) fn new(pattern: &str) -> Result<Self, RegexpError> {
        let translated = translate(pattern)?;
        let regex = RegexBuilder::new(&translated.pattern).build().map_err(|error| {
            RegexpError(match error {
                regex::Error::CompiledTooBig(_) => "expression too large".to_owned(),
                _ => format!("unsupported expression: `{}`", excerpt(pattern)),
            })
        })?;
        Ok(Self { regex, names: translated.names, weight: 1 + pattern.len() / 16 })
    }

    /// Whether the text has a match anywhere.
    pub(super) fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// The text, each match replaced by what `write` appends; `None` if that gets longer than `most` bytes.
    fn replaced(
        &self,
        text: &str,
        most: usize,
        write: impl Fn(&Captures<'_>, &mut String),
    ) -> Option<String> {
        let mut out = String::new();
        let mut copied = 0;
        for captures in self.regex.captures_iter(text) {
            let whole = captures.get_match();
            out.push_str(&text[copied..whole.start()]);
            copied = whole.end();
            write(&captures, &mut out);
            if out.len() > most {
                return None;
            }
        }
        out.push_str(&text[copied..]);
        (out.len() <= most).then_some(out)
    }

    /// The text, each match replaced by a template in which `$1`, `$name`, `${name}` stand for groups and
    /// `$$` for a dollar.
    pub(super) fn replace_all(&self, text: &str, template: &str, most: usize) -> Option<String> {
        let pieces = pieces(template);
        self.replaced(text, most, |captures, out| {
            for piece in &pieces {
                match piece {
                    Piece::Text(text) => out.push_str(text),
                    Piece::Group(name) => out.push_str(self.group(captures, name)),
                }
                if out.len() > most {
                    return;
                }
            }
        })
    }

    /// The text, each match replaced by another text as it is.
    pub(super) fn replace_all_literal(&self, text: &str, by: &str, most: usize) -> Option<String> {
        self.replaced(text, most, |_, out| out.push_str(by))
    }

    /// What a group of this number or name matched. Of several with one name the first that took part.
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

/// A part of a template.
enum Piece<'a> {
    Text(&'a str),
    Group(&'a str),
}

fn pieces(template: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = template;
    while let Some(dollar) = rest.find('$') {
        pieces.push(Piece::Text(&rest[..dollar]));
        rest = &rest[dollar..];
        let after = &rest[1..];
        let word = |text: &str| text.find(|c: char| !is_word(c)).unwrap_or(text.len());
        if let Some(after) = after.strip_prefix('$') {
            pieces.push(Piece::Text("$"));
            rest = after;
            continue;
        }
        let (name, taken) = match after.strip_prefix('{') {
            Some(braced) => match word(braced) {
                end if braced[end..].starts_with('}') => (&braced[..end], 3 + end),
                _ => ("", 0),
            },
            None => (&after[..word(after)], 1 + word(after)),
        };
        if name.is_empty() {
            pieces.push(Piece::Text("$"));
            rest = after;
        } else {
            pieces.push(Piece::Group(name));
            rest = &rest[taken..];
        }
    }
    pieces.push(Piece::Text(rest));
    pieces
}

fn is_word(c: char) -> bool {
    c.is_alphabetic() || c.is_numeric() || c == '_'
}
