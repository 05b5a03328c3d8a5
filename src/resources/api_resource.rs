//! One resource.

use std::borrow::Cow;

use crate::value::{GroupVersionKind, Text};

/// Whether objects of a kind live in namespaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KindScope {
    /// They do.
    Namespaced,
    /// They belong to the cluster.
    Cluster,
    /// The kind is not known; such kinds are treated as namespaced.
    #[default]
    Unknown,
}

/// What all versions of a kind have in common. By default nothing is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KindResource<'a> {
    /// The name in API paths: `deployments`.
    pub plural: Cow<'a, str>,
    /// Whether its objects live in namespaces.
    pub scope: KindScope,
}

impl From<&ApiResource> for KindResource<'static> {
    fn from(resource: &ApiResource) -> Self {
        Self { plural: resource.plural.to_string().into(), scope: resource.scope() }
    }
}

/// A resource in one version of its group, as discovery describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiResource {
    /// The group, version and kind of its objects.
    pub kind: GroupVersionKind,
    /// The name in API paths and in rules of RBAC: `deployments`.
    pub plural: Text,
    /// The name of one object: `deployment`.
    pub singular: Text,
    /// Abbreviations that kubectl accepts: `deploy`.
    pub short_names: Vec<Text>,
    /// Names that kubectl accepts for several resources at once: `all`.
    pub categories: Vec<Text>,
    /// Whether its objects live in namespaces.
    pub is_namespaced: bool,
    /// Whether the verb `list` is supported.
    pub is_listed: bool,
    /// In the server's order, which is alphabetical.
    pub subresources: Vec<Subresource>,
}

/// A resource in one version of its group, by its names in API paths.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GroupVersionResource {
    /// The group; empty for the core group.
    pub group: Text,
    /// The version.
    pub version: Text,
    /// The plural of the kind: `deployments`.
    pub plural: Text,
}

/// A subresource, such as `status` or `scale`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subresource {
    /// The name that follows the object's in API paths.
    pub name: Text,
    /// The kind that is sent and returned; often that of the resource, but that of `scale` is `autoscaling/v1/Scale`.
    pub kind: GroupVersionKind,
}

impl ApiResource {
    /// The name with the group, as kubectl prints it: `deployments.apps`, `pods`.
    pub fn full_name(&self) -> String {
        if self.kind.group.is_empty() {
            self.plural.to_string()
        } else {
            format!("{}.{}", self.plural, self.kind.group)
        }
    }

    /// Its names in API paths.
    pub fn version_resource(&self) -> GroupVersionResource {
        let GroupVersionKind { group, version, .. } = self.kind.clone();
        GroupVersionResource { group, version, plural: self.plural.clone() }
    }

    /// Its scope, never [`KindScope::Unknown`].
    pub const fn scope(&self) -> KindScope {
        if self.is_namespaced { KindScope::Namespaced } else { KindScope::Cluster }
    }

    /// The group and plural that all its versions share. The events of both groups are the same objects.
    pub fn identity(&self) -> (Text, Text) {
        let group = match &*self.kind.group {
            "events.k8s.io" => Text::default(),
            _ => self.kind.group.clone(),
        };
        (group, self.plural.clone())
    }

    /// Whether both are versions of one resource.
    pub fn is_same_as(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }

    /// Whether this is its plural, its singular or its kind, ignoring the case of letters.
    pub fn is_named(&self, name: &str) -> bool {
        [&self.plural, &self.singular, &self.kind.kind].into_iter().any(|own| own.eq_ignore_ascii_case(name))
    }
}
