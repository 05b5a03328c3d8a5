//! The kinds that a cluster serves, and the names they go by.

use crate::engine::KindScope;
use crate::policy::KindSelector;
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
    /// The groups of kinds that it belongs to: `all`.
    pub categories: Vec<Text>,
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
            categories: Vec::new(),
        }
    }

    /// The kind `ConfigMap`, which every cluster serves.
    pub fn config_maps() -> Self {
        Self {
            kind: GroupVersionKind::new("v1", "ConfigMap"),
            plural: "configmaps".into(),
            singular: "configmap".into(),
            short_names: vec!["cm".into()],
            is_namespaced: true,
            ..Self::namespaces()
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

    /// The path of its objects at the API server; `None` for all namespaces, and for kinds without.
    pub(super) fn path(&self, namespace: Option<&str>) -> String {
        let GroupVersionKind { group, version, .. } = &self.kind;
        let mut path =
            if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
        if let Some(namespace) = namespace.filter(|_| self.is_namespaced) {
            path.push_str("/namespaces/");
            path.push_str(&segment(namespace));
        }
        path.push('/');
        path.push_str(&segment(&self.plural));
        path
    }

    /// What all versions of the kind have in common. The events of both groups are the same objects.
    pub(super) fn identity(&self) -> (Text, Text) {
        let group = match &*self.kind.group {
            "events.k8s.io" => Text::default(),
            _ => self.kind.group.clone(),
        };
        (group, self.plural.clone())
    }

    /// Whether this is the same kind, be it in another version.
    fn is_same_as(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }

    /// Whether it goes by this name, in letters of any size.
    fn goes_by(&self, name: &str) -> bool {
        [&self.plural, &self.singular, &self.kind.kind].into_iter().any(|own| own.eq_ignore_ascii_case(name))
    }
}

/// The kinds that a cluster serves.
#[derive(Clone, Debug, Default)]
pub struct Resources {
    /// Groups in the cluster's order, the core group first; in each the preferred version first.
    all: Vec<Resource>,
    unknown: Vec<Unknown>,
}

/// A version of a group whose kinds the cluster could not tell: an aggregated API that is down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// The group.
    pub group: Text,
    /// The version.
    pub version: Text,
    /// What the cluster said of it.
    pub why: String,
}

impl Resources {
    /// Takes the kinds in the cluster's order of preference.
    pub const fn new(all: Vec<Resource>, unknown: Vec<Unknown>) -> Self {
        Self { all, unknown }
    }

    /// The versions of groups whose kinds are not known.
    pub fn unknown(&self) -> &[Unknown] {
        &self.unknown
    }

    /// All kinds, in the cluster's order of preference.
    pub fn iter(&self) -> impl Iterator<Item = &Resource> {
        self.all.iter()
    }

    /// The kinds of a category, each in its preferred version; none where it is no category.
    pub fn category(&self, asked: &str) -> Vec<&Resource> {
        let mut found: Vec<&Resource> = Vec::new();
        for resource in &self.all {
            let is_in = resource.categories.iter().any(|category| **category == *asked);
            if is_in && !found.iter().any(|known| known.is_same_as(resource)) {
                found.push(resource);
            }
        }
        found
    }

    /// The kinds that can be listed and that one of the selectors fits, each once, because its objects are the same in
    /// every version: in that which most selectors fit, the cluster's first of several. In the cluster's order.
    pub fn fitting<'s>(&self, selectors: impl IntoIterator<Item = &'s KindSelector>) -> Vec<&Resource> {
        let selectors: Vec<&KindSelector> = selectors.into_iter().collect();
        let mut found: Vec<(usize, &Resource)> = Vec::new();
        for resource in self.all.iter().filter(|resource| resource.is_listed) {
            let fits =
                selectors.iter().filter(|selector| selector.matches(&resource.kind, "", false)).count();
            match found.iter_mut().find(|(_, known)| known.is_same_as(resource)) {
                _ if fits == 0 => {}
                Some(known) if known.0 < fits => *known = (fits, resource),
                Some(_) => {}
                None => found.push((fits, resource)),
            }
        }
        found.into_iter().map(|(_, resource)| resource).collect()
    }

    /// Whether a selector fits a kind that is served, or one of its subresources may.
    pub fn serves(&self, selector: &KindSelector) -> bool {
        !selector.means_objects()
            || self.all.iter().any(|resource| selector.matches(&resource.kind, "", false))
    }

    /// Whether a selector fits nothing that is served, and no other one of its rule does for it: who names several
    /// versions of a kind needs one of them alone.
    pub fn lacks(&self, selector: &KindSelector, rule: &[KindSelector]) -> bool {
        let any_version = KindSelector { version: "*".into(), ..selector.clone() };
        let mut others = self.all.iter().filter(|resource| any_version.matches(&resource.kind, "", false));
        !self.serves(selector) && !others.any(|resource| is_seen(resource, rule))
    }

    /// Of the kinds that are read, the first that a selector fits in other versions alone, unless another selector of its
    /// rule fits it as it is read.
    pub fn in_another_version<'r>(
        &self,
        selector: &KindSelector,
        rule: &[KindSelector],
        read: &'r [Resource],
    ) -> Option<&'r Resource> {
        let mut fitting = self.all.iter().filter(|resource| selector.matches(&resource.kind, "", false));
        fitting.find_map(|resource| {
            let read = read.iter().find(|read| read.is_same_as(resource))?;
            (!is_seen(read, rule)).then_some(read)
        })
    }

    /// The kind meant by `pods`, `po`, `Pod`, `deployments.apps` or `deployments.v1.apps`, as kubectl
    /// reads it: with a group, one that starts with it will do where none equals it; without, the
    /// cluster's first. The size of letters counts in short names, versions and groups alone.
    pub fn resolve(&self, asked: &str) -> Option<&Resource> {
        self.resolve_version(asked).or_else(|| match asked.split_once('.') {
            Some((name, group)) => self
                .find(name, |kind| *kind.group == *group)
                .or_else(|| self.find(name, |kind| kind.group.starts_with(group))),
            None => self.find(asked, |_| true),
        })
    }

    /// The same where the version is written.
    fn resolve_version(&self, asked: &str) -> Option<&Resource> {
        let [name, version, group] = *asked.splitn(3, '.').collect::<Vec<_>>() else { return None };
        self.find(name, |kind| *kind.group == *group && *kind.version == *version)
    }

    /// The kind meant by a name, in the version that is written or else in that which most selectors fit.
    pub fn resolve_for(&self, asked: &str, selectors: &[KindSelector]) -> Option<&Resource> {
        let is_in_group = asked.contains('.');
        self.resolve_version(asked).or_else(|| {
            let found = self.resolve(asked)?;
            Some(
                self.most_fitting(found, selectors, |other| {
                    !is_in_group || other.kind.group == found.kind.group
                }),
            )
        })
    }

    /// A kind in the version that most selectors fit; as it is where none fits more.
    pub fn most_fitting<'r>(
        &'r self,
        found: &'r Resource,
        selectors: &[KindSelector],
        may_be: impl Fn(&Resource) -> bool,
    ) -> &'r Resource {
        let fits = |resource: &Resource| {
            selectors.iter().filter(|selector| selector.matches(&resource.kind, "", false)).count()
        };
        let mut best = (fits(found), found);
        let others = self
            .all
            .iter()
            .filter(|other| other.is_same_as(found) && other.is_listed == found.is_listed && may_be(other));
        for other in others {
            let fits = fits(other);
            if fits > best.0 {
                best = (fits, other);
            }
        }
        best.1
    }

    fn find(&self, name: &str, fits: impl Fn(&GroupVersionKind) -> bool) -> Option<&Resource> {
        let mut served = self.all.iter().filter(|resource| fits(&resource.kind));
        let short = |resource: &&Resource| resource.short_names.iter().any(|short| **short == *name);
        served.clone().find(|resource| resource.goes_by(name)).or_else(|| served.find(short))
    }

    /// How a kind is asked for, in the very version or else in another one.
    pub fn of_kind(&self, kind: &GroupVersionKind) -> Option<&Resource> {
        let mut same = self
            .all
            .iter()
            .filter(|resource| resource.kind.group == kind.group && resource.kind.kind == kind.kind);
        same.clone().find(|resource| resource.kind.version == kind.version).or_else(|| same.next())
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

/// Whether one of a rule's selectors fits a kind.
fn is_seen(resource: &Resource, rule: &[KindSelector]) -> bool {
    rule.iter().any(|selector| selector.matches(&resource.kind, "", false))
}

/// A name as one segment of a path.
pub(super) fn segment(name: &str) -> String {
    let bytes = name.bytes().map(|byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b':' => char::from(byte).into(),
        _ => format!("%{byte:02X}"),
    });
    bytes.collect()
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
        let mut all = vec![
            resource("v1", "Event", "events", &["ev"]),
            resource("v1", "Pod", "pods", &["po"]),
            resource("apps/v1", "Deployment", "deployments", &["deploy"]),
            resource("apps/v1beta1", "Deployment", "deployments", &["deploy"]),
            resource("events.k8s.io/v1", "Event", "events", &["ev"]),
            resource("example.com/v1", "Pod", "pods", &["ev"]),
            resource("example.com/v1", "Po", "pos", &[]),
        ];
        for resource in all.iter_mut().filter(|resource| *resource.plural != *"events") {
            resource.categories = vec!["all".into()];
        }
        Resources::new(all, Vec::new())
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
        for (asked, kind) in
            [("PODS", "v1/Pod"), ("DEPLOYMENT.v1.apps", "apps/v1/Deployment"), ("PO", "example.com/v1/Po")]
        {
            assert_eq!(
                served.resolve(asked).map(|resource| resource.kind.to_string()).as_deref(),
                Some(kind),
                "{asked}"
            );
        }
        let odd = ["DEPLOY", "Ev", "deployments.APPS", "deployments.V1.apps", "DEPLOY.v1.apps"];
        for asked in ["", "widgets", "pods.apps", "deployments.v2.apps", "."].into_iter().chain(odd) {
            assert_eq!(served.resolve(asked), None, "{asked}");
        }
    }

    #[test]
    fn a_category_has_each_kind_once() {
        let served = served();
        let kinds = |found: Vec<&Resource>| -> Vec<String> {
            found.iter().map(|resource| resource.kind.to_string()).collect()
        };
        let all = ["v1/Pod", "apps/v1/Deployment", "example.com/v1/Pod", "example.com/v1/Po"];
        assert_eq!(kinds(served.category("all")), all);
        assert_eq!(kinds(served.category("pods")), [""; 0]);
    }

    #[test]
    fn kinds_that_policies_name_are_found_in_the_version_they_name() {
        let served = served();
        for (selectors, expected) in [
            (&["Pod"][..], &["v1/Pod", "example.com/v1/Pod"][..]),
            (&["Deployment"], &["apps/v1/Deployment"]),
            (&["apps/v1beta1/Deployment"], &["apps/v1beta1/Deployment"]),
            (&["apps/v1beta1/Deployment", "Deployment"], &["apps/v1beta1/Deployment"]),
            (&["apps/v1beta1/Deployment", "apps/v1/Deployment"], &["apps/v1/Deployment"]),
            (&["example.com/*/*", "v1/Event"], &["v1/Event", "example.com/v1/Pod", "example.com/v1/Po"]),
            (&["events.k8s.io/v1/Event"], &["events.k8s.io/v1/Event"]),
            (&["v1/Event", "events.k8s.io/*/*"], &["events.k8s.io/v1/Event"]),
            (&["Pod/status", "Widget"], &[]),
        ] {
            let selectors: Vec<_> = selectors.iter().map(|text| KindSelector::parse(text)).collect();
            let found = served.fitting(&selectors);
            let found: Vec<String> = found.iter().map(|resource| resource.kind.to_string()).collect();
            assert_eq!(found, expected, "{selectors:?}");
        }
    }

    #[test]
    fn selectors_that_see_nothing_of_what_is_read_are_known() {
        let served = served();
        let selector = KindSelector::parse;
        for (text, is_served) in [
            ("Pod", true),
            ("Pod/status", true),
            ("*", true),
            ("Widget", false),
            ("apps/v1/Pod", false),
            ("apps/v2/Deployment", false),
            ("Wid*", false),
        ] {
            assert_eq!(served.serves(&selector(text)), is_served, "{text}");
        }
        let read =
            [served.resolve("deployments").unwrap().clone(), served.resolve("events").unwrap().clone()];
        for (text, missed) in [
            ("Deployment", None),
            ("apps/*/Deployment", None),
            ("apps/v1beta1/Deployment", Some("deployments.apps")),
            ("events.k8s.io/v1/Event", Some("events")),
            ("Pod", None),
            ("*", None),
        ] {
            let rule = [selector(text)];
            let found = served.in_another_version(&rule[0], &rule, &read).map(Resource::full_name);
            assert_eq!(found.as_deref(), missed, "{text}");
        }
        // A rule that names a kind in several versions sees it in one of them.
        let rule =
            ["apps/v1/Deployment", "apps/v1beta1/Deployment", "apps/v9/Deployment", "v9/Pod"].map(selector);
        assert_eq!(served.in_another_version(&rule[1], &rule, &read), None);
        let lacking: Vec<bool> = rule.iter().map(|selector| served.lacks(selector, &rule)).collect();
        assert_eq!(lacking, [false, false, false, true]);
        assert!(served.lacks(&rule[2], &rule[2..]));
    }

    #[test]
    fn the_scope_is_that_of_any_version() {
        let served = served();
        assert_eq!(served.scope(&GroupVersionKind::new("apps/v9", "Deployment")), KindScope::Cluster);
        assert_eq!(served.scope(&GroupVersionKind::new("v1", "Deployment")), KindScope::Unknown);
    }

    #[test]
    fn names_cannot_leave_their_segment_of_the_path() {
        let mut resource = Resource::namespaces();
        assert_eq!(resource.path(Some("web")), "/api/v1/namespaces");
        resource.kind = GroupVersionKind::new("apps/v1", "Deployment");
        resource.plural = "deployments".into();
        resource.is_namespaced = true;
        assert_eq!(resource.path(Some("web")), "/apis/apps/v1/namespaces/web/deployments");
        assert_eq!(resource.path(Some("a/b?c")), "/apis/apps/v1/namespaces/a%2Fb%3Fc/deployments");
        assert_eq!(segment("system:admin"), "system:admin");
    }
}
