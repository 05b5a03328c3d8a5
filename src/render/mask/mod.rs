//! Secrets, masked the way kubectl masks them.

mod text;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use indexmap::IndexMap;

use crate::report::ObjectReport;
use crate::value::{Map, Text, Value};

pub(super) use text::Cover;

const MASK: &str = "***";
const MASK_BEFORE: &str = "*** (before)";
const MASK_AFTER: &str = "*** (after)";
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// A secret text this short is masked only where it is the whole of a string: inside of other text it would
/// hide what is no secret.
const SHORTEST_INSIDE: usize = 4;

/// Two states of an object, fit to be shown.
#[derive(Clone, Debug)]
pub struct Masked {
    /// The object as it was.
    pub before: Value,
    /// The object as it became.
    pub after: Value,
    secrets: Secrets,
}

impl Masked {
    /// Two states and how they are shown, told apart where different secrets are shown alike.
    fn apart(
        (before, mut shown_before): (&Value, Value),
        (after, mut shown_after): (&Value, Value),
        secrets: Secrets,
    ) -> Self {
        tell_apart((before, &mut shown_before), (after, &mut shown_after));
        Self { before: shown_before, after: shown_after, secrets }
    }

    /// A message about the object without the secret texts of either state.
    pub fn message(&self, text: &str) -> String {
        self.secrets.hide_inside(text).unwrap_or_else(|| text.to_owned())
    }
}

/// Masks the values of a Secret, its last-applied copy, and whatever in the object equals or holds such a
/// value, decoded or not, wherever a policy moved it to. A value that changed in its place is shown as
/// `*** (before)` and `*** (after)`. Objects of other kinds come back as they are.
pub fn mask(before: &Value, after: &Value) -> Masked {
    mask_beside(before, after, &[])
}

/// The same for an object that the values of other Secrets may have come into.
pub fn mask_beside(before: &Value, after: &Value, others: &[Value]) -> Masked {
    let is_secret = |object: &Value| object.get("kind").and_then(Value::as_str) == Some("Secret");
    let others: Vec<Fields> = others.iter().map(fields).collect();
    let of_others = || others.iter().flat_map(|fields| fields.values());
    if !is_secret(before) && !is_secret(after) {
        if others.is_empty() {
            return Masked { before: before.clone(), after: after.clone(), secrets: Secrets::default() };
        }
        let secrets = Secrets::of(of_others());
        return Masked::apart((before, secrets.replaced(before)), (after, secrets.replaced(after)), secrets);
    }
    let (old, new) = (fields(before), fields(after));
    let secrets = Secrets::of(old.values().chain(new.values()).chain(of_others()));
    let shown_before = secrets.masked(before, &changed(&old, &new), MASK_BEFORE);
    let shown_after = secrets.masked(after, &changed(&new, &old), MASK_AFTER);
    Masked::apart((before, shown_before), (after, shown_after), secrets)
}

/// Says of each text that is shown alike although it changed which of the two it is.
fn tell_apart((before, shown_before): (&Value, &mut Value), (after, shown_after): (&Value, &mut Value)) {
    if before == after {
        return;
    }
    match (before, after) {
        (Value::Object(old), Value::Object(new)) => {
            let (Some(shown_old), Some(shown_new)) =
                (shown_before.as_object_mut(), shown_after.as_object_mut())
            else {
                return;
            };
            // Two keys that are shown alike are one member.
            if shown_old.len() != old.len() || shown_new.len() != new.len() {
                return;
            }
            for (index, (key, member)) in old.iter().enumerate() {
                if let Some((at, _, other)) = new.get_full(key)
                    && let Some((_, shown)) = shown_old.get_index_mut(index)
                    && let Some((_, shown_other)) = shown_new.get_index_mut(at)
                {
                    tell_apart((member, shown), (other, shown_other));
                }
            }
        }
        (Value::Array(old), Value::Array(new)) => {
            let (Some(shown_old), Some(shown_new)) =
                (shown_before.as_array_mut(), shown_after.as_array_mut())
            else {
                return;
            };
            let pairs = old.iter().zip(shown_old.iter_mut()).zip(new.iter().zip(shown_new.iter_mut()));
            pairs.for_each(|(old, new)| tell_apart(old, new));
        }
        _ => {
            if *shown_before == *shown_after
                && let Some(text) = shown_before.as_str().map(str::to_owned)
            {
                *shown_before = format!("{text} (before)").into();
                *shown_after = format!("{text} (after)").into();
            }
        }
    }
}

/// The same for states of a report's object, unless its Secrets may be shown.
pub(super) fn mask_of(report: &ObjectReport, before: &Value, after: &Value) -> Masked {
    if report.shows_secrets {
        return Masked { before: before.clone(), after: after.clone(), secrets: Secrets::default() };
    }
    mask_beside(before, after, &report.secrets)
}

/// An object, or a list of objects, with stand-ins for the values of Secrets: texts of the kind that a policy can
/// decode, equal where the values are. What else is secret in a Secret is masked.
pub fn cover(object: &Value) -> Value {
    let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default();
    let is_secret = |item: &Value| item.get("kind").and_then(Value::as_str) == Some("Secret");
    let item = |item: &Value| {
        if kind == "SecretList" || is_secret(item) { covered(item) } else { item.clone() }
    };
    match object.get("items").and_then(Value::as_array) {
        _ if kind == "Secret" => covered(object),
        Some(items) if kind.ends_with("List") => {
            let mut list = object.clone();
            list.insert("items", Value::array(items.iter().map(item).collect()));
            list
        }
        _ => object.clone(),
    }
}

fn covered(secret: &Value) -> Value {
    let fields = fields(secret);
    let mut shown = Secrets::of(fields.values()).masked(secret, &[], MASK);
    let mut met: IndexMap<&Text, usize> = IndexMap::new();
    for ((field, key), text) in &fields {
        let next = met.len() + 1;
        let number = *met.entry(text).or_insert(next);
        let text = format!("{MASK}{number}");
        let text = if *field == "data" { STANDARD.encode(text) } else { text };
        if let Some(node) = shown.as_object_mut().and_then(|members| members.get_mut(*field)) {
            node.insert(key.clone(), text.into());
        }
    }
    shown
}

/// The secret texts of an object, by field and key.
type Fields = IndexMap<(&'static str, Text), Text>;

fn fields(object: &Value) -> Fields {
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

/// The places whose text differs from that of the other state.
fn changed(own: &Fields, other: &Fields) -> Vec<(&'static str, Text)> {
    let differs = |(place, text): &(&(&'static str, Text), &Text)| {
        other.get(*place).is_some_and(|other| other != *text)
    };
    own.iter().filter(differs).map(|(place, _)| place.clone()).collect()
}

/// Texts that must not be shown.
#[derive(Clone, Debug, Default)]
struct Secrets(Vec<Text>);

impl Secrets {
    /// The texts themselves and what they decode to, the longest first.
    fn of<'a>(texts: impl Iterator<Item = &'a Text>) -> Self {
        let mut all = Vec::new();
        for text in texts.filter(|text| !text.is_empty()) {
            let decoded =
                STANDARD.decode(text.as_bytes()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
            all.extend(decoded.filter(|decoded| !decoded.is_empty()).map(Text::from));
            all.push(text.clone());
        }
        all.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        all.dedup();
        Self(all)
    }

    /// The text without secrets; `None` where it holds none.
    fn hide(&self, text: &str) -> Option<String> {
        if self.0.iter().any(|secret| **secret == *text) {
            Some(MASK.to_owned())
        } else {
            self.hide_inside(text)
        }
    }

    fn hide_inside(&self, text: &str) -> Option<String> {
        let mut hidden: Option<String> = None;
        for secret in self.0.iter().filter(|secret| secret.chars().count() >= SHORTEST_INSIDE) {
            // Messages quote texts as Go or JSON do.
            let quoted = Value::String(secret.clone()).to_json();
            for form in [&**secret, quoted.trim_matches('"')] {
                let current = hidden.as_deref().unwrap_or(text);
                if current.contains(form) {
                    hidden = Some(current.replace(form, MASK));
                }
            }
        }
        hidden
    }

    fn masked(&self, object: &Value, changed: &[(&'static str, Text)], changed_mask: &str) -> Value {
        let mut shown = self.replaced(object);
        let Some(members) = shown.as_object_mut() else { return shown };
        for field in ["data", "stringData"] {
            let Some(node) = members.get_mut(field).filter(|node| !node.is_null()) else { continue };
            let covered: Option<Map> = node.as_object().map(|entries| {
                let mask = |key: &Text| {
                    let differs = changed.iter().any(|(name, changed)| *name == field && changed == key);
                    Value::from(if differs { changed_mask } else { MASK })
                };
                entries.keys().map(|key| (key.clone(), mask(key))).collect()
            });
            *node = covered.map_or_else(|| MASK.into(), Value::object);
        }
        let annotations = members.get_mut("metadata").and_then(Value::as_object_mut);
        if let Some(annotations) = annotations.and_then(|metadata| metadata.get_mut("annotations"))
            && annotations.get(LAST_APPLIED).is_some()
        {
            annotations.insert(LAST_APPLIED, MASK.into());
        }
        shown
    }

    /// The same value without secret texts, keys included.
    fn replaced(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.hide(text).map_or_else(|| value.clone(), Value::from),
            Value::Array(items) => Value::array(items.iter().map(|item| self.replaced(item)).collect()),
            Value::Object(members) => {
                let key = |key: &Text| self.hide_inside(key).map_or_else(|| key.clone(), Text::from);
                members.iter().map(|(name, member)| (key(name), self.replaced(member))).collect()
            }
            Value::Number(number) => {
                self.hide(&number.to_string()).map_or_else(|| value.clone(), Value::from)
            }
            Value::Null | Value::Bool(_) => value.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Value {
        Value::from_json(text).unwrap()
    }

    #[test]
    fn values_of_a_secret_are_masked_and_changed_ones_differ() {
        let before = json(
            r#"{"kind":"Secret","metadata":{"annotations":{"copy":"cGFzcw==",
            "kubectl.kubernetes.io/last-applied-configuration":"{}"}},"data":{"a":"cGFzcw==","b":"eA=="}}"#,
        );
        let after = json(
            r#"{"kind":"Secret","metadata":{"annotations":{"copy":"cGFzcw==",
            "kubectl.kubernetes.io/last-applied-configuration":"{}"}},"data":{"a":"cGFzcw==","b":"eQ=="}}"#,
        );
        let shown = mask(&before, &after);
        assert_eq!(
            shown.before,
            json(
                r#"{"kind":"Secret","metadata":{"annotations":{"copy":"***",
                "kubectl.kubernetes.io/last-applied-configuration":"***"}},"data":{"a":"***","b":"*** (before)"}}"#
            )
        );
        assert_eq!(shown.after.path(&["data", "b"]), Some(&Value::from("*** (after)")));
    }

    #[test]
    fn secrets_that_a_policy_moves_stay_masked() {
        let before = json(r#"{"kind":"Secret","data":{"p":"aHVudGVyMg=="}}"#);
        let after = json(
            r#"{"kind":"ConfigMap","metadata":{"annotations":{"p":"aHVudGVyMg==","q":"pw is hunter2!"}},"other":{"aHVudGVyMg==":1}}"#,
        );
        let shown = mask(&before, &after).after.to_json();
        assert!(!shown.contains("hunter2") && !shown.contains("aHVudGVyMg=="), "{shown}");
    }

    #[test]
    fn messages_lose_secret_texts_in_any_quoting() {
        let secret = json(r#"{"kind":"Secret","stringData":{"p":"a\"b\ncd"}}"#);
        let shown = mask(&secret, &secret);
        assert_eq!(shown.message(r#"parsing "a\"b\ncd": no"#), r#"parsing "***": no"#);
        assert_eq!(shown.message("x a\"b\ncd y"), "x *** y");
    }

    #[test]
    fn secret_values_of_odd_types_are_masked_too() {
        let odd = json(r#"{"kind":"Secret","data":{"a":5,"b":{"c":"d"}},"stringData":"text"}"#);
        let shown = mask(&odd, &odd);
        assert_eq!(shown.after, json(r#"{"kind":"Secret","data":{"a":"***","b":"***"},"stringData":"***"}"#));
    }

    #[test]
    fn values_of_another_secret_are_masked_where_a_rule_copied_them() {
        let secret = json(r#"{"kind":"Secret","data":{"p":"aHVudGVyMg=="}}"#);
        let before = json(r#"{"kind":"ConfigMap","data":{"a":"b"}}"#);
        let after = json(r#"{"kind":"ConfigMap","data":{"a":"b","p":"hunter2"}}"#);
        let shown = mask_beside(&before, &after, &[secret]);
        assert_eq!(shown.before, before);
        assert_eq!(shown.after, json(r#"{"kind":"ConfigMap","data":{"a":"b","p":"***"}}"#));
    }

    #[test]
    fn secrets_that_replace_each_other_are_told_apart() {
        let secret = json(r#"{"kind":"Secret","data":{"p":"aHVudGVyMg==","q":"c2VzYW1l"}}"#);
        let before =
            json(r#"{"kind":"ConfigMap","data":{"a":"b","p":"hunter2","l":["x hunter2","hunter2"]}}"#);
        let after = json(r#"{"kind":"ConfigMap","data":{"a":"b","p":"sesame","l":["x sesame","hunter2"]}}"#);
        let shown = mask_beside(&before, &after, &[secret]);
        let data = |p: &str, l: &str| {
            json(&format!(r#"{{"kind":"ConfigMap","data":{{"a":"b","p":"{p}","l":["{l}","***"]}}}}"#))
        };
        assert_eq!(shown.before, data("*** (before)", "x *** (before)"));
        assert_eq!(shown.after, data("*** (after)", "x *** (after)"));
    }

    #[test]
    fn what_stands_in_for_a_value_can_be_decoded_and_is_equal_where_the_values_are() {
        let secret = r#"{"kind":"Secret","metadata":{"annotations":{"copy":"hunter2!","kubectl.kubernetes.io/last-applied-configuration":"x"}},"data":{"a":"aHVudGVyMiE=","b":"eA==","c":"aHVudGVyMiE="}}"#;
        let shown = cover(&json(secret));
        assert_eq!(
            shown,
            json(
                r#"{"kind":"Secret","metadata":{"annotations":{"copy":"***","kubectl.kubernetes.io/last-applied-configuration":"***"}},"data":{"a":"KioqMQ==","b":"KioqMg==","c":"KioqMQ=="}}"#
            )
        );
        assert_eq!(STANDARD.decode("KioqMQ==").unwrap(), b"***1");
        assert_eq!(cover(&shown), shown);
        let list =
            format!(r#"{{"kind":"SecretList","items":[{}]}}"#, secret.replace("\"kind\":\"Secret\",", ""));
        assert!(!cover(&json(&list)).to_json().contains("aHVudGVyMiE="));
        let other = json(r#"{"kind":"ConfigMap","data":{"a":"b"}}"#);
        assert_eq!(cover(&other), other);
    }

    #[test]
    fn other_kinds_are_shown_as_they_are() {
        let map = json(r#"{"kind":"ConfigMap","data":{"a":"b"}}"#);
        assert_eq!(mask(&map, &map).after, map);
    }
}
