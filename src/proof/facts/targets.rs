//! What policies with targets name of the objects that they change.

use crate::policy::{CelPolicy, ClassicPolicy, Operation, Policy, ResourceRule};
use crate::resources::Resources;
use crate::value::{GroupVersionKind, Map, Text, Value};

use super::matching::example;
use super::{Facts, keys};

/// The objects of one kind that policies change beside that of the request.
#[derive(Clone, Debug)]
pub(in crate::proof) struct TargetFacts {
    pub(in crate::proof) kind: GroupVersionKind,
    pub(in crate::proof) names: Vec<Text>,
    pub(in crate::proof) namespaces: Vec<Text>,
}

pub(super) fn add(policy: &Policy, facts: &mut Facts) {
    match policy {
        Policy::Classic(policy) => classic(policy, facts),
        Policy::Cel(cel_policy) if policy.has_targets() => cel(cel_policy, facts),
        _ => {}
    }
}

fn classic(policy: &ClassicPolicy, facts: &mut Facts) {
    let rules = policy.rules.iter().filter(|rule| rule.existing().is_some());
    facts.deletes |= rules.clone().any(|rule| rule.names_operation(Operation::Delete));
    for target in rules.filter_map(|rule| rule.raw.path(&["mutate", "targets"])?.as_array()).flatten() {
        let text = |field: &str| target.get(field).and_then(Value::as_str).unwrap_or_default();
        // A subresource is that of an object.
        let kind = text("kind").split(['/', '.']).next().unwrap_or_default();
        let wanted = GroupVersionKind::new(text("apiVersion"), kind);
        let known = Resources::built_in().iter().map(|resource| &resource.kind);
        let mut known = known.filter(|known| {
            known.kind == wanted.kind
                && (text("apiVersion").contains('*')
                    || known.group == wanted.group && known.version == wanted.version)
        });
        let kind = known.next().cloned().unwrap_or(wanted);
        let literal = |field: &str| {
            let text = text(field);
            (!text.is_empty() && !text.contains("{{")).then(|| Text::from(example(text)))
        };
        facts.add_target(kind, literal("name"), literal("namespace"));
        let labels = target.path(&["selector", "matchLabels"]).and_then(Value::as_object);
        for (key, value) in labels.into_iter().flat_map(Map::iter) {
            facts.add_literal(keys(&["metadata", "labels", &example(key)]), value.clone());
        }
    }
}

fn cel(policy: &CelPolicy, facts: &mut Facts) {
    for variant in &policy.variants {
        let names_deletions = |rule: &ResourceRule| {
            rule.operations.as_ref().is_none_or(|operations| operations.contains(&Operation::Delete))
        };
        facts.deletes |= variant.constraints.rules.iter().any(names_deletions);
        let own = variant.targets.as_ref().map(|targets| &targets.constraints);
        let constraints = own.filter(|own| !own.rules.is_empty()).unwrap_or(&variant.constraints);
        for rule in &constraints.rules {
            resources(rule, facts);
        }
        let [of_objects, _] = constraints.named_labels();
        for (key, values) in of_objects {
            for value in values {
                facts.add_literal(keys(&["metadata", "labels", &key]), Value::String(value));
            }
        }
    }
}

fn resources(rule: &ResourceRule, facts: &mut Facts) {
    let has = |list: &[Text], value: &str| list.iter().any(|one| **one == *"*" || **one == *value);
    let matching = Resources::built_in().iter().filter(|known| {
        has(&rule.groups, &known.kind.group)
            && has(&rule.versions, &known.kind.version)
            && rule.selects_resource(&known.plural, "")
    });
    for kind in matching.take(MAX_KINDS).map(|resource| resource.kind.clone()) {
        facts.add_target(kind.clone(), None, None);
        for name in &rule.names {
            facts.add_target(kind.clone(), Some(name.clone()), None);
        }
    }
}

/// The most kinds that are taken for one rule.
const MAX_KINDS: usize = 4;

impl Facts {
    fn add_target(&mut self, kind: GroupVersionKind, name: Option<Text>, namespace: Option<Text>) {
        let index = self.targets.iter().position(|known| known.kind == kind).unwrap_or_else(|| {
            self.targets.push(TargetFacts { kind, names: Vec::new(), namespaces: Vec::new() });
            self.targets.len() - 1
        });
        let Some(known) = self.targets.get_mut(index) else { return };
        for (list, text) in [(&mut known.names, name), (&mut known.namespaces, namespace)] {
            list.extend(text.filter(|text| !list.contains(text)));
        }
    }
}
