//! The rules of a run as explanations show them.

use crate::policy::{CelPolicy, CelPolicyKind, CelVariant, ClassicPolicy, Edit, Patch, Policy, Rule};
use crate::render::{MisnamedResource, RuleSource, RuleSources};
use crate::resources::{ApiResource, Resources};
use crate::value::{Text, Value};

use super::selection::Selection;
use super::session::Session;

/// The rules as the policies have them.
pub(super) fn rule_sources(session: &Session, selection: &Selection) -> RuleSources {
    let mut all = Vec::new();
    for policy in session.engine.policies().policies() {
        match policy {
            Policy::Classic(policy) => {
                all.extend(policy.rules.iter().map(|rule| source(policy, rule, selection)));
            }
            Policy::Cel(policy) => {
                all.extend(policy.variants.iter().map(|variant| cel_source(policy, variant, selection)));
            }
            #[cfg(test)]
            Policy::FixedLabel(_) => {}
        }
    }
    RuleSources::new(all)
}

fn cel_source(policy: &CelPolicy, variant: &CelVariant, selection: &Selection) -> RuleSource {
    let name = policy.meta.full_name();
    let resources = variant.constraints.resources();
    let is_generated = variant.name != policy.meta.name;
    RuleSource {
        shown: selection.has_rule(&name, &[&variant.name, &policy.meta.name]),
        policy: name,
        rule: variant.name.clone(),
        is_policy: !is_generated,
        generated_from: is_generated.then(|| policy.meta.name.clone()),
        kinds: resources.as_ref().map(|names| names.iter().map(|name| kind_of(name)).collect()),
        resources: resources.unwrap_or_default().into_iter().map(Text::from).collect(),
        misnamed: misnamed(variant),
        not_evaluated: None,
        no_autogen: Some(no_autogen(policy.kind).to_owned()),
        preconditions: Value::Null,
        targets: Value::Null,
        overlay: Value::Null,
        foreach: Value::Null,
    }
}

/// The kind of a resource, or its own name if it is not built in.
fn kind_of(resource: &str) -> Text {
    let built_in = Resources::built_in().iter().find(|built_in| *built_in.plural == *resource);
    built_in.map_or_else(|| resource.into(), |built_in| built_in.kind.kind.clone())
}

fn misnamed(variant: &CelVariant) -> Vec<MisnamedResource> {
    let misnamed = variant.constraints.misnamed().into_iter();
    let resource = |(name, meant): (&Text, &ApiResource)| MisnamedResource {
        name: name.clone(),
        plural: meant.plural.clone(),
        kind: meant.kind.kind.clone(),
    };
    misnamed.map(resource).collect()
}

/// Why nothing is generated for controllers from a policy for Pods.
const fn no_autogen(kind: CelPolicyKind) -> &'static str {
    if kind.is_of_kyverno() {
        "autogen applies only to policies whose only resource rule is for exactly `pods` of `v1`, without names, \
         exclusions and objectSelector, and only to the controllers that the policy selects"
    } else {
        "autogen is not for policies of the API server"
    }
}

fn source(policy: &ClassicPolicy, rule: &Rule, selection: &Selection) -> RuleSource {
    let name = policy.meta.full_name();
    let mutate = |name: &str| rule.raw.path(&["mutate", name]).cloned().unwrap_or_default();
    let mut kinds = rule.matching.only_kinds().map(|kinds| kinds.into_iter().cloned().collect::<Vec<_>>());
    if let Some(kinds) = &mut kinds {
        kinds.sort_unstable();
        kinds.dedup();
    }
    RuleSource {
        shown: selection.has_rule(&name, &[&rule.name, rule.source_name()]),
        policy: name,
        rule: rule.name.clone(),
        is_policy: false,
        generated_from: rule.generated_from.clone(),
        kinds,
        resources: Vec::new(),
        misnamed: Vec::new(),
        not_evaluated: rule.not_evaluated().map(|why| why.to_string()),
        no_autogen: policy.no_autogen.clone(),
        preconditions: rule.raw.get("preconditions").cloned().unwrap_or_default(),
        targets: mutate("targets"),
        overlay: match rule.edit() {
            Edit::Patch(Patch::StrategicMerge { overlay, .. }) => overlay.source().clone(),
            Edit::Patch(Patch::Legacy(_)) => mutate("overlay"),
            _ => Value::Null,
        },
        foreach: mutate("foreach"),
    }
}
