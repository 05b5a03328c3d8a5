//! Secrets without their values, for recordings.

use std::sync::atomic::Ordering;

use crate::value::{Text, Value};

use super::values::LAST_APPLIED;
use super::{REDACTED, Secrets, TaintTracker};

/// The depth at which a response of the API server may contain Secrets: at the top or in a list.
const DEPTH: usize = 3;

/// Calls `found` for each Secret. Elements of a `SecretList` may have no kind.
fn for_each_secret(value: &Value, depth: usize, found: &mut dyn FnMut(&Value)) {
    match value.get("kind").and_then(Value::as_str) {
        Some("Secret") => found(value),
        Some("SecretList") => {
            value.get("items").and_then(Value::as_array).into_iter().flatten().for_each(found);
        }
        _ if depth == 0 => {}
        _ => {
            for item in value.as_array().into_iter().flatten().chain(value.get("items")) {
                for_each_secret(item, depth - 1, found);
            }
        }
    }
}

/// A response of the API server with the values of its Secrets redacted in all their fields.
pub fn redact(response: &Value) -> Value {
    redacted(response, DEPTH)
}

fn redacted(value: &Value, depth: usize) -> Value {
    let in_list = |items: &Value, each: &dyn Fn(&Value) -> Value| {
        let items = items.as_array().unwrap_or_default();
        Value::array(items.iter().map(each).collect())
    };
    let kind = value.get("kind").and_then(Value::as_str);
    match (kind, value.get("items")) {
        (Some("Secret"), _) => redacted_secret(value),
        (Some("SecretList"), Some(items)) => with_items(value, in_list(items, &redacted_secret)),
        _ if depth == 0 => value.clone(),
        (_, Some(items)) => with_items(value, redacted(items, depth - 1)),
        (_, None) if value.as_array().is_some() => in_list(value, &|item| redacted(item, depth - 1)),
        _ => value.clone(),
    }
}

fn with_items(list: &Value, items: Value) -> Value {
    let mut list = list.clone();
    list.insert("items", items);
    list
}

fn redacted_secret(secret: &Value) -> Value {
    let mut redacted = [secret].into_iter().collect::<Secrets>().redact(secret);
    let Some(members) = redacted.as_object_mut() else { return redacted };
    for field in ["data", "stringData"] {
        let Some(node) = members.get_mut(field).filter(|node| !node.is_null()) else { continue };
        match node.as_object_mut() {
            Some(values) => values.values_mut().for_each(|value| *value = REDACTED.into()),
            None => *node = REDACTED.into(),
        }
    }
    let metadata = members.get_mut("metadata").and_then(Value::as_object_mut);
    if let Some(annotations) = metadata.and_then(|metadata| metadata.get_mut("annotations"))
        && annotations.get(LAST_APPLIED).is_some()
    {
        annotations.insert(LAST_APPLIED, REDACTED.into());
    }
    redacted
}

/// Whether a text or key in a value is redacted.
fn has_redacted(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
        Value::String(text) => text.contains(REDACTED),
        Value::Array(items) => items.iter().any(has_redacted),
        Value::Object(members) => {
            members.iter().any(|(key, member)| key.contains(REDACTED) || has_redacted(member))
        }
    }
}

/// Whether a change depends on redacted values: it overwrites or copies one. Removing one does not depend on it.
fn needs_redacted(before: Option<&Value>, after: &Value) -> bool {
    match (before, after) {
        (Some(before), after) if before.same_storage(after) => false,
        (Some(Value::Object(before)), Value::Object(after)) => after.iter().any(|(key, member)| {
            let old = before.get(key);
            old.is_none() && key.contains(REDACTED) || needs_redacted(old, member)
        }),
        (Some(Value::Array(before)), Value::Array(after)) => {
            after.iter().enumerate().any(|(at, item)| needs_redacted(before.get(at), item))
        }
        (before, after) => before != Some(after) && (before.is_some_and(has_redacted) || has_redacted(after)),
    }
}

impl Secrets {
    /// An object for a recording, without the values of these Secrets and texts derived from them. Kind, name and
    /// namespace are not redacted.
    pub fn redact(&self, object: &Value) -> Value {
        self.texts().for_recordings().redacted_object(object)
    }
}

impl TaintTracker {
    /// Learns the Secrets in a response of the API server.
    pub fn track_response(&self, response: &Value) {
        for_each_secret(response, DEPTH, &mut |secret| self.track_secret(secret));
    }

    /// Notes that the current rule depends on a value. It cannot be replayed if the value is redacted in the recording.
    #[inline]
    pub fn note_read(&self, value: &Value) {
        if self.is_replay && has_redacted(value) {
            self.reads_redacted.store(true, Ordering::Relaxed);
        }
    }

    /// Notes a lookup by tainted texts, whose response no recording contains.
    pub fn note_tainted_lookup(&self) {
        self.reads_redacted.fetch_or(self.is_replay, Ordering::Relaxed);
    }

    /// Notes how the current rule changed an object.
    pub fn note_patch(&self, before: &Value, after: &Value) {
        if self.is_replay && needs_redacted(Some(before), after) {
            self.reads_redacted.store(true, Ordering::Relaxed);
        }
    }

    /// Why the rule that was evaluated since the last call cannot be replayed; `None` if it can.
    pub fn take_unreplayable(&self) -> Option<String> {
        if !self.reads_redacted.swap(false, Ordering::Relaxed) {
            return None;
        }
        let secrets = self.redacted_secrets();
        let names = match &*secrets {
            [] => "values of Secrets".to_owned(),
            [one] => format!("values of the Secret {one}"),
            [first, rest @ ..] => format!("values of {} Secrets, first {first}", rest.len() + 1),
        };
        Some(format!("not replayable: the rule needs {names}, which the recording does not have"))
    }

    /// The redacted Secrets that were read, as `namespace/name`.
    fn redacted_secrets(&self) -> Vec<Text> {
        let known = self.known();
        let redacted = known.secrets.iter().filter(|secret| has_redacted(secret) && is_named(secret));
        let mut names: Vec<Text> = redacted.map(full_name).collect();
        names.sort();
        names.dedup();
        names
    }
}

fn is_named(secret: &Value) -> bool {
    secret.path(&["metadata", "name"]).is_some()
}

fn full_name(secret: &Value) -> Text {
    let text = |field| secret.path(&["metadata", field]).and_then(Value::as_str).unwrap_or_default();
    match text("namespace") {
        "" => text("name").into(),
        namespace => format!("{namespace}/{}", text("name")).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Value {
        Value::from_json(text).unwrap()
    }

    const SECRET: &str = r#"{"kind":"Secret","metadata":{"name":"hunter2!","annotations":{"copy":"is hunter2!","kubectl.kubernetes.io/last-applied-configuration":"x"}},"data":{"a":"aHVudGVyMiE=","b":"","c":"eA=="}}"#;
    const SHOWN: &str = r#"{"kind":"Secret","metadata":{"name":"hunter2!","annotations":{"copy":"is <redacted>","kubectl.kubernetes.io/last-applied-configuration":"<redacted>"}},"data":{"a":"<redacted>","b":"<redacted>","c":"<redacted>"}}"#;

    #[test]
    fn a_secret_keeps_its_keys_and_none_of_its_values() {
        assert_eq!(redact(&json(SECRET)), json(SHOWN));
        assert_eq!(redact(&json(SHOWN)), json(SHOWN));
        for (before, after) in
            [(r#"{"data":null}"#, r#"{"data":null}"#), (r#"{"data":5}"#, r#"{"data":"<redacted>"}"#)]
        {
            let secret = |text: &str| json(&text.replacen('{', r#"{"kind":"Secret","#, 1));
            assert_eq!(redact(&secret(before)), secret(after));
        }
    }

    #[test]
    fn secrets_are_redacted_in_lists_and_other_objects_are_not() {
        let untyped = |secret: &str| secret.replace("\"kind\":\"Secret\",", "");
        for (list, shown) in [
            (
                format!(r#"{{"kind":"List","items":[{SECRET}]}}"#),
                format!(r#"{{"kind":"List","items":[{SHOWN}]}}"#),
            ),
            (
                format!(r#"{{"kind":"SecretList","items":[{}]}}"#, untyped(SECRET)),
                format!(r#"{{"kind":"SecretList","items":[{}]}}"#, untyped(SHOWN)),
            ),
            (format!("[{SECRET}]"), format!("[{SHOWN}]")),
        ] {
            assert_eq!(redact(&json(&list)), json(&shown), "{list}");
        }
        let other = json(r#"{"kind":"ConfigMap","data":{"a":"aHVudGVyMiE="}}"#);
        assert_eq!(redact(&other), other);
    }

    #[test]
    fn changes_that_need_redacted_values_are_recognized() {
        let before = json(r#"{"data":{"a":"<redacted>","b":"<redacted>"}}"#);
        for (after, expected) in [
            (r#"{"data":{"a":"<redacted>","b":"<redacted>"},"metadata":{"labels":{"x":"y"}}}"#, false),
            (r#"{"data":{"a":"<redacted>"}}"#, false),
            (r#"{"data":{"a":"eA==","b":"<redacted>"}}"#, true),
            (r#"{"data":{"a":"<redacted>","b":"<redacted>","c":"<redacted>"}}"#, true),
            (r#"{"data":{"a":"<redacted>","b":"<redacted>"},"x":"pre <redacted>"}"#, true),
        ] {
            assert_eq!(needs_redacted(Some(&before), &json(after)), expected, "{after}");
        }
    }

    #[test]
    fn a_replay_names_the_secret_that_a_rule_needs() {
        let secret =
            json(r#"{"kind":"Secret","metadata":{"name":"a","namespace":"n"},"data":{"p":"<redacted>"}}"#);
        let message =
            "not replayable: the rule needs values of the Secret n/a, which the recording does not have";
        for (is_replay, expected) in [(true, Some(message)), (false, None)] {
            let taint = TaintTracker::new(is_replay);
            taint.track_response(&secret);
            taint.note_read(&"open".into());
            assert_eq!(taint.take_unreplayable(), None);
            taint.note_read(&"<redacted>!".into());
            assert_eq!(taint.take_unreplayable().as_deref(), expected);
            assert_eq!(taint.take_unreplayable(), None);
        }
    }
}
