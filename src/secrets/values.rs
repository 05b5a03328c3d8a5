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
    FIELDS
        .into_iter()
        .flat_map(|field| {
            values(object, field).map(move |(key, value)| ((field, key.clone()), text_of(value)))
        })
        .collect()
}

const FIELDS: [&str; 2] = ["data", "stringData"];

fn values<'v>(secret: &'v Value, field: &str) -> impl Iterator<Item = (&'v Text, &'v Value)> + use<'v> {
    secret.get(field).and_then(Value::as_object).into_iter().flatten()
}

fn text_of(value: &Value) -> Text {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_json().into(),
    }
}

/// The values that are no strings. No API server accepts them, but manifests may contain them.
pub(super) fn values_of_other_types(secret: &Value) -> impl Iterator<Item = &Value> {
    let fields = FIELDS.into_iter().filter_map(|field| secret.get(field));
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
/// applied. Values that an earlier state of the Secret has, too, are left out.
pub(super) fn forms(secret: &Value, earlier: Option<&Value>, found: &mut dyn FnMut(Text)) {
    let is_known =
        |known: Option<&Value>, value: &Value| known.is_some_and(|known| known.same_storage(value));
    for field in FIELDS {
        let known = earlier.and_then(|earlier| earlier.get(field));
        if secret.get(field).is_some_and(|values| is_known(known, values)) {
            continue;
        }
        for (key, value) in values(secret, field) {
            if is_known(known.and_then(|known| known.get(key)), value) {
                continue;
            }
            let text = text_of(value);
            if let Some(decoded) = decoded(&text) {
                found(decoded.trim().into());
                found(decoded.into());
            }
            if field == "stringData" {
                found(STANDARD.encode(text.as_bytes()).into());
            }
            found(text);
        }
    }
    const APPLIED: [&str; 3] = ["metadata", "annotations", LAST_APPLIED];
    let known = earlier.and_then(|earlier| earlier.path(&APPLIED));
    let applied = secret.path(&APPLIED).filter(|applied| !is_known(known, applied));
    let Some(text) = applied.and_then(Value::as_text) else { return };
    found(text.clone());
    if let Ok(mut applied) = Value::from_json(text) {
        if let Some(metadata) = applied.as_object_mut().and_then(|members| members.get_mut("metadata")) {
            metadata.remove("annotations");
        }
        forms(&applied, None, found);
    }
}
