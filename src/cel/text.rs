//! Values as text that shows their types.

use crate::value::Value;

use super::opaque::Opaque;
use super::time::timestamp_text;
use super::value::{MessageVal, Val};

/// A value as one text: `1`, `1u`, `d1e0`, `"a"`, `b6162`, `[…]`, `{…}` sorted, `some(…)`, `none`.
pub fn canonical(value: &Val) -> String {
    match value {
        Val::Null => "null".to_owned(),
        Val::Bool(value) => value.to_string(),
        Val::Int(value) => value.to_string(),
        Val::Uint(value) => format!("{value}u"),
        Val::Double(value) if value.is_nan() => "NaN".to_owned(),
        Val::Double(value) if value.is_infinite() => {
            if *value > 0.0 {
                "d+Inf".to_owned()
            } else {
                "d-Inf".to_owned()
            }
        }
        Val::Double(value) => double(*value),
        Val::String(text) => Value::String(text.clone()).to_json(),
        Val::Bytes(bytes) => bytes.iter().fold(String::from("b"), |text, byte| text + &format!("{byte:02x}")),
        Val::Duration(nanos) => format!("duration({nanos})"),
        Val::Timestamp(stamp) => format!("timestamp({})", timestamp_text(stamp.at_offset(0))),
        Val::Type(t) => format!("type({})", super::value::type_name(t)),
        Val::Optional(None) => "none".to_owned(),
        Val::Optional(Some(inner)) => format!("some({})", canonical(inner)),
        Val::List(list) => {
            let items: Vec<String> = list.iter().map(|item| canonical(&item)).collect();
            format!("[{}]", items.join(","))
        }
        Val::Map(map) => {
            let mut items: Vec<String> =
                map.iter().map(|(key, value)| format!("{}:{}", canonical(&key), canonical(&value))).collect();
            items.sort();
            format!("{{{}}}", items.join(","))
        }
        Val::Message(message) => format!("{}{}", message.name, message_text(message)),
        Val::Opaque(opaque) => opaque_text(opaque),
    }
}

/// A text as a literal in double quotes.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            _ => out.push(c),
        }
    }
    out.push('"');
    out
}

/// The fields as those of a map; unset texts of a `JSONPatch` are empty. Inside of `Object` messages have no
/// names, and optional values are what is in them.
fn message_text(message: &MessageVal) -> String {
    let named = |name: &str| format!("{}:", Value::from(name).to_json());
    let mut items: Vec<String> =
        message.fields.iter().map(|(name, value)| named(name) + &inner(value)).collect();
    if &*message.name == "JSONPatch" {
        let unset = ["op", "path", "from"].into_iter().filter(|name| !message.fields.contains_key(*name));
        items.extend(unset.map(|name| named(name) + "\"\""));
    }
    items.sort();
    format!("{{{}}}", items.join(","))
}

fn inner(value: &Val) -> String {
    match value {
        Val::Message(message) if &*message.name != "JSONPatch" => message_text(message),
        Val::Optional(None) => "null".to_owned(),
        Val::Optional(Some(value)) => inner(value),
        Val::List(list) => {
            let items: Vec<String> = list.iter().map(|item| inner(&item)).collect();
            format!("[{}]", items.join(","))
        }
        other => canonical(other),
    }
}

/// As Go's `%e` with the fewest digits: at least two digits of the exponent, and its sign.
fn double(value: f64) -> String {
    let text = format!("{value:e}");
    let Some((mantissa, exponent)) = text.split_once('e') else { return text };
    let (sign, digits) = exponent.strip_prefix('-').map_or(('+', exponent), |digits| ('-', digits));
    format!("d{mantissa}e{sign}{digits:0>2}")
}

fn opaque_text(opaque: &Opaque) -> String {
    let text = match opaque {
        Opaque::Quantity(quantity) | Opaque::ComputedQuantity(quantity) => quantity.to_string(),
        Opaque::Semver(version) => {
            let [major, minor, patch] = version.numbers();
            format!("{major}.{minor}.{patch}")
        }
        Opaque::Ip(address) => address.to_string(),
        Opaque::Cidr(network) => network.to_string(),
        Opaque::Url(url) => url.text().to_owned(),
        Opaque::Image(image) => image.to_string(),
        Opaque::Resource(resource) => format!("{} {}", resource.api_version, resource.plural),
        Opaque::Format(_) => "a format".to_owned(),
        Opaque::HttpClient => "a client".to_owned(),
    };
    format!("{}({text})", opaque.type_name())
}
