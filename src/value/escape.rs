//! The escapes of JSON strings.

/// Why an escape is invalid, with the position after its backslash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EscapeError {
    /// There is no such escape.
    #[error("unknown escape")]
    Unknown,
    /// Four hexadecimal digits are missing.
    #[error("expected four hexadecimal digits")]
    Digits(usize),
}

/// Parses an escape at the start of a text, after its backslash; returns the character and the length of the escape in
/// bytes. A surrogate pair is one character, a lone surrogate becomes U+FFFD.
///
/// # Errors
///
/// An invalid escape.
pub fn json_escape(text: &str) -> Result<(char, usize), EscapeError> {
    let escaped = match text.as_bytes().first() {
        Some(&c @ (b'"' | b'\\' | b'/')) => char::from(c),
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => return code_point(text),
        _ => return Err(EscapeError::Unknown),
    };
    Ok((escaped, 1))
}

fn code_point(text: &str) -> Result<(char, usize), EscapeError> {
    let first = hex(text, 1)?;
    if (0xD800..0xDC00).contains(&first) && text[5..].starts_with("\\u") {
        let second = hex(text, 7)?;
        if (0xDC00..0xE000).contains(&second) {
            let point = 0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00);
            return Ok((char::from_u32(point).unwrap_or(char::REPLACEMENT_CHARACTER), 11));
        }
    }
    Ok((char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER), 5))
}

fn hex(text: &str, at: usize) -> Result<u32, EscapeError> {
    let digits = text.get(at..at + 4).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let digits = digits.ok_or(EscapeError::Digits(at))?;
    Ok(u32::from_str_radix(digits, 16).unwrap_or(0xFFFD))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_read_with_their_length() {
        for (text, expected) in [
            ("n\"", Ok(('\n', 1))),
            ("u0041b", Ok(('A', 5))),
            ("ud83d\\ude00!", Ok(('\u{1F600}', 11))),
            ("ud83d\\u0041", Ok(('\u{FFFD}', 5))),
            ("ude00", Ok(('\u{FFFD}', 5))),
            ("ud83d\\u00", Err(EscapeError::Digits(7))),
            ("u00\u{e9}0", Err(EscapeError::Digits(1))),
            ("x", Err(EscapeError::Unknown)),
            ("", Err(EscapeError::Unknown)),
        ] {
            assert_eq!(json_escape(text), expected, "{text}");
        }
    }
}
