//! Schemas: which lists of a kind merge, and by which keys.

mod builtin;
mod crd;

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::value::{GroupVersionKind, Value};

use crate::patch::PatchError;

pub(in crate::patch) use builtin::Type;

use builtin::Field;
use crd::{Definition, Schema};

/// The schemas of lists, by kind.
///
/// Built in are the kinds of Kubernetes 1.21, as in Kyverno. Custom resources are known after their
/// `CustomResourceDefinition` was added.
#[derive(Clone, Debug, Default)]
pub struct Schemas {
    definitions: BTreeMap<GroupVersionKind, Definition>,
}

impl Schemas {
    /// The built-in kinds.
    pub fn kubernetes() -> Self {
        Self::default()
    }

    /// Adds all versions of a custom resource.
    ///
    /// # Errors
    ///
    /// A value that is not a `CustomResourceDefinition` with a group, a kind and versions.
    pub fn add_crd(&mut self, definition: &Value) -> Result<(), PatchError> {
        for (kind, definition) in Definition::read(definition)? {
            self.definitions.insert(kind, definition);
        }
        Ok(())
    }

    /// Whether a kind is built in.
    pub fn is_built_in(kind: &GroupVersionKind) -> bool {
        Position::built_in(kind).is_some()
    }

    /// What a patch does to a list of objects of a kind. A step of the path without a name leads to the elements of a list.
    pub fn list_strategy(&self, kind: &GroupVersionKind, path: &[Option<&str>]) -> ListStrategy<'_> {
        let root = Position::built_in(kind)
            .or_else(|| self.definitions.get(kind).map(|definition| Position::Custom(definition.schema())));
        let position = path.iter().fold(root.unwrap_or(Position::Unknown), |position, step| match step {
            Some(name) => position.member(name),
            None => position.element(),
        });
        position.strategy()
    }

    /// The position of an object's root. The kind is that of the object, or of the patch if the object has none.
    pub(in crate::patch) fn root(&self, base: &Value, patch: &Value) -> Position<'_> {
        let text = |name: &str| {
            let of = |value: &'_ Value| value.get(name)?.as_text().filter(|text| !text.is_empty()).cloned();
            of(base).or_else(|| of(patch))
        };
        let (Some(api_version), Some(kind)) = (text("apiVersion"), text("kind")) else {
            return Position::Unknown;
        };
        let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
        if let Some(known) = builtin::kind(group, version, &kind) {
            return Position::Object(known);
        }
        if self.definitions.is_empty() {
            return Position::Unknown;
        }
        match self.definitions.get(&GroupVersionKind::new(&api_version, &kind)) {
            Some(definition) => Position::Custom(definition.schema()),
            None => Position::Unknown,
        }
    }
}

/// What a patch does to a list, as `x-kubernetes-list-type` or `x-kubernetes-patch-strategy` say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListStrategy<'s> {
    /// The patch replaces the list.
    Replace,
    /// Scalars that the list lacks are added.
    Set,
    /// Elements with the same merge keys are merged; the first key is the primary one.
    Keys(Cow<'s, [&'s str]>),
}

/// A position in the schema of an object.
#[derive(Clone, Copy, Debug)]
pub(in crate::patch) enum Position<'s> {
    /// Unknown: every list is replaced.
    Unknown,
    /// An object of a built-in type.
    Object(&'static Type),
    /// A list of a built-in type.
    List(&'static Field),
    /// A node of a custom resource.
    Custom(&'s Schema),
}

impl<'s> Position<'s> {
    /// The position of the root of objects of a built-in kind.
    pub(in crate::patch) fn built_in(kind: &GroupVersionKind) -> Option<Self> {
        builtin::kind(&kind.group, &kind.version, &kind.kind).map(Self::Object)
    }

    /// The position of a member.
    #[inline]
    pub(in crate::patch) fn member(self, name: &str) -> Self {
        match self {
            Self::Object(known) => match known.field(name) {
                None => Self::Unknown,
                Some(Field::Object(inner)) => Self::Object(inner),
                Some(list) => Self::List(list),
            },
            Self::Custom(schema) if schema.is_resource() && name == "metadata" => {
                Self::Object(&builtin::OBJECT_META)
            }
            Self::Custom(schema) => schema.member(name).map_or(Self::Unknown, Self::Custom),
            Self::Unknown | Self::List(_) => Self::Unknown,
        }
    }

    /// The position of the elements of a list.
    #[inline]
    pub(in crate::patch) fn element(self) -> Self {
        match self {
            Self::List(Field::Keyed(_, inner) | Field::Replaced(inner)) => Self::Object(inner),
            Self::Custom(schema) => schema.element().map_or(Self::Unknown, Self::Custom),
            Self::Unknown | Self::Object(_) | Self::List(Field::Set | Field::Object(_)) => Self::Unknown,
        }
    }

    /// How the list at this position merges.
    #[inline]
    pub(in crate::patch) fn strategy(self) -> ListStrategy<'s> {
        match self {
            Self::List(Field::Set) => ListStrategy::Set,
            Self::List(Field::Keyed(keys, _)) => ListStrategy::Keys(Cow::Borrowed(keys)),
            Self::Custom(schema) => schema.strategy(),
            Self::Unknown | Self::Object(_) | Self::List(Field::Replaced(_) | Field::Object(_)) => {
                ListStrategy::Replace
            }
        }
    }

    /// Whether this position is in a custom resource.
    #[inline]
    pub(in crate::patch) const fn is_custom(self) -> bool {
        matches!(self, Self::Custom(_))
    }

    /// The members of a built-in type that may contain lists which merge.
    #[inline]
    pub(in crate::patch) const fn fields(self) -> &'static [(&'static str, Field)] {
        if let Self::Object(known) = self { known.0 } else { &[] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[inline]
    fn strategy(schemas: &Schemas, kind: &str, path: &str) -> String {
        let object = Value::from_json(kind).unwrap();
        let mut position = schemas.root(&object, &Value::Null);
        for step in path.split('.') {
            position = if step == "[]" { position.element() } else { position.member(step) };
        }
        match position.strategy() {
            ListStrategy::Replace => "replace".into(),
            ListStrategy::Set => "set".into(),
            ListStrategy::Keys(keys) => keys.join(","),
        }
    }

    #[test]
    fn lists_of_kubernetes_merge_as_in_its_version_1_21() {
        let pod = r#"{"apiVersion":"v1","kind":"Pod"}"#;
        let deployment = r#"{"apiVersion":"apps/v1","kind":"Deployment"}"#;
        let cron_job = r#"{"apiVersion":"batch/v1beta1","kind":"CronJob"}"#;
        let schemas = Schemas::kubernetes();
        for (kind, path, expected) in [
            (pod, "metadata.finalizers", "set"),
            (pod, "metadata.ownerReferences", "uid"),
            (pod, "spec.containers", "name"),
            (pod, "spec.initContainers", "name"),
            (pod, "spec.ephemeralContainers", "name"),
            (pod, "spec.ephemeralContainers.[].env", "name"),
            (pod, "spec.ephemeralContainers.[].ports", "replace"),
            (pod, "spec.volumes", "name"),
            (pod, "spec.imagePullSecrets", "name"),
            (pod, "spec.hostAliases", "ip"),
            (pod, "spec.topologySpreadConstraints", "topologyKey,whenUnsatisfiable"),
            (pod, "spec.tolerations", "replace"),
            (pod, "spec.containers.[].env", "name"),
            (pod, "spec.containers.[].envFrom", "replace"),
            (pod, "spec.containers.[].args", "replace"),
            (pod, "spec.containers.[].ports", "containerPort,protocol"),
            (pod, "spec.containers.[].volumeMounts", "mountPath"),
            (pod, "spec.containers.[].volumeDevices", "devicePath"),
            (pod, "spec.volumes.[].ephemeral.volumeClaimTemplate.metadata.finalizers", "set"),
            (pod, "status.podIPs", "ip"),
            (pod, "status.conditions", "type"),
            (deployment, "spec.template.spec.containers.[].env", "name"),
            (deployment, "spec.template.metadata.finalizers", "set"),
            (deployment, "status.conditions", "type"),
            (cron_job, "spec.jobTemplate.spec.template.spec.containers", "name"),
            (cron_job, "spec.jobTemplate.metadata.ownerReferences", "uid"),
            (r#"{"apiVersion":"v1","kind":"Service"}"#, "spec.ports", "port,protocol"),
            (r#"{"apiVersion":"v1","kind":"ServiceAccount"}"#, "secrets", "name"),
            (r#"{"apiVersion":"v1","kind":"ServiceAccount"}"#, "imagePullSecrets", "replace"),
            (r#"{"apiVersion":"v1","kind":"Node"}"#, "spec.podCIDRs", "set"),
            (r#"{"apiVersion":"v1","kind":"Node"}"#, "status.addresses", "type"),
            (r#"{"apiVersion":"v1","kind":"Endpoints"}"#, "subsets", "replace"),
            (r#"{"apiVersion":"v1","kind":"ComponentStatus"}"#, "conditions", "type"),
            (r#"{"apiVersion":"storage.k8s.io/v1","kind":"CSINode"}"#, "spec.drivers", "name"),
            (r#"{"apiVersion":"policy/v1beta1","kind":"PodDisruptionBudget"}"#, "status.conditions", "type"),
            (r#"{"apiVersion":"networking.k8s.io/v1","kind":"Ingress"}"#, "metadata.finalizers", "set"),
            (r#"{"apiVersion":"networking.k8s.io/v1","kind":"Ingress"}"#, "spec.rules", "replace"),
            (
                r#"{"apiVersion":"admissionregistration.k8s.io/v1","kind":"MutatingWebhookConfiguration"}"#,
                "webhooks",
                "name",
            ),
            (
                r#"{"apiVersion":"apiregistration.k8s.io/v1","kind":"APIService"}"#,
                "status.conditions",
                "type",
            ),
            (
                r#"{"apiVersion":"kustomize.config.k8s.io/v1beta1","kind":"Kustomization"}"#,
                "secretGenerator",
                "name",
            ),
            (
                r#"{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler"}"#,
                "metadata.finalizers",
                "replace",
            ),
            (
                r#"{"apiVersion":"apps/v1beta1","kind":"Deployment"}"#,
                "spec.template.spec.containers",
                "replace",
            ),
            (r#"{"apiVersion":"v1","kind":"Widget"}"#, "metadata.finalizers", "replace"),
            (r#"{"kind":"Pod"}"#, "spec.containers", "replace"),
        ] {
            assert_eq!(strategy(&schemas, kind, path), expected, "{kind} {path}");
        }
    }

    #[test]
    fn a_kind_that_the_object_lacks_is_taken_from_the_patch() {
        let schemas = Schemas::kubernetes();
        let base = Value::from_json(r#"{"kind":"Pod"}"#).unwrap();
        let patch = Value::from_json(r#"{"apiVersion":"v1"}"#).unwrap();
        assert!(matches!(schemas.root(&base, &patch), Position::Object(_)));
    }

    #[test]
    fn definitions_of_custom_resources_name_their_lists() {
        let definition = Value::from_json(
            r#"{"kind":"CustomResourceDefinition","spec":{"group":"ex.io","names":{"kind":"Widget"},
            "versions":[{"name":"v1","schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{
              "type":"object","properties":{
                "items":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name","zone"],
                  "items":{"type":"object","properties":{"tags":{"type":"array","x-kubernetes-list-type":"set"}}}},
                "old":{"type":"array","x-kubernetes-patch-strategy":"merge,retainKeys",
                  "x-kubernetes-patch-merge-key":"id"},
                "plain":{"type":"array"},
                "template":{"type":"object","x-kubernetes-embedded-resource":true},
                "any":{"type":"object","additionalProperties":{"type":"object","properties":{
                  "l":{"type":"array","x-kubernetes-list-type":"set"}}}}}}}}}}]}}"#,
        );
        let mut schemas = Schemas::kubernetes();
        schemas.add_crd(&definition.unwrap()).unwrap();
        let widget = r#"{"apiVersion":"ex.io/v1","kind":"Widget"}"#;
        for (path, expected) in [
            ("spec.items", "name,zone"),
            ("spec.items.[].tags", "set"),
            ("spec.old", "id"),
            ("spec.plain", "replace"),
            ("spec.template.metadata.finalizers", "set"),
            ("spec.any.q.l", "set"),
            ("metadata.finalizers", "set"),
            ("spec.nothing", "replace"),
        ] {
            assert_eq!(strategy(&schemas, widget, path), expected, "{path}");
        }
        assert_eq!(
            strategy(&schemas, r#"{"apiVersion":"ex.io/v2","kind":"Widget"}"#, "spec.items"),
            "replace"
        );
    }

    #[test]
    fn other_documents_are_no_definitions() {
        let mut schemas = Schemas::kubernetes();
        for text in ["{}", r#"{"kind":"Pod"}"#, r#"{"kind":"CustomResourceDefinition","spec":{}}"#] {
            assert!(schemas.add_crd(&Value::from_json(text).unwrap()).is_err(), "{text}");
        }
    }
}
