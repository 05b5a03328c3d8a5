//! Label selectors and annotation patterns.

use std::collections::BTreeMap;

use crate::pattern;
use crate::value::{Map, Text, Value};

use super::fields::{all_of, any_of, list, string, text, text_map, texts};
use super::index::IndexKey;

/// The labels or annotations of an object, as the Kubernetes libraries read them: `null` is an empty string, and one
/// value of another type makes the whole map count as absent.
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

/// Whether every expected annotation matches an actual one. Keys and values may have wildcards.
pub(super) fn annotations_match(expected: &[(Text, Text)], actual: Labels<'_>) -> bool {
    expected.iter().all(|(key, value)| actual.find(key, value).is_some())
}

/// Why a label selector of a filter selects nothing, whatever the labels are; `None` if it may select something.
pub fn selector_error(selector: &Value) -> Option<SelectorError> {
    LabelSelector::read(selector).invalid
}

/// A label selector, with Kyverno's wildcards in `matchLabels`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LabelSelector {
    /// `matchLabels`, in the order of the keys.
    equal: BTreeMap<Text, Text>,
    wildcards: bool,
    requirements: Vec<Requirement>,
    /// What is wrong with the entries without wildcards.
    invalid: Option<SelectorError>,
}

/// What is wrong with a label selector, in the words of Kubernetes where it has some.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SelectorError {
    /// An unknown operator.
    #[error("not a valid label selector operator")]
    Operator,
    /// `In` or `NotIn` without values.
    #[error("for 'in', 'notin' operators, values set can't be empty")]
    NoValues,
    /// `Exists` or `DoesNotExist` with values.
    #[error("values set must be empty for exists and does not exist")]
    Values,
    /// This key is not valid.
    #[error("`{0}` is no label key")]
    Key(Text),
    /// The value of this key is not valid.
    #[error("the value of `{0}` is no label value")]
    Value(Text),
    /// One of the `values` of this key is not valid.
    #[error("a value listed for `{0}` is no label value")]
    ListedValue(Text),
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
    /// Reads a selector. The schema reports fields of a wrong type.
    pub(super) fn read(selector: &Value) -> Self {
        let mut invalid = None;
        let equal: BTreeMap<_, _> = text_map(selector.get("matchLabels"));
        let is_wild = |(key, value): (&Text, &Text)| pattern::is_wildcard(key) || pattern::is_wildcard(value);
        let wildcards = equal.iter().any(is_wild);
        for (key, value) in equal.iter().filter(|pair| !is_wild(*pair)) {
            invalid = invalid.or_else(|| check_label(key, value).err());
        }
        let mut requirements = Vec::new();
        for expression in list(selector, "matchExpressions") {
            match Requirement::read(expression) {
                Ok(requirement) => requirements.push(requirement),
                Err(error) => invalid = invalid.or(Some(error)),
            }
        }
        Self { equal, wildcards, requirements, invalid }
    }

    /// Reads a selector of Kubernetes, without wildcards.
    pub(super) fn read_plain(selector: &Value) -> Self {
        let mut read = Self::read(selector);
        if read.wildcards {
            read.wildcards = false;
            let wrong = read.equal.iter().find_map(|(key, value)| check_label(key, value).err());
            read.invalid = read.invalid.or(wrong);
        }
        read
    }

    /// Whether the selector has no requirement.
    pub(super) fn is_empty(&self) -> bool {
        self.equal.is_empty() && self.requirements.is_empty()
    }

    /// Whether the selector uses no other label than this one.
    pub(super) fn uses_only(&self, label: &str) -> bool {
        self.keys().all(|key| **key == *label)
    }

    /// The keys of the labels that it uses; those of `matchLabels` may have wildcards.
    pub(super) fn keys(&self) -> impl Iterator<Item = &Text> {
        self.equal.keys().chain(self.requirements.iter().map(|requirement| &requirement.key))
    }

    /// The keys of the labels that it uses, each with the values that it names.
    pub(super) fn named_values(&self) -> Vec<(Text, Vec<Text>)> {
        let equal = self.equal.iter().map(|(key, value)| (key.clone(), vec![value.clone()]));
        let required = self.requirements.iter().map(|one| (one.key.clone(), one.values.clone()));
        equal.chain(required).collect()
    }

    /// Index keys of which one holds for all labels that satisfy the selector; `None` if there are none.
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

    /// Whether `matchLabels` has a wildcard.
    pub(super) const fn has_wildcards(&self) -> bool {
        self.wildcards
    }

    /// What is wrong with the selector, as far as that is known without labels.
    pub(super) const fn invalid(&self) -> Option<&SelectorError> {
        self.invalid.as_ref()
    }

    /// Whether labels satisfy the selector; an error if it is invalid.
    pub(super) fn matches(&self, labels: Labels<'_>) -> Result<bool, SelectorError> {
        if let Some(error) = &self.invalid {
            return Err(error.clone());
        }
        let equal = if self.wildcards {
            self.resolved(labels)?.iter().all(|(key, value)| labels.get(key) == Some(&**value))
        } else {
            self.equal.iter().all(|(key, value)| labels.get(key) == Some(&**value))
        };
        Ok(equal && self.requirements.iter().all(|requirement| requirement.holds(labels)))
    }

    /// The requirements that labels do not satisfy, in words.
    pub(super) fn mismatches(&self, labels: Labels<'_>) -> Vec<String> {
        let mut unmet = Vec::new();
        for (key, value) in &self.equal {
            let found = if pattern::is_wildcard(key) || pattern::is_wildcard(value) {
                labels.find(key, value).is_some()
            } else {
                labels.get(key) == Some(&**value)
            };
            if !found {
                unmet.push(match labels.get(key) {
                    Some(other) => format!("label `{key}` is `{other}`, expected `{value}`"),
                    None => format!("label `{key}` is missing, expected `{value}`"),
                });
            }
        }
        for Requirement { key, operator, values } in self.requirements.iter().filter(|one| !one.holds(labels))
        {
            let found = labels.get(key).map_or_else(|| "is missing".into(), |found| format!("is `{found}`"));
            unmet.push(match operator {
                SetOperator::In => format!("label `{key}` {found}, expected {}", any_of(values)),
                SetOperator::NotIn => format!("label `{key}` {found}, expected none of {}", all_of(values)),
                SetOperator::Exists => format!("label `{key}` is missing, expected any"),
                SetOperator::DoesNotExist => format!("label `{key}` {found}, expected no such label"),
            });
        }
        unmet
    }

    /// `matchLabels` with each entry with wildcards replaced by the actual label that it matches, or by one that is not
    /// among the labels.
    fn resolved(&self, labels: Labels<'_>) -> Result<BTreeMap<Text, Text>, SelectorError> {
        let mut resolved = BTreeMap::new();
        for (key, value) in &self.equal {
            let (key, value) = if !pattern::is_wildcard(key) && !pattern::is_wildcard(value) {
                (key.clone(), value.clone())
            } else if let Some((key, value)) = labels.find(key, value) {
                (key.clone(), Text::from(value))
            } else {
                (key.replace(['*', '?'], "0").into(), value.replace(['*', '?'], "0").into())
            };
            check_label(&key, &value)?;
            resolved.insert(key, value);
        }
        Ok(resolved)
    }
}

impl Requirement {
    fn read(expression: &Value) -> Result<Self, SelectorError> {
        let operator = match string(expression, "operator") {
            "In" => SetOperator::In,
            "NotIn" => SetOperator::NotIn,
            "Exists" => SetOperator::Exists,
            "DoesNotExist" => SetOperator::DoesNotExist,
            _ => return Err(SelectorError::Operator),
        };
        let values = texts(expression.get("values"));
        let takes_values = matches!(operator, SetOperator::In | SetOperator::NotIn);
        if takes_values == values.is_empty() {
            return Err(if takes_values { SelectorError::NoValues } else { SelectorError::Values });
        }
        let key = text(expression, "key");
        if !is_label_key(&key) {
            return Err(SelectorError::Key(key));
        }
        if !values.iter().all(|value| is_label_value(value)) {
            return Err(SelectorError::ListedValue(key));
        }
        Ok(Self { key, operator, values })
    }

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

fn check_label(key: &Text, value: &str) -> Result<(), SelectorError> {
    if !is_label_key(key) {
        Err(SelectorError::Key(key.clone()))
    } else if !is_label_value(value) {
        Err(SelectorError::Value(key.clone()))
    } else {
        Ok(())
    }
}

/// An optional DNS prefix and a slash, then a name.
pub(super) fn is_label_key(key: &str) -> bool {
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
pub(super) fn is_label_value(value: &str) -> bool {
    let outer = |byte: u8| byte.is_ascii_alphanumeric();
    value.is_empty()
        || value.len() <= 63
            && value.bytes().all(|byte| outer(byte) || b"-_.".contains(&byte))
            && value.bytes().next().is_some_and(outer)
            && value.bytes().last().is_some_and(outer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Value {
        Value::from_json(text).unwrap()
    }

    fn select(selector: &str, labels: &str) -> Result<bool, SelectorError> {
        LabelSelector::read(&json(selector)).matches(Labels::of(Some(&json(labels))))
    }

    #[test]
    fn wildcards_in_match_labels() {
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
    fn match_expressions_compare_with_sets() {
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
    fn invalid_selectors_are_errors() {
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
            assert!(LabelSelector::read(&json(selector)).invalid().is_some(), "{selector}");
        }
        let long = format!(r#"{{"matchLabels":{{"a":"{}"}}}}"#, "x".repeat(64));
        assert!(LabelSelector::read(&json(&long)).invalid().is_some());
    }

    #[test]
    fn wildcards_in_annotations() {
        for (expected, actual, fits) in [
            (r#"{"test/*":"*"}"#, "{}", false),
            (r#"{"test/*":"*"}"#, r#"{"tes1/test":"*"}"#, false),
            (r#"{"test/*":"*"}"#, r#"{"test/bar":"foo"}"#, true),
            (r#"{"test/b*":"*","test2/*":"*"}"#, r#"{"test/bar":"foo"}"#, false),
            (r#"{"test/b*":"*","test2/*":"*"}"#, r#"{"test/bar":"foo","test2/123":"bar"}"#, true),
            ("{}", "{}", true),
        ] {
            let pairs: Vec<_> = text_map(Some(&json(expected)));
            let actual = json(actual);
            assert_eq!(annotations_match(&pairs, Labels::of(Some(&actual))), fits, "{expected}");
        }
    }
}
