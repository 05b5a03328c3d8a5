//! What `match`, `exclude` and match constraints name.

use crate::admission::minimal;
use crate::policy::{CelPolicy, ClassicPolicy, KindSelector, Policy, ResourceRule, Rule, UserInfo};
use crate::resources::{ApiResource, Resources, is_local_group};
use crate::value::{GroupVersionKind, Map, Text, Value};

use super::{Facts, keys};

/// The kinds that stand for all.
const USUAL_KINDS: [&str; 6] = ["Pod", "Deployment", "ConfigMap", "Namespace", "Service", "Secret"];

/// The group and version of kinds of which nothing is known.
const CUSTOM_GROUP: &str = "example.com";
const CUSTOM_VERSION: &str = "v1";

/// The most kinds that are taken for one pattern.
const MAX_KINDS: usize = 12;

pub(super) fn add(policy: &Policy, defined: &[ApiResource], facts: &mut Facts) {
    if let Some(namespace) = &policy.meta().namespace {
        facts.namespaces.push(namespace.clone());
    }
    match policy {
        Policy::Classic(policy) => classic(policy, defined, facts),
        Policy::Cel(policy) => cel(policy, defined, facts),
        #[cfg(test)]
        Policy::FixedLabel(_) => {}
    }
}

fn classic(policy: &ClassicPolicy, defined: &[ApiResource], facts: &mut Facts) {
    for rule in &policy.rules {
        match rule.matching.kind_selectors() {
            Some(selectors) => selectors.into_iter().for_each(|selector| kinds_of(selector, defined, facts)),
            None => kinds_of(&KindSelector::parse("*"), defined, facts),
        }
        blocks(rule, facts);
    }
}

fn kinds_of(selector: &KindSelector, defined: &[ApiResource], facts: &mut Facts) {
    if !selector.means_objects() {
        return;
    }
    let known = Resources::built_in().iter().filter(|known| selector.matches(&known.kind, "", true));
    let usual = selector.only_kind().is_none() && &*selector.group == "*";
    let mut found = first_versions(known.filter(|known| !usual || USUAL_KINDS.contains(&&*known.kind.kind)));
    let custom = defined.iter().filter(|known| selector.matches(&known.kind, "", true));
    found.extend(custom.take(MAX_KINDS).map(|known| known.kind.clone()));
    found.iter().for_each(|kind| facts.add_kind(kind));
    if let Some(kind) = selector.only_kind().filter(|_| found.is_empty()) {
        let or = |text: &Text, default: &str| {
            if text.is_empty() || text.contains(['*', '?']) { default.into() } else { text.clone() }
        };
        facts.add_kind(&GroupVersionKind {
            group: or(&selector.group, CUSTOM_GROUP),
            version: or(&selector.version, CUSTOM_VERSION),
            kind: kind.clone(),
        });
    }
}

/// The kinds of resources, of each the first version whose fields are known.
fn first_versions<'r>(resources: impl Iterator<Item = &'r ApiResource>) -> Vec<GroupVersionKind> {
    let mut found: Vec<GroupVersionKind> = Vec::new();
    for kind in resources.map(|resource| &resource.kind) {
        let is_known = |other: &GroupVersionKind| other.kind == kind.kind && other.group == kind.group;
        if !found.iter().any(is_known)
            && !is_local_group(&kind.group)
            && minimal(kind, "").is_some()
            && found.len() < MAX_KINDS
        {
            found.push(kind.clone());
        }
    }
    found
}

/// Names, namespaces, labels, annotations and users of `match` and `exclude`.
fn blocks(rule: &Rule, facts: &mut Facts) {
    for name in ["match", "exclude"] {
        let Some(block) = rule.raw.get(name) else { continue };
        filter(block, facts);
        for list in ["any", "all"] {
            for one in block.get(list).and_then(Value::as_array).unwrap_or_default() {
                filter(one, facts);
            }
        }
    }
}

fn filter(filter: &Value, facts: &mut Facts) {
    let empty = Value::empty_object();
    let resources = filter.get("resources").unwrap_or(&empty);
    let texts = |value: &Value, field: &str| -> Vec<Text> {
        let list = value.get(field).and_then(Value::as_array).unwrap_or_default();
        list.iter().filter_map(Value::as_text).cloned().collect()
    };
    for name in
        texts(resources, "names").into_iter().chain(resources.get("name").and_then(Value::as_text).cloned())
    {
        facts.add_literal(keys(&["metadata", "name"]), Value::String(name));
    }
    facts.namespaces.extend(texts(resources, "namespaces"));
    for (key, value) in members(resources.get("annotations")) {
        facts.add_literal(keys(&["metadata", "annotations", &example(key)]), value.clone());
    }
    for (field, is_object) in [("selector", true), ("namespaceSelector", false)] {
        let Some(selector) = resources.get(field) else { continue };
        let mut labels: Vec<(Text, Vec<Text>)> = members(selector.get("matchLabels"))
            .map(|(key, value)| (example(key).into(), value.as_text().cloned().into_iter().collect()))
            .collect();
        for expression in selector.get("matchExpressions").and_then(Value::as_array).unwrap_or_default() {
            if let Some(key) = expression.get("key").and_then(Value::as_text) {
                labels.push((key.clone(), texts(expression, "values")));
            }
        }
        add_labels(&labels, is_object, facts);
    }
    users(filter, facts);
}

fn members(value: Option<&Value>) -> impl Iterator<Item = (&Text, &Value)> {
    value.and_then(Value::as_object).into_iter().flat_map(Map::iter)
}

/// A text that a pattern of keys matches.
pub(super) fn example(pattern: &str) -> String {
    pattern.replace(['*', '?'], "x")
}

fn add_labels(labels: &[(Text, Vec<Text>)], is_object: bool, facts: &mut Facts) {
    for (key, values) in labels {
        if is_object {
            let path = keys(&["metadata", "labels", key]);
            let or_any = if values.is_empty() { vec![Text::from("x")] } else { values.clone() };
            or_any.into_iter().for_each(|value| facts.add_literal(path.clone(), Value::String(value)));
        } else {
            let or_any = if values.is_empty() { &[Text::from("x")] } else { &**values };
            facts.add_namespace_label(key, or_any);
        }
    }
}

fn users(filter: &Value, facts: &mut Facts) {
    let list = |field: &str| filter.get(field).and_then(Value::as_array).unwrap_or_default();
    let names = |field: &str| list(field).iter().filter_map(Value::as_str).collect::<Vec<_>>();
    let (roles, cluster_roles) = (names("roles"), names("clusterRoles"));
    let subject = |subject: &Value| {
        let word = |field: &str| subject.get(field).and_then(Value::as_str).unwrap_or_default();
        let name = example(word("name"));
        // A filter with roles is for those who have them, too.
        let with_roles = |name: &str, groups: &[&str]| {
            [user(name, groups, &[], &[]), user(name, groups, &roles, &cluster_roles)]
        };
        match word("kind") {
            "Group" => with_roles("in-group", &[&name]),
            "ServiceAccount" => {
                with_roles(&format!("system:serviceaccount:{}:{name}", example(word("namespace"))), &[])
            }
            _ => with_roles(&name, &[]),
        }
    };
    let has_roles = !roles.is_empty() || !cluster_roles.is_empty();
    let subjects = list("subjects").iter();
    facts.users.extend(subjects.flat_map(|one| subject(one).into_iter().take(1 + usize::from(has_roles))));
    if !has_roles {
        return;
    }
    // By name, by a group, as a service account.
    let mut add = |what: &str, roles: &[&str], cluster_roles: &[&str]| {
        facts.users.extend([
            user(what, &[], roles, cluster_roles),
            user(&format!("in-group-{what}"), &[what], roles, cluster_roles),
            user(&format!("system:serviceaccount:default:{what}"), &[], roles, cluster_roles),
        ]);
    };
    roles.iter().for_each(|role| add("with-role", &[role], &[]));
    cluster_roles.iter().for_each(|role| add("with-cluster-role", &[], &[role]));
    if !roles.is_empty() && !cluster_roles.is_empty() {
        add("with-roles", &roles, &cluster_roles);
    }
}

/// A user with groups, roles and cluster roles.
pub(super) fn user(name: &str, groups: &[&str], roles: &[&str], cluster_roles: &[&str]) -> UserInfo {
    let list = |texts: &[&str]| Value::array(texts.iter().map(|text| Value::from(*text)).collect());
    let groups: Vec<&str> = groups.iter().copied().chain(["system:authenticated"]).collect();
    UserInfo::from_document(&Value::from_iter([
        ("roles", list(roles)),
        ("clusterRoles", list(cluster_roles)),
        ("userInfo", Value::from_iter([("username", Value::from(name)), ("groups", list(&groups))])),
    ]))
}

fn cel(policy: &CelPolicy, defined: &[ApiResource], facts: &mut Facts) {
    let of_bindings = policy.bindings.iter().flatten().filter_map(|binding| binding.constraints.as_ref());
    let of_variants = policy.variants.iter().map(|variant| &variant.constraints);
    for constraints in of_variants.chain(of_bindings) {
        for rule in constraints.rules.iter().chain(&constraints.excluded) {
            resources(rule, defined, facts);
            for name in &rule.names {
                facts.add_literal(keys(&["metadata", "name"]), Value::String(name.clone()));
            }
        }
        let [of_objects, of_namespaces] = constraints.named_labels();
        add_labels(&of_objects, true, facts);
        add_labels(&of_namespaces, false, facts);
    }
}

fn resources(rule: &ResourceRule, defined: &[ApiResource], facts: &mut Facts) {
    let has = |list: &[Text], value: &str| list.iter().any(|one| **one == *"*" || **one == *value);
    let is_any = rule.resources.iter().any(|resource| resource.starts_with('*'));
    let is_selected = |known: &&ApiResource| {
        has(&rule.groups, &known.kind.group)
            && has(&rule.versions, &known.kind.version)
            && rule.selects_resource(&known.plural, "")
    };
    for known in defined.iter().filter(is_selected).take(MAX_KINDS) {
        facts.add_kind(&known.kind);
    }
    let matching = Resources::built_in().iter().filter(|known| {
        is_selected(known) && (!is_any || USUAL_KINDS.contains(&&*known.kind.kind) || rule.groups.len() < 2)
    });
    first_versions(matching).iter().for_each(|kind| facts.add_kind(kind));
}
