//! Secrets, masked the way kubectl masks them.

mod text;

use std::iter;
use std::sync::Arc;

use crate::report::{ObjectReport, Outcome};
use crate::secrets::{Fields, LAST_APPLIED, MASK, Secrets, TaintedTexts, fields, is_secret};
use crate::value::{Map, Text, Value};

use super::to_yaml;

pub(super) use text::TextMasks;

const MASK_BEFORE: &str = "*** (before)";
const MASK_AFTER: &str = "*** (after)";

/// Two states of an object with masked secrets.
#[derive(Clone, Debug)]
pub struct Masked {
    /// The object before the change.
    pub before: Value,
    /// The object after the change.
    pub after: Value,
    texts: Arc<TaintedTexts>,
}

impl Masked {
    fn unmasked(before: &Value, after: &Value) -> Self {
        Self { before: before.clone(), after: after.clone(), texts: Arc::default() }
    }

    /// Two states and their masked forms; different secrets with the same mask get different masks.
    fn distinguished(
        (before, mut masked_before): (&Value, Value),
        (after, mut masked_after): (&Value, Value),
        texts: Arc<TaintedTexts>,
    ) -> Self {
        distinguish((before, &mut masked_before), (after, &mut masked_after));
        Self { before: masked_before, after: masked_after, texts }
    }

    /// A message about the object without the secret texts of either state.
    pub fn message(&self, text: &str) -> String {
        self.texts.redacted(text).unwrap_or_else(|| text.to_owned())
    }
}

/// Masks the values of a Secret, its last-applied copy, the values of the other Secrets, and whatever contains or was
/// derived from such a value, encoded or decoded, wherever a policy copied it to. A value that changed in its place
/// becomes `*** (before)` and `*** (after)`. Objects without secrets are not changed.
pub fn mask_beside(before: &Value, after: &Value, others: &Secrets) -> Masked {
    mask_with(&others.texts_with([before, after]), before, after)
}

/// The same with all secret texts.
fn mask_with(texts: &Arc<TaintedTexts>, before: &Value, after: &Value) -> Masked {
    if !is_secret(before) && !is_secret(after) {
        if texts.is_empty() {
            return Masked::unmasked(before, after);
        }
        let redacted = |state: &Value| texts.redacted_object(state);
        return Masked::distinguished(
            (before, redacted(before)),
            (after, redacted(after)),
            Arc::clone(texts),
        );
    }
    let has_same = |field| match [before, after].map(|state| state.get(field)) {
        [Some(old), Some(new)] => old.same_storage(new),
        [old, new] => old.is_none() && new.is_none(),
    };
    let [old, new] = if has_same("data") && has_same("stringData") {
        Default::default()
    } else {
        [before, after].map(fields)
    };
    let masked_before = masked(texts, before, &changed(&old, &new), MASK_BEFORE);
    let masked_after = masked(texts, after, &changed(&new, &old), MASK_AFTER);
    Masked::distinguished((before, masked_before), (after, masked_after), Arc::clone(texts))
}

/// Masks the states of an object that a report has: those before and after each rule.
#[derive(Clone, Debug, Default)]
pub(super) struct StateMasks {
    shows_secrets: bool,
    texts: Arc<TaintedTexts>,
}

impl StateMasks {
    pub(super) fn of(report: &ObjectReport) -> Self {
        if report.shows_secrets {
            return Self { shows_secrets: true, ..Self::default() };
        }
        let patched = report.rules().filter_map(|(_, rule)| match &rule.outcome {
            Outcome::Patched { after, .. } => Some(after),
            _ => None,
        });
        let states = iter::once(&report.before).chain(patched).chain([&report.after]);
        Self { shows_secrets: false, texts: report.secrets.texts_with(states) }
    }

    pub(super) const fn shows_secrets(&self) -> bool {
        self.shows_secrets
    }

    /// The secret texts, none if they may be shown.
    pub(super) fn texts(&self) -> &TaintedTexts {
        &self.texts
    }

    /// Two states with their secrets masked.
    pub(super) fn masked(&self, before: &Value, after: &Value) -> Masked {
        if self.shows_secrets {
            Masked::unmasked(before, after)
        } else {
            mask_with(&self.texts, before, after)
        }
    }
}

/// Marks texts that have the same mask although they differ.
fn distinguish((before, masked_before): (&Value, &mut Value), (after, masked_after): (&Value, &mut Value)) {
    if before == after {
        return;
    }
    match (before, after) {
        (Value::Object(old), Value::Object(new)) => {
            if let Some(masked_old) = masked_before.as_object_mut()
                && let Some(masked_new) = masked_after.as_object_mut()
                // Two keys with the same mask are one member.
                && (masked_old.len(), masked_new.len()) == (old.len(), new.len())
            {
                for (index, (key, member)) in old.iter().enumerate() {
                    if let Some((other_index, _, other)) = new.get_full(key)
                        && let Some((_, masked)) = masked_old.get_index_mut(index)
                        && let Some((_, masked_other)) = masked_new.get_index_mut(other_index)
                    {
                        distinguish((member, masked), (other, masked_other));
                    }
                }
            }
        }
        (Value::Array(old), Value::Array(new)) => {
            let masked_old = masked_before.as_array_mut().into_iter().flatten();
            let masked_new = masked_after.as_array_mut().into_iter().flatten();
            let pairs = old.iter().zip(masked_old).zip(new.iter().zip(masked_new));
            pairs.for_each(|(old, new)| distinguish(old, new));
        }
        _ => {
            if *masked_before == *masked_after
                && let Some(text) = masked_before.as_str().map(str::to_owned)
            {
                *masked_before = format!("{text} (before)").into();
                *masked_after = format!("{text} (after)").into();
            }
        }
    }
}

/// The object of a report before and after as YAML, with secrets masked unless they may be shown.
pub fn masked_states(report: &ObjectReport) -> (String, String) {
    let masked = mask_of(report, &report.before, &report.after);
    (to_yaml(&masked.before), to_yaml(&masked.after))
}

/// Masks two states of a report's object, unless its secrets may be shown.
pub(super) fn mask_of(report: &ObjectReport, before: &Value, after: &Value) -> Masked {
    if report.shows_secrets {
        Masked::unmasked(before, after)
    } else {
        mask_beside(before, after, &report.secrets)
    }
}

/// The fields of a Secret whose text differs from that of the other state.
fn changed(own: &Fields, other: &Fields) -> Vec<(&'static str, Text)> {
    let differs = |(field, text): &(&(&'static str, Text), &Text)| {
        other.get(*field).is_some_and(|other| other != *text)
    };
    own.iter().filter(differs).map(|(field, _)| field.clone()).collect()
}

/// A Secret with its values and all other secret texts masked.
fn masked(
    texts: &TaintedTexts,
    object: &Value,
    changed: &[(&'static str, Text)],
    changed_mask: &str,
) -> Value {
    let mut masked = texts.redacted_object(object);
    let Some(members) = masked.as_object_mut() else { return masked };
    for field in ["data", "stringData"] {
        let entries = object.get(field).and_then(Value::as_object);
        let Some(node) = members.get_mut(field).filter(|node| !node.is_null()) else { continue };
        let entries: Option<Map> = entries.map(|entries| {
            let mask = |key: &Text| {
                let differs = changed.iter().any(|(name, changed)| *name == field && changed == key);
                Value::from(if differs { changed_mask } else { MASK })
            };
            entries.keys().map(|key| (texts.redacted_key(key), mask(key))).collect()
        });
        *node = entries.map_or_else(|| MASK.into(), Value::object);
    }
    let annotations = members.get_mut("metadata").and_then(Value::as_object_mut);
    if let Some(annotations) = annotations.and_then(|metadata| metadata.get_mut("annotations"))
        && annotations.get(LAST_APPLIED).is_some()
    {
        annotations.insert(LAST_APPLIED, MASK.into());
    }
    masked
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Value {
        Value::from_json(text).unwrap()
    }

    fn mask(before: &Value, after: &Value) -> Masked {
        mask_beside(before, after, &Secrets::default())
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
    fn secret_values_of_other_types_are_masked() {
        let other = json(r#"{"kind":"Secret","data":{"a":5,"b":{"c":"d"}},"stringData":"text"}"#);
        let shown = mask(&other, &other);
        assert_eq!(shown.after, json(r#"{"kind":"Secret","data":{"a":"***","b":"***"},"stringData":"***"}"#));
    }

    #[test]
    fn values_of_another_secret_are_masked_where_a_rule_copied_them() {
        let secret = json(r#"{"kind":"Secret","data":{"p":"aHVudGVyMg=="}}"#);
        let before = json(r#"{"kind":"ConfigMap","data":{"a":"b"}}"#);
        let after = json(r#"{"kind":"ConfigMap","data":{"a":"b","p":"hunter2"}}"#);
        let shown = mask_beside(&before, &after, &[&secret].into_iter().collect());
        assert_eq!(shown.before, before);
        assert_eq!(shown.after, json(r#"{"kind":"ConfigMap","data":{"a":"b","p":"***"}}"#));
    }

    #[test]
    fn secrets_that_replace_each_other_have_different_masks() {
        let secret = json(r#"{"kind":"Secret","data":{"p":"aHVudGVyMg==","q":"c2VzYW1l"}}"#);
        let before =
            json(r#"{"kind":"ConfigMap","data":{"a":"b","p":"hunter2","l":["x hunter2","hunter2"]}}"#);
        let after = json(r#"{"kind":"ConfigMap","data":{"a":"b","p":"sesame","l":["x sesame","hunter2"]}}"#);
        let shown = mask_beside(&before, &after, &[&secret].into_iter().collect());
        let data = |p: &str, l: &str| {
            json(&format!(r#"{{"kind":"ConfigMap","data":{{"a":"b","p":"{p}","l":["{l}","***"]}}}}"#))
        };
        assert_eq!(shown.before, data("*** (before)", "x *** (before)"));
        assert_eq!(shown.after, data("*** (after)", "x *** (after)"));
    }

    #[test]
    fn other_kinds_are_not_masked() {
        let map = json(r#"{"kind":"ConfigMap","data":{"a":"b"}}"#);
        assert_eq!(mask(&map, &map).after, map);
    }
}
