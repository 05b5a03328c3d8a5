//! Character classes and escapes.

use std::fmt::Write as _;

use super::RegexpError;

/// The meaning of an escape.
pub(super) enum Escape {
    /// A code point, maybe a surrogate, which no text contains.
    Char(u32),
    /// A class in the syntax of the `regex` crate, inside and outside brackets.
    Class(String),
}

/// Appends a literal character.
pub(super) fn push_char(out: &mut String, c: char) {
    if c.is_ascii() && !c.is_ascii_alphanumeric() && c != '_' {
        push_point(out, u32::from(c));
    } else {
        out.push(c);
    }
}

/// Appends a code point; nothing for a surrogate.
pub(super) fn push_point(out: &mut String, point: u32) {
    match char::from_u32(point) {
        Some(c) if c.is_alphanumeric() => out.push(c),
        Some(_) => {
            let _ = write!(out, r"\x{{{point:X}}}");
        }
        None => {}
    }
}

/// Parses an escape with its backslash. Returns its length, too.
pub(super) fn escape(rest: &str) -> Result<(Escape, usize), RegexpError> {
    let class = match rest[1..].chars().next() {
        Some('d') => "[0-9]",
        Some('D') => "[^0-9]",
        Some('s') => r"[\t\n\f\r ]",
        Some('S') => r"[^\t\n\f\r ]",
        Some('w') => "[0-9A-Za-z_]",
        Some('W') => "[^0-9A-Za-z_]",
        Some('p' | 'P') => return unicode(rest),
        _ => return code_point(rest).map(|(point, length)| (Escape::Char(point), length)),
    };
    Ok((Escape::Class(class.to_owned()), 2))
}

/// The error of an escape of this length.
fn invalid_escape(rest: &str, length: usize) -> RegexpError {
    RegexpError::new("invalid escape sequence", rest.get(..length).unwrap_or(rest))
}

/// Parses an escape of one code point.
fn code_point(rest: &str) -> Result<(u32, usize), RegexpError> {
    let Some(c) = rest[1..].chars().next() else {
        return Err(RegexpError::new("trailing backslash at end of expression", ""));
    };
    let length = 1 + c.len_utf8();
    let octal = |from: usize| rest[from..].bytes().take_while(|byte| matches!(byte, b'0'..=b'7')).count();
    let point = match c {
        'a' => 7,
        'f' => 12,
        'n' => 10,
        'r' => 13,
        't' => 9,
        'v' => 11,
        'x' => return hexadecimal(rest),
        // One digit alone would be a back-reference.
        '0'..='7' if c == '0' || octal(1) > 1 => {
            let digits = octal(1).min(3);
            let point =
                u32::from_str_radix(&rest[1..=digits], 8).map_err(|_| invalid_escape(rest, 1 + digits))?;
            return Ok((point, 1 + digits));
        }
        c if c.is_ascii() && !c.is_ascii_alphanumeric() => u32::from(c),
        _ => return Err(invalid_escape(rest, length)),
    };
    Ok((point, length))
}

/// `\x41` or `\x{41}`
fn hexadecimal(rest: &str) -> Result<(u32, usize), RegexpError> {
    let invalid = |length| invalid_escape(rest, length);
    let Some(braced) = rest[2..].strip_prefix('{') else {
        let digits = rest[2..].bytes().take(2).take_while(u8::is_ascii_hexdigit).count();
        if digits < 2 {
            return Err(invalid(2 + digits + rest[2 + digits..].chars().next().map_or(0, char::len_utf8)));
        }
        return u32::from_str_radix(&rest[2..4], 16).map(|point| (point, 4)).map_err(|_| invalid(4));
    };
    let digits = braced.bytes().take_while(u8::is_ascii_hexdigit).count();
    let next = braced[digits..].chars().next();
    if digits == 0 || next != Some('}') {
        return Err(invalid(3 + digits + next.map_or(0, char::len_utf8)));
    }
    match u32::from_str_radix(&braced[..digits], 16) {
        Ok(point) if point <= 0x10_FFFF => Ok((point, 4 + digits)),
        _ => Err(invalid(3 + digits)),
    }
}

/// `\pL`, `\p{Greek}`, `\p{^Greek}`, and the same with `\P`.
fn unicode(rest: &str) -> Result<(Escape, usize), RegexpError> {
    let after = &rest[2..];
    let (name, length) = match after.strip_prefix('{') {
        Some(braced) => match braced.find('}') {
            Some(end) => (&braced[..end], 4 + end),
            None => return Err(RegexpError::new("invalid character class range", rest)),
        },
        None => {
            let length = after.chars().next().map_or(0, char::len_utf8);
            (&after[..length], 2 + length)
        }
    };
    let (negated, name) = name.strip_prefix('^').map_or((false, name), |name| (true, name));
    let negated = negated != rest.starts_with(r"\P");
    let letter = if negated { 'P' } else { 'p' };
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    // Go has general categories and scripts, no other properties.
    let class = ["gc", "sc"].map(|property| format!(r"\{letter}{{{property}={name}}}"));
    match class.into_iter().find(|class| is_name && regex::Regex::new(class).is_ok()) {
        Some(class) => Ok((Escape::Class(class), length)),
        None => Err(RegexpError::new("invalid character class range", &rest[..length])),
    }
}

const POSIX: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
    "upper", "word", "xdigit",
];

/// Parses a class in brackets. Returns its length, too.
pub(super) fn bracketed(text: &str) -> Result<(String, usize), RegexpError> {
    let mut class = String::from("[");
    let mut offset = 1;
    if text[offset..].starts_with('^') {
        class.push('^');
        offset += 1;
    }
    let start = class.len();
    let mut first = true;
    loop {
        let rest = &text[offset..];
        if rest.starts_with(']') && !first {
            break;
        }
        if rest.is_empty() {
            return Err(RegexpError::new("missing closing ]", text));
        }
        first = false;
        if let Some((name, length)) = posix(rest)? {
            class.push_str(name);
            offset += length;
            continue;
        }
        if matches!(rest.as_bytes(), [b'\\', b'd' | b'D' | b's' | b'S' | b'w' | b'W' | b'p' | b'P', ..])
            && let (Escape::Class(inner), length) = escape(rest)?
        {
            class.push_str(&inner);
            offset += length;
            continue;
        }
        let (low, length) = member(rest, text)?;
        offset += length;
        let mut high = low;
        let after = &text[offset..];
        if let Some(end) = after.strip_prefix('-')
            && !end.starts_with(']')
            && !end.is_empty()
        {
            let (point, length) = member(end, text)?;
            high = point;
            offset += 1 + length;
            if high < low {
                let length = rest.len() - (text.len() - offset);
                return Err(RegexpError::new("invalid character class range", &rest[..length]));
            }
        }
        push_range(&mut class, low, high);
    }
    if class.len() == start {
        // Only surrogates, which no text contains.
        let everything = r"\x00-\x{10FFFF}";
        return Ok((format!("[{}{everything}]", if start == 1 { "^" } else { "" }), offset + 1));
    }
    class.push(']');
    Ok((class, offset + 1))
}

/// One character inside brackets.
fn member(rest: &str, whole: &str) -> Result<(u32, usize), RegexpError> {
    match rest.chars().next() {
        None => Err(RegexpError::new("missing closing ]", whole)),
        Some('\\') => code_point(rest),
        Some(c) => Ok((u32::from(c), c.len_utf8())),
    }
}

/// Appends a range without surrogates, which the `regex` crate does not accept.
fn push_range(class: &mut String, low: u32, high: u32) {
    let surrogate = |point: u32| (0xD800..0xE000).contains(&point);
    let low = if surrogate(low) { 0xE000 } else { low };
    let high = if surrogate(high) { 0xD7FF } else { high };
    if low > high {
        return;
    }
    push_point(class, low);
    if high > low {
        class.push('-');
        push_point(class, high);
    }
}

/// `[:alpha:]` or `[:^alpha:]`
fn posix(rest: &str) -> Result<Option<(&str, usize)>, RegexpError> {
    let Some(after) = rest.strip_prefix("[:") else { return Ok(None) };
    let Some(end) = after.find(":]") else { return Ok(None) };
    let length = end + 4;
    let name = &after[..end];
    if POSIX.contains(&name.strip_prefix('^').unwrap_or(name)) {
        Ok(Some((&rest[..length], length)))
    } else {
        Err(RegexpError::new("invalid character class range", &rest[..length]))
    }
}
