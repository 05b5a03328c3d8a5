//! What a server made of a Secret besides what was sent: it may be made of the values.

use crate::value::Value;

use super::is_secret;

/// What stands for a value that a server put into a Secret.
pub const MASK_OF_SERVER: &str = "*** (server)";

/// What every server writes into the metadata of an object itself.
const OWN: [&str; 8] = [
    "creationTimestamp",
    "generation",
    "managedFields",
    "name",
    "namespace",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// A Secret as a server would store it, with the values masked that are not as they were sent. The values of `data` and
/// `stringData` are left for those who mask them anyway; other objects stay as they are.
pub fn mask_further(sent: &Value, stored: &Value) -> Value {
    if !is_secret(sent) && !is_secret(stored) {
        return stored.clone();
    }
    let Some(members) = stored.as_object() else { return masked(stored) };
    let member = |key: &str, value: &Value| {
        let sent = sent.get(key);
        match key {
            "data" | "stringData" => value.clone(),
            "type" if value.as_str() == Some("Opaque") => value.clone(),
            "metadata" => match value.as_object() {
                Some(members) => {
                    let member = |key: &str, value: &Value| {
                        if OWN.contains(&key) {
                            value.clone()
                        } else {
                            beside(sent.and_then(|sent| sent.get(key)), value)
                        }
                    };
                    members.iter().map(|(key, value)| (key.clone(), member(key, value))).collect()
                }
                None => beside(sent, value),
            },
            _ => beside(sent, value),
        }
    };
    members.iter().map(|(key, value)| (key.clone(), member(key, value))).collect()
}

/// A value, masked where it is not as it was sent.
fn beside(sent: Option<&Value>, stored: &Value) -> Value {
    match (sent, stored) {
        (Some(sent), stored) if sent == stored => stored.clone(),
        (sent, Value::Object(members)) => members
            .iter()
            .map(|(key, value)| (key.clone(), beside(sent.and_then(|sent| sent.get(key)), value)))
            .collect(),
        (sent, Value::Array(items)) => {
            let sent = sent.and_then(Value::as_array).unwrap_or_default();
            let item = |(at, item): (usize, &Value)| beside(sent.get(at), item);
            Value::array(items.iter().enumerate().map(item).collect())
        }
        (_, stored) => masked(stored),
    }
}

fn masked(value: &Value) -> Value {
    if value.is_null() { Value::Null } else { MASK_OF_SERVER.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn further(sent: &str, stored: &str) -> String {
        mask_further(&Value::from_json(sent).unwrap(), &Value::from_json(stored).unwrap()).to_json()
    }

    #[test]
    fn what_a_server_adds_to_a_secret_is_masked_and_its_place_is_told() {
        let sent = r#"{"kind":"Secret","metadata":{"name":"a","labels":{"a":"b"},"finalizers":["x"]},"data":{"p":"c2VjcmV0"}}"#;
        let stored = r#"{"kind":"Secret","metadata":{"name":"a","uid":"u","labels":{"a":"b"},"annotations":{"copy":"terces"},"finalizers":["x","terces"]},"data":{"p":"c2VjcmV0","q":"dGVyY2Vz"},"type":"Opaque","immutable":true}"#;
        let shown = r#"{"kind":"Secret","metadata":{"name":"a","uid":"u","labels":{"a":"b"},"annotations":{"copy":"*** (server)"},"finalizers":["x","*** (server)"]},"data":{"p":"c2VjcmV0","q":"dGVyY2Vz"},"type":"Opaque","immutable":"*** (server)"}"#;
        assert_eq!(further(sent, stored), shown);
        assert_eq!(further(sent, sent), sent);
    }

    #[test]
    fn other_objects_stay_as_they_are() {
        let stored = r#"{"kind":"Pod","metadata":{"name":"a","labels":{"a":"b"}}}"#;
        assert_eq!(further(r#"{"kind":"Pod"}"#, stored), stored);
    }
}
