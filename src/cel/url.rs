//! URLs, as Go's `net/url` parses them.

use std::fmt::Write as _;

use super::error::EvalError;

/// An absolute URL, or an absolute path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    scheme: String,
    host: String,
    /// The path with its escapes.
    path: String,
    query: String,
    /// As written.
    text: String,
}

/// Which part of a URL is unescaped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Host,
    Path,
    Query,
}

impl Url {
    /// Parses a URL.
    pub(super) fn parse(text: &str) -> Result<Self, EvalError> {
        let error = |what: &str| {
            EvalError::failed(format!(
                "URL parse error during conversion from string: parse \"{text}\": {what}"
            ))
        };
        if text.bytes().any(|byte| byte < 0x20 || byte == 0x7f) {
            return Err(error("net/url: invalid control character in URL"));
        }
        if text.is_empty() {
            return Err(error("empty url"));
        }
        // The whole text must be a URL, and then what is before the fragment.
        split(text, true).map_err(error)?;
        let (before, fragment) = text.split_once('#').unwrap_or((text, ""));
        unescaped(fragment, Part::Path).map_err(error)?;
        Ok(Self { text: text.to_owned(), ..split(before, false).map_err(error)? })
    }

    /// Parses a URL whose fragment is part of its path, as the test for URLs has it.
    pub(super) fn parse_whole(text: &str) -> Result<Self, EvalError> {
        if text.is_empty() || text.bytes().any(|byte| byte < 0x20 || byte == 0x7f) {
            return Err(EvalError::failed("no URL"));
        }
        split(text, true).map_err(EvalError::failed)
    }

    /// The scheme in small letters.
    pub(super) fn scheme(&self) -> &str {
        &self.scheme
    }

    /// The host, with the port if one is written.
    pub(super) fn host(&self) -> &str {
        &self.host
    }

    /// The host without port and brackets.
    pub(super) fn hostname(&self) -> &str {
        let host = self.host_and_port().0;
        host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
    }

    /// The port, or nothing.
    pub(super) fn port(&self) -> &str {
        self.host_and_port().1
    }

    fn host_and_port(&self) -> (&str, &str) {
        match self.host.rsplit_once(':') {
            Some((host, port)) if is_port(port) => (host, port),
            _ => (&self.host, ""),
        }
    }

    /// The path with escapes.
    pub(super) fn escaped_path(&self) -> String {
        let is_valid = self.path.bytes().all(|byte| !is_escaped_in_path(byte) || b"!'()*[]%".contains(&byte));
        if is_valid {
            return self.path.clone();
        }
        let plain = unescaped(&self.path, Part::Path).unwrap_or_default();
        let mut escaped = String::new();
        for byte in plain {
            if is_escaped_in_path(byte) {
                let _ = write!(escaped, "%{byte:02X}");
            } else {
                escaped.push(char::from(byte));
            }
        }
        escaped
    }

    /// The parameters of the query in the order of their first appearance, each with its values.
    pub(super) fn query(&self) -> Vec<(String, Vec<String>)> {
        let mut found: Vec<(String, Vec<String>)> = Vec::new();
        for pair in self.query.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';')) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (Ok(key), Ok(value)) = (unescaped(key, Part::Query), unescaped(value, Part::Query)) else {
                continue;
            };
            let key = String::from_utf8_lossy(&key).into_owned();
            let value = String::from_utf8_lossy(&value).into_owned();
            match found.iter_mut().find(|(known, _)| *known == key) {
                Some((_, values)) => values.push(value),
                None => found.push((key, vec![value])),
            }
        }
        found
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

/// The parts of a URL; `strict`: as those of a request, in which only a scheme is followed by a host.
fn split(text: &str, strict: bool) -> Result<Url, &'static str> {
    let mut url = Url {
        scheme: String::new(),
        host: String::new(),
        path: String::new(),
        query: String::new(),
        text: String::new(),
    };
    if text == "*" {
        url.path = text.to_owned();
        return Ok(url);
    }
    let (scheme, rest) = scheme(text)?;
    url.scheme = scheme.to_ascii_lowercase();
    let (mut rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    url.query = query.to_owned();
    if !rest.starts_with('/') {
        // What follows a scheme without a slash is opaque.
        return if scheme.is_empty() { Err("invalid URI for request") } else { Ok(url) };
    }
    let may_have_host = !scheme.is_empty() || (!strict && !rest.starts_with("///"));
    if may_have_host && let Some(after) = rest.strip_prefix("//") {
        let end = after.find('/').unwrap_or(after.len());
        let (authority, path) = after.split_at(end);
        url.host = host(authority)?;
        rest = path;
    }
    unescaped(rest, Part::Path)?;
    url.path = rest.to_owned();
    Ok(url)
}

/// The scheme, if there is one, and what follows it.
fn scheme(text: &str) -> Result<(&str, &str), &'static str> {
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if index > 0 => {}
            b':' if index == 0 => return Err("missing protocol scheme"),
            b':' => return Ok((&text[..index], &text[index + 1..])),
            _ => break,
        }
    }
    Ok(("", text))
}

fn host(authority: &str) -> Result<String, &'static str> {
    let host = match authority.rsplit_once('@') {
        None => authority,
        Some((user, host)) => {
            let allowed = |c: char| c.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(c);
            if !user.chars().all(allowed) || unescaped(user, Part::Path).is_err() {
                return Err("net/url: invalid userinfo");
            }
            host
        }
    };
    let port = if let Some(open) = host.strip_prefix('[') {
        let (inner, port) = open.rsplit_once(']').ok_or("missing ']' in host")?;
        let address = inner.split_once("%25").map_or(inner, |(address, _zone)| address);
        if address.parse::<core::net::Ipv6Addr>().is_err() {
            return Err("invalid host");
        }
        port
    } else if host.contains('[') {
        return Err("invalid IP-literal");
    } else {
        host.find(':').map_or("", |colon| &host[colon..])
    };
    if !port.is_empty() && !port.strip_prefix(':').is_some_and(is_port) {
        return Err("invalid port after host");
    }
    Ok(String::from_utf8_lossy(&unescaped(host, Part::Host)?).into_owned())
}

fn is_port(port: &str) -> bool {
    port.bytes().all(|byte| byte.is_ascii_digit())
}

const fn is_escaped_in_path(byte: u8) -> bool {
    !(byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'-' | b'_' | b'.' | b'~' | b'$' | b'&' | b'+' | b',' | b'/' | b':' | b';' | b'=' | b'@'
        ))
}

fn unescaped(text: &str, part: Part) -> Result<Vec<u8>, &'static str> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut index = 0;
    while let Some(&byte) = bytes.get(index) {
        index += 1;
        match byte {
            b'%' => {
                let digits =
                    text.get(index..index + 2).filter(|digits| digits.bytes().all(|d| d.is_ascii_hexdigit()));
                let value = digits
                    .and_then(|digits| u8::from_str_radix(digits, 16).ok())
                    .ok_or("invalid URL escape")?;
                // In a host only bytes beyond ASCII are escaped.
                if part == Part::Host && value < 0x80 {
                    return Err("invalid URL escape");
                }
                out.push(value);
                index += 2;
            }
            b'+' if part == Part::Query => out.push(b' '),
            _ if part == Part::Host
                && byte < 0x80
                && !(byte.is_ascii_alphanumeric() || b"-_.~!$&'()*+,;=:[]<>\"".contains(&byte)) =>
            {
                return Err("invalid character in host name");
            }
            _ => out.push(byte),
        }
    }
    Ok(out)
}
