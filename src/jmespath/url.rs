//! URLs as Go's `net/url` parses them.

use core::net::{IpAddr, Ipv6Addr};
use std::fmt::Write as _;

use crate::value::Value;

/// The parts of a URL.
#[derive(Debug, Default)]
struct Url<'a> {
    scheme: &'a str,
    /// The rest after a scheme without a slash behind it.
    opaque: &'a str,
    user: Option<&'a str>,
    /// With the port.
    host: &'a str,
    path: &'a str,
    query: Option<&'a str>,
    fragment: &'a str,
}

/// Why a text is no URL, in Go's words.
#[derive(Debug, thiserror::Error)]
pub(super) enum UrlError {
    #[error("net/url: invalid control character in URL")]
    ControlCharacter,
    #[error("missing protocol scheme")]
    NoScheme,
    #[error("first path segment in URL cannot contain colon")]
    ColonInSegment,
    #[error("net/url: invalid userinfo")]
    User,
    #[error("invalid URL escape {0:?}")]
    Escape(String),
    #[error("invalid port {0:?} after host")]
    Port(String),
    #[error("missing ']' in host")]
    NoClosingBracket,
    #[error("invalid IP-literal")]
    IpLiteral,
    #[error("invalid character {0:?} in host name")]
    HostCharacter(String),
}

impl<'a> Url<'a> {
    fn parse(text: &'a str) -> Result<Self, UrlError> {
        if text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
            return Err(UrlError::ControlCharacter);
        }
        let (text, fragment) = text.split_once('#').unwrap_or((text, ""));
        check_escapes(fragment)?;
        let (scheme, rest) = split_scheme(text)?;
        let (rest, query) = rest.split_once('?').map_or((rest, None), |(rest, query)| (rest, Some(query)));
        let url = Self { scheme, query, fragment, ..Self::default() };
        let authority = rest.strip_prefix("//").filter(|after| !scheme.is_empty() || !after.starts_with('/'));
        let Some(authority) = authority else {
            if !scheme.is_empty() && !rest.starts_with('/') {
                return Ok(Self { opaque: rest, ..url });
            }
            if scheme.is_empty() && rest.split('/').next().is_some_and(|segment| segment.contains(':')) {
                return Err(UrlError::ColonInSegment);
            }
            check_escapes(rest)?;
            return Ok(Self { path: rest, ..url });
        };
        let (authority, path) = authority.split_at(authority.find('/').unwrap_or(authority.len()));
        let (user, host) =
            authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host));
        if let Some(user) = user {
            let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&byte);
            if !user.bytes().all(allowed) {
                return Err(UrlError::User);
            }
            check_escapes(user)?;
        }
        without_port(host)?;
        check_escapes(path)?;
        Ok(Self { user, host, path, ..url })
    }
}

/// The host of a URL without its port; empty if it has none.
pub(super) fn host(text: &str) -> Result<String, UrlError> {
    without_port(Url::parse(text)?.host)
}

/// A URL as object, with the names of Go's fields.
pub(super) fn object(text: &str) -> Result<Value, UrlError> {
    let url = Url::parse(text)?;
    let [path, raw_path] = unescaped(url.path, "-_.~$&+,/:;=@");
    let [fragment, raw_fragment] = unescaped(url.fragment, "-_.~$&+,/:;=?@!()*");
    let omits_host =
        !url.scheme.is_empty() && url.opaque.is_empty() && url.user.is_none() && url.host.is_empty();
    Ok(Value::from_iter([
        ("ForceQuery", Value::Bool(url.query == Some(""))),
        ("Fragment", fragment.into()),
        ("Host", url.host.into()),
        ("OmitHost", Value::Bool(omits_host && !text.contains("//"))),
        ("Opaque", url.opaque.into()),
        ("Path", path.into()),
        ("RawFragment", raw_fragment.into()),
        ("RawPath", raw_path.into()),
        ("RawQuery", url.query.unwrap_or_default().into()),
        ("Scheme", url.scheme.to_ascii_lowercase().into()),
        ("User", url.user.map_or(Value::Null, |_| Value::empty_object())),
    ]))
}

/// The text without escapes; and the text as written if escaping it again has another result.
fn unescaped(text: &str, plain: &str) -> [String; 2] {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(|_| *byte == b'%') {
            Some(escaped) => {
                bytes.push(escaped);
                rest = &after[2..];
            }
            None => {
                bytes.push(*byte);
                rest = after;
            }
        }
    }
    let mut again = String::new();
    for byte in &bytes {
        if byte.is_ascii_alphanumeric() || plain.as_bytes().contains(byte) {
            again.push(char::from(*byte));
        } else {
            let _ = write!(again, "%{byte:02X}");
        }
    }
    let raw = if again == text { String::new() } else { text.to_owned() };
    [String::from_utf8_lossy(&bytes).into_owned(), raw]
}

/// The scheme, which may be empty, and the rest.
fn split_scheme(url: &str) -> Result<(&str, &str), UrlError> {
    for (index, byte) in url.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if index > 0 => {}
            b':' if index == 0 => return Err(UrlError::NoScheme),
            b':' => return Ok((&url[..index], &url[index + 1..])),
            _ => break,
        }
    }
    Ok(("", url))
}

fn check_escapes(text: &str) -> Result<(), UrlError> {
    for (index, _) in text.match_indices('%') {
        let digits = text.as_bytes().get(index + 1..index + 3);
        if !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
            let end = (index + 1..=index + 3).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(index);
            return Err(UrlError::Escape(text.get(index..end).unwrap_or("%").to_owned()));
        }
    }
    Ok(())
}

fn without_port(host: &str) -> Result<String, UrlError> {
    if let Some(bracketed) = host.strip_prefix('[') {
        let (address, port) = bracketed.rsplit_once(']').ok_or(UrlError::NoClosingBracket)?;
        check_port(port)?;
        let address = address.replace("%25", "%");
        return if ipv6(&address).is_some() { Ok(address) } else { Err(UrlError::IpLiteral) };
    }
    let (name, port) = host.split_at(host.find(':').unwrap_or(host.len()));
    check_port(port)?;
    check_escapes(name)?;
    // Only bytes beyond ASCII may be escaped in a host.
    if let Some((index, _)) = name.match_indices('%').find(|(index, _)| name.as_bytes()[index + 1] < b'8') {
        return Err(UrlError::Escape(name[index..index + 3].to_owned()));
    }
    match name.chars().find(|c| " \\^`{|}".contains(*c)) {
        Some(bad) => Err(UrlError::HostCharacter(bad.to_string())),
        None => Ok(name.to_owned()),
    }
}

/// Checks a port with its colon, or nothing.
fn check_port(port: &str) -> Result<(), UrlError> {
    let is_port = port.is_empty()
        || port.strip_prefix(':').is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
    if is_port { Ok(()) } else { Err(UrlError::Port(port.to_owned())) }
}

/// An IPv6 address with or without a zone.
fn ipv6(text: &str) -> Option<Ipv6Addr> {
    text.split('%').next()?.parse().ok()
}

/// Whether a host is neither local nor in a private network. `None` for names other than `localhost`, which would have
/// to be looked up.
pub(super) fn is_external(host: &str) -> Option<bool> {
    if host.eq_ignore_ascii_case("localhost") {
        return Some(false);
    }
    let address = match host.parse().ok().or_else(|| ipv6(host).map(IpAddr::V6))? {
        IpAddr::V6(address) => address.to_ipv4_mapped().map_or(IpAddr::V6(address), IpAddr::V4),
        address @ IpAddr::V4(_) => address,
    };
    let private = match address {
        IpAddr::V4(address) => address.is_private(),
        IpAddr::V6(address) => address.is_unique_local(),
    };
    Some(!(address.is_loopback() || private))
}
