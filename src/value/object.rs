//! Identities of Kubernetes objects.

use std::fmt;

use super::{Text, Value};

/// The group, version and kind of an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GroupVersionKind {
    /// The API group; empty for the core group.
    pub group: Text,
    /// The version in the group.
    pub version: Text,
    /// The kind.
    pub kind: Text,
}

impl GroupVersionKind {
    /// From an `apiVersion` and a kind.
    pub fn new(api_version: &str, kind: &str) -> Self {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Self { group: group.into(), version: version.into(), kind: kind.into() }
    }

    /// The kind of an object; `None` unless both `apiVersion` and `kind` are non-empty strings.
    pub fn of(object: &Value) -> Option<Self> {
        let field = |name| object.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        Some(Self::new(field("apiVersion")?, field("kind")?))
    }

    /// The `apiVersion` of objects of this kind.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_string()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }
}

impl fmt::Display for GroupVersionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.api_version(), self.kind)
    }
}

/// The identity of one object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectRef {
    /// Its kind.
    pub kind: GroupVersionKind,
    /// Its namespace as written, if any.
    pub namespace: Option<Text>,
    /// Its name, or else its `generateName`; empty if it has neither.
    pub name: Text,
}

impl ObjectRef {
    /// The identity of an object; `None` if [`GroupVersionKind::of`] returns `None`.
    pub fn of(object: &Value) -> Option<Self> {
        let text = |name| {
            object.path(&["metadata", name]).and_then(Value::as_text).filter(|text| !text.is_empty()).cloned()
        };
        Some(Self {
            kind: GroupVersionKind::of(object)?,
            namespace: text("namespace"),
            name: text("name").or_else(|| text("generateName")).unwrap_or_default(),
        })
    }
}

/// `Kind/name`, or `Kind/namespace/name`.
impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/", self.kind.kind)?;
        if let Some(namespace) = &self.namespace {
            write!(f, "{namespace}/")?;
        }
        f.write_str(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_core_group_has_no_name() {
        let core = GroupVersionKind::new("v1", "Pod");
        assert_eq!((&*core.group, core.api_version().as_str()), ("", "v1"));
        assert_eq!(GroupVersionKind::new("apps/v1", "Deployment").to_string(), "apps/v1/Deployment");
    }

    #[test]
    fn object_references_have_kind_namespace_and_name() {
        let named = Value::from_json(
            r#"{"apiVersion":"v1","kind":"Pod","metadata":{"generateName":"web-","namespace":"a"}}"#,
        );
        assert_eq!(ObjectRef::of(&named.unwrap()).unwrap().to_string(), "Pod/a/web-");
        assert!(ObjectRef::of(&Value::from_json(r#"{"kind":"Pod"}"#).unwrap()).is_none());
    }
}
