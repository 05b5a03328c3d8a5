//! Label selectors and annotation patterns.

use std::collections::BTreeMap;

use crate::pattern;
use crate::value::{Map, Text, Value};

use super::index::IndexKey;

/// The labels or annotations of an object.
///
/// As the Kubernetes libraries read them: `null` counts as empty text, and one value of another type
/// makes the whole map count as absent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Labels<'a>(Option<&'a Map>);

impl<'a> Labels<'a> {
    pub(super) fn of(value: Option<&'a Value>) -> Self {
        let members = value.and_then(Value::as_object);
        Self(
            members
                .filter(|members| members.values().all(|value| value.is_null() || value.as_str().is_some())),
        )
    }

    fn get(self, key: &str) -> Option<&'a str> {
        self.0?.get(key).map(|value| value.as_str().unwrap_or_default())
    }

    fn iter(self) -> impl Iterator<Item = (&'a Text, &'a str)> {
        let entries = self.0.into_iter().flat_map(|members| members.iter());
        entries.map(|(key, value)| (key, value.as_str().unwrap_or_default()))
    }

    fn find(self, key: &str, value: &str) -> Option<(&'a Text, &'a str)> {
        self.iter().find(|(name, text)| pattern::matches(key, name) && pattern::matches(value, text))
    }
}

/// Whether every expected annotation is met by some actual one; both sides may hold wildcards.
pub(super) fn annotations_match(expected: &[(Text, Text)], actual: Labels<'_>) -> bool {
    expected.iter().all(|(key, value)| actual.find(key, value).is_some())
}

/// A label selector, with Kyverno's wildcards in `matchLabels`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LabelSelector {
    /// In the order of their keys.
    equal: BTreeMap<Text, Text>,
    wildcards: bool,
    requirements: Vec<Requirement>,
    /// Why the part without wildcards can never be used.
    unusable: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: Text,
    operator: SetOperator,
    values: Vec<Text>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SetOperator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
}

impl LabelSelector {
    /// Reads a selector; parts of a wrong type, which the field table reports, are passed over.
    pub(super) fn read(selector: &Value) -> Self {
        let mut unusable = None;
        let equal: BTreeMap<_, _> = strings(selector.get("matchLabels"));
        let is_wild = |(key, value): (&Text, &Text)| pattern::is_wildcard(key) || pattern::is_wildcard(value);
        let wildcards = equal.iter().any(is_wild);
        for pair in equal.iter().filter(|pair| !is_wild(*pair)) {
            unusable = unusable.or_else(|| label_error(pair.0, pair.1));
        }
        let mut requirements = Vec::new();
        for expression in selector.get("matchExpressions").and_then(Value::as_array).unwrap_or_default() {
            match requirement(expression) {
                Ok(requirement) => requirements.push(requirement),
                Err(reason) => unusable = unusable.or(Some(reason)),
            }
        }
        Self { equal, wildcards, requirements, unusable }
    }

    /// Whether the selector asks for nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.equal.is_empty() && self.requirements.is_empty()
    }

    /// Whether no other label than this one counts.
    pub(super) fn is_about(&self, label: &str) -> bool {
        let keys = self.equal.keys().chain(self.requirements.iter().map(|requirement| &requirement.key));
        keys.into_iter().all(|key| **key == *label)
    }

    /// Index keys of which one holds of whatever has labels that satisfy the selector; `None` where none is known.
    pub(super) fn index_keys(&self) -> Option<Vec<IndexKey<'_>>> {
        let is_plain = |text: &str| !pattern::is_wildcard(text);
        if let Some((key, value)) = self.equal.iter().find(|(key, value)| is_plain(key) && is_plain(value)) {
            return Some(vec![IndexKey::Label(key, Some(value))]);
        }
        let of = |operator| self.requirements.iter().find(|requirement| requirement.operator == operator);
        if let Some(Requirement { key, values, .. }) = of(SetOperator::In) {
            return Some(values.iter().map(|value| IndexKey::Label(key, Some(value))).collect());
        }
        let Requirement { key, .. } = of(SetOperator::Exists)?;
        Some(vec![IndexKey::Label(key, None)])
    }

    /// Whether `matchLabels` holds a wildcard.
    pub(super) const fn has_wildcards(&self) -> bool {
        self.wildcards
    }

    /// Why the selector can never be used, as far as that is known without labels.
    pub(super) fn unusable(&self) -> Option<&str> {
        self.unusable.as_deref()
    }

    /// Whether labels satisfy the selector; an error where it cannot be used.
    pub(super) fn matches(&self, labels: Labels<'_>) -> Result<bool, String> {
        if let Some(reason) = &self.unusable {
            return Err(reason.clone());
        }
        let equal = if self.wildcards {
            self.resolved(labels)?.iter().all(|(key, value)| labels.get(key) == Some(&**value))
        } else {
            self.equal.iter().all(|(key, value)| labels.get(key) == Some(&**value))
        };
        Ok(equal && self.requirements.iter().all(|requirement| requirement.holds(labels)))
    }

    /// What labels lack to satisfy the selector, in words; empty where it cannot be told.
    pub(super) fn misses(&self, labels: Labels<'_>) -> Vec<String> {
        let mut missed = Vec::new();
        for (key, value) in &self.equal {
            let found = if pattern::is_wildcard(key) || pattern::is_wildcard(value) {
                labels.find(key, value).is_some()
            } else {
                labels.get(key) == Some(&**value)
            };
            if !found {
                missed.push(match labels.get(key) {
                    Some(other) => format!("label `{key}` is `{other}`, wanted `{value}`"),
                    None => format!("label `{key}` is missing, wanted `{value}`"),
                });
            }
        }
        for Requirement { key, operator, values } in self.requirements.iter().filter(|one| !one.holds(labels))
        {
            let found = labels.get(key).map_or_else(|| "is missing".into(), |found| format!("is `{found}`"));
            missed.push(match operator {
                SetOperator::In => format!("label `{key}` {found}, wanted {}", alternatives(values)),
                SetOperator::NotIn => format!("label `{key}` {found}, wanted none of {}", listed(values)),
                SetOperator::Exists => format!("label `{key}` is missing, wanted any"),
                SetOperator::DoesNotExist => format!("label `{key}` {found}, wanted no such label"),
            });
        }
        missed
    }

    /// `matchLabels` with each wildcard entry replaced by the actual label it fits, or by one that none has.
    fn resolved(&self, labels: Labels<'_>) -> Result<BTreeMap<Text, Text>, String> {
        let mut resolved = BTreeMap::new();
        for (key, value) in &self.equal {
            let (key, value) = if !pattern::is_wildcard(key) && !pattern::is_wildcard(value) {
                (key.clone(), value.clone())
            } else if let Some((key, value)) = labels.find(key, value) {
                (key.clone(), Text::from(value))
            } else {
                (key.replace(['*', '?'], "0").into(), value.replace(['*', '?'], "0").into())
            };
            if let Some(reason) = label_error(&key, &value) {
                return Err(reason);
            }
            resolved.insert(key, value);
        }
        Ok(resolved)
    }
}

impl Requirement {
    fn holds(&self, labels: Labels<'_>) -> bool {
        let found = labels.get(&self.key);
        let listed = |found: &str| self.values.iter().any(|value| &**value == found);
        match self.operator {
            SetOperator::In => found.is_some_and(listed),
            SetOperator::NotIn => !found.is_some_and(listed),
            SetOperator::Exists => found.is_some(),
            SetOperator::DoesNotExist => found.is_none(),
        }
    }
}

fn requirement(expression: &Value) -> Result<Requirement, String> {
    let text = |name| expression.get(name).and_then(Value::as_text).cloned().unwrap_or_default();
    let operator = match &*text("operator") {
        "In" => SetOperator::In,
        "NotIn" => SetOperator::NotIn,
        "Exists" => SetOperator::Exists,
        "DoesNotExist" => SetOperator::DoesNotExist,
        _ => return Err("not a valid label selector operator".into()),
    };
    let values = texts(expression.get("values"));
    match operator {
        SetOperator::In | SetOperator::NotIn if values.is_empty() => {
            return Err("for 'in', 'notin' operators, values set can't be empty".into());
        }
        SetOperator::Exists | SetOperator::DoesNotExist if !values.is_empty() => {
            return Err("values set must be empty for exists and does not exist".into());
        }
        SetOperator::In | SetOperator::NotIn | SetOperator::Exists | SetOperator::DoesNotExist => {}
    }
    let key = text("key");
    if !is_label_key(&key) {
        return Err(format!("`{key}` is no label key"));
    }
    if !values.iter().all(|value| is_label_value(value)) {
        return Err(format!("a value listed for `{key}` is no label value"));
    }
    Ok(Requirement { key, operator, values })
}

fn label_error(key: &str, value: &str) -> Option<String> {
    if !is_label_key(key) {
        Some(format!("`{key}` is no label key"))
    } else if !is_label_value(value) {
        Some(format!("the value of `{key}` is no label value"))
    } else {
        None
    }
}

/// An optional DNS prefix and a slash, then a name.
fn is_label_key(key: &str) -> bool {
    let (prefix, name) = key.split_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name));
    let is_part = |part: &str| {
        let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        part.bytes().all(|byte| inner(byte) || byte == b'-')
            && part.bytes().next().is_some_and(inner)
            && part.bytes().last().is_some_and(inner)
    };
    !name.is_empty()
        && is_label_value(name)
        && prefix.is_none_or(|prefix| prefix.len() <= 253 && prefix.split('.').all(is_part))
}

/// At most 63 letters and digits with `-`, `_` and `.` between them; may be empty.
fn is_label_value(value: &str) -> bool {
    let outer = |byte: u8| byte.is_ascii_alphanumeric();
    value.is_empty()
        || value.len() <= 63
            && value.bytes().all(|byte| outer(byte) || b"-_.".contains(&byte))
            && value.bytes().next().is_some_and(outer)
            && value.bytes().last().is_some_and(outer)
}

/// The texts of a list; what is no text, which the field table reports, is passed over.
pub(super) fn texts(list: Option<&Value>) -> Vec<Text> {
    list.and_then(Value::as_array).unwrap_or_default().iter().filter_map(Value::as_text).cloned().collect()
}

/// The members of a map that are texts.
pub(super) fn strings<C: FromIterator<(Text, Text)>>(map: Option<&Value>) -> C {
    let members = map.and_then(Value::as_object).into_iter().flat_map(|members| members.iter());
    members.filter_map(|(key, value)| Some((key.clone(), value.as_text()?.clone()))).collect()
}

/// Texts of which one is wanted.
pub(super) fn alternatives(texts: &[Text]) -> String {
    let quoted: Vec<String> = texts.iter().map(|text| format!("`{text}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}

/// Texts, one after the other.
pub(super) fn listed(texts: &[Text]) -> String {
    let quoted: Vec<String> = texts.iter().map(|text| format!("`{text}`")).collect();
    quoted.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Value {
        Value::from_json(text).unwrap()
    }

    fn select(selector: &str, labels: &str) -> Result<bool, String> {
        LabelSelector::read(&json(selector)).matches(Labels::of(Some(&json(labels))))
    }

    #[test]
    fn match_labels_may_hold_wildcards() {
        for (match_labels, labels, expected) in [
            (r#"{"test.io/*":"bar"}"#, r#"{"foo":"bar"}"#, false),
            (
                r#"{"test.io/scale":"foo","test.io/functional":"bar"}"#,
                r#"{"test.io/scale":"foo","test.io/functional":"bar"}"#,
                true,
            ),
            (r#"{"test.io/*":"bar"}"#, r#"{"test.io/scale":"foo","test.io/functional":"bar"}"#, true),
            (r#"{"test.io/*":"*"}"#, r#"{"test.io/scale":"foo","test.io/functional":"bar"}"#, true),
            (r#"{"test.io/*":"a*"}"#, r#"{"test.io/scale":"foo","test.io/functional":"bar"}"#, false),
            (r#"{"test.io/scale":"f??"}"#, r#"{"test.io/scale":"foo","test.io/functional":"bar"}"#, true),
            (r#"{"*":"*"}"#, r#"{"test.io/scale":"foo"}"#, true),
            (r#"{"*":"*"}"#, "{}", false),
            (
                r#"{"test.io/functional":"foo"}"#,
                r#"{"test.io/scale":"foo","test.io/functional":"bar"}"#,
                false,
            ),
            ("{}", "{}", true),
            ("{}", "null", true),
        ] {
            let selector = format!(r#"{{"matchLabels":{match_labels}}}"#);
            assert_eq!(select(&selector, labels), Ok(expected), "{match_labels} {labels}");
        }
        assert!(select(r#"{"matchLabels":{"abc/def/ghi":"*"}}"#, "{}").is_err());
    }

    #[test]
    fn match_expressions_ask_for_sets() {
        for (expression, labels, expected) in [
            (r#"{"key":"a","operator":"In","values":["x","y"]}"#, r#"{"a":"y"}"#, true),
            (r#"{"key":"a","operator":"In","values":["x"]}"#, "{}", false),
            (r#"{"key":"a","operator":"NotIn","values":["x"]}"#, "{}", true),
            (r#"{"key":"a","operator":"NotIn","values":["x"]}"#, r#"{"a":"x"}"#, false),
            (r#"{"key":"a","operator":"Exists"}"#, r#"{"a":null}"#, true),
            (r#"{"key":"a","operator":"Exists"}"#, r#"{"a":"","b":1}"#, false),
            (r#"{"key":"a","operator":"DoesNotExist","values":[]}"#, r#"{"b":""}"#, true),
            (r#"{"key":"a","operator":"In","values":["x"]}"#, r#"{"a":"*"}"#, false),
        ] {
            let selector = format!(r#"{{"matchExpressions":[{expression}]}}"#);
            assert_eq!(select(&selector, labels), Ok(expected), "{expression} {labels}");
        }
    }

    #[test]
    fn unusable_selectors_are_errors() {
        for selector in [
            r#"{"matchExpressions":[{"key":"a","operator":"In"}]}"#,
            r#"{"matchExpressions":[{"key":"a","operator":"in","values":["x"]}]}"#,
            r#"{"matchExpressions":[{"key":"a","operator":"Exists","values":["x"]}]}"#,
            r#"{"matchExpressions":[{"key":"a","operator":"In","values":["*"]}]}"#,
            r#"{"matchExpressions":[{"key":"-a","operator":"Exists"}]}"#,
            r#"{"matchLabels":{"a b":"c"}}"#,
            r#"{"matchLabels":{"A.b/c":"c"}}"#,
            r#"{"matchLabels":{"a":"c_"}}"#,
            r#"{"matchLabels":{"":"c"}}"#,
        ] {
            assert!(LabelSelector::read(&json(selector)).unusable().is_some(), "{selector}");
        }
        let long = format!(r#"{{"matchLabels":{{"a":"{}"}}}}"#, "x".repeat(64));
        assert!(LabelSelector::read(&json(&long)).unusable().is_some());
    }

    #[test]
    fn annotations_may_hold_wildcards_on_both_sides() {
        for (expected, actual, fits) in [
            (r#"{"test/*":"*"}"#, "{}", false),
            (r#"{"test/*":"*"}"#, r#"{"tes1/test":"*"}"#, false),
            (r#"{"test/*":"*"}"#, r#"{"test/bar":"foo"}"#, true),
            (r#"{"test/b*":"*","test2/*":"*"}"#, r#"{"test/bar":"foo"}"#, false),
            (r#"{"test/b*":"*","test2/*":"*"}"#, r#"{"test/bar":"foo","test2/123":"bar"}"#, true),
            ("{}", "{}", true),
        ] {
            let pairs: Vec<_> = strings(Some(&json(expected)));
            let actual = json(actual);
            assert_eq!(annotations_match(&pairs, Labels::of(Some(&actual))), fits, "{expected}");
        }
    }
}
