//! The values of string and bytes literals.

/// Why a literal has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum EscapeError {
    #[error("unknown escape in a string")]
    Unknown,
    #[error("a Unicode escape in bytes")]
    UnicodeInBytes,
    #[error("an escape that is no Unicode character")]
    NoCharacter,
}

/// The text of a string literal, which is written with its prefix and quotes.
pub(super) fn string(literal: &str) -> Result<String, EscapeError> {
    let (raw, body) = body(literal);
    let normal = newlines(body);
    if raw || !normal.contains('\\') {
        return Ok(normal);
    }
    let mut out = String::with_capacity(normal.len());
    let mut rest = normal.as_str();
    while let Some(slash) = rest.find('\\') {
        out.push_str(&rest[..slash]);
        let (escape, after) = escape(&rest[slash + 1..])?;
        let code = match escape {
            Escape::Byte(byte) => u32::from(byte),
            Escape::Unicode(code) => code,
        };
        out.push(char::from_u32(code).ok_or(EscapeError::NoCharacter)?);
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

/// The bytes of a bytes literal.
pub(super) fn bytes(literal: &str) -> Result<Vec<u8>, EscapeError> {
    let (raw, body) = body(&literal[1..]);
    let normal = newlines(body);
    if raw {
        return Ok(normal.into_bytes());
    }
    let mut out = Vec::with_capacity(normal.len());
    let mut rest = normal.as_str();
    while let Some(slash) = rest.find('\\') {
        out.extend_from_slice(&rest.as_bytes()[..slash]);
        let (escape, after) = escape(&rest[slash + 1..])?;
        match escape {
            Escape::Byte(byte) => out.push(byte),
            Escape::Unicode(_) => return Err(EscapeError::UnicodeInBytes),
        }
        rest = after;
    }
    out.extend_from_slice(rest.as_bytes());
    Ok(out)
}

/// Whether the literal is raw, and what is between its quotes.
fn body(literal: &str) -> (bool, &str) {
    let unprefixed = literal.trim_start_matches(['r', 'R']);
    let raw = unprefixed.len() < literal.len();
    for quotes in ["\"\"\"", "'''"] {
        if unprefixed.len() >= 6
            && let Some(inner) = unprefixed.strip_prefix(quotes).and_then(|rest| rest.strip_suffix(quotes))
        {
            return (raw, inner);
        }
    }
    (raw, &unprefixed[1..unprefixed.len() - 1])
}

fn newlines(body: &str) -> String {
    if body.contains('\r') { body.replace("\r\n", "\n").replace('\r', "\n") } else { body.to_owned() }
}

enum Escape {
    Byte(u8),
    Unicode(u32),
}

/// The escape whose backslash is before `text`, and what is after it.
fn escape(text: &str) -> Result<(Escape, &str), EscapeError> {
    let first = text.bytes().next().ok_or(EscapeError::Unknown)?;
    let simple = match first {
        b'a' => 7,
        b'b' => 8,
        b'f' => 12,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'v' => 11,
        b'\\' | b'\'' | b'"' | b'`' | b'?' => first,
        b'x' | b'X' => {
            let (code, rest) = number(&text[1..], 2, 16)?;
            return Ok((Escape::Byte(u8::try_from(code).map_err(|_| EscapeError::Unknown)?), rest));
        }
        b'u' => return number(&text[1..], 4, 16).map(|(code, rest)| (Escape::Unicode(code), rest)),
        b'U' => return number(&text[1..], 8, 16).map(|(code, rest)| (Escape::Unicode(code), rest)),
        b'0'..=b'3' => {
            let (code, rest) = number(text, 3, 8)?;
            return Ok((Escape::Byte(u8::try_from(code).map_err(|_| EscapeError::Unknown)?), rest));
        }
        _ => return Err(EscapeError::Unknown),
    };
    Ok((Escape::Byte(simple), &text[1..]))
}

fn number(text: &str, length: usize, radix: u32) -> Result<(u32, &str), EscapeError> {
    let digits = text.get(..length).ok_or(EscapeError::Unknown)?;
    if !digits.chars().all(|c| c.is_digit(radix)) {
        return Err(EscapeError::Unknown);
    }
    let code = u32::from_str_radix(digits, radix).map_err(|_| EscapeError::Unknown)?;
    Ok((code, &text[length..]))
}
