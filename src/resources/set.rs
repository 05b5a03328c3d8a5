//! The resources of a server, and how they are looked up.

use crate::value::{GroupVersionKind, Text};

use super::{ApiResource, KindScope};

/// The resources of a server.
#[derive(Clone, Debug, Default)]
pub struct Resources {
    /// Groups in the server's order, the core group first; in each the preferred version first.
    all: Vec<ApiResource>,
    /// Indices of `all`, by kind and group; those of one kind in the order of `all`.
    by_kind: Vec<usize>,
    unavailable: Vec<UnavailableVersion>,
}

/// A version of a group whose resources the server could not list: an aggregated API that is down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnavailableVersion {
    /// The group.
    pub group: Text,
    /// The version.
    pub version: Text,
    /// The server's message.
    pub why: String,
}

impl Resources {
    /// Indexes resources, which are in the server's order of preference.
    pub fn new(all: Vec<ApiResource>, unavailable: Vec<UnavailableVersion>) -> Self {
        let mut by_kind: Vec<usize> = (0..all.len()).collect();
        by_kind.sort_by_key(|index| all.get(*index).map(|resource| key(&resource.kind)));
        Self { all, by_kind, unavailable }
    }

    /// With further resources, which come last.
    #[must_use]
    pub fn with(&self, further: impl IntoIterator<Item = ApiResource>) -> Self {
        Self::new(self.all.iter().cloned().chain(further).collect(), self.unavailable.clone())
    }

    /// The versions of groups whose resources are not known.
    pub fn unavailable(&self) -> &[UnavailableVersion] {
        &self.unavailable
    }

    /// All resources, in the server's order of preference.
    pub fn iter(&self) -> impl Iterator<Item = &ApiResource> {
        self.all.iter()
    }

    /// The versions of a kind, the preferred one first.
    fn versions(&self, kind: &GroupVersionKind) -> impl Iterator<Item = &ApiResource> + Clone {
        let searched = key(kind);
        let at = |index: &usize| self.all.get(*index);
        let start =
            self.by_kind.partition_point(|index| at(index).is_some_and(|one| key(&one.kind) < searched));
        let rest = self.by_kind.get(start..).unwrap_or_default();
        rest.iter().filter_map(at).take_while(move |resource| key(&resource.kind) == searched)
    }

    /// The resource of a kind, in this version or else in the preferred one.
    pub fn of_kind(&self, kind: &GroupVersionKind) -> Option<&ApiResource> {
        let mut versions = self.versions(kind);
        versions.clone().find(|resource| resource.kind.version == kind.version).or_else(|| versions.next())
    }

    /// The scope of a kind, which all its versions share.
    pub fn scope(&self, kind: &GroupVersionKind) -> KindScope {
        self.versions(kind).next().map_or(KindScope::Unknown, ApiResource::scope)
    }

    /// The resource of a plural, in exactly this group and version.
    pub fn get(&self, group: &str, version: &str, plural: &str) -> Option<&ApiResource> {
        self.all.iter().find(|resource| {
            let kind = &resource.kind;
            *resource.plural == *plural && *kind.group == *group && *kind.version == *version
        })
    }

    /// The resources of a category, each in its preferred version; none if there is no such category.
    pub fn category(&self, name: &str) -> Vec<&ApiResource> {
        let mut found: Vec<&ApiResource> = Vec::new();
        for resource in &self.all {
            let is_in = resource.categories.iter().any(|category| **category == *name);
            if is_in && !found.iter().any(|known| known.is_same_as(resource)) {
                found.push(resource);
            }
        }
        found
    }

    /// The resource meant by `pods`, `po`, `Pod`, `deployments.apps` or `deployments.v1.apps`, as kubectl reads it: a
    /// group may be abbreviated to its beginning unless another one equals it; without a group the first resource is
    /// meant. Short names, versions and groups are case-sensitive.
    pub fn resolve(&self, name: &str) -> Option<&ApiResource> {
        self.resolve_version(name).or_else(|| match name.split_once('.') {
            Some((name, group)) => self
                .find(name, |kind| *kind.group == *group)
                .or_else(|| self.find(name, |kind| kind.group.starts_with(group))),
            None => self.find(name, |_| true),
        })
    }

    /// The resource meant by a name with its version and group: `deployments.v1.apps`.
    pub fn resolve_version(&self, name: &str) -> Option<&ApiResource> {
        let [name, version, group] = *name.splitn(3, '.').collect::<Vec<_>>() else { return None };
        self.find(name, |kind| *kind.group == *group && *kind.version == *version)
    }

    fn find(&self, name: &str, fits: impl Fn(&GroupVersionKind) -> bool) -> Option<&ApiResource> {
        let mut served = self.all.iter().filter(|resource| fits(&resource.kind));
        let short = |resource: &&ApiResource| resource.short_names.iter().any(|short| **short == *name);
        served.clone().find(|resource| resource.is_named(name)).or_else(|| served.find(short))
    }
}

/// What all versions of a kind have in common.
fn key(kind: &GroupVersionKind) -> (&str, &str) {
    (&kind.kind, &kind.group)
}

#[cfg(test)]
impl Resources {
    /// A few resources of similar names.
    pub(crate) fn sample() -> Self {
        let rows: [(_, _, _, &[&str]); 7] = [
            ("v1", "Event", "events", &["ev"]),
            ("v1", "Pod", "pods", &["po"]),
            ("apps/v1", "Deployment", "deployments", &["deploy"]),
            ("apps/v1beta1", "Deployment", "deployments", &["deploy"]),
            ("events.k8s.io/v1", "Event", "events", &["ev"]),
            ("example.com/v1", "Pod", "pods", &["ev"]),
            ("example.com/v1", "Po", "pos", &[]),
        ];
        let resource = |(api_version, kind, plural, short_names): (&str, &str, &str, &[&str])| ApiResource {
            kind: GroupVersionKind::new(api_version, kind),
            plural: plural.into(),
            singular: kind.to_lowercase().into(),
            short_names: short_names.iter().map(|name| Text::from(*name)).collect(),
            categories: if plural == "events" { Vec::new() } else { vec!["all".into()] },
            ..ApiResource::namespaces().clone()
        };
        Self::new(rows.map(resource).to_vec(), Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_are_found_by_all_their_names() {
        let served = Resources::sample();
        for (name, kind) in [
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
            ("PODS", "v1/Pod"),
            ("DEPLOYMENT.v1.apps", "apps/v1/Deployment"),
            ("PO", "example.com/v1/Po"),
        ] {
            let found = served.resolve(name).map(|resource| resource.kind.to_string());
            assert_eq!(found.as_deref(), Some(kind), "{name}");
        }
        let unknown = ["DEPLOY", "Ev", "deployments.APPS", "deployments.V1.apps", "DEPLOY.v1.apps"];
        for name in ["", "widgets", "pods.apps", "deployments.v2.apps", "."].into_iter().chain(unknown) {
            assert_eq!(served.resolve(name), None, "{name}");
        }
    }

    #[test]
    fn a_category_has_each_kind_once() {
        let served = Resources::sample();
        let kinds = |found: Vec<&ApiResource>| -> Vec<String> {
            found.iter().map(|resource| resource.kind.to_string()).collect()
        };
        let all = ["v1/Pod", "apps/v1/Deployment", "example.com/v1/Pod", "example.com/v1/Po"];
        assert_eq!(kinds(served.category("all")), all);
        assert_eq!(kinds(served.category("pods")), [""; 0]);
    }

    #[test]
    fn a_kind_is_found_in_its_version_or_the_preferred_one() {
        let known = Resources::built_in();
        for (api_version, kind, found) in [
            ("autoscaling/v1", "HorizontalPodAutoscaler", Some("autoscaling/v1")),
            ("autoscaling/v2beta2", "HorizontalPodAutoscaler", Some("autoscaling/v2")),
            ("events.k8s.io/v1", "Event", Some("events.k8s.io/v1")),
            ("v1", "Event", Some("v1")),
            ("apps/v1", "Pod", None),
        ] {
            let resource = known.of_kind(&GroupVersionKind::new(api_version, kind));
            let found_version = resource.map(|resource| resource.kind.api_version());
            assert_eq!(found_version.as_deref(), found, "{api_version} {kind}");
        }
    }

    #[test]
    fn the_scope_is_that_of_any_version() {
        let served = Resources::sample();
        assert_eq!(served.scope(&GroupVersionKind::new("apps/v9", "Deployment")), KindScope::Cluster);
        assert_eq!(served.scope(&GroupVersionKind::new("v1", "Deployment")), KindScope::Unknown);
    }
}
