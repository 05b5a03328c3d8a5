//! Ranges: `A-B` and `A!-B`.

/// A range, with its ends as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range<'a> {
    /// The lower end.
    pub low: &'a str,
    /// The upper end.
    pub high: &'a str,
    /// Whether it matches values outside: `A!-B`.
    pub outside: bool,
}

impl<'a> Range<'a> {
    /// Parses a text that is a range, such as `1-10`, `128Mi-512Mi` or `-10!--8`.
    ///
    /// Each end is an optional sign, digits, optional decimals and optional letters. As in Kyverno, `|` is a sign too.
    ///
    /// ```
    /// use kyv::pattern::Range;
    ///
    /// assert_eq!(Range::parse("1h-3h").map(|range| (range.low, range.high)), Some(("1h", "3h")));
    /// assert_eq!(Range::parse("1h - 3h"), None);
    /// ```
    pub fn parse(text: &'a str) -> Option<Self> {
        let (low, rest) = split_end(text)?;
        let (outside, rest) = rest.strip_prefix('!').map_or((false, rest), |rest| (true, rest));
        let (high, rest) = split_end(rest.strip_prefix('-')?)?;
        rest.is_empty().then_some(Self { low, high, outside })
    }
}

/// Splits a text after the end of a range it begins with.
fn split_end(text: &str) -> Option<(&str, &str)> {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let sign = usize::from(matches!(bytes.first(), Some(b'-' | b'+' | b'|')));
    let whole = digits(sign);
    if whole == 0 {
        return None;
    }
    let mut end = sign + whole;
    if bytes.get(end) == Some(&b'.') {
        let decimals = digits(end + 1);
        if decimals == 0 {
            return None;
        }
        end += 1 + decimals;
    }
    end += bytes[end..].iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    Some(text.split_at(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_found() {
        for (text, low, high, outside) in [
            ("0-1", "0", "1", false),
            ("0Mi-1024Mi", "0Mi", "1024Mi", false),
            ("-10--8", "-10", "-8", false),
            ("-10-+8", "-10", "+8", false),
            ("+0-+1", "+0", "+1", false),
            ("1h-3h", "1h", "3h", false),
            ("10m-20m", "10m", "20m", false),
            ("0.00001-2.00001", "0.00001", "2.00001", false),
            ("|1-2", "|1", "2", false),
            ("10!-20", "10", "20", true),
            ("-10Mi!--8Mi", "-10Mi", "-8Mi", true),
            ("+0Mi!-+1024Mi", "+0Mi", "+1024Mi", true),
            ("0!-+1", "0", "+1", true),
        ] {
            assert_eq!(Range::parse(text), Some(Range { low, high, outside }), "{text}");
        }
    }

    #[test]
    fn other_texts_are_not_ranges() {
        for text in [
            "",
            "-",
            "1",
            "1-",
            "-1",
            "a-b",
            "test-value",
            "value-*",
            "text1024Mi-2048Mi",
            "1h - 3h",
            " 1-2",
            "1-2 ",
            "1.-2",
            "1-2.",
            "1--",
            "1-2-3",
            "1!2",
            "1-!2",
            "!1-10",
            "1Mi2-3",
            "١-٢",
        ] {
            assert_eq!(Range::parse(text), None, "{text}");
        }
    }
}
