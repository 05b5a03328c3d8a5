//! Semantic versions.

use std::borrow::Cow;
use std::cmp::Ordering;

/// A semantic version (semver.org 2.0.0) such as `1.5.0-rc.1+build`.
///
/// Versions are ordered by precedence: a pre-release is lower than its release, build metadata is ignored.
#[derive(Clone, Debug, Default)]
pub struct Version<'a> {
    numbers: [u64; 3],
    /// Identifiers, separated by dots; valid.
    pre_release: Option<Cow<'a, str>>,
}

/// Why a text is no semantic version, in the words of the library that Kyverno uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VersionError<'a> {
    /// The text is empty.
    #[error("Version string empty")]
    Empty,
    /// There are fewer than three numbers.
    #[error("No Major.Minor.Patch elements found")]
    Elements,
    /// A part contains an invalid character.
    #[error("Invalid character(s) found in {part} {text:?}")]
    Characters {
        /// The name of the part.
        part: &'static str,
        /// The part.
        text: &'a str,
    },
    /// A number has leading zeros.
    #[error("{part} must not contain leading zeroes {text:?}")]
    LeadingZeros {
        /// The name of the part.
        part: &'static str,
        /// The number.
        text: &'a str,
    },
    /// A number has no digits.
    #[error("strconv.ParseUint: parsing {0:?}: invalid syntax")]
    NoDigits(&'a str),
    /// A number exceeds 64 bits.
    #[error("strconv.ParseUint: parsing {0:?}: value out of range")]
    OutOfRange(&'a str),
    /// An identifier is empty.
    #[error("{0} is empty")]
    EmptyIdentifier(&'static str),
}

impl<'a> Version<'a> {
    /// Parses `major.minor.patch` with an optional pre-release and build; no prefix, no leading zeros.
    ///
    /// # Errors
    ///
    /// Any other text.
    pub fn parse(text: &'a str) -> Result<Self, VersionError<'a>> {
        if text.is_empty() {
            return Err(VersionError::Empty);
        }
        let mut parts = text.splitn(3, '.');
        let (Some(major), Some(minor), Some(rest)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(VersionError::Elements);
        };
        let (major, minor) = (number(major, MAJOR)?, number(minor, MINOR)?);
        let (rest, build) = split_at_mark(rest, '+');
        let (patch, pre_release) = split_at_mark(rest, '-');
        let patch = number(patch, PATCH)?;
        pre_release.into_iter().flat_map(|text| text.split('.')).try_for_each(check_pre_release)?;
        build.into_iter().flat_map(|text| text.split('.')).try_for_each(check_build)?;
        Ok(Self { numbers: [major, minor, patch], pre_release: pre_release.map(Cow::Borrowed) })
    }

    /// Major, minor and patch.
    pub const fn numbers(&self) -> [u64; 3] {
        self.numbers
    }

    /// The bytes of the pre-release.
    pub(crate) fn text_bytes(&self) -> usize {
        self.pre_release.as_ref().map_or(0, |text| text.len())
    }

    /// The same version, independent of the parsed text.
    pub fn into_owned(self) -> Version<'static> {
        let pre_release = self.pre_release.map(|text| Cow::Owned(text.into_owned()));
        Version { numbers: self.numbers, pre_release }
    }
}

impl Ord for Version<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.numbers.cmp(&other.numbers).then_with(|| match (&self.pre_release, &other.pre_release) {
            (None, None) => Ordering::Equal,
            (None, Some(_)) => Ordering::Greater,
            (Some(_), None) => Ordering::Less,
            (Some(a), Some(b)) => a.split('.').map(Identifier::new).cmp(b.split('.').map(Identifier::new)),
        })
    }
}

impl PartialOrd for Version<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Version<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Version<'_> {}

/// One identifier of a pre-release; numbers are lower than words.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Identifier<'a> {
    Number(u64),
    Word(&'a str),
}

impl<'a> Identifier<'a> {
    fn new(text: &'a str) -> Self {
        if is_numeric(text) { text.parse().map_or(Self::Word(text), Self::Number) } else { Self::Word(text) }
    }
}

/// The names of a number in errors: about its characters, and about its zeros.
type Names = (&'static str, &'static str);
const MAJOR: Names = ("major number", "Major number");
const MINOR: Names = ("minor number", "Minor number");
const PATCH: Names = ("patch number", "Patch number");

fn number<'a>(text: &'a str, (part, capitalized): Names) -> Result<u64, VersionError<'a>> {
    if !is_numeric(text) {
        return Err(VersionError::Characters { part, text });
    }
    unsigned(text, capitalized)
}

/// The value of a text of digits.
fn unsigned<'a>(text: &'a str, part: &'static str) -> Result<u64, VersionError<'a>> {
    if text.len() > 1 && text.starts_with('0') {
        return Err(VersionError::LeadingZeros { part, text });
    }
    let error =
        || if text.is_empty() { VersionError::NoDigits(text) } else { VersionError::OutOfRange(text) };
    text.parse().map_err(|_| error())
}

fn check_pre_release(text: &str) -> Result<(), VersionError<'_>> {
    if text.is_empty() {
        return Err(VersionError::EmptyIdentifier("Prerelease"));
    }
    if is_numeric(text) {
        return unsigned(text, "Numeric PreRelease version").map(drop);
    }
    check_characters(text, "prerelease")
}

fn check_build(text: &str) -> Result<(), VersionError<'_>> {
    if text.is_empty() {
        return Err(VersionError::EmptyIdentifier("Build meta data"));
    }
    check_characters(text, "build meta data")
}

fn check_characters<'a>(text: &'a str, part: &'static str) -> Result<(), VersionError<'a>> {
    let is_valid = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if is_valid { Ok(()) } else { Err(VersionError::Characters { part, text }) }
}

fn split_at_mark(text: &str, mark: char) -> (&str, Option<&str>) {
    text.split_once(mark).map_or((text, None), |(before, after)| (before, Some(after)))
}

fn is_numeric(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_parsed_strictly() {
        for text in ["0.0.0", "1.5.0", "1.5.0-rc1", "1.0.0-alpha.1.x-y", "1.0.0+build.007", "1.0.0-0+1-2"] {
            assert!(Version::parse(text).is_ok(), "{text}");
        }
        for text in
            ["", "1", "1.5", "v1.5.0", "1.5.0.0", "01.5.0", "1.5.x", "1.5.0-", "1.5.0-01", "1.5.0-a..b"]
                .into_iter()
                .chain(["1.5.0+", "1.5.0-é", "+1.5.0", "1.5.99999999999999999999"])
        {
            assert!(Version::parse(text).is_err(), "{text}");
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
            assert!(version(pair[0]) < version(pair[1]), "{pair:?}");
        }
        assert_eq!(version("1.0.0+a"), version("1.0.0+b"));
    }
}
