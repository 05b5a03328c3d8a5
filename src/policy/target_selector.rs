//! Which objects a rule with targets changes.

use std::fmt;

use crate::pattern;
use crate::value::{GroupVersionKind, Text, Value};

use super::fields::given;
use super::kinds::KindSelector;
use super::labels::{LabelSelector, Labels, SelectorError};

/// The objects that a target selects, with its variables replaced.
#[derive(Clone, Debug)]
pub struct TargetSelector {
    /// Their kind, and the subresource of it that is patched.
    pub kind: KindSelector,
    /// The pattern of their namespace; empty for any.
    pub namespace: Text,
    /// The pattern of their name; empty for any.
    pub name: Text,
    /// The label selector as written.
    pub labels: Option<Value>,
    selector: Option<LabelSelector>,
}

/// Why the fields of a target select nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TargetError {
    /// A field that is no string.
    #[error("{field}: expected a string, found {found}")]
    Type {
        /// The field.
        field: &'static str,
        /// The type of its value.
        found: &'static str,
    },
    /// An invalid label selector.
    #[error("the selector cannot be used: {0}")]
    Selector(#[from] SelectorError),
    /// A label selector with wildcards.
    #[error("the selector cannot be used: labels of targets do not support wildcards")]
    Wildcards,
}

impl TargetSelector {
    /// The namespace, the name and the strings of the label selector.
    pub fn texts(&self) -> Vec<&str> {
        let mut texts = vec![&*self.namespace, &*self.name];
        let mut open: Vec<&Value> = self.labels.iter().collect();
        while let Some(node) = open.pop() {
            match node {
                Value::Null | Value::Bool(_) | Value::Number(_) => {}
                Value::String(text) => texts.push(text),
                Value::Array(items) => open.extend(items.iter().rev()),
                Value::Object(members) => {
                    texts.extend(members.keys().map(|key| &**key));
                    open.extend(members.values().rev());
                }
            }
        }
        texts
    }

    /// Reads the selecting fields of a target, with variables replaced. `namespace` is that of a namespaced policy: its
    /// targets are in that namespace, whatever is written.
    ///
    /// # Errors
    ///
    /// A field that is no string, or an invalid selector.
    pub fn read(fields: &Value, namespace: Option<&Text>) -> Result<Self, TargetError> {
        let text = |field| match fields.get(field) {
            None | Some(Value::Null) => Ok(Text::default()),
            Some(Value::String(text)) => Ok(text.clone()),
            Some(other) => Err(TargetError::Type { field, found: other.type_name() }),
        };
        let (api_version, kind) = (text("apiVersion")?, text("kind")?);
        text("uid")?;
        let kind = if api_version.is_empty() {
            KindSelector::parse(&kind)
        } else {
            KindSelector::parse(&format!("{api_version}/{kind}"))
        };
        let labels = given(fields, "selector").cloned();
        let selector = labels.as_ref().map(LabelSelector::read);
        if let Some(selector) = &selector {
            if let Some(error) = selector.invalid() {
                return Err(error.clone().into());
            }
            if selector.has_wildcards() {
                return Err(TargetError::Wildcards);
            }
        }
        let namespace = namespace.cloned().map_or_else(|| text("namespace"), Ok)?;
        Ok(Self { kind, namespace, name: text("name")?, labels, selector })
    }

    /// Namespace and name, if neither is empty or a pattern. Labels do not matter then.
    pub fn exact(&self) -> Option<(&Text, &Text)> {
        let plain = |text: &Text| !text.is_empty() && !pattern::is_wildcard(text);
        (plain(&self.namespace) && plain(&self.name)).then_some((&self.namespace, &self.name))
    }

    /// Whether a kind, or a subresource of it, matches.
    pub fn matches_kind(&self, kind: &GroupVersionKind, subresource: &str) -> bool {
        self.kind.matches(kind, subresource, false)
    }

    /// Whether an object of a matching kind matches; `namespace` is its namespace, empty for none.
    pub fn matches(&self, object: &Value, namespace: &str) -> bool {
        let name = object.path(&["metadata", "name"]).and_then(Value::as_str).unwrap_or_default();
        if let Some(exact) = self.exact() {
            return (&**exact.0, &**exact.1) == (namespace, name);
        }
        let matches = |pattern: &Text, text: &str| pattern.is_empty() || pattern::matches(pattern, text);
        let labels = || Labels::of(object.path(&["metadata", "labels"]));
        matches(&self.namespace, namespace)
            && matches(&self.name, name)
            && self.selector.as_ref().is_none_or(|selector| selector.matches(labels()).unwrap_or(false))
    }
}

/// Kind, namespace and name, with `*` for what is not written.
impl fmt::Display for TargetSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or_any = |text: &Text| if text.is_empty() { "*".to_owned() } else { text.to_string() };
        write!(f, "{} {}/{}", self.kind.text, or_any(&self.namespace), or_any(&self.name))?;
        if self.selector.is_some() && self.exact().is_none() { f.write_str(" with labels") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selector(fields: &str) -> Result<TargetSelector, TargetError> {
        TargetSelector::read(&Value::from_json(fields).unwrap(), None)
    }

    fn matches(fields: &str, api_version: &str, object: &str, namespace: &str) -> bool {
        let mut object = Value::from_json(object).unwrap();
        object.insert("apiVersion", api_version.into());
        let selector = selector(fields).unwrap();
        selector.matches_kind(&GroupVersionKind::of(&object).unwrap(), "")
            && selector.matches(&object, namespace)
    }

    #[test]
    fn a_target_is_found_by_kind_namespace_name_and_labels() {
        let web = r#"{"kind":"Deployment","metadata":{"name":"web","labels":{"app":"web"}}}"#;
        for (fields, expected) in [
            (r#"{"apiVersion":"apps/v1","kind":"Deployment"}"#, true),
            (r#"{"apiVersion":"apps/*","kind":"Deployment"}"#, true),
            (r#"{"apiVersion":"*","kind":"Deployment"}"#, true),
            (r#"{"apiVersion":"v1","kind":"Deployment"}"#, true),
            (r#"{"kind":"Deployment"}"#, true),
            (r#"{"apiVersion":"apps/v1beta1","kind":"Deployment"}"#, false),
            (r#"{"apiVersion":"apps/v1","kind":"Deployment/scale"}"#, false),
            (r#"{"apiVersion":"apps/v1","kind":"Deploy*"}"#, true),
            (r#"{"apiVersion":"apps/v1","kind":"Deployment","name":"w?b"}"#, true),
            (r#"{"apiVersion":"apps/v1","kind":"Deployment","name":"we"}"#, false),
            (r#"{"apiVersion":"apps/v1","kind":"Deployment","namespace":"shop*"}"#, true),
            (r#"{"apiVersion":"apps/v1","kind":"Deployment","namespace":"other"}"#, false),
            (
                r#"{"apiVersion":"apps/v1","kind":"Deployment","selector":{"matchLabels":{"app":"web"}}}"#,
                true,
            ),
            (r#"{"apiVersion":"apps/v1","kind":"Deployment","selector":{"matchLabels":{"app":"x"}}}"#, false),
            // With a namespace and a name the labels do not matter.
            (
                r#"{"apiVersion":"apps/v1","kind":"Deployment","namespace":"shop","name":"web","selector":{"matchLabels":{"app":"x"}}}"#,
                true,
            ),
        ] {
            assert_eq!(matches(fields, "apps/v1", web, "shop"), expected, "{fields}");
        }
    }

    #[test]
    fn patterns_of_namespace_and_name_must_both_match() {
        let objects =
            [("shop", "web"), ("", "web"), ("lab", "web"), ("shop", "old"), ("lab", "old"), ("", "old")];
        for (namespace, name, expected) in [
            ("", "", "TTTTTT"),
            ("", "web", "TTTFFF"),
            ("", "we*", "TTTFFF"),
            ("shop", "", "TFFTFF"),
            ("sh*", "", "TFFTFF"),
            ("shop", "web", "TFFFFF"),
            ("sh*", "web", "TFFFFF"),
            ("shop", "we*", "TFFFFF"),
            ("sh*", "we*", "TFFFFF"),
        ] {
            let fields =
                format!(r#"{{"apiVersion":"v1","kind":"Secret","namespace":"{namespace}","name":"{name}"}}"#);
            let found = objects.map(|(namespace, name)| {
                let object = format!(r#"{{"kind":"Secret","metadata":{{"name":"{name}"}}}}"#);
                if matches(&fields, "v1", &object, namespace) { 'T' } else { 'F' }
            });
            assert_eq!(found.iter().collect::<String>(), expected, "{namespace}/{name}");
        }
        let nameless = r#"{"kind":"Secret","metadata":{"name":""}}"#;
        assert!(!matches(r#"{"kind":"Secret","namespace":"shop","name":"web"}"#, "v1", nameless, ""));
    }

    #[test]
    fn a_cluster_scoped_object_matches_no_pattern_of_a_namespace() {
        let node = r#"{"kind":"Node","metadata":{"name":"a"}}"#;
        for (namespace, expected) in [("", true), ("*", true), ("?", false), ("default", false)] {
            let fields = format!(r#"{{"apiVersion":"v1","kind":"Node","namespace":"{namespace}"}}"#);
            assert_eq!(matches(&fields, "v1", node, ""), expected, "{namespace}");
        }
    }

    #[test]
    fn invalid_fields_are_errors() {
        for fields in [
            r#"{"kind":"Secret","name":1}"#,
            r#"{"kind":["Secret"]}"#,
            r#"{"kind":"Secret","selector":{"matchLabels":{"a":"*"}}}"#,
            r#"{"kind":"Secret","selector":{"matchExpressions":[{"key":"a","operator":"In"}]}}"#,
        ] {
            assert!(selector(fields).is_err(), "{fields}");
        }
    }
}
