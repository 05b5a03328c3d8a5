//! Semantic versions, read strictly.

use std::cmp::Ordering;

/// A version such as `1.5.0-rc.1+build`.
///
/// Compares by precedence: a pre-release is lower than its release, build metadata does not count.
#[derive(Clone, Debug)]
pub(super) struct Version<'a> {
    numbers: [u64; 3],
    pre_release: Option<&'a str>,
}

impl<'a> Version<'a> {
    /// Reads `major.minor.patch` with an optional pre-release and build; no prefix, no leading zeros.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let (text, build) = split_at_mark(text, '+');
        let (core, pre_release) = split_at_mark(text, '-');
        let valid = |identifiers: Option<&str>, check: fn(&str) -> bool| {
            identifiers.is_none_or(|identifiers| identifiers.split('.').all(check))
        };
        if !valid(build, is_identifier)
            || !valid(pre_release, |identifier| {
                is_identifier(identifier) && (!is_numeric(identifier) || number(identifier).is_some())
            })
        {
            return None;
        }
        let mut parts = core.split('.').map(number);
        let numbers = [parts.next()??, parts.next()??, parts.next()??];
        parts.next().is_none().then_some(Self { numbers, pre_release })
    }

    /// Which of two versions takes precedence.
    pub(super) fn precedence(&self, other: &Self) -> Ordering {
        self.numbers.cmp(&other.numbers).then_with(|| match (self.pre_release, other.pre_release) {
            (None, None) => Ordering::Equal,
            (None, Some(_)) => Ordering::Greater,
            (Some(_), None) => Ordering::Less,
            (Some(a), Some(b)) => a.split('.').map(Identifier::new).cmp(b.split('.').map(Identifier::new)),
        })
    }
}

/// One identifier of a pre-release; numbers are lower than words.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Identifier<'a> {
    Number(u64),
    Word(&'a str),
}

impl<'a> Identifier<'a> {
    fn new(text: &'a str) -> Self {
        number(text).map_or(Self::Word(text), Self::Number)
    }
}

fn split_at_mark(text: &str, mark: char) -> (&str, Option<&str>) {
    text.split_once(mark).map_or((text, None), |(before, after)| (before, Some(after)))
}

fn is_identifier(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn is_numeric(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

fn number(text: &str) -> Option<u64> {
    let leading_zero = text.len() > 1 && text.starts_with('0');
    if leading_zero || !is_numeric(text) { None } else { text.parse().ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_strictly() {
        for text in ["0.0.0", "1.5.0", "1.5.0-rc1", "1.0.0-alpha.1.x-y", "1.0.0+build.007", "1.0.0-0+1-2"] {
            assert!(Version::parse(text).is_some(), "{text}");
        }
        for text in [
            "",
            "1",
            "1.5",
            "v1.5.0",
            "1.5.0.0",
            "01.5.0",
            "1.5.x",
            "1.5.0-",
            "1.5.0-01",
            "1.5.0-a..b",
            "1.5.0+",
            "1.5.0-é",
            "+1.5.0",
            "1.5.99999999999999999999",
        ] {
            assert!(Version::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn versions_have_precedence() {
        let sorted = [
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-alpha.beta",
            "1.0.0-beta",
            "1.0.0-beta.2",
            "1.0.0-beta.11",
            "1.0.0-rc.1",
            "1.0.0",
            "1.0.1",
            "1.2.0",
            "1.10.0",
            "2.0.0",
        ];
        let version = |text| Version::parse(text).unwrap();
        for pair in sorted.windows(2) {
            assert!(version(pair[0]).precedence(&version(pair[1])).is_lt(), "{pair:?}");
        }
        assert!(version("1.0.0+a").precedence(&version("1.0.0+b")).is_eq());
    }
}
