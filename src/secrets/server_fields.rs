//! Fields of Secrets that a server set: an admission controller may derive them from the values.

use crate::value::Value;

use super::is_secret;

/// The placeholder of a field that a server set.
const SERVER_MASK: &str = "*** (server)";

/// The metadata that every API server sets.
const SERVER_METADATA: [&str; 8] = [
    "creationTimestamp",
    "generation",
    "managedFields",
    "name",
    "namespace",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// A Secret as a server would store it, with the fields masked that differ from the request. `data` and `stringData` are
/// unchanged, because the caller masks them. Objects of other kinds are unchanged, too.
pub fn mask_server_fields(sent: &Value, stored: &Value) -> Value {
    if !is_secret(sent) && !is_secret(stored) {
        return stored.clone();
    }
    if stored.as_object().is_none() {
        return masked(stored);
    }
    map_members(stored, Some(sent), |key, sent, value| match key {
        "data" | "stringData" => value.clone(),
        "type" if value.as_str() == Some("Opaque") => value.clone(),
        "metadata" if value.as_object().is_some() => map_members(value, sent, |key, sent, value| {
            if SERVER_METADATA.contains(&key) { value.clone() } else { masked_if_changed(sent, value) }
        }),
        _ => masked_if_changed(sent, value),
    })
}

/// The object `stored` with each member replaced, given its key and the member that was sent.
fn map_members(
    stored: &Value,
    sent: Option<&Value>,
    replace: impl Fn(&str, Option<&Value>, &Value) -> Value,
) -> Value {
    let members = stored.as_object().into_iter().flatten();
    members
        .map(|(key, value)| (key.clone(), replace(key, sent.and_then(|sent| sent.get(key)), value)))
        .collect()
}

/// A value, masked where it differs from what was sent.
fn masked_if_changed(sent: Option<&Value>, stored: &Value) -> Value {
    match (sent, stored) {
        (Some(sent), stored) if sent == stored => stored.clone(),
        (sent, Value::Object(_)) => {
            map_members(stored, sent, |_, sent, value| masked_if_changed(sent, value))
        }
        (sent, Value::Array(items)) => {
            let sent = sent.and_then(Value::as_array).unwrap_or_default();
            let item = |(at, item): (usize, &Value)| masked_if_changed(sent.get(at), item);
            Value::array(items.iter().enumerate().map(item).collect())
        }
        (_, stored) => masked(stored),
    }
}

fn masked(value: &Value) -> Value {
    if value.is_null() { Value::Null } else { SERVER_MASK.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(sent: &str, stored: &str) -> String {
        mask_server_fields(&Value::from_json(sent).unwrap(), &Value::from_json(stored).unwrap()).to_json()
    }

    #[test]
    fn fields_of_a_secret_that_a_server_set_are_masked() {
        let sent = r#"{"kind":"Secret","metadata":{"name":"a","labels":{"a":"b"},"finalizers":["x"]},"data":{"p":"c2VjcmV0"}}"#;
        let stored = r#"{"kind":"Secret","metadata":{"name":"a","uid":"u","labels":{"a":"b"},"annotations":{"copy":"terces"},"finalizers":["x","terces"]},"data":{"p":"c2VjcmV0","q":"dGVyY2Vz"},"type":"Opaque","immutable":true}"#;
        let shown = r#"{"kind":"Secret","metadata":{"name":"a","uid":"u","labels":{"a":"b"},"annotations":{"copy":"*** (server)"},"finalizers":["x","*** (server)"]},"data":{"p":"c2VjcmV0","q":"dGVyY2Vz"},"type":"Opaque","immutable":"*** (server)"}"#;
        assert_eq!(masked(sent, stored), shown);
        assert_eq!(masked(sent, sent), sent);
    }

    #[test]
    fn other_objects_are_unchanged() {
        let stored = r#"{"kind":"Pod","metadata":{"name":"a","labels":{"a":"b"}}}"#;
        assert_eq!(masked(r#"{"kind":"Pod"}"#, stored), stored);
    }
}
