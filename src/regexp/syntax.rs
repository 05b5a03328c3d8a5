//! Translation of Go's syntax.

use std::fmt::Write as _;

use super::RegexpError;
use super::class::{self, Escape};

/// The maximum count of a repetition, nested ones multiplied.
const MAX_REPEATS: u32 = 1000;

/// The maximum nesting of groups.
const MAX_GROUP_DEPTH: usize = 200;

/// An expression for the `regex` crate.
#[derive(Debug)]
pub struct Translated {
    pub pattern: String,
    /// The names of the capturing groups; the first is the whole match.
    pub names: Vec<Option<String>>,
    /// The largest product of nested counts of repetitions.
    pub repeats: u32,
}

/// Translates an expression.
pub fn translate(pattern: &str) -> Result<Translated, RegexpError> {
    let mut translator = Translator {
        pattern,
        offset: 0,
        out: String::with_capacity(pattern.len() + 8),
        names: vec![None],
        groups: Vec::new(),
        repeats: 1,
        last: Last::Nothing,
        last_end: 0,
    };
    while translator.offset < pattern.len() {
        translator.item()?;
    }
    if !translator.groups.is_empty() {
        return Err(RegexpError::new("missing closing )", pattern));
    }
    Ok(Translated { pattern: translator.out, names: translator.names, repeats: translator.repeats })
}

/// What precedes the current offset.
#[derive(Clone, Copy)]
enum Last {
    /// Nothing that can be repeated.
    Nothing,
    /// An item that can be repeated, with the product of the counts inside it.
    Item(u32),
    /// A repetition, with its offset.
    Repetition(usize),
}

struct Translator<'a> {
    pattern: &'a str,
    offset: usize,
    out: String,
    names: Vec<Option<String>>,
    /// For each open group the maximum product of counts before it.
    groups: Vec<u32>,
    /// The maximum product of counts in the current group.
    repeats: u32,
    last: Last,
    /// Where the last item ends in `out`; flags may follow it.
    last_end: usize,
}

impl<'a> Translator<'a> {
    fn rest(&self) -> &'a str {
        &self.pattern[self.offset..]
    }

    /// Appends an item that can be repeated.
    fn push(&mut self, text: &str, length: usize) {
        self.out.push_str(text);
        self.offset += length;
        self.last = Last::Item(1);
        self.last_end = self.out.len();
    }

    fn item(&mut self) -> Result<(), RegexpError> {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return Ok(()) };
        match first {
            '(' => self.open()?,
            ')' => self.close()?,
            '|' => {
                self.out.push('|');
                self.offset += 1;
                self.last = Last::Nothing;
            }
            '.' | '^' | '$' => self.push(&rest[..1], 1),
            '[' => {
                let (class, length) = class::bracketed(rest)?;
                self.push(&class, length);
            }
            '*' | '+' | '?' => self.repetition(1, 1)?,
            '{' => match counted(rest) {
                Some((min, max, length)) => {
                    if min > MAX_REPEATS || max.is_some_and(|max| max > MAX_REPEATS || max < min) {
                        return Err(RegexpError::new("invalid repeat count", &rest[..length]));
                    }
                    self.repetition(length, max.unwrap_or(min))?;
                }
                None => self.push(r"\{", 1),
            },
            '\\' => self.escape()?,
            c => {
                let mut literal = String::new();
                class::push_char(&mut literal, c);
                self.push(&literal, c.len_utf8());
            }
        }
        Ok(())
    }

    fn repetition(&mut self, length: usize, count: u32) -> Result<(), RegexpError> {
        let rest = self.rest();
        let operator = &rest[..length];
        let lazy = rest[length..].starts_with('?');
        let end = self.offset + length + usize::from(lazy);
        match self.last {
            Last::Nothing => Err(RegexpError::new("missing argument to repetition operator", operator)),
            Last::Repetition(start) => Err(RegexpError::new(
                "invalid nested repetition operator",
                &self.pattern[start..self.offset + length],
            )),
            Last::Item(inside) => {
                let product = inside.saturating_mul(count.max(1));
                if product > MAX_REPEATS {
                    return Err(RegexpError::new("invalid repeat count", operator));
                }
                self.repeats = self.repeats.max(product);
                let operator = &self.pattern[self.offset..end];
                self.out.insert_str(self.last_end, operator);
                self.last_end += operator.len();
                self.last = Last::Repetition(self.offset);
                self.offset = end;
                Ok(())
            }
        }
    }

    fn close(&mut self) -> Result<(), RegexpError> {
        let before = self.groups.pop().ok_or_else(|| RegexpError::new("unexpected )", self.pattern))?;
        self.push(")", 1);
        self.last = Last::Item(self.repeats);
        self.repeats = self.repeats.max(before);
        Ok(())
    }

    fn enter(&mut self, opening: &str, length: usize) -> Result<(), RegexpError> {
        if self.groups.len() == MAX_GROUP_DEPTH {
            return Err(RegexpError::new("expression nests too deeply", self.pattern));
        }
        self.out.push_str(opening);
        self.offset += length;
        self.groups.push(std::mem::replace(&mut self.repeats, 1));
        self.last = Last::Nothing;
        Ok(())
    }

    fn open(&mut self) -> Result<(), RegexpError> {
        let rest = self.rest();
        if !rest.starts_with("(?") {
            self.names.push(None);
            return self.enter("(", 1);
        }
        for start in ["(?P<", "(?<"] {
            if let Some(name) = rest.strip_prefix(start) {
                let end = name.find('>').ok_or_else(|| RegexpError::new("invalid named capture", rest))?;
                let length = start.len() + end + 1;
                let name = &name[..end];
                if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
                    return Err(RegexpError::new("invalid named capture", &rest[..length]));
                }
                self.names.push(Some(name.to_owned()));
                return self.enter("(", length);
            }
        }
        self.flags(rest)
    }

    /// `(?i)`, `(?i-s:` and the like.
    fn flags(&mut self, rest: &str) -> Result<(), RegexpError> {
        const FLAGS: [char; 4] = ['i', 'm', 's', 'U'];
        let mut set: [Option<bool>; 4] = [None; 4];
        let mut on = true;
        let mut flag_seen = false;
        let mut length = 2;
        for c in rest[2..].chars() {
            length += c.len_utf8();
            match c {
                '-' if on => {
                    on = false;
                    flag_seen = false;
                }
                ':' | ')' if on || flag_seen => {
                    let chosen = |expected: bool| {
                        let flags = FLAGS.iter().zip(set);
                        flags
                            .filter(move |flag| flag.1 == Some(expected))
                            .map(|flag| *flag.0)
                            .collect::<String>()
                    };
                    let (plus, minus) = (chosen(true), chosen(false));
                    let minus = if minus.is_empty() { minus } else { format!("-{minus}") };
                    if c == ':' {
                        return self.enter(&format!("(?{plus}{minus}:"), length);
                    }
                    // Flags alone cannot be repeated; a repetition after them repeats the item before them.
                    if !(plus.is_empty() && minus.is_empty()) {
                        let _ = write!(self.out, "(?{plus}{minus})");
                    }
                    self.offset += length;
                    return Ok(());
                }
                c => match FLAGS.iter().position(|flag| *flag == c) {
                    Some(flag) => {
                        set[flag] = Some(on);
                        flag_seen = true;
                    }
                    None => break,
                },
            }
        }
        Err(RegexpError::new("invalid or unsupported Perl syntax", &rest[..length]))
    }

    fn escape(&mut self) -> Result<(), RegexpError> {
        let rest = self.rest();
        match rest[1..].chars().next() {
            Some('Q') => {
                let quoted = rest[2..].split_once(r"\E").map_or(&rest[2..], |(quoted, _)| quoted);
                let closed = rest[2 + quoted.len()..].starts_with(r"\E");
                for c in quoted.chars() {
                    class::push_char(&mut self.out, c);
                    self.last = Last::Item(1);
                    self.last_end = self.out.len();
                }
                self.offset += 2 + quoted.len() + if closed { 2 } else { 0 };
            }
            Some(boundary @ ('b' | 'B')) => self.push(&format!(r"(?-u:\{boundary})"), 2),
            Some('A' | 'z') => self.push(&rest[..2], 2),
            _ => match class::escape(rest)? {
                (Escape::Char(c), length) => {
                    let mut literal = String::new();
                    class::push_point(&mut literal, c);
                    let never = literal.is_empty();
                    self.push(if never { r"[^\x00-\x{10FFFF}]" } else { &literal }, length);
                }
                (Escape::Class(class), length) => self.push(&class, length),
            },
        }
        Ok(())
    }
}

/// `{2}`, `{2,}` or `{2,3}`: the counts and the length; anything else is literal text.
fn counted(rest: &str) -> Option<(u32, Option<u32>, usize)> {
    let (inside, _) = rest.strip_prefix('{')?.split_once('}')?;
    let number = |text: &str| {
        let fits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        // Numbers have no leading zero. One that is too large is refused by the caller.
        (fits && (text.len() == 1 || !text.starts_with('0'))).then(|| text.parse().unwrap_or(u32::MAX))
    };
    let (min, max) = match inside.split_once(',') {
        None => (number(inside)?, Some(number(inside)?)),
        Some((min, "")) => (number(min)?, None),
        Some((min, max)) => (number(min)?, Some(number(max)?)),
    };
    Some((min, max, inside.len() + 2))
}
