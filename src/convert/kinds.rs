//! Kind selectors as resource rules.

use crate::policy::KindSelector;
use crate::resources::{KindScope, Resources};
use crate::value::{GroupVersionKind, Text};

use super::problem::Problem;

/// A kind that a rule is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    /// `*` for any kind.
    pub(super) kind: GroupVersionKind,
    /// The plural, with the subresource if it is for one.
    pub(super) resource: String,
    pub(super) scope: KindScope,
}

impl Kind {
    pub(super) fn is_any(&self) -> bool {
        &*self.kind.kind == "*"
    }

    /// Whether the objects of requests are of the kind: those of some subresources are of another one, such as `Scale`.
    pub(super) fn is_of_its_kind(&self) -> bool {
        let subresource = self.resource.split_once('/').map(|(_, subresource)| subresource);
        subresource.is_none_or(|name| matches!(name, "status" | "ephemeralcontainers" | "resize"))
    }
}

/// The kinds that a selector means: those that the cluster serves, in each version that is served.
pub(super) fn kinds(selector: &str, resources: &Resources) -> Result<Vec<Kind>, Problem> {
    let selector = KindSelector::parse(selector);
    let refuse = |reason: &str, advice: &str| {
        Err(Problem::new(format!("the kind `{}`", selector.text), reason, advice))
    };
    if selector.is_unusable() {
        return refuse("it matches nothing", "correct it");
    }
    let is_any = |pattern: &Text| &**pattern == "*";
    if is_any(&selector.kind) {
        if !is_any(&selector.group) && selector.group.contains(['*', '?']) {
            return refuse("its group has a wildcard", "name the groups");
        }
        let resource = match &*selector.subresource {
            "" => "*".to_owned(),
            subresource => format!("*/{subresource}"),
        };
        let kind = GroupVersionKind {
            group: selector.group.clone(),
            version: selector.version.clone(),
            kind: "*".into(),
        };
        return Ok(vec![Kind { kind, resource, scope: KindScope::Unknown }]);
    }
    let mut found: Vec<Kind> = Vec::new();
    for resource in resources.iter() {
        let kind = &resource.kind;
        let fits = crate::pattern::matches(&selector.kind, &kind.kind)
            && crate::pattern::matches(&selector.group, &kind.group)
            && crate::pattern::matches(&selector.version, &kind.version);
        if !fits {
            continue;
        }
        let scope = if resource.is_namespaced { KindScope::Namespaced } else { KindScope::Cluster };
        let mut add = |name: String| found.push(Kind { kind: kind.clone(), resource: name, scope });
        match &*selector.subresource {
            "" => add(resource.plural.to_string()),
            "*" => {
                add(resource.plural.to_string());
                add(format!("{}/*", resource.plural));
            }
            subresource => add(format!("{}/{subresource}", resource.plural)),
        }
    }
    if !found.is_empty() {
        return Ok(found);
    }
    // A custom resource: its group and version must be known, its plural is what most authors choose.
    let is_named = |text: &str| !text.contains(['*', '?']);
    if is_named(&selector.kind) && is_named(&selector.group) && !selector.group.is_empty() {
        let version = if is_any(&selector.version) { "*".into() } else { selector.version.clone() };
        if !is_named(&version) && &*version != "*" {
            return refuse("its version has a wildcard", "name the version");
        }
        let plural = crate::resources::plural(&selector.group, &selector.kind);
        let resource = match &*selector.subresource {
            "" => plural.to_string(),
            subresource => format!("{plural}/{subresource}"),
        };
        let kind = GroupVersionKind { group: selector.group.clone(), version, kind: selector.kind.clone() };
        return Ok(vec![Kind { kind, resource, scope: KindScope::Unknown }]);
    }
    refuse(
        "its group and version are not known, and a CEL policy must name them",
        "write it as `group/version/Kind`, or give its definition with `--crds`",
    )
}
