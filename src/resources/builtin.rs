//! The built-in kinds: those of Kubernetes, and those that an installation of Kyverno adds.

use std::borrow::Cow;
use std::sync::LazyLock;

use crate::value::{GroupVersionKind, Text};

use super::KindScope::{Cluster, Namespaced};
use super::generated::{KUBERNETES, KYVERNO};
use super::row::{Group, LIST, Row};
use super::{ApiResource, KindResource, KindScope, Resources, Subresource};

/// What Kubernetes served until 1.15, 1.21 (`Ingress`) or 1.24 (`PodSecurityPolicy`) and serves under no other version of
/// the group. Manifests and policies still name these kinds.
#[rustfmt::skip]
const REMOVED: &[Group] = &[
    Group("extensions", &[
        Row("v1beta1", "DaemonSet", "daemonsets", "daemonset", &[], &[], Namespaced, LIST, &[]),
        Row("v1beta1", "Deployment", "deployments", "deployment", &[], &[], Namespaced, LIST, &[]),
        Row("v1beta1", "Ingress", "ingresses", "ingress", &[], &[], Namespaced, LIST, &[]),
        Row("v1beta1", "NetworkPolicy", "networkpolicies", "networkpolicy", &[], &[], Namespaced, LIST, &[]),
        Row("v1beta1", "PodSecurityPolicy", "podsecuritypolicies", "podsecuritypolicy", &[], &[], Cluster, LIST, &[]),
        Row("v1beta1", "ReplicaSet", "replicasets", "replicaset", &[], &[], Namespaced, LIST, &[]),
    ]),
    Group("policy", &[
        Row("v1beta1", "PodSecurityPolicy", "podsecuritypolicies", "podsecuritypolicy", &[], &[], Cluster, LIST, &[]),
    ]),
];

/// The groups of files that programs read and no API server stores.
const LOCAL_GROUPS: [&str; 4] = ["kpt.dev", "kustomize.config.k8s.io", "kyv.dev", "cli.kyverno.io"];

/// Whether objects of a group are files of kpt, kustomize, the Kyverno CLI or this program, never objects of a cluster.
pub fn is_local_group(group: &str) -> bool {
    LOCAL_GROUPS.contains(&group)
}

const TABLES: [&[Group]; 3] = [KUBERNETES, REMOVED, KYVERNO];

static BUILT_IN: LazyLock<Resources> = LazyLock::new(|| resources(&TABLES));

static SERVED: LazyLock<Resources> = LazyLock::new(|| resources(&[KUBERNETES, KYVERNO]));

fn resources(tables: &[&'static [Group]]) -> Resources {
    let groups = tables.iter().copied().flatten();
    let all = groups.flat_map(|Group(name, rows)| {
        let group = Text::from(*name);
        rows.iter().map(move |row| row.resource(&group))
    });
    Resources::new(all.collect(), Vec::new())
}

impl Resources {
    /// The built-in kinds in all versions, in the server's order.
    pub fn built_in() -> &'static Self {
        &BUILT_IN
    }

    /// Those that an API server of the newest known version serves.
    pub fn served() -> &'static Self {
        &SERVED
    }
}

impl ApiResource {
    /// The resource of the kind `Namespace`.
    pub fn namespaces() -> &'static Self {
        Self::core("Namespace")
    }

    /// The resource of the kind `ConfigMap`.
    pub fn config_maps() -> &'static Self {
        Self::core("ConfigMap")
    }

    fn core(kind: &str) -> &'static Self {
        let resource = BUILT_IN.of_kind(&GroupVersionKind::new("v1", kind));
        resource.expect("a kind that every version of Kubernetes serves")
    }
}

impl Row {
    fn resource(&self, group: &Text) -> ApiResource {
        let Self(version, kind, plural, singular, short_names, categories, scope, is_listed, subresources) =
            self;
        let kind =
            GroupVersionKind { group: group.clone(), version: (*version).into(), kind: (*kind).into() };
        let texts = |names: &[&str]| names.iter().map(|name| Text::from(*name)).collect();
        let subresource = |(name, other): &(&str, &str)| Subresource {
            name: (*name).into(),
            kind: match other.rsplit_once('/') {
                Some((api_version, other)) => GroupVersionKind::new(api_version, other),
                None if *other == &*kind.kind => kind.clone(),
                None => GroupVersionKind { kind: (*other).into(), ..kind.clone() },
            },
        };
        ApiResource {
            plural: (*plural).into(),
            singular: (*singular).into(),
            short_names: texts(short_names),
            categories: texts(categories),
            is_namespaced: *scope == Namespaced,
            is_listed: *is_listed,
            subresources: subresources.iter().map(subresource).collect(),
            kind,
        }
    }
}

/// The rows of a group; `None` for a group that is not built in.
fn rows(group: &str) -> Option<impl Iterator<Item = &'static Row>> {
    let mut named = TABLES.into_iter().flatten().filter(move |known| known.0 == group).peekable();
    named.peek()?;
    Some(named.flat_map(|known| known.1))
}

/// The scope of a built-in kind, in all versions. Used for each object: allocates nothing.
///
/// Other kinds of a built-in group are [`KindScope::Namespaced`], kinds of other groups [`KindScope::Unknown`].
pub fn builtin_scope(kind: &GroupVersionKind) -> KindScope {
    let Some(mut rows) = rows(&kind.group) else { return KindScope::Unknown };
    rows.find(|row| *row.1 == *kind.kind).map_or(Namespaced, |row| row.6)
}

/// The resource of a kind, as [`plural`] and [`builtin_scope`] return them. Allocates nothing for a built-in kind.
pub fn builtin_resource(kind: &GroupVersionKind) -> KindResource<'static> {
    let mut rows = rows(&kind.group);
    let row = rows.as_mut().and_then(|rows| rows.find(|row| row.1 == &*kind.kind));
    match row {
        Some(row) => KindResource { plural: row.2.into(), scope: row.6 },
        None => KindResource {
            plural: guessed_plural(&kind.kind).into(),
            scope: rows.map_or(KindScope::Unknown, |_| Namespaced),
        },
    }
}

/// Whether the API server itself serves a group, and no `CustomResourceDefinition` declares its kinds.
pub fn is_built_into_kubernetes(group: &str) -> bool {
    [KUBERNETES, REMOVED].into_iter().flatten().any(|known| known.0 == group)
}

/// The built-in groups in which a kind of this name is cluster-scoped.
///
/// A name alone decides nothing: the kind of another group may be namespaced.
pub fn groups_of_cluster_kind(kind: &str) -> impl Iterator<Item = &'static str> {
    let groups = TABLES.into_iter().flatten();
    groups
        .filter(move |known| known.1.iter().any(|row| row.1 == kind && row.6 == Cluster))
        .map(|known| known.0)
}

/// The plural of a kind as API paths have it: that of a built-in kind, else a guess by the rules of English, which is
/// what most authors of definitions follow. A definition or discovery, where there is one, knows better.
pub fn plural(group: &str, kind: &str) -> Cow<'static, str> {
    match rows(group).and_then(|mut rows| rows.find(|row| row.1 == kind)) {
        Some(row) => row.2.into(),
        None => guessed_plural(kind).into(),
    }
}

fn guessed_plural(kind: &str) -> String {
    let kind = kind.to_lowercase();
    let before_last = kind.chars().rev().nth(1);
    if kind == "endpoints" {
        kind
    } else if ["s", "x", "z", "ch", "sh"].iter().any(|end| kind.ends_with(end)) {
        format!("{kind}es")
    } else if let Some(stem) = kind.strip_suffix('y')
        && !before_last.is_some_and(|c| "aeiou".contains(c))
    {
        format!("{stem}ies")
    } else {
        format!("{kind}s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_of_built_in_kinds_are_known() {
        for (api_version, kind, scope) in [
            ("v1", "Pod", Namespaced),
            ("v1", "Namespace", Cluster),
            ("rbac.authorization.k8s.io/v1", "Role", Namespaced),
            ("rbac.authorization.k8s.io/v1beta1", "ClusterRole", Cluster),
            ("extensions/v1beta1", "Ingress", Namespaced),
            ("policy/v1beta1", "PodSecurityPolicy", Cluster),
            ("policy/v1", "Eviction", Namespaced),
            ("kyverno.io/v1", "ClusterPolicy", Cluster),
            ("example.com/v1", "Widget", KindScope::Unknown),
        ] {
            assert_eq!(builtin_scope(&GroupVersionKind::new(api_version, kind)), scope, "{kind}");
        }
    }

    #[test]
    fn kinds_of_one_name_are_distinguished_by_group() {
        assert_eq!(groups_of_cluster_kind("PodSecurityPolicy").collect::<Vec<_>>(), ["extensions", "policy"]);
        assert_eq!(groups_of_cluster_kind("Node").collect::<Vec<_>>(), [""]);
        assert_eq!(groups_of_cluster_kind("Pod").count(), 0);
    }

    #[test]
    fn groups_of_kyverno_are_those_of_definitions() {
        for (group, expected) in
            [("", true), ("apps", true), ("extensions", true), ("kyverno.io", false), ("example.com", false)]
        {
            assert_eq!(is_built_into_kubernetes(group), expected, "{group}");
        }
    }

    #[test]
    fn plurals_are_known_or_guessed() {
        for (group, kind, expected) in [
            ("", "Pod", "pods"),
            ("", "Endpoints", "endpoints"),
            ("networking.k8s.io", "NetworkPolicy", "networkpolicies"),
            ("*", "Endpoints", "endpoints"),
            ("example.com", "Gateway", "gateways"),
            ("example.com", "Policy", "policies"),
            ("example.com", "Box", "boxes"),
            ("example.com", "Branch", "branches"),
            ("example.com", "Y", "ies"),
            ("example.com", "", "s"),
        ] {
            assert_eq!(plural(group, kind), expected, "{kind}");
        }
        // The rule is that of Kubernetes' own names.
        for resource in Resources::built_in().iter() {
            assert_eq!(guessed_plural(&resource.kind.kind), *resource.plural);
        }
    }
}
