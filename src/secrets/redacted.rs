//! Secrets without their values, as a recording keeps them.

use std::sync::atomic::Ordering;

use crate::value::{Text, Value};

use super::values::LAST_APPLIED;
use super::{REDACTED, Secrets, TaintTracker};

/// How deep in an answer of the API server Secrets are looked for: they are at the top or in one list.
const DEPTH: usize = 3;

/// Calls `see` with each Secret of an answer. Elements of a `SecretList` need not name their kind.
fn for_each_secret(answer: &Value, see: &mut dyn FnMut(&Value)) {
    visit(answer, DEPTH, see);
}

fn visit(value: &Value, depth: usize, see: &mut dyn FnMut(&Value)) {
    match value.get("kind").and_then(Value::as_str) {
        Some("Secret") => see(value),
        Some("SecretList") => {
            value.get("items").and_then(Value::as_array).into_iter().flatten().for_each(see);
        }
        _ if depth == 0 => {}
        _ => {
            for item in value.as_array().into_iter().flatten().chain(value.get("items")) {
                visit(item, depth - 1, see);
            }
        }
    }
}

/// Returns an answer of the API server with the values of its Secrets redacted, wherever in the Secret they are.
pub fn redact(answer: &Value) -> Value {
    redacted(answer, DEPTH)
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
    let mut shown = [secret].into_iter().collect::<Secrets>().redact(secret);
    let Some(members) = shown.as_object_mut() else { return shown };
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
    shown
}

/// Whether a value holds a redacted text or key.
fn holds_redacted(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
        Value::String(text) => text.contains(REDACTED),
        Value::Array(items) => items.iter().any(holds_redacted),
        Value::Object(members) => {
            members.iter().any(|(key, member)| key.contains(REDACTED) || holds_redacted(member))
        }
    }
}

/// Whether a change depends on what was redacted: it overwrites it, or puts it somewhere else. To remove it does not.
fn moves_redacted(before: Option<&Value>, after: &Value) -> bool {
    match (before, after) {
        (Some(before), after) if before.same_storage(after) => false,
        (Some(Value::Object(before)), Value::Object(after)) => after.iter().any(|(key, member)| {
            let old = before.get(key);
            old.is_none() && key.contains(REDACTED) || moves_redacted(old, member)
        }),
        (Some(Value::Array(before)), Value::Array(after)) => {
            after.iter().enumerate().any(|(at, item)| moves_redacted(before.get(at), item))
        }
        (before, after) => {
            before != Some(after) && (before.is_some_and(holds_redacted) || holds_redacted(after))
        }
    }
}

impl Secrets {
    /// Returns an object as a recording keeps it: without the values of these Secrets and what was made of them. Its
    /// kind, name and namespace stay.
    pub fn redact(&self, object: &Value) -> Value {
        self.texts().redacting().replaced(object)
    }
}

impl TaintTracker {
    /// Learns the Secrets of an answer of the API server.
    pub fn see_answer(&self, answer: &Value) {
        for_each_secret(answer, &mut |secret| self.see_secret(secret));
    }

    /// Notes that the rule under evaluation depends on this value: in a replay it cannot be evaluated where the recording
    /// holds the value redacted.
    #[inline]
    pub fn note_read(&self, value: &Value) {
        if self.is_replay && holds_redacted(value) {
            self.reads_redacted.store(true, Ordering::Relaxed);
        }
    }

    /// Notes that a lookup that was made of secrets has no answer: none is in a recording.
    pub fn note_unanswered(&self) {
        self.reads_redacted.fetch_or(self.is_replay, Ordering::Relaxed);
    }

    /// Notes that a rule made this of an object.
    pub fn note_patch(&self, before: &Value, after: &Value) {
        if self.is_replay && moves_redacted(Some(before), after) {
            self.reads_redacted.store(true, Ordering::Relaxed);
        }
    }

    /// Says why the rule that was evaluated since the last call cannot be replayed, if it cannot.
    pub fn take_unreplayable(&self) -> Option<String> {
        if !self.reads_redacted.swap(false, Ordering::Relaxed) {
            return None;
        }
        let seen = self.redacted_secrets();
        let names = match &*seen {
            [] => "values of Secrets".to_owned(),
            [one] => format!("values of the Secret {one}"),
            [first, rest @ ..] => format!("values of {} Secrets, first {first}", rest.len() + 1),
        };
        Some(format!("not replayable: the rule needs {names}, which the recording does not hold"))
    }

    /// The Secrets without their values that the evaluation came across, as `namespace/name`.
    fn redacted_secrets(&self) -> Vec<Text> {
        let known = self.known();
        let redacted = known.secrets.iter().filter(|secret| holds_redacted(secret) && is_named(secret));
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
    fn a_change_that_needs_a_redacted_value_is_told_from_one_that_does_not() {
        let before = json(r#"{"data":{"a":"<redacted>","b":"<redacted>"}}"#);
        for (after, expected) in [
            (r#"{"data":{"a":"<redacted>","b":"<redacted>"},"metadata":{"labels":{"x":"y"}}}"#, false),
            (r#"{"data":{"a":"<redacted>"}}"#, false),
            (r#"{"data":{"a":"eA==","b":"<redacted>"}}"#, true),
            (r#"{"data":{"a":"<redacted>","b":"<redacted>","c":"<redacted>"}}"#, true),
            (r#"{"data":{"a":"<redacted>","b":"<redacted>"},"x":"pre <redacted>"}"#, true),
        ] {
            assert_eq!(moves_redacted(Some(&before), &json(after)), expected, "{after}");
        }
    }

    #[test]
    fn a_replay_names_the_secret_that_a_rule_needs() {
        let secret =
            json(r#"{"kind":"Secret","metadata":{"name":"a","namespace":"n"},"data":{"p":"<redacted>"}}"#);
        for (is_replay, told) in [
            (
                true,
                Some(
                    "not replayable: the rule needs values of the Secret n/a, which the recording does not hold",
                ),
            ),
            (false, None),
        ] {
            let taint = TaintTracker::new(is_replay);
            taint.see_answer(&secret);
            taint.note_read(&"open".into());
            assert_eq!(taint.take_unreplayable(), None);
            taint.note_read(&"<redacted>!".into());
            assert_eq!(taint.take_unreplayable().as_deref(), told);
            assert_eq!(taint.take_unreplayable(), None);
        }
    }
}
