//! Kind selectors as resource rules.

use crate::policy::KindSelector;
use crate::resources::{KindScope, Resources};
use crate::value::{GroupVersionKind, Text};

use super::cel_text::{Cel, Operator};
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

    /// Empty for the objects themselves.
    fn subresource(&self) -> &str {
        self.resource.split_once('/').map_or("", |(_, subresource)| subresource)
    }

    /// Whether the objects of requests are of the kind: those of some subresources are of another one, such as `Scale`.
    pub(super) fn is_of_its_kind(&self) -> bool {
        matches!(self.subresource(), "" | "status" | "ephemeralcontainers" | "resize")
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

/// Whether objects of a kind that another selector names may be among those of this one.
pub(super) fn may_select(selector: &str, kind: &Kind) -> bool {
    let selector = KindSelector::parse(selector);
    let fits = |pattern: &Text, own: &Text| &**own == "*" || crate::pattern::matches(pattern, own);
    !kind.is_any()
        && fits(&selector.group, &kind.kind.group)
        && fits(&selector.version, &kind.kind.version)
        && crate::pattern::matches(&selector.kind, &kind.kind.kind)
        && *selector.subresource == *kind.subresource()
}

/// What tells kinds apart from others of the same name, in other groups, versions or subresources; `None` if tests on the
/// request cannot.
pub(super) fn apart(kinds: &[Kind], others: &[&Kind]) -> Option<Vec<Cel>> {
    let same_name = |kind: &Kind| {
        let kind = kind.clone();
        others.iter().filter(move |other| other.kind.kind == kind.kind.kind && !kinds.contains(other))
    };
    let others: Vec<&&Kind> = kinds.iter().flat_map(same_name).collect();
    if others.is_empty() {
        return Some(Vec::new());
    }
    let request = || Cel::atom("request");
    let of_kind = |field: &str| request().member("kind").member(field);
    type Part = fn(&Kind) -> &str;
    let parts: [(Part, Cel); 3] = [
        (|kind| &kind.kind.group, of_kind("group")),
        (|kind| &kind.kind.version, of_kind("version")),
        (Kind::subresource, request().maybe("subResource").or_value(Cel::text(""))),
    ];
    let mut tests = Vec::new();
    let mut left = others;
    for (part, cel) in parts {
        let mut own: Vec<&str> = Vec::new();
        for kind in kinds {
            if !own.contains(&part(kind)) {
                own.push(part(kind));
            }
        }
        let differs = left.iter().any(|other| !own.contains(&part(other)));
        if !differs {
            continue;
        }
        if own
            .iter()
            .chain(&left.iter().map(|other| part(other)).collect::<Vec<_>>())
            .any(|text| text.contains('*'))
        {
            return None;
        }
        left.retain(|other| own.contains(&part(other)));
        tests.push(match own.as_slice() {
            [one] => cel.equals(Cel::text(*one)),
            several => {
                cel.compare(Operator::In, Cel::List(several.iter().map(|one| Cel::text(*one)).collect()))
            }
        });
    }
    left.is_empty().then_some(tests)
}
