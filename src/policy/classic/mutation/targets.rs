//! Rules with targets: what they change are other objects than those that trigger them.

use std::sync::Arc;

use crate::pattern::{self, Conditions};
use crate::semantics::Semantics;
use crate::value::{Pointer, Value};
use crate::variables::Template;

use super::Edit;
use crate::policy::classic::{ContextEntry, conditions, context};
use crate::policy::error::PolicyError;
use crate::policy::kinds::KindSelector;

/// The fields of a target that say which objects it is; variables in them are those of the trigger.
const SELECTING: [&str; 6] = ["apiVersion", "kind", "namespace", "name", "uid", "selector"];

/// What a rule with targets does.
#[derive(Clone, Debug)]
pub struct MutateExisting {
    /// The targets, in the order they are looked up.
    pub targets: Vec<Target>,
    /// What is done to each: a patch or loops.
    pub body: Edit,
    /// Whether the rule also runs when the policy comes or changes; `None` leaves it to the policy.
    pub on_policy_update: Option<bool>,
}

impl MutateExisting {
    /// The kinds of the targets, as far as they are known before variables are replaced.
    pub fn kind_selectors(&self) -> Vec<KindSelector> {
        let selector = |target: &Target| {
            let text =
                |field| target.selector.source().get(field).and_then(Value::as_str).unwrap_or_default();
            let (api_version, kind) = (text("apiVersion"), text("kind"));
            let kind = if kind.contains("{{") { "*" } else { kind };
            if api_version.is_empty() || api_version.contains("{{") {
                KindSelector::parse(kind)
            } else {
                KindSelector::parse(&format!("{api_version}/{kind}"))
            }
        };
        self.targets.iter().map(selector).collect()
    }
}

/// One entry of `targets`.
#[derive(Clone, Debug)]
pub struct Target {
    /// Which objects it is: the selecting fields, a document of their own.
    pub selector: Template,
    /// What is loaded for each object.
    pub context: Vec<Arc<ContextEntry>>,
    /// What must hold for an object.
    pub preconditions: Option<Conditions<Template>>,
    /// The whole entry at its place in the rule: Kyverno substitutes it once more with the rule.
    pub whole: Template,
}

/// Reads the `targets` of a rule.
pub(super) fn read(
    rule: &Value,
    at: &Pointer,
    semantics: Semantics,
    errors: &mut Vec<PolicyError>,
) -> Vec<Target> {
    let below = Pointer::ROOT.key("mutate").key("targets");
    let targets = rule.pointed(&below).and_then(Value::as_array).unwrap_or_default();
    let entries = targets.iter().enumerate().map(|(index, target)| {
        let below = below.index(index);
        let selecting: Value = SELECTING
            .into_iter()
            .filter_map(|field| Some((field, target.get(field).filter(|value| !value.is_null())?.clone())))
            .collect();
        Target {
            selector: Template::prepare(&selecting, semantics),
            context: context::read(rule, &below.key("context"), semantics),
            preconditions: conditions::read(rule, &below.key("preconditions"), at, semantics, errors),
            whole: Template::prepare_at(rule, &below, semantics),
        }
    });
    entries.collect()
}

/// The kinds that targets name in so many words, each once.
pub(super) fn kinds(targets: &[Target]) -> Vec<&str> {
    let mut kinds: Vec<&str> = targets
        .iter()
        .filter_map(|target| target.selector.source().get("kind").and_then(Value::as_str))
        .filter(|kind| !pattern::is_wildcard(kind) && !kind.contains("{{"))
        .collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}
