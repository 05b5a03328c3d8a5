//! Comparison of live objects.

use serde_json::Value;

/// An object without status and the metadata that the API server manages.
pub fn without_server_fields(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
    }
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for field in ["managedFields", "resourceVersion", "uid", "creationTimestamp", "generation"] {
            metadata.remove(field);
        }
    }
    object
}

/// Every path at which two objects differ, with the predicted and the actual value.
pub fn differing_paths(said: &Value, did: &Value) -> String {
    let mut parts = Vec::new();
    paths(said, did, "", &mut parts);
    parts.join("; ")
}

fn paths(said: &Value, did: &Value, at: &str, into: &mut Vec<String>) {
    match (said, did) {
        (Value::Object(ours), Value::Object(theirs)) => {
            for key in ours.keys().chain(theirs.keys().filter(|key| !ours.contains_key(*key))) {
                paths(&said[key], &did[key], &format!("{at}.{key}"), into);
            }
        }
        (Value::Array(ours), Value::Array(theirs)) if ours.len() == theirs.len() => {
            for (index, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
                paths(ours, theirs, &format!("{at}[{index}]"), into);
            }
        }
        _ if said == did => {}
        _ => into.push(format!("{at}: we said {said}, it is {did}")),
    }
}
