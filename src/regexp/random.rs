//! Random texts that match an expression.

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind};

use super::{RegexpError, translate};

/// The maximum number of repetitions beyond the minimum, for a repetition without maximum.
const MAX_REPEATS: u32 = 32;

/// Random numbers for a text, and the limits of its generation.
pub trait RandomSource {
    /// What exceeded limits are reported as.
    type Error;

    /// The next random number.
    fn next(&mut self) -> u64;

    /// Counts a step; the text has this many bytes so far.
    ///
    /// # Errors
    ///
    /// An exceeded limit.
    fn step(&mut self, bytes: usize) -> Result<(), Self::Error>;
}

/// Why there is no text.
#[derive(Debug, PartialEq, Eq)]
pub enum RandomError<E> {
    /// The expression is refused.
    Refused(RegexpError),
    /// No text matches the expression.
    NoText,
    /// A limit is exceeded.
    Limit(E),
}

/// A random text that matches an expression.
///
/// # Errors
///
/// See [`RandomError`].
pub fn random_text<S: RandomSource>(pattern: &str, source: &mut S) -> Result<String, RandomError<S::Error>> {
    let translated = translate(pattern).map_err(RandomError::Refused)?;
    let tree = regex_syntax::parse(&translated.pattern)
        .map_err(|_| RandomError::Refused(RegexpError::new("unsupported expression", pattern)))?;
    let mut text = String::new();
    match generate(&tree, source, &mut text) {
        Ok(true) => Ok(text),
        Ok(false) => Err(RandomError::NoText),
        Err(error) => Err(RandomError::Limit(error)),
    }
}

/// Appends a text that matches. Returns whether there is one.
fn generate<S: RandomSource>(tree: &Hir, source: &mut S, out: &mut String) -> Result<bool, S::Error> {
    source.step(out.len())?;
    match tree.kind() {
        HirKind::Empty | HirKind::Look(_) => Ok(true),
        HirKind::Literal(literal) => {
            out.push_str(&String::from_utf8_lossy(&literal.0));
            Ok(true)
        }
        HirKind::Class(Class::Unicode(class)) => Ok(push_one_of(class, source, out)),
        HirKind::Class(Class::Bytes(_)) => Ok(false),
        HirKind::Capture(group) => generate(&group.sub, source, out),
        HirKind::Repetition(repetition) => {
            let max = repetition.max.unwrap_or(repetition.min + MAX_REPEATS);
            let spread = u64::from(max.saturating_sub(repetition.min)) + 1;
            for _ in 0..u64::from(repetition.min) + source.next() % spread {
                if !generate(&repetition.sub, source, out)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        HirKind::Concat(parts) => {
            for part in parts {
                if !generate(part, source, out)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        HirKind::Alternation(choices) => match choices.get(pick(source, choices.len())) {
            Some(choice) => generate(choice, source, out),
            None => Ok(false),
        },
    }
}

/// A random index below a length.
fn pick(source: &mut impl RandomSource, length: usize) -> usize {
    let chosen = source.next().checked_rem(length as u64).unwrap_or(0);
    usize::try_from(chosen).unwrap_or(0)
}

/// Appends a character of a class, a printable ASCII character if the class contains any.
fn push_one_of(class: &ClassUnicode, source: &mut impl RandomSource, out: &mut String) -> bool {
    let mut plain = ClassUnicode::new([ClassUnicodeRange::new(' ', '~')]);
    plain.intersect(class);
    let ranges = if plain.ranges().is_empty() { class.ranges() } else { plain.ranges() };
    let mut index = pick(source, ranges.iter().map(ClassUnicodeRange::len).sum());
    for range in ranges {
        if index < range.len() {
            out.extend((range.start()..=range.end()).nth(index));
            return true;
        }
        index -= range.len();
    }
    false
}
