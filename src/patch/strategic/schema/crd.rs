//! Schemas of custom resources, from their definitions.

use indexmap::IndexMap;

use crate::value::{GroupVersionKind, Text, Value};

use super::ListStrategy;
use crate::patch::PatchError;

/// One version of a custom resource.
#[derive(Clone, Debug)]
pub(in crate::patch) struct Definition(Schema);

/// One node of the schema of a custom resource, reduced to the parts about lists.
#[derive(Clone, Debug, Default)]
pub(in crate::patch) struct Schema {
    /// Whether it is a Kubernetes object, with metadata.
    resource: bool,
    members: IndexMap<Text, Self>,
    any_member: Option<Box<Self>>,
    element: Option<Box<Self>>,
    list: ListType,
}

#[derive(Clone, Debug, Default)]
enum ListType {
    #[default]
    Replace,
    Set,
    Keys(Vec<Text>),
}

impl Definition {
    /// Reads all versions of a `CustomResourceDefinition`.
    pub(in crate::patch) fn read(value: &Value) -> Result<Vec<(GroupVersionKind, Self)>, PatchError> {
        let invalid = |message: &str| PatchError::Definition { message: message.into() };
        if value.get("kind").and_then(Value::as_str) != Some("CustomResourceDefinition") {
            return Err(invalid("kind is not CustomResourceDefinition"));
        }
        let text = |path: &[&str]| value.path(path).and_then(Value::as_text).cloned();
        let group = text(&["spec", "group"]).ok_or_else(|| invalid("spec.group is missing"))?;
        let kind = text(&["spec", "names", "kind"]).ok_or_else(|| invalid("spec.names.kind is missing"))?;
        // apiextensions.k8s.io/v1beta1 has one schema for all versions.
        let common = value.path(&["spec", "validation", "openAPIV3Schema"]);
        let versions = value.path(&["spec", "versions"]).and_then(Value::as_array).unwrap_or_default();
        let mut found: Vec<(Text, Option<&Value>)> = versions
            .iter()
            .filter_map(|version| {
                let own = version.path(&["schema", "openAPIV3Schema"]);
                Some((version.get("name")?.as_text()?.clone(), own.or(common)))
            })
            .collect();
        if let (true, Some(version)) = (found.is_empty(), text(&["spec", "version"])) {
            found.push((version, common));
        }
        if found.is_empty() {
            return Err(invalid("spec.versions is missing"));
        }
        let definition = |(version, schema): (Text, Option<&Value>)| {
            let mut schema = schema.map(Schema::read).unwrap_or_default();
            schema.resource = true;
            (GroupVersionKind { group: group.clone(), version, kind: kind.clone() }, Self(schema))
        };
        Ok(found.into_iter().map(definition).collect())
    }

    pub(in crate::patch) const fn schema(&self) -> &Schema {
        &self.0
    }
}

impl Schema {
    fn read(value: &Value) -> Self {
        let members = value.get("properties").and_then(Value::as_object);
        Self {
            resource: value.get("x-kubernetes-embedded-resource").and_then(Value::as_bool) == Some(true),
            members: members
                .into_iter()
                .flatten()
                .map(|(name, schema)| (name.clone(), Self::read(schema)))
                .collect(),
            any_member: value.get("additionalProperties").map(|schema| Box::new(Self::read(schema))),
            element: value.get("items").map(|schema| Box::new(Self::read(schema))),
            list: ListType::read(value),
        }
    }

    pub(in crate::patch) const fn is_resource(&self) -> bool {
        self.resource
    }

    pub(in crate::patch) fn member(&self, name: &str) -> Option<&Self> {
        self.members.get(name).or(self.any_member.as_deref())
    }

    pub(in crate::patch) fn element(&self) -> Option<&Self> {
        self.element.as_deref()
    }

    pub(in crate::patch) fn strategy(&self) -> ListStrategy<'_> {
        match &self.list {
            ListType::Replace => ListStrategy::Replace,
            ListType::Set => ListStrategy::Set,
            ListType::Keys(keys) => {
                ListStrategy::Keys(keys.iter().map(|key| &**key).collect::<Vec<_>>().into())
            }
        }
    }
}

impl ListType {
    fn read(schema: &Value) -> Self {
        let text = |name: &str| schema.get(name).and_then(Value::as_str);
        let keys = schema.get("x-kubernetes-list-map-keys").and_then(Value::as_array).unwrap_or_default();
        let keys: Vec<Text> = keys.iter().filter_map(Value::as_text).cloned().collect();
        match text("x-kubernetes-list-type") {
            Some("map") if !keys.is_empty() => return Self::Keys(keys),
            Some("set") => return Self::Set,
            _ => {}
        }
        let merges = text("x-kubernetes-patch-strategy")
            .is_some_and(|strategies| strategies.split(',').any(|strategy| strategy.trim() == "merge"));
        match (merges, text("x-kubernetes-patch-merge-key")) {
            (true, Some(key)) => Self::Keys(vec![key.into()]),
            (true, None) => Self::Set,
            (false, _) => Self::Replace,
        }
    }
}
