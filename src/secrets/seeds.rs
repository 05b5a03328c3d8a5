//! The values of a Secret, and what stands in for them.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::general_purpose::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use indexmap::IndexMap;

use crate::value::{Map, Text, Value};

use super::MASK;
use super::shape::stand_in;

/// The annotation that repeats what was applied, values included.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);

/// The alphabets that a value may be encoded in, with or without padding.
const ENCODINGS: [GeneralPurpose; 2] =
    [GeneralPurpose::new(&alphabet::STANDARD, LENIENT), GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT)];

/// Whether an object is a Secret.
pub fn is_secret(object: &Value) -> bool {
    object.get("kind").and_then(Value::as_str) == Some("Secret")
}

/// The secret texts of an object, by field and key.
pub type Fields = IndexMap<(&'static str, Text), Text>;

/// Looks up the secret texts of an object.
pub fn fields(object: &Value) -> Fields {
    let mut found = IndexMap::new();
    for field in ["data", "stringData"] {
        for (key, value) in object.get(field).and_then(Value::as_object).into_iter().flatten() {
            let text = match value {
                Value::String(text) => text.clone(),
                other => other.to_json().into(),
            };
            found.insert((field, key.clone()), text);
        }
    }
    found
}

/// Values that no Secret in a cluster has: whatever is written where texts belong.
pub(super) fn odd_values(secret: &Value) -> impl Iterator<Item = &Value> {
    let fields = ["data", "stringData"].into_iter().filter_map(|field| secret.get(field));
    let mut open: Vec<&Value> = fields.collect();
    let mut depth = vec![0; open.len()];
    std::iter::from_fn(move || {
        loop {
            let (node, depth_of) = (open.pop()?, depth.pop()?);
            let before = open.len();
            match node {
                Value::Object(members) => open.extend(members.values()),
                Value::Array(items) => open.extend(items.iter()),
                Value::String(_) if depth_of == 1 => {}
                _ => return Some(node),
            }
            depth.resize(open.len().max(before), depth_of + 1);
        }
    })
}

/// The annotation of a Secret that repeats it.
pub(super) fn last_applied(secret: &Value) -> Option<&Text> {
    secret.path(&["metadata", "annotations", LAST_APPLIED]).and_then(Value::as_text)
}

/// What stands in for each value, by field and key: texts of the kind that a policy can decode, equal where the
/// values are.
pub(super) fn stand_ins(fields: &Fields) -> Vec<Text> {
    let mut met: IndexMap<&Text, usize> = IndexMap::new();
    let mut found = Vec::with_capacity(fields.len());
    for ((field, _), text) in fields {
        let next = met.len() + 1;
        let number = *met.entry(text).or_insert(next);
        found.push(if *field == "data" {
            let value = decoded(text);
            STANDARD.encode(stand_in(value.as_deref().unwrap_or(text), number)).into()
        } else {
            stand_in(text, number).into()
        });
    }
    found
}

/// A value decoded, if it is text.
fn decoded(text: &str) -> Option<String> {
    let decode = |engine: &GeneralPurpose| engine.decode(text.as_bytes()).ok();
    String::from_utf8(ENCODINGS.iter().find_map(decode)?).ok()
}

/// The forms of a Secret's values that are known without any policy, each with the same of what stands in for it.
pub(super) fn forms(secret: &Value, found: &mut dyn FnMut(Text, Text)) {
    let fields = fields(secret);
    for (((field, _), text), stand_in) in fields.iter().zip(stand_ins(&fields)) {
        let plain = || Text::from(plain(&stand_in));
        if let Some(decoded) = decoded(text) {
            let trimmed = decoded.trim();
            if trimmed.len() < decoded.len() {
                found(trimmed.into(), plain().trim().into());
            }
            found(decoded.into(), plain());
        }
        if *field == "stringData" {
            found(STANDARD.encode(text.as_bytes()).into(), STANDARD.encode(plain().as_bytes()).into());
        }
        found(text.clone(), stand_in);
    }
    if let Some(text) = last_applied(secret) {
        found(text.clone(), MASK.into());
        // It tells what the values were before somebody else changed them.
        if let Ok(mut applied) = Value::from_json(text) {
            if let Some(metadata) = applied.as_object_mut().and_then(|members| members.get_mut("metadata")) {
                metadata.remove("annotations");
            }
            forms(&applied, &mut |text, _| found(text, MASK.into()));
        }
    }
}

/// A stand-in as it is once it is decoded.
fn plain(stand_in: &Text) -> String {
    let decoded = STANDARD.decode(stand_in.as_bytes()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    decoded.unwrap_or_else(|| stand_in.to_string())
}

/// A Secret with others in the place of its values.
pub(super) fn with_stand_ins(secret: &Value) -> Value {
    let mut shown = secret.clone();
    let fields = fields(secret);
    let stand_ins = stand_ins(&fields);
    let Some(members) = shown.as_object_mut() else { return shown };
    for field in ["data", "stringData"] {
        let Some(node) = members.get_mut(field).filter(|node| !node.is_null()) else { continue };
        let own = fields.keys().zip(&stand_ins).filter(|((name, _), _)| *name == field);
        let covered: Map = own.map(|((_, key), text)| (key.clone(), Value::String(text.clone()))).collect();
        *node = if node.as_object().is_some() { Value::object(covered) } else { MASK.into() };
    }
    let annotations = members.get_mut("metadata").and_then(Value::as_object_mut);
    if let Some(annotations) = annotations.and_then(|metadata| metadata.get_mut("annotations"))
        && annotations.get(LAST_APPLIED).is_some()
    {
        annotations.insert(LAST_APPLIED, MASK.into());
    }
    shown
}
