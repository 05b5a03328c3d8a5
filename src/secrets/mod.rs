//! Secrets: which texts are their values, and which were made of those.
//!
//! A [`TaintTracker`] goes along with the evaluation of one object. It takes in each Secret that the evaluation comes across,
//! and knows their values from then on, as they are and decoded. Whoever makes a text of others (a function of an
//! expression, a variable in a string, a patch that is read from text) asks it whether a secret was among them,
//! and if so tells it what came out: that is secret, too. Secrets are told by what they say and not by a mark on the value,
//! because a value is written into text and read again on its way. Truth values tell something about a secret and
//! are none; neither are lengths.
//!
//! What came out in the end is a part of the report ([`Secrets`]). What stands in for values in a recording follows the
//! same way: each text that is made is made again of stand-ins, if that is wanted.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod further;
mod keys;
mod seeds;
mod shape;
mod taint;
mod texts;

use std::sync::Arc;

use indexmap::IndexMap;

use crate::value::{Map, Text, Value};

use keys::KeyMasks;

pub use further::{MASK_OF_SERVER, mask_further};
pub use seeds::{Fields, LAST_APPLIED, fields, is_secret};
pub use shape::{STAND_IN, STAND_IN_ENCODED};
pub use taint::TaintTracker;
pub use texts::Texts;

/// What is shown in the place of a secret.
pub const MASK: &str = "***";

/// What one evaluation knows.
#[derive(Clone, Debug, Default)]
struct Known {
    /// The Secrets that it came across.
    secrets: Vec<Value>,
    texts: Texts,
    stand_ins: StandIns,
}

/// What stands in for secret texts, as far as it is known.
#[derive(Clone, Debug, Default)]
struct StandIns(IndexMap<Text, Value, foldhash::fast::RandomState>);

impl StandIns {
    /// A value with stand-ins; `None` where one is not known.
    fn of(&self, value: &Value, texts: &Texts) -> Option<Value> {
        Some(match value {
            Value::Null | Value::Bool(_) => value.clone(),
            Value::Number(number) if texts.knows_number(number) => self.0.get(&*number.to_string())?.clone(),
            Value::Number(_) => value.clone(),
            Value::String(text) => self.of_text(text, texts)?,
            Value::Array(items) => {
                Value::array(items.iter().map(|item| self.of(item, texts)).collect::<Option<_>>()?)
            }
            Value::Object(members) => {
                let mut others = Map::default();
                for (key, member) in members.iter() {
                    let (key, member) = (self.of_key(key, texts)?, self.of(member, texts)?);
                    // Two keys that are alike would be one.
                    if others.insert(key, member).is_some() {
                        return None;
                    }
                }
                Value::object(others)
            }
        })
    }

    fn of_key(&self, key: &Text, texts: &Texts) -> Option<Text> {
        if !texts.hides_key(key) {
            return Some(key.clone());
        }
        match self.of_text(key, texts)? {
            Value::String(other) => Some(other),
            _ => None,
        }
    }

    fn of_text(&self, text: &Text, texts: &Texts) -> Option<Value> {
        if let Some(stand_in) = self.0.get(text) {
            return Some(stand_in.clone());
        }
        if text.is_empty() {
            return Some(Value::String(text.clone()));
        }
        if texts.knows(text) {
            return None;
        }
        let spans = texts.spans(text)?;
        let mut is_whole = true;
        for span in &spans {
            is_whole &=
                text.get(span.clone()).is_some_and(|part| matches!(self.0.get(part), Some(Value::String(_))));
        }
        let part = |part: &str| match self.0.get(part) {
            Some(Value::String(other)) => other.clone(),
            _ => MASK.into(),
        };
        is_whole
            .then(|| texts.with(text, &spans, part).map_or_else(|| Value::String(text.clone()), Value::from))
    }
}

/// Secrets that came into an object's report.
#[derive(Clone, Debug, Default)]
pub struct Secrets {
    parts: Vec<Arc<Known>>,
    key_masks: KeyMasks,
}

impl Secrets {
    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Takes in others.
    pub fn extend(&mut self, others: &Self) {
        for other in &others.parts {
            if !self.parts.iter().any(|part| Arc::ptr_eq(part, other)) {
                self.parts.push(Arc::clone(other));
            }
        }
    }

    /// The same, of which nothing was shown yet.
    #[must_use]
    pub fn unshown(&self) -> Self {
        Self { parts: self.parts.clone(), ..Self::default() }
    }

    /// A value that was made of what stands in for these Secrets, made of their values again.
    pub fn uncovered(&self, value: &Value) -> Value {
        let mut pairs: Vec<(&str, &str)> = Vec::new();
        for (text, other) in self.parts.iter().flat_map(|part| &part.stand_ins.0) {
            if let Some(other) = other.as_str().filter(|other| *other != MASK && **other != **text) {
                pairs.push((other, text));
            }
        }
        // What holds another one goes first.
        pairs.sort_by_key(|(other, _)| std::cmp::Reverse(other.len()));
        if pairs.is_empty() { value.clone() } else { uncovered(value, &pairs) }
    }

    /// The Secrets that were seen.
    pub fn objects(&self) -> impl Iterator<Item = &Value> {
        self.parts.iter().flat_map(|part| &part.secrets)
    }

    /// The texts that must not be shown.
    pub fn texts(&self) -> Texts {
        let mut parts = self.parts.iter();
        let mut texts = parts.next().map(|part| part.texts.clone()).unwrap_or_default();
        parts.for_each(|part| texts.extend(&part.texts));
        texts.with_key_masks(&self.key_masks)
    }

    /// The texts that must not be shown where two states of an object are, the values of which are added if it is a
    /// Secret.
    pub fn texts_with(&self, states: &[&Value]) -> Texts {
        let mut texts = self.texts();
        for state in states.iter().filter(|state| is_secret(state)) {
            seeds::forms(state, &mut |text, _| texts.add(&text));
        }
        texts
    }

    /// A value as it would be if it were made of what stands in for Secrets: texts of which nothing is known are masked.
    pub fn stand_in(&self, value: &Value) -> Value {
        let found = self.parts.iter().find_map(|part| {
            let stand_in = part.stand_ins.of(value, &part.texts)?;
            (stand_in != *value).then_some(stand_in)
        });
        found.unwrap_or_else(|| self.texts().replaced(value))
    }

    /// The same for an object or a list of objects, which stay what they are, and if so wanted what they are called.
    pub fn stand_in_object(&self, object: &Value, keeps_names: bool) -> Value {
        let mut other = self.stand_in(object);
        keep_identity(&mut other, object, keeps_names);
        other
    }
}

/// The depth of the recursion is that of the value, which its reader bounds.
fn uncovered(value: &Value, pairs: &[(&str, &str)]) -> Value {
    let text = |text: &Text| -> Text {
        if let Some((_, own)) = pairs.iter().find(|(other, _)| *other == &**text) {
            return (*own).into();
        }
        let inside = pairs.iter().filter(|(other, _)| other.len() > STAND_IN.len() && text.contains(other));
        inside.fold(text.to_string(), |text, (other, own)| text.replace(other, own)).into()
    };
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        Value::String(own) => Value::String(text(own)),
        Value::Array(items) => Value::array(items.iter().map(|item| uncovered(item, pairs)).collect()),
        Value::Object(members) => {
            members.iter().map(|(key, member)| (text(key), uncovered(member, pairs))).collect()
        }
    }
}

/// Gives objects back what they are.
fn keep_identity(other: &mut Value, object: &Value, keeps_names: bool) {
    for field in ["apiVersion", "kind"] {
        if let Some(own) = object.get(field) {
            other.insert(field, own.clone());
        }
    }
    for field in ["name", "namespace"] {
        if keeps_names
            && let Some(own) = object.path(&["metadata", field])
            && let Some(metadata) = other.as_object_mut().and_then(|members| members.get_mut("metadata"))
        {
            metadata.insert(field, own.clone());
        }
    }
    if object.get("metadata").is_some_and(|metadata| metadata.get("name").is_some()) {
        return;
    }
    for field in ["items", "objects"] {
        let own = object.get(field).and_then(Value::as_array).unwrap_or_default();
        let others = other.as_object_mut().and_then(|members| members.get_mut(field));
        for (other, own) in others.and_then(Value::as_array_mut).into_iter().flatten().zip(own) {
            keep_identity(other, own, keeps_names);
        }
    }
}

/// The Secrets of tests and of whoever has some without an evaluation.
impl<'a> FromIterator<&'a Value> for Secrets {
    fn from_iter<I: IntoIterator<Item = &'a Value>>(secrets: I) -> Self {
        let taint = TaintTracker::default();
        secrets.into_iter().for_each(|secret| taint.see_secret(secret));
        taint.secrets()
    }
}

/// An object, or a list of objects, with stand-ins for the values of Secrets: texts of the kind that a policy can
/// decode, equal where the values are. What else is secret in a Secret is masked.
pub fn cover(object: &Value) -> Value {
    let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default();
    let item =
        |item: &Value| if kind == "SecretList" || is_secret(item) { covered(item) } else { item.clone() };
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

/// A Secret with stand-ins, wherever in it a value stands.
fn covered(secret: &Value) -> Value {
    let mut known = Known::default();
    seeds::forms(secret, &mut |text, stand_in| {
        if !text.is_empty() {
            known.stand_ins.0.entry(text.clone()).or_insert(Value::String(stand_in));
        }
        known.texts.add(&text);
    });
    let mut shown = seeds::with_stand_ins(secret);
    if let Some(members) = shown.as_object_mut() {
        for (key, member) in members.iter_mut() {
            if !matches!(&**key, "apiVersion" | "kind" | "type" | "data" | "stringData") {
                *member = known.covered(member, &**key == "metadata");
            }
        }
    }
    shown
}

impl Known {
    /// A part of a Secret with stand-ins, but for what it is called.
    fn covered(&self, value: &Value, is_metadata: bool) -> Value {
        match value {
            Value::String(_) | Value::Number(_) => {
                self.stand_ins.of(value, &self.texts).unwrap_or_else(|| MASK.into())
            }
            Value::Array(items) => Value::array(items.iter().map(|item| self.covered(item, false)).collect()),
            Value::Object(members) => {
                let member = |(key, member): (&Text, &Value)| {
                    let kept =
                        is_metadata && matches!(&**key, "name" | "namespace" | "uid" | "resourceVersion");
                    let member = if kept { member.clone() } else { self.covered(member, false) };
                    let shown = || self.texts.shown_key(key);
                    (self.stand_ins.of_key(key, &self.texts).unwrap_or_else(shown), member)
                };
                members.iter().map(member).collect()
            }
            Value::Null | Value::Bool(_) => value.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    fn json(text: &str) -> Value {
        Value::from_json(text).unwrap()
    }

    #[test]
    fn what_stands_in_for_a_value_can_be_decoded_and_is_equal_where_the_values_are() {
        let secret = r#"{"kind":"Secret","metadata":{"annotations":{"copy":"hunter2!","kubectl.kubernetes.io/last-applied-configuration":"x"}},"data":{"a":"aHVudGVyMiE=","b":"eA==","c":"aHVudGVyMiE="}}"#;
        let shown = cover(&json(secret));
        assert_eq!(
            shown,
            json(
                r#"{"kind":"Secret","metadata":{"annotations":{"copy":"masked1","kubectl.kubernetes.io/last-applied-configuration":"***"}},"data":{"a":"bWFza2VkMQ==","b":"azAy","c":"bWFza2VkMQ=="}}"#
            )
        );
        assert_eq!(STANDARD.decode("bWFza2VkMQ==").unwrap(), b"masked1");
        assert_eq!(cover(&shown), shown);
        let list =
            format!(r#"{{"kind":"SecretList","items":[{}]}}"#, secret.replace("\"kind\":\"Secret\",", ""));
        assert!(!cover(&json(&list)).to_json().contains("aHVudGVyMiE="));
        let list = format!(r#"{{"kind":"List","items":[{secret}]}}"#);
        assert!(!cover(&json(&list)).to_json().contains("hunter2!"));
        let other = json(r#"{"kind":"ConfigMap","data":{"a":"b"}}"#);
        assert_eq!(cover(&other), other);
    }

    #[test]
    fn what_was_applied_last_is_known_too() {
        let secret = json(
            r#"{"kind":"Secret","metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":
            "{\"kind\":\"Secret\",\"data\":{\"p\":\"b2xkLXZhbHVl\"}}\n"}},"data":{"p":"bmV3"}}"#,
        );
        let secrets: Secrets = [&secret].into_iter().collect();
        assert_eq!(secrets.texts().hide("was old-value").as_deref(), Some("was ***"));
        assert_eq!(secrets.texts().hide("b2xkLXZhbHVl").as_deref(), Some("***"));
    }

    #[test]
    fn padding_and_the_alphabet_of_base64_do_not_matter() {
        for (data, text) in [
            ("aHVudGVyMj8/", "hunter2??"),
            ("aHVudGVyMj8_", "hunter2??"),
            ("aHVudGVyMj8/Pw", "hunter2???"),
            ("aHVudGVyMj8/Pw==", "hunter2???"),
        ] {
            let secret = json(&format!(r#"{{"kind":"Secret","stringData":{{"p":"{data}"}}}}"#));
            let secrets: Secrets = [&secret].into_iter().collect();
            assert!(secrets.texts().hide(text).is_some(), "{data}");
        }
    }
}
