//! Kind selectors: the texts of `kinds`, such as `apps/v1/Deployment` or `Pod/status`.

use crate::pattern;
use crate::resources::Resources;
use crate::value::{GroupVersionKind, Text};

/// A kind selector, split into its four patterns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindSelector {
    /// The selector as written.
    pub text: Text,
    /// The pattern of the API group; the core group is the empty text.
    pub group: Text,
    /// The pattern of the version.
    pub version: Text,
    /// The pattern of the kind.
    pub kind: Text,
    /// The pattern of the subresource; the empty one matches only the object itself.
    pub subresource: Text,
}

impl KindSelector {
    /// Parses a selector. One with five pieces matches nothing.
    pub fn parse(text: &str) -> Self {
        let (head, last) = text.rsplit_once('/').map_or((None, text), |(head, last)| (Some(head), last));
        let pieces: Vec<&str> =
            head.into_iter().flat_map(|head| head.split('/')).chain(last.split('.')).collect();
        let [group, version, kind, subresource] = match *pieces.as_slice() {
            [kind] => ["*", "*", kind, ""],
            ["*", "*"] => ["*", "*", "*", "*"],
            ["*", subresource] if subresource.to_lowercase() == subresource => ["*", "*", "*", subresource],
            [version, kind] if is_version(version) => ["*", version, kind, ""],
            [kind, subresource] => ["*", "*", kind, subresource],
            [version, kind, subresource] if is_version(version) => ["*", version, kind, subresource],
            [group, version, kind] => [group, version, kind, ""],
            [group, version, kind, subresource] => [group, version, kind, subresource],
            _ => ["", "", "", ""],
        };
        Self {
            text: text.into(),
            group: group.into(),
            version: version.into(),
            kind: kind.into(),
            subresource: subresource.into(),
        }
    }

    /// Whether the selector matches a kind and one of its subresources (empty for the object itself).
    ///
    /// With `ephemeral` a selector of the core `Pod` also matches its `ephemeralcontainers`, as in rules.
    #[inline]
    pub fn matches(&self, kind: &GroupVersionKind, subresource: &str, ephemeral: bool) -> bool {
        pattern::matches(&self.kind, &kind.kind)
            && pattern::matches(&self.group, &kind.group)
            && pattern::matches(&self.version, &kind.version)
            && (pattern::matches(&self.subresource, subresource)
                || ephemeral
                    && subresource == "ephemeralcontainers"
                    && (&*kind.group, &*kind.version, &*kind.kind) == ("", "v1", "Pod"))
    }

    /// The built-in kinds of objects that it selects; none if its kind has wildcards.
    pub fn built_in_kinds(&self) -> impl Iterator<Item = &'static GroupVersionKind> {
        let is_of_objects = self.only_kind().is_some() && self.subresource.is_empty();
        let known = Resources::built_in().iter().map(|resource| &resource.kind);
        known.filter(move |known| {
            is_of_objects
                && known.kind == self.kind
                && pattern::matches(&self.group, &known.group)
                && pattern::matches(&self.version, &known.version)
        })
    }

    /// The only kind that can match; `None` if it has a wildcard.
    pub fn only_kind(&self) -> Option<&Text> {
        (!pattern::is_wildcard(&self.kind)).then_some(&self.kind)
    }

    /// Whether objects themselves can match, and not only their subresources.
    pub fn means_objects(&self) -> bool {
        pattern::matches(&self.subresource, "")
    }

    /// Whether nothing can match.
    pub fn is_unusable(&self) -> bool {
        self.kind.is_empty()
    }

    /// The selector that was probably meant by a group before a kind without a version.
    pub(super) fn probably_meant(&self) -> Option<String> {
        let group_like = !self.kind.is_empty()
            && self
                .kind
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-".contains(&byte));
        let kind_like = self.subresource.starts_with(|first: char| first.is_ascii_uppercase());
        (&*self.group == "*" && &*self.version == "*" && group_like && kind_like)
            .then(|| format!("{}/*/{}", self.kind, self.subresource))
    }
}

/// `*`, or `v1`, `v2beta1` and their like.
fn is_version(piece: &str) -> bool {
    fn digits(text: &str) -> Option<&str> {
        let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
        (rest.len() < text.len()).then_some(rest)
    }
    let tail = |rest: &str| {
        let stage = rest.strip_prefix("alpha").or_else(|| rest.strip_prefix("beta"));
        rest.is_empty() || stage.and_then(digits) == Some("")
    };
    piece == "*" || piece.strip_prefix('v').and_then(digits).is_some_and(tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_are_split_as_the_language_says() {
        for (text, expected) in [
            ("*", ["*", "*", "*", ""]),
            ("*.*", ["*", "*", "*", "*"]),
            ("*/*", ["*", "*", "*", "*"]),
            ("Pod", ["*", "*", "Pod", ""]),
            ("v1/Pod", ["*", "v1", "Pod", ""]),
            ("v1beta10/Pod", ["*", "v1beta10", "Pod", ""]),
            ("storage.k8s.io/v1beta10/CSIDriver", ["storage.k8s.io", "v1beta10", "CSIDriver", ""]),
            ("storage.k8s.io/v1/CSIDriver", ["storage.k8s.io", "v1", "CSIDriver", ""]),
            ("batch/*/CronJob", ["batch", "*", "CronJob", ""]),
            ("v1alpha12/Pod/status", ["*", "v1alpha12", "Pod", "status"]),
            ("tekton.dev/v1beta1/TaskRun/status", ["tekton.dev", "v1beta1", "TaskRun", "status"]),
            ("v1/Pod.status", ["*", "v1", "Pod", "status"]),
            ("v1/Pod/status", ["*", "v1", "Pod", "status"]),
            ("Pod.status", ["*", "*", "Pod", "status"]),
            ("Pod/status", ["*", "*", "Pod", "status"]),
            ("apps/v1/Deployment/scale", ["apps", "v1", "Deployment", "scale"]),
            ("apps/v1/Deployment.scale", ["apps", "v1", "Deployment", "scale"]),
            ("v1/ReplicationController/scale", ["*", "v1", "ReplicationController", "scale"]),
            ("*/ReplicationController/scale", ["*", "*", "ReplicationController", "scale"]),
            ("*/Deployment/scale", ["*", "*", "Deployment", "scale"]),
            ("*/Deployment.scale", ["*", "*", "Deployment", "scale"]),
            ("v1.demo/v1/Demo", ["v1.demo", "v1", "Demo", ""]),
            ("*/scale", ["*", "*", "*", "scale"]),
            ("Pod/*", ["*", "*", "Pod", "*"]),
            ("*/*/*", ["*", "*", "*", "*"]),
            ("*/*/*/*", ["*", "*", "*", "*"]),
            ("*/*/*/*/*", ["", "", "", ""]),
            ("apps/Deployment", ["*", "*", "apps", "Deployment"]),
            ("*/Pod", ["*", "*", "Pod", ""]),
            ("*/postgresdb", ["*", "*", "*", "postgresdb"]),
            ("*/v1/Pod", ["*", "*", "v1", "Pod"]),
            ("Pod.v1", ["*", "*", "Pod", "v1"]),
        ] {
            let selector = KindSelector::parse(text);
            assert_eq!(
                [&*selector.group, &*selector.version, &*selector.kind, &*selector.subresource],
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn selectors_fit_kinds_and_subresources() {
        for (selector, api_version, kind, subresource, ephemeral, expected) in [
            ("*", "v1", "Deployment", "", false, true),
            ("v1/Pod", "v1", "Pod", "status", false, false),
            ("v1/Pod", "v1", "Pod", "ephemeralcontainers", true, true),
            ("v1/Pod", "v1", "Pod", "ephemeralcontainers", false, false),
            ("v1/Pod", "v2", "Pod", "ephemeralcontainers", true, false),
            ("tekton.dev/*/TaskRun", "tekton.dev/v1alpha1", "TaskRun", "", false, true),
            (
                "networking.k8s.io/v1/NetworkPolicy/status",
                "networking.k8s.io/v1",
                "NetworkPolicy",
                "status",
                false,
                true,
            ),
            ("*/Pod.eviction", "v1", "Pod", "eviction", false, true),
            ("v1alpha1/Pod.eviction", "v1", "Pod", "eviction", false, false),
            ("Pod", "v1", "Pod", "status", true, false),
            ("Pod/*", "v1", "Pod", "", false, true),
            ("Postgresdb", "acid.zalan.do/v1", "postgresdb", "", false, false),
            ("*/*/*/*/*", "v1", "Pod", "", true, false),
        ] {
            let gvk = GroupVersionKind::new(api_version, kind);
            let fits = KindSelector::parse(selector).matches(&gvk, subresource, ephemeral);
            assert_eq!(fits, expected, "{selector} {gvk} {subresource}");
        }
    }

    #[test]
    fn a_group_before_a_kind_is_probably_a_slip() {
        assert_eq!(
            KindSelector::parse("apps/Deployment").probably_meant().as_deref(),
            Some("apps/*/Deployment")
        );
        assert_eq!(KindSelector::parse("Pod/status").probably_meant(), None);
        assert_eq!(KindSelector::parse("*/Pod").probably_meant(), None);
    }
}
