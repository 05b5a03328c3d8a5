//! Secrets, masked the way kubectl masks them.

mod text;

use crate::report::ObjectReport;
use crate::secrets::{Fields, LAST_APPLIED, MASK, Secrets, TaintedTexts, fields, is_secret};
use crate::value::{Map, Text, Value};

pub(super) use text::Cover;

const MASK_BEFORE: &str = "*** (before)";
const MASK_AFTER: &str = "*** (after)";

/// Two states of an object, fit to be shown.
#[derive(Clone, Debug)]
pub struct Masked {
    /// The object as it was.
    pub before: Value,
    /// The object after the change.
    pub after: Value,
    texts: TaintedTexts,
}

impl Masked {
    /// Two states and how they are shown; different secrets that would be shown alike get different masks.
    fn apart(
        (before, mut shown_before): (&Value, Value),
        (after, mut shown_after): (&Value, Value),
        texts: TaintedTexts,
    ) -> Self {
        tell_apart((before, &mut shown_before), (after, &mut shown_after));
        Self { before: shown_before, after: shown_after, texts }
    }

    /// A message about the object without the secret texts of either state.
    pub fn message(&self, text: &str) -> String {
        self.texts.redacted(text).unwrap_or_else(|| text.to_owned())
    }
}

/// Masks the values of a Secret, its last-applied copy, and whatever in the object equals or holds such a
/// value, decoded or not, wherever a policy moved it to. A value that changed in its place is shown as
/// `*** (before)` and `*** (after)`. Objects of other kinds come back as they are.
pub fn mask(before: &Value, after: &Value) -> Masked {
    mask_beside(before, after, &Secrets::default())
}

/// The same for an object that the values of other Secrets may have come into, or what was made of such values.
pub fn mask_beside(before: &Value, after: &Value, others: &Secrets) -> Masked {
    if !is_secret(before) && !is_secret(after) {
        if others.is_empty() {
            return Masked { before: before.clone(), after: after.clone(), texts: TaintedTexts::default() };
        }
        let texts = others.texts();
        return Masked::apart(
            (before, texts.redacted_object(before)),
            (after, texts.redacted_object(after)),
            texts,
        );
    }
    let (old, new) = (fields(before), fields(after));
    let texts = others.texts_with(&[before, after]);
    let shown_before = masked(&texts, before, &changed(&old, &new), MASK_BEFORE);
    let shown_after = masked(&texts, after, &changed(&new, &old), MASK_AFTER);
    Masked::apart((before, shown_before), (after, shown_after), texts)
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
        return Masked { before: before.clone(), after: after.clone(), texts: TaintedTexts::default() };
    }
    mask_beside(before, after, &report.secrets)
}

/// The places whose text differs from that of the other state.
fn changed(own: &Fields, other: &Fields) -> Vec<(&'static str, Text)> {
    let differs = |(place, text): &(&(&'static str, Text), &Text)| {
        other.get(*place).is_some_and(|other| other != *text)
    };
    own.iter().filter(differs).map(|(place, _)| place.clone()).collect()
}

/// A Secret without its values, and without what else must not be shown.
fn masked(
    texts: &TaintedTexts,
    object: &Value,
    changed: &[(&'static str, Text)],
    changed_mask: &str,
) -> Value {
    let mut shown = texts.redacted_object(object);
    let Some(members) = shown.as_object_mut() else { return shown };
    for field in ["data", "stringData"] {
        let entries = object.get(field).and_then(Value::as_object);
        let Some(node) = members.get_mut(field).filter(|node| !node.is_null()) else { continue };
        let covered: Option<Map> = entries.map(|entries| {
            let mask = |key: &Text| {
                let differs = changed.iter().any(|(name, changed)| *name == field && changed == key);
                Value::from(if differs { changed_mask } else { MASK })
            };
            entries.keys().map(|key| (texts.redacted_key(key), mask(key))).collect()
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
        let shown = mask_beside(&before, &after, &[&secret].into_iter().collect());
        assert_eq!(shown.before, before);
        assert_eq!(shown.after, json(r#"{"kind":"ConfigMap","data":{"a":"b","p":"***"}}"#));
    }

    #[test]
    fn secrets_that_replace_each_other_are_told_apart() {
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
    fn other_kinds_are_shown_as_they_are() {
        let map = json(r#"{"kind":"ConfigMap","data":{"a":"b"}}"#);
        assert_eq!(mask(&map, &map).after, map);
    }
}
