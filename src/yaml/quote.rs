//! Writing strings so that every reader reads them as strings.

use std::fmt::Write as _;

use super::scalar::{Resolved, resolve_plain};

/// The quotes of a string on one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScalarStyle {
    Plain,
    /// Would be syntax without quotes.
    Single,
    /// Would be no string without quotes, or needs escapes.
    Double,
}

/// The style for a string on one line.
pub(super) fn scalar_style(text: &str) -> ScalarStyle {
    if is_word(text) {
        ScalarStyle::Plain
    } else if text.is_empty() || !text.chars().all(is_printable) || is_ambiguous(text) {
        ScalarStyle::Double
    } else if is_syntax(text) {
        ScalarStyle::Single
    } else {
        ScalarStyle::Plain
    }
}

/// Whether a string is plain whatever reads it, which most strings are: a name, a path, an image. No word that is a
/// value of its own is so long.
fn is_word(text: &str) -> bool {
    let is_part =
        |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-' | b'/' | b':');
    match text.as_bytes() {
        [b'a'..=b'z' | b'A'..=b'Z' | b'/', inner @ .., b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9'] => {
            inner.len() > 3 && inner.iter().all(is_part)
        }
        _ => false,
    }
}

/// Writes a string on one line.
pub(super) fn write_line(text: &str, out: &mut String) {
    match scalar_style(text) {
        ScalarStyle::Plain => out.push_str(text),
        ScalarStyle::Single => write_single(text, out),
        ScalarStyle::Double => write_double(text, out),
    }
}

/// Writes a string of printable characters in single quotes.
pub(super) fn write_single(text: &str, out: &mut String) {
    out.push('\'');
    out.push_str(&text.replace('\'', "''"));
    out.push('\'');
}

/// Writes a string in double quotes.
pub(super) fn write_double(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_printable(c) => out.push(c),
            c => {
                let point = u32::from(c);
                let _ = if point > 0xFFFF {
                    write!(out, "\\U{point:08X}")
                } else {
                    write!(out, "\\u{point:04X}")
                };
            }
        }
    }
    out.push('"');
}

/// The header of a block scalar with this text; `None` if it cannot be one.
pub(super) fn block_header(text: &str) -> Option<&'static str> {
    let content = text.trim_end_matches('\n');
    let last = content.rsplit('\n').next().unwrap_or_default();
    let representable = content.contains('\n') || content.len() < text.len();
    if !representable
        || last.trim_matches([' ', '\t']).is_empty()
        || !text.chars().all(|c| is_printable(c) || matches!(c, '\n' | '\t'))
    {
        return None;
    }
    // A first line that starts with a blank or is empty hides how far the text is indented.
    let indicated = text.starts_with([' ', '\t', '\n']);
    Some(match (indicated, text.len() - content.len()) {
        (false, 0) => "|-",
        (false, 1) => "|",
        (false, _) => "|+",
        (true, 0) => "|2-",
        (true, 1) => "|2",
        (true, _) => "|2+",
    })
}

/// Whether a character changes the direction of writing, so that a text looks like another one.
pub const fn changes_direction(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether no reader needs the character escaped, none breaks a line at it, and the text looks as it is.
pub fn is_printable(c: char) -> bool {
    match c {
        ' '..='~' => true,
        c if changes_direction(c) => false,
        '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fdd0}'..='\u{fdef}' => false,
        '\u{a0}'..='\u{fffd}' => true,
        c => c >= '\u{10000}' && u32::from(c) & 0xFFFE != 0xFFFE,
    }
}

/// Whether a plain string would not be one line of plain text to a reader.
fn is_syntax(text: &str) -> bool {
    let bytes = text.as_bytes();
    let indicator = match bytes {
        [b'-' | b'?' | b':', rest @ ..] => rest.first().is_none_or(|next| b" ,[]{}".contains(next)),
        [first, ..] => b",[]{}#&*!|>'\"%@`".contains(first),
        [] => true,
    };
    indicator
        || text.starts_with("---")
        || text.starts_with("...")
        || text.starts_with(char::is_whitespace)
        || text.ends_with(char::is_whitespace)
        || text.ends_with(':')
        || text.contains(": ")
        || text.contains(" #")
}

/// Whether some reader of YAML 1.1 or 1.2 takes the plain text for something other than a string.
fn is_ambiguous(text: &str) -> bool {
    const WORDS: [&str; 12] =
        ["y", "yes", "n", "no", "true", "false", "on", "off", "null", ".nan", ".inf", "="];
    match text.as_bytes() {
        b"~" | b"<<" => true,
        [b'0'..=b'9' | b'+' | b'-' | b'.', ..] => {
            let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
            is_number(&unsigned.replace('_', ""))
                || is_date(text)
                || WORDS.iter().any(|word| unsigned.eq_ignore_ascii_case(word))
                || !matches!(resolve_plain(text), Resolved::Text(_))
        }
        _ => text.len() <= 5 && WORDS.iter().any(|word| text.eq_ignore_ascii_case(word)),
    }
}

/// Whether this, without indicator and underscores, is a number to anyone: of any base, sexagesimal, or too
/// large for some.
fn is_number(text: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    match text.as_bytes() {
        [b'0', b'x' | b'X' | b'o' | b'O' | b'b' | b'B', rest @ ..] => {
            return rest.iter().all(u8::is_ascii_hexdigit);
        }
        [b'0'..=b'9' | b'.', ..] => {}
        _ => return false,
    }
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    digits(exponent) && digits(fraction) && whole.split(':').all(digits)
}

/// Whether this starts with a date.
fn is_date(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let mut ranges = text.splitn(3, '-');
    let (year, month, day) = (ranges.next(), ranges.next(), ranges.next());
    year.is_some_and(|year| year.len() == 4 && digits(year))
        && month.is_some_and(|month| month.len() <= 2 && digits(month))
        && day.is_some_and(|day| day.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> String {
        let mut out = String::new();
        write_line(text, &mut out);
        out
    }

    #[test]
    fn words_are_plain_by_the_rules_for_all_strings() {
        for text in ["example.com/a_b-c:1.2", "/var/run", "abcdef", "Falsehood", "nullable", "a::::b"] {
            assert!(is_word(text) && !is_ambiguous(text) && !is_syntax(text), "{text}");
        }
        for text in
            ["", "a", "false", "False", "1abcdef", ".abcdef", "-abcdef", "abcdef:", "abc def", "abc#def"]
                .into_iter()
                .chain(["abcd\u{e4}f"])
        {
            assert!(!is_word(text), "{text}");
        }
    }

    #[test]
    fn ambiguous_strings_are_quoted() {
        for text in [
            "", "y", "Y", "yes", "no", "NO", "on", "Off", "true", "False", "null", "Null", "~", ".nan",
            ".inf", "-.inf", "+.INF", "=", "<<", "1", "-1", "+1", "0", "00", "012", "0o7", "0x1f", "0X1F",
            "0b1", "0b", "1_000", "1__0", "1.5", "5.", ".5", "1e3", "1E-3", "781e4745", "1e400", "1:20",
            "0x_1F", "-0x1", ".", "1_0.5",
        ]
        .into_iter()
        .chain([
            "190:20:30",
            "190:20:30.15",
            "2001-01-01",
            "2001-1-1T1:1:1Z",
            "2001-12-14 21:59:43.10 -5",
            "12345678901234567890",
        ]) {
            assert_eq!(line(text), format!("\"{text}\""), "{text:?}");
        }
    }

    #[test]
    fn syntax_is_quoted() {
        for text in [
            "-", "- a", "?", "? a", ":", ": a", "---", "--- a", "...", "#a", "a #b", "a: b", "a:", " a",
            "a ", "*a", "&a", "!a", "|", ">", "\"a\"", "%a", "@a", "`a`", "{a}", "[a]", "{{ a }}", ",a",
            "-,", "\u{a0}a",
        ]
        .into_iter()
        .chain(["-----BEGIN"])
        {
            assert_eq!(line(text), format!("'{text}'"), "{text:?}");
        }
        assert_eq!(line("'a"), "'''a'");
    }

    #[test]
    fn control_characters_are_escaped() {
        for (text, written) in [
            ("a\tb", r#""a\tb""#),
            ("\u{7f}\u{85}\u{2028}\u{feff}", r#""\u007F\u0085\u2028\uFEFF""#),
            ("\0\u{1b}\"\\", r#""\u0000\u001B\"\\""#),
            ("\u{ffff}\u{1ffff}", r#""\uFFFF\U0001FFFF""#),
        ] {
            assert_eq!(line(text), written);
        }
    }

    #[test]
    fn ordinary_text_stays_plain() {
        for text in [
            "nginx", "a b", "1.2.3", "10.0.0.1", "v1", "1Gi", "100m", "-a", "--flag=x", "?x", ":x", "a:b",
            "a#b", "it's", "a \"b\"", "0xzz", "1h30m", "2001-01", "kéy", "🙂", "a, b", "a]b", "+x", "_1",
            "e3", "12e", "x=",
        ]
        .into_iter()
        .chain(["nginx:1.25", "https://x.y/z?a=b&c=d", "yesterday"])
        {
            let expected = if text == "12e" { "\"12e\"" } else { text };
            assert_eq!(line(text), expected, "{text:?}");
        }
    }

    #[test]
    fn block_scalars_are_chosen_where_they_hold_the_text() {
        for (text, header) in [
            ("a\nb", Some("|-")),
            ("a\nb\n", Some("|")),
            ("a\n\n", Some("|+")),
            (" a\nb", Some("|2-")),
            ("\na\n", Some("|2")),
            ("\ta\n", Some("|2")),
            ("a", None),
            ("\n", None),
            ("  \n", None),
            ("a\n  ", None),
            ("a\r\nb", None),
            ("a\n\u{85}", None),
        ] {
            assert_eq!(block_header(text), header, "{text:?}");
        }
    }
}
