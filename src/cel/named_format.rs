//! Kubernetes' formats of names and other texts: `format.dns1123Label().validate(…)`.

use jiff::civil::Date;

use crate::formats::quote;
use crate::formats::url::Url;

/// A format of Kubernetes' `format` library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedFormat {
    /// A label of DNS; may its last character be a dash, as a prefix?
    Dns1123Label(bool),
    /// Such labels with dots between them.
    Dns1123Subdomain(bool),
    /// A label of DNS that begins with a letter.
    Dns1035Label(bool),
    /// A label key.
    QualifiedName,
    /// A label value.
    LabelValue,
    /// A UUID, in any case, with or without dashes.
    Uuid,
    /// Base64.
    Byte,
    /// A day, as `2006-01-02`.
    Date,
    /// A day and a time, as `2006-01-02T15:04:05Z`.
    DateTime,
    /// An absolute URL or path.
    Uri,
}

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const LABEL_1035: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";
const KEY: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const KEY_RULE: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                        alphanumeric character";
const MAX_LABEL: usize = 63;
const MAX_SUBDOMAIN: usize = 253;

impl NamedFormat {
    /// The supported format of a name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "dns1123Label" => Self::Dns1123Label(false),
            "dns1123LabelPrefix" => Self::Dns1123Label(true),
            "dns1123Subdomain" => Self::Dns1123Subdomain(false),
            "dns1123SubdomainPrefix" => Self::Dns1123Subdomain(true),
            "dns1035Label" => Self::Dns1035Label(false),
            "dns1035LabelPrefix" => Self::Dns1035Label(true),
            "qualifiedName" => Self::QualifiedName,
            "labelValue" => Self::LabelValue,
            "uuid" => Self::Uuid,
            "byte" => Self::Byte,
            "date" => Self::Date,
            "datetime" => Self::DateTime,
            "uri" => Self::Uri,
            _ => return None,
        })
    }

    /// The size of the regular expression that the API server counts for it.
    pub(super) const fn regex_size(self) -> u64 {
        match self {
            Self::Dns1123Label(_) | Self::Dns1035Label(_) => 30,
            Self::Dns1123Subdomain(_) | Self::QualifiedName => 60,
            Self::LabelValue => 40,
            Self::Uuid => 70,
            Self::Byte => 84,
            Self::Date | Self::DateTime => 71,
            Self::Uri => 1103,
        }
    }

    /// What is wrong with a text, in the words of Kubernetes; nothing if it has the format.
    pub(super) fn faults(self, text: &str) -> Vec<String> {
        match self {
            Self::Dns1123Label(prefix) => dns_label(&masked(text, prefix)),
            Self::Dns1123Subdomain(prefix) => subdomain(&masked(text, prefix), Unit::Characters),
            Self::Dns1035Label(prefix) => dns_1035_label(&masked(text, prefix)),
            Self::QualifiedName => qualified_name(text),
            Self::LabelValue => label_value(text),
            Self::Uuid => one(is_uuid(text), "does not match the UUID format"),
            Self::Byte => one(is_base64(text), "invalid base64"),
            Self::Date => one(is_date(text), "invalid date"),
            Self::DateTime => one(is_date_time(text), "invalid datetime"),
            Self::Uri => Url::parse_request(text)
                .err()
                .map(|error| format!("parse {}: {error}", quote(text.as_bytes())))
                .into_iter()
                .collect(),
        }
    }
}

fn one(is_right: bool, fault: &str) -> Vec<String> {
    if is_right { Vec::new() } else { vec![fault.to_owned()] }
}

/// A prefix that ends with a dash, with another end.
fn masked(text: &str, is_prefix: bool) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    if is_prefix && bytes.len() > 1 && bytes.ends_with(b"-") {
        bytes.truncate(bytes.len() - 2);
        bytes.push(b'a');
    }
    bytes
}

/// What Kubernetes calls the bytes that it counts.
#[derive(Clone, Copy)]
enum Unit {
    Characters,
    Bytes,
}

fn faults((length, unit): (usize, Unit), maximum: usize, is_right: bool, rule: String) -> Vec<String> {
    let unit = if matches!(unit, Unit::Bytes) { "bytes" } else { "characters" };
    let length = (length > maximum).then(|| format!("must be no more than {maximum} {unit}"));
    length.into_iter().chain((!is_right).then_some(rule)).collect()
}

fn regex(rule: &str, examples: &str, regex: &str) -> String {
    format!("{rule} (e.g. {examples}, regex used for validation is '{regex}')")
}

fn dns_label(text: &[u8]) -> Vec<String> {
    let rule = if is_subdomain(text) {
        "must not contain dots".to_owned()
    } else {
        let rule = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must \
                    start and end with an alphanumeric character";
        regex(rule, "'my-name',  or '123-abc'", LABEL)
    };
    faults((text.len(), Unit::Characters), MAX_LABEL, is_label(text), rule)
}

fn subdomain(text: &[u8], unit: Unit) -> Vec<String> {
    let rule = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and \
                must start and end with an alphanumeric character";
    let rule = regex(rule, "'example.com'", &format!(r"{LABEL}(\.{LABEL})*"));
    faults((text.len(), unit), MAX_SUBDOMAIN, is_subdomain(text), rule)
}

fn dns_1035_label(text: &[u8]) -> Vec<String> {
    let rule = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
                character, and end with an alphanumeric character";
    let is_right = is_label(text) && text.first().is_some_and(u8::is_ascii_lowercase);
    faults(
        (text.len(), Unit::Characters),
        MAX_LABEL,
        is_right,
        regex(rule, "'my-name',  or 'abc-123'", LABEL_1035),
    )
}

fn qualified_name(text: &str) -> Vec<String> {
    let rule = || regex(KEY_RULE, "'MyName',  or 'my.name',  or '123-abc'", KEY);
    let parts: Vec<&str> = text.split('/').collect();
    let (prefix, name) = match *parts {
        [name] => (None, name),
        [prefix, name] => (Some(prefix), name),
        _ => {
            let optional = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
            return vec![format!("a valid label key {} {optional}", rule())];
        }
    };
    let mut found = match prefix {
        Some("") => vec!["prefix part must be non-empty".to_owned()],
        Some(prefix) => subdomain(prefix.as_bytes(), Unit::Bytes)
            .iter()
            .map(|fault| format!("prefix part {fault}"))
            .collect(),
        None => Vec::new(),
    };
    if name.is_empty() {
        found.push("name part must be non-empty".to_owned());
    }
    let faults = faults((name.len(), Unit::Bytes), MAX_LABEL, is_key(name), rule());
    found.extend(faults.iter().map(|fault| format!("name part {fault}")));
    found
}

fn label_value(text: &str) -> Vec<String> {
    let rule = format!("a valid label must be an empty string or {}", KEY_RULE.trim_start_matches("must "));
    let rule = regex(&rule, "'MyValue',  or 'my_value',  or '12345'", &format!("({KEY})?"));
    faults((text.len(), Unit::Bytes), MAX_LABEL, text.is_empty() || is_key(text), rule)
}

fn is_label(text: &[u8]) -> bool {
    let is_end = |c: Option<&u8>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    let is_inside = |c: &u8| c.is_ascii_lowercase() || c.is_ascii_digit() || *c == b'-';
    is_end(text.first()) && is_end(text.last()) && text.iter().all(is_inside)
}

fn is_subdomain(text: &[u8]) -> bool {
    text.split(|c| *c == b'.').all(is_label)
}

fn is_key(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_end = |c: Option<&u8>| c.is_some_and(u8::is_ascii_alphanumeric);
    let is_inside = |c: &u8| c.is_ascii_alphanumeric() || b"-_.".contains(c);
    is_end(bytes.first()) && is_end(bytes.last()) && bytes.iter().all(is_inside)
}

fn is_uuid(text: &str) -> bool {
    let mut rest = text.as_bytes();
    for (index, length) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if index > 0 {
            rest = rest.strip_prefix(b"-").unwrap_or(rest);
        }
        let Some((digits, after)) = rest.split_at_checked(length) else { return false };
        if !digits.iter().all(u8::is_ascii_hexdigit) {
            return false;
        }
        rest = after;
    }
    rest.is_empty()
}

fn is_base64(text: &str) -> bool {
    let digits = text.strip_suffix("==").or_else(|| text.strip_suffix('=')).unwrap_or(text);
    let is_digit = |c: u8| c.is_ascii_alphanumeric() || c == b'+' || c == b'/';
    !text.is_empty() && text.len().is_multiple_of(4) && digits.bytes().all(is_digit)
}

fn is_date(text: &str) -> bool {
    let is_shaped = |(at, c): (usize, u8)| if at == 4 || at == 7 { c == b'-' } else { c.is_ascii_digit() };
    text.len() == 10 && text.bytes().enumerate().all(is_shaped) && text.parse::<Date>().is_ok()
}

/// `hh:mm:ss`, perhaps a character and digits, and `Z` or an offset; what follows another `T` does not count.
fn is_date_time(text: &str) -> bool {
    let text = text.to_lowercase();
    let mut parts = text.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else { return false };
    let Some((clock, rest)) = time.split_at_checked(8) else { return false };
    let is_zone = |zone: &str| {
        zone == "z"
            || zone.strip_prefix(['+', '-']).is_some_and(|offset| offset.len() == 5 && is_clock(offset))
    };
    let after_fraction = || {
        let (separator, digits) = (rest.chars().next()?, &rest[rest.chars().next()?.len_utf8()..]);
        let zone = digits.trim_start_matches(|c: char| c.is_ascii_digit());
        (separator != '\n' && zone.len() < digits.len()).then_some(zone)
    };
    is_date(date)
        && is_clock(clock)
        && clock[..2] <= *"23"
        && clock[3..5] <= *"59"
        && clock[6..] <= *"59"
        && (is_zone(rest) || after_fraction().is_some_and(is_zone))
}

/// Pairs of digits with colons between them.
fn is_clock(text: &str) -> bool {
    text.bytes().enumerate().all(|(at, c)| if at % 3 == 2 { c == b':' } else { c.is_ascii_digit() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Kubernetes' own check decides.
    #[test]
    fn times_are_those_of_kubernetes() {
        for right in [
            "2021-01-01T00:00:00Z",
            "2021-01-01t23:59:59.123z",
            "2021-01-01T23:59:59x1+99:99",
            "2021-01-01T00:00:00Zt",
        ] {
            assert!(is_date_time(right), "{right}");
        }
        for wrong in [
            "",
            "2021-01-01",
            "2021-01-01T00:00:00",
            "2021-02-30T00:00:00Z",
            "2021-01-01T24:00:00Z",
            "2021-01-01T00:60:00Z",
            "2021-01-01T00:00:60Z",
            "2021-01-01T00:00:00.Z",
            "2021-01-01T00:00:00+1:00",
            "2021-01-01T0é:00:00Z",
        ] {
            assert!(!is_date_time(wrong), "{wrong}");
        }
    }
}
