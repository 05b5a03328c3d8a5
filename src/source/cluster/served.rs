//! Which resources of a cluster the kind selectors of policies match.

use crate::policy::KindSelector;
use crate::resources::{ApiResource, Resources};

/// How many selectors match a resource.
fn count<'s>(resource: &ApiResource, selectors: impl IntoIterator<Item = &'s KindSelector>) -> usize {
    selectors.into_iter().filter(|selector| is_match(selector, resource)).count()
}

/// Whether a selector matches a resource or, where it names one, perhaps a subresource of it.
fn is_match(selector: &KindSelector, resource: &ApiResource) -> bool {
    selector.matches(&resource.kind, "", false)
}

/// The resources that can be listed and that one of the selectors matches, each once, because its objects are the same in
/// every version: in that which most selectors match, the preferred of several. In the server's order.
pub(super) fn fitting<'r, 's>(
    served: &'r Resources,
    selectors: impl IntoIterator<Item = &'s KindSelector>,
) -> Vec<&'r ApiResource> {
    let selectors: Vec<&KindSelector> = selectors.into_iter().collect();
    let mut found: Vec<(usize, &ApiResource)> = Vec::new();
    for resource in served.iter().filter(|resource| resource.is_listed) {
        let matches = count(resource, selectors.iter().copied());
        match found.iter_mut().find(|(_, known)| known.is_same_as(resource)) {
            _ if matches == 0 => {}
            Some(known) if known.0 < matches => *known = (matches, resource),
            Some(_) => {}
            None => found.push((matches, resource)),
        }
    }
    found.into_iter().map(|(_, resource)| resource).collect()
}

/// Whether a selector matches a resource that is served, or perhaps a subresource of one.
pub fn serves(served: &Resources, selector: &KindSelector) -> bool {
    !selector.means_objects() || served.iter().any(|resource| is_match(selector, resource))
}

/// Whether a selector matches nothing that is served, and no other selector of its rule makes up for it: a rule that names
/// several versions of a kind needs only one of them.
pub fn lacks(served: &Resources, selector: &KindSelector, rule: &[KindSelector]) -> bool {
    let any_version = KindSelector { version: "*".into(), ..selector.clone() };
    let mut others = served.iter().filter(|resource| is_match(&any_version, resource));
    !serves(served, selector) && !others.any(|resource| matches_any(rule, resource))
}

/// Of the resources that are read, the first that a selector matches only in other versions, unless another selector of its
/// rule matches it in the version that is read.
pub fn in_another_version<'r>(
    served: &Resources,
    selector: &KindSelector,
    rule: &[KindSelector],
    read: &'r [ApiResource],
) -> Option<&'r ApiResource> {
    let mut matching = served.iter().filter(|resource| is_match(selector, resource));
    matching.find_map(|resource| {
        let read = read.iter().find(|read| read.is_same_as(resource))?;
        (!matches_any(rule, read)).then_some(read)
    })
}

/// The resource meant by a name, in the version that is written or else in that which most selectors match.
pub(super) fn resolve_for<'r>(
    served: &'r Resources,
    name: &str,
    selectors: &[KindSelector],
) -> Option<&'r ApiResource> {
    let has_group = name.contains('.');
    served.resolve_version(name).or_else(|| {
        let found = served.resolve(name)?;
        let may_be = |other: &ApiResource| !has_group || other.kind.group == found.kind.group;
        Some(most_fitting(served, found, selectors, may_be))
    })
}

/// A resource in the version that most selectors match; as it is where none matches more.
pub(super) fn most_fitting<'r>(
    served: &'r Resources,
    found: &'r ApiResource,
    selectors: &[KindSelector],
    may_be: impl Fn(&ApiResource) -> bool,
) -> &'r ApiResource {
    let mut best = (count(found, selectors), found);
    let others = served
        .iter()
        .filter(|other| other.is_same_as(found) && other.is_listed == found.is_listed && may_be(other));
    for other in others {
        let matches = count(other, selectors);
        if matches > best.0 {
            best = (matches, other);
        }
    }
    best.1
}

/// Whether one of the selectors of a rule matches a resource.
fn matches_any(rule: &[KindSelector], resource: &ApiResource) -> bool {
    rule.iter().any(|selector| is_match(selector, resource))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_are_selected_in_the_versions_of_the_policies() {
        let served = Resources::sample();
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
            let found = fitting(&served, &selectors);
            let found: Vec<String> = found.iter().map(|resource| resource.kind.to_string()).collect();
            assert_eq!(found, expected, "{selectors:?}");
        }
    }

    #[test]
    fn selectors_that_match_nothing_are_found() {
        let served = Resources::sample();
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
            assert_eq!(serves(&served, &selector(text)), is_served, "{text}");
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
            let found = in_another_version(&served, &rule[0], &rule, &read).map(ApiResource::full_name);
            assert_eq!(found.as_deref(), missed, "{text}");
        }
        // A rule that names a kind in several versions sees it in one of them.
        let rule =
            ["apps/v1/Deployment", "apps/v1beta1/Deployment", "apps/v9/Deployment", "v9/Pod"].map(selector);
        assert_eq!(in_another_version(&served, &rule[1], &rule, &read), None);
        let lacking: Vec<bool> = rule.iter().map(|selector| lacks(&served, selector, &rule)).collect();
        assert_eq!(lacking, [false, false, false, true]);
        assert!(lacks(&served, &rule[2], &rule[2..]));
    }
}
