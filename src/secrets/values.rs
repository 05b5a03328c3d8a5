//! The values of a Secret, and the forms in which they occur elsewhere.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::general_purpose::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use indexmap::IndexMap;

use crate::value::{Text, Value};

/// The annotation in which kubectl stores the applied object with its values.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);

/// The Base64 alphabets, with or without padding.
const ENCODINGS: [GeneralPurpose; 2] =
    [GeneralPurpose::new(&alphabet::STANDARD, LENIENT), GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT)];

/// Whether an object is a Secret.
pub fn is_secret(object: &Value) -> bool {
    object.get("kind").and_then(Value::as_str) == Some("Secret")
}

/// The values of a Secret, by field (`data` or `stringData`) and key.
pub type Fields = IndexMap<(&'static str, Text), Text>;

/// The values of a Secret; those that are no strings as JSON.
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

/// The values that are no strings. No API server accepts them, but manifests may contain them.
pub(super) fn values_of_other_types(secret: &Value) -> impl Iterator<Item = &Value> {
    let fields = ["data", "stringData"].into_iter().filter_map(|field| secret.get(field));
    let mut open: Vec<(&Value, usize)> = fields.map(|field| (field, 0)).collect();
    std::iter::from_fn(move || {
        loop {
            let (node, depth) = open.pop()?;
            match node {
                Value::Object(members) => open.extend(members.values().map(|member| (member, depth + 1))),
                Value::Array(items) => open.extend(items.iter().map(|item| (item, depth + 1))),
                Value::String(_) if depth == 1 => {}
                _ => return Some(node),
            }
        }
    })
}

/// The decoded value if it is text.
fn decoded(text: &str) -> Option<String> {
    let decode = |engine: &GeneralPurpose| engine.decode(text.as_bytes()).ok();
    String::from_utf8(ENCODINGS.iter().find_map(decode)?).ok()
}

/// Calls `found` with each form of each value: as written, decoded, encoded, without surrounding blanks, and as last
/// applied.
pub(super) fn forms(secret: &Value, found: &mut dyn FnMut(Text)) {
    for ((field, _), text) in fields(secret) {
        if let Some(decoded) = decoded(&text) {
            found(decoded.trim().into());
            found(decoded.into());
        }
        if field == "stringData" {
            found(STANDARD.encode(text.as_bytes()).into());
        }
        found(text);
    }
    let Some(text) = secret.path(&["metadata", "annotations", LAST_APPLIED]).and_then(Value::as_text) else {
        return;
    };
    found(text.clone());
    if let Ok(mut applied) = Value::from_json(text) {
        if let Some(metadata) = applied.as_object_mut().and_then(|members| members.get_mut("metadata")) {
            metadata.remove("annotations");
        }
        forms(&applied, found);
    }
}
