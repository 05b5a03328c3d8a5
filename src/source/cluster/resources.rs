//! The kinds that a cluster serves, and the names they go by.

use crate::engine::KindScope;
use crate::value::{GroupVersionKind, Text};

/// A kind as a cluster serves it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// The kind of its objects.
    pub kind: GroupVersionKind,
    /// Its name in paths: `deployments`.
    pub plural: Text,
    /// Its name for one object: `deployment`.
    pub singular: Text,
    /// Shorter names: `deploy`.
    pub short_names: Vec<Text>,
    /// Whether its objects live in namespaces.
    pub is_namespaced: bool,
    /// Whether its objects can be listed.
    pub is_listed: bool,
}

impl Resource {
    /// The kind `Namespace`, which every cluster serves.
    pub fn namespaces() -> Self {
        Self {
            kind: GroupVersionKind::new("v1", "Namespace"),
            plural: "namespaces".into(),
            singular: "namespace".into(),
            short_names: vec!["ns".into()],
            is_namespaced: false,
            is_listed: true,
        }
    }

    /// The name kubectl calls it by: `deployments.apps`, `pods`.
    pub fn full_name(&self) -> String {
        if self.kind.group.is_empty() {
            self.plural.to_string()
        } else {
            format!("{}.{}", self.plural, self.kind.group)
        }
    }

    /// Whether it goes by this name, which is in lower case.
    fn goes_by(&self, name: &str) -> bool {
        *self.plural == *name || *self.singular == *name || self.kind.kind.eq_ignore_ascii_case(name)
    }
}

/// The kinds that a cluster serves.
#[derive(Clone, Debug, Default)]
pub struct Resources {
    /// Groups in the cluster's order, the core group first; in each the preferred version first.
    all: Vec<Resource>,
}

impl Resources {
    /// Takes the kinds in the cluster's order of preference.
    pub const fn new(all: Vec<Resource>) -> Self {
        Self { all }
    }

    /// The kind meant by `pods`, `po`, `Pod`, `deployments.apps` or `deployments.v1.apps`, as kubectl
    /// reads it: with a group, one that starts with it will do where none equals it; without, the
    /// cluster's first.
    pub fn resolve(&self, asked: &str) -> Option<&Resource> {
        let asked = asked.to_lowercase();
        if let [name, version, group] = *asked.splitn(3, '.').collect::<Vec<_>>()
            && let Some(found) = self.find(name, |kind| *kind.group == *group && *kind.version == *version)
        {
            return Some(found);
        }
        match asked.split_once('.') {
            Some((name, group)) => self
                .find(name, |kind| *kind.group == *group)
                .or_else(|| self.find(name, |kind| kind.group.starts_with(group))),
            None => self.find(&asked, |_| true),
        }
    }

    fn find(&self, name: &str, fits: impl Fn(&GroupVersionKind) -> bool) -> Option<&Resource> {
        let mut served = self.all.iter().filter(|resource| fits(&resource.kind));
        let short = |resource: &&Resource| resource.short_names.iter().any(|short| **short == *name);
        served.clone().find(|resource| resource.goes_by(name)).or_else(|| served.find(short))
    }

    /// Whether objects of a kind live in namespaces; every version of a kind has the same scope.
    pub fn scope(&self, kind: &GroupVersionKind) -> KindScope {
        let same =
            |resource: &&Resource| resource.kind.group == kind.group && resource.kind.kind == kind.kind;
        match self.all.iter().find(same) {
            Some(resource) if resource.is_namespaced => KindScope::Namespaced,
            Some(_) => KindScope::Cluster,
            None => KindScope::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(api_version: &str, kind: &str, plural: &str, short: &[&str]) -> Resource {
        Resource {
            kind: GroupVersionKind::new(api_version, kind),
            plural: plural.into(),
            singular: kind.to_lowercase().into(),
            short_names: short.iter().map(|name| Text::from(*name)).collect(),
            ..Resource::namespaces()
        }
    }

    fn served() -> Resources {
        Resources::new(vec![
            resource("v1", "Event", "events", &["ev"]),
            resource("v1", "Pod", "pods", &["po"]),
            resource("apps/v1", "Deployment", "deployments", &["deploy"]),
            resource("apps/v1beta1", "Deployment", "deployments", &["deploy"]),
            resource("events.k8s.io/v1", "Event", "events", &["ev"]),
            resource("example.com/v1", "Pod", "pods", &["ev"]),
            resource("example.com/v1", "Po", "pos", &[]),
        ])
    }

    #[test]
    fn kinds_go_by_all_their_names() {
        let served = served();
        for (asked, kind) in [
            ("pods", "v1/Pod"),
            ("Pod", "v1/Pod"),
            ("deploy", "apps/v1/Deployment"),
            ("deployments.apps", "apps/v1/Deployment"),
            ("deploy.v1beta1.apps", "apps/v1beta1/Deployment"),
            ("deployment.app", "apps/v1/Deployment"),
            ("events", "v1/Event"),
            ("ev", "v1/Event"),
            ("events.events.k8s.io", "events.k8s.io/v1/Event"),
            ("events.v1.events.k8s.io", "events.k8s.io/v1/Event"),
            ("pods.v1.", "v1/Pod"),
            ("pods.example.com", "example.com/v1/Pod"),
            ("po", "example.com/v1/Po"),
        ] {
            let found = served.resolve(asked).map(|resource| resource.kind.to_string());
            assert_eq!(found.as_deref(), Some(kind), "{asked}");
        }
        for asked in ["", "widgets", "pods.apps", "deployments.v2.apps", "."] {
            assert_eq!(served.resolve(asked), None, "{asked}");
        }
    }

    #[test]
    fn the_scope_is_that_of_any_version() {
        let served = served();
        assert_eq!(served.scope(&GroupVersionKind::new("apps/v9", "Deployment")), KindScope::Cluster);
        assert_eq!(served.scope(&GroupVersionKind::new("v1", "Deployment")), KindScope::Unknown);
    }
}
