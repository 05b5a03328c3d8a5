//! URLs as Go's `net/url` parses them.

use core::net::{IpAddr, Ipv6Addr};
use std::fmt::Write as _;

use crate::value::Value;

use super::quote;

/// The parts of a URL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Url {
    /// In small letters.
    scheme: String,
    /// The rest after a scheme without a slash behind it.
    opaque: String,
    has_user: bool,
    /// With the port and without escapes.
    host: String,
    /// After a scheme: without an authority.
    omits_host: bool,
    /// With its escapes.
    path: String,
    query: Option<String>,
    /// With its escapes.
    fragment: String,
    /// As written.
    text: String,
}

/// Why a text is no URL, in Go's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// A control character.
    #[error("net/url: invalid control character in URL")]
    ControlCharacter,
    /// No text.
    #[error("empty url")]
    Empty,
    /// Neither a scheme nor an absolute path.
    #[error("invalid URI for request")]
    Relative,
    /// A colon without a scheme before it.
    #[error("missing protocol scheme")]
    NoScheme,
    /// A colon in the first segment of a relative path.
    #[error("first path segment in URL cannot contain colon")]
    ColonInSegment,
    /// A character that is not allowed in user names and passwords.
    #[error("net/url: invalid userinfo")]
    User,
    /// A `%` without two hexadecimal digits, or a byte that may not be escaped there.
    #[error("invalid URL escape {}", quote(.0))]
    Escape(Vec<u8>),
    /// The port with its colon.
    #[error("invalid port {} after host", quote(.0.as_bytes()))]
    Port(String),
    /// `[` without `]`.
    #[error("missing ']' in host")]
    NoClosingBracket,
    /// Brackets where no IPv6 address is.
    #[error("invalid IP-literal")]
    IpLiteral,
    /// No address in brackets.
    #[error("invalid host: ParseAddr({}): unable to parse IP", quote(.0.as_bytes()))]
    Address(String),
    /// A character that is not allowed in hosts.
    #[error("invalid character {} in host name", quote(&[*.0]))]
    HostCharacter(u8),
}

/// Which part of a URL is unescaped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Host,
    Zone,
    Query,
    /// All others.
    Path,
}

impl Url {
    /// Parses an absolute or relative URL: Go's `Parse`.
    ///
    /// # Errors
    ///
    /// The first part that is not right.
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        let (before, fragment) = text.split_once('#').unwrap_or((text, ""));
        let url = Self::split(before, false)?;
        unescaped(fragment, Part::Path)?;
        Ok(Self { fragment: fragment.to_owned(), text: text.to_owned(), ..url })
    }

    /// Parses an absolute URL or an absolute path, whose fragment is part of the path: Go's `ParseRequestURI`.
    ///
    /// # Errors
    ///
    /// The first part that is not right.
    pub fn parse_request(text: &str) -> Result<Self, UrlError> {
        Ok(Self { text: text.to_owned(), ..Self::split(text, true)? })
    }

    /// The parts but for the fragment.
    fn split(text: &str, is_request: bool) -> Result<Self, UrlError> {
        if text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
            return Err(UrlError::ControlCharacter);
        }
        if text.is_empty() && is_request {
            return Err(UrlError::Empty);
        }
        let mut url = Self::default();
        if text == "*" {
            text.clone_into(&mut url.path);
            return Ok(url);
        }
        let (scheme, rest) = split_scheme(text)?;
        url.scheme = scheme.to_ascii_lowercase();
        let (mut rest, query) =
            rest.split_once('?').map_or((rest, None), |(rest, query)| (rest, Some(query)));
        url.query = query.map(str::to_owned);
        if !rest.starts_with('/') {
            if !scheme.is_empty() {
                rest.clone_into(&mut url.opaque);
                return Ok(url);
            }
            if is_request {
                return Err(UrlError::Relative);
            }
            if rest.split('/').next().is_some_and(|segment| segment.contains(':')) {
                return Err(UrlError::ColonInSegment);
            }
        }
        let may_have_host = !scheme.is_empty() || (!is_request && !rest.starts_with("///"));
        match rest.strip_prefix("//") {
            Some(after) if may_have_host => {
                let (authority, path) = after.split_at(after.find('/').unwrap_or(after.len()));
                let (user, written) =
                    authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host));
                url.host = parse_host(&url.scheme, written)?;
                user.map_or(Ok(()), check_user)?;
                url.has_user = user.is_some();
                rest = path;
            }
            _ => url.omits_host = !scheme.is_empty(),
        }
        unescaped(rest, Part::Path)?;
        rest.clone_into(&mut url.path);
        Ok(url)
    }

    /// The scheme in small letters.
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// The host, with the port if one is written.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The host without port and brackets.
    pub fn hostname(&self) -> &str {
        let host = self.host_and_port().0;
        host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
    }

    /// The port, or nothing.
    pub fn port(&self) -> &str {
        self.host_and_port().1
    }

    fn host_and_port(&self) -> (&str, &str) {
        match self.host.rsplit_once(':') {
            Some((host, port)) if is_number(port) => (host, port),
            _ => (&self.host, ""),
        }
    }

    /// The path with escapes.
    pub fn escaped_path(&self) -> String {
        let is_valid = self.path.bytes().all(|byte| is_plain_in_path(byte) || b"!'()*[]%".contains(&byte));
        if is_valid {
            return self.path.clone();
        }
        escaped(&unescaped(&self.path, Part::Path).unwrap_or_default(), is_plain_in_path)
    }

    /// The parameters of the query in the order of their first appearance, each with its values.
    pub fn query(&self) -> Vec<(String, Vec<String>)> {
        let mut found: Vec<(String, Vec<String>)> = Vec::new();
        let query = self.query.as_deref().unwrap_or_default();
        for pair in query.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';')) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (Ok(key), Ok(value)) = (unescaped(key, Part::Query), unescaped(value, Part::Query)) else {
                continue;
            };
            let [key, value] = [key, value].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            match found.iter_mut().find(|(known, _)| *known == key) {
                Some((_, values)) => values.push(value),
                None => found.push((key, vec![value])),
            }
        }
        found
    }

    /// As written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// An object with the names of Go's fields.
    pub fn object(&self) -> Value {
        let [path, raw_path] = without_escapes(&self.path, is_plain_in_path);
        let [fragment, raw_fragment] = without_escapes(&self.fragment, |byte| {
            byte.is_ascii_alphanumeric() || b"-_.~$&+,/:;=?@!()*".contains(&byte)
        });
        Value::from_iter([
            ("ForceQuery", Value::Bool(self.query.as_deref() == Some(""))),
            ("Fragment", fragment.into()),
            ("Host", self.host.as_str().into()),
            ("OmitHost", Value::Bool(self.omits_host)),
            ("Opaque", self.opaque.as_str().into()),
            ("Path", path.into()),
            ("RawFragment", raw_fragment.into()),
            ("RawPath", raw_path.into()),
            ("RawQuery", self.query.as_deref().unwrap_or_default().into()),
            ("Scheme", self.scheme.as_str().into()),
            ("User", if self.has_user { Value::empty_object() } else { Value::Null }),
        ])
    }
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

fn check_user(user: &str) -> Result<(), UrlError> {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&byte);
    if !user.bytes().all(is_allowed) {
        return Err(UrlError::User);
    }
    unescaped(user, Part::Path).map(drop)
}

/// A host and its port without escapes.
fn parse_host(scheme: &str, host: &str) -> Result<String, UrlError> {
    if let Some(open) = host.strip_prefix('[') {
        if open.contains('[') {
            return Err(UrlError::IpLiteral);
        }
        let (name, port) = open.rsplit_once(']').ok_or(UrlError::NoClosingBracket)?;
        check_port(port)?;
        let (address, zone) = name.split_at(name.find("%25").unwrap_or(name.len()));
        let name = [unescaped(address, Part::Host)?, unescaped(zone, Part::Zone)?].concat();
        let name = String::from_utf8_lossy(&name).into_owned();
        if ipv6(&name).is_none() {
            let is_version_4 = name.parse::<core::net::Ipv4Addr>().is_ok();
            return Err(if is_version_4 { UrlError::IpLiteral } else { UrlError::Address(name) });
        }
        return Ok(format!("[{name}]{port}"));
    }
    if host.contains('[') {
        return Err(UrlError::IpLiteral);
    }
    // Other schemes may have lists of hosts, each with its port.
    let colon = if matches!(scheme, "http" | "https") { host.find(':') } else { host.rfind(':') };
    check_port(&host[colon.unwrap_or(host.len())..])?;
    Ok(String::from_utf8_lossy(&unescaped(host, Part::Host)?).into_owned())
}

/// Checks a port with its colon, or nothing.
fn check_port(port: &str) -> Result<(), UrlError> {
    let is_port = port.is_empty() || port.strip_prefix(':').is_some_and(is_number);
    if is_port { Ok(()) } else { Err(UrlError::Port(port.to_owned())) }
}

fn is_number(port: &str) -> bool {
    port.bytes().all(|byte| byte.is_ascii_digit())
}

/// An IPv6 address with or without a zone.
fn ipv6(text: &str) -> Option<Ipv6Addr> {
    let (address, zone) = text.split_once('%').map_or((text, None), |(address, zone)| (address, Some(zone)));
    if zone == Some("") { None } else { address.parse().ok() }
}

fn is_plain_in_host(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.~!$&'()*+,;=:[]<>\"".contains(&byte)
}

fn is_plain_in_path(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.~$&+,/:;=@".contains(&byte)
}

fn escaped(bytes: &[u8], is_plain: impl Fn(u8) -> bool) -> String {
    let mut text = String::new();
    for &byte in bytes {
        if is_plain(byte) {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

/// A text without its escapes; and the text as written if escaping it again has another result.
fn without_escapes(text: &str, is_plain: impl Fn(u8) -> bool) -> [String; 2] {
    let bytes = unescaped(text, Part::Path).unwrap_or_default();
    let raw = if escaped(&bytes, is_plain) == text { String::new() } else { text.to_owned() };
    [String::from_utf8_lossy(&bytes).into_owned(), raw]
}

/// The bytes that a text with escapes is for.
fn unescaped(text: &str, part: Part) -> Result<Vec<u8>, UrlError> {
    let is_in_host = matches!(part, Part::Host | Part::Zone);
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'%' => {
                let written = || {
                    let digits = &after[..after.len().min(2)];
                    UrlError::Escape([b"%", digits].concat())
                };
                let (digits, after) = after.split_at_checked(2).ok_or_else(written)?;
                let value = hexadecimal(digits).ok_or_else(written)?;
                // In a host only bytes beyond ASCII and `%` are escaped, in its zone also what may be written plainly.
                let is_allowed = match part {
                    Part::Host => value >= 0x80 || value == b'%',
                    Part::Zone => value == b'%' || value == b' ' || is_plain_in_host(value),
                    Part::Query | Part::Path => true,
                };
                if !is_allowed {
                    return Err(written());
                }
                bytes.push(value);
                rest = after;
            }
            b'+' if part == Part::Query => bytes.push(b' '),
            _ if is_in_host && byte.is_ascii() && !is_plain_in_host(byte) => {
                return Err(UrlError::HostCharacter(byte));
            }
            _ => bytes.push(byte),
        }
    }
    Ok(bytes)
}

fn hexadecimal(digits: &[u8]) -> Option<u8> {
    digits
        .iter()
        .try_fold(0, |value, &digit| Some(value * 16 + u8::try_from(char::from(digit).to_digit(16)?).ok()?))
}

/// Whether a host is neither local nor in a private network. `None` for names other than `localhost`, which would have
/// to be looked up.
pub fn is_external(hostname: &str) -> Option<bool> {
    if hostname.eq_ignore_ascii_case("localhost") {
        return Some(false);
    }
    let address = match hostname.parse().ok().or_else(|| ipv6(hostname).map(IpAddr::V6))? {
        IpAddr::V6(address) => address.to_ipv4_mapped().map_or(IpAddr::V6(address), IpAddr::V4),
        address @ IpAddr::V4(_) => address,
    };
    let private = match address {
        IpAddr::V4(address) => address.is_private(),
        IpAddr::V6(address) => address.is_unique_local(),
    };
    Some(!(address.is_loopback() || private))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Go's `ParseRequestURI` says of each.
    #[test]
    fn request_errors_are_those_of_go() {
        for (text, error) in [
            ("", "empty url"),
            ("a/b", "invalid URI for request"),
            (":a", "missing protocol scheme"),
            ("http://a\u{7f}", "net/url: invalid control character in URL"),
            ("http://a b/", r#"invalid character " " in host name"#),
            ("http://a:x/", r#"invalid port ":x" after host"#),
            ("http://a:1:2/", r#"invalid port ":1:2" after host"#),
            ("/%zz", r#"invalid URL escape "%zz""#),
            ("/%é", r#"invalid URL escape "%é""#),
            ("/%1é", r#"invalid URL escape "%1\xc3""#),
            ("/%", r#"invalid URL escape "%""#),
            ("http://%41/", r#"invalid URL escape "%41""#),
            ("http://[::1/", "missing ']' in host"),
            ("http://[1.2.3.4]/", "invalid IP-literal"),
            ("http://a[::1]/", "invalid IP-literal"),
            ("http://[x]/", r#"invalid host: ParseAddr("x"): unable to parse IP"#),
            ("http://a b@c/", "net/url: invalid userinfo"),
        ] {
            assert_eq!(Url::parse_request(text).unwrap_err().to_string(), error, "{text:?}");
        }
        for text in [
            "*",
            "/",
            "//a b",
            "http:",
            "postgres://a:1,b:2/c",
            "http://a%25b/",
            "http://[fe80::1%25en0]:80/",
        ] {
            Url::parse_request(text).unwrap();
        }
    }
}
