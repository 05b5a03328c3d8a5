//! The targets of mutate existing rules.

use std::sync::Arc;

use crate::pattern::{self, Conditions};
use crate::semantics::Semantics;
use crate::value::{Pointer, Value};
use crate::variables::Template;

use super::Edit;
use crate::policy::classic::findings::Findings;
use crate::policy::classic::{ContextEntry, conditions, context};
use crate::policy::fields::{given, string};
use crate::policy::kinds::KindSelector;

/// The fields that select the objects of a target. Their variables are about the trigger.
const SELECTING: [&str; 6] = ["apiVersion", "kind", "namespace", "name", "uid", "selector"];

/// What a mutate existing rule does.
#[derive(Clone, Debug)]
pub struct MutateExisting {
    /// The targets, in the order of lookup.
    pub targets: Vec<Target>,
    /// The patch or foreach for each.
    pub body: Edit,
    /// Whether the rule also runs when the policy is created or updated; `None` leaves it to the policy.
    pub on_policy_update: Option<bool>,
}

impl MutateExisting {
    /// The kinds of the targets, as far as they are known before substitution.
    pub fn kind_selectors(&self) -> Vec<KindSelector> {
        let selector = |target: &Target| {
            let fields = target.selector.source();
            let (api_version, kind) = (string(fields, "apiVersion"), string(fields, "kind"));
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
    /// The selecting fields, a document of their own.
    pub selector: Template,
    /// The `context` of each object.
    pub context: Vec<Arc<ContextEntry>>,
    /// The `preconditions` of each object.
    pub preconditions: Option<Conditions<Template>>,
    /// The whole entry at its place in the rule: Kyverno substitutes it once more with the rule.
    pub whole: Template,
}

/// Reads the `targets` of a rule.
pub(super) fn read(rule: &Value, at: &Pointer, semantics: Semantics, findings: &mut Findings) -> Vec<Target> {
    let below = Pointer::ROOT.key("mutate").key("targets");
    let targets = rule.pointed(&below).and_then(Value::as_array).unwrap_or_default();
    let entries = targets.iter().enumerate().map(|(index, target)| {
        let below = below.index(index);
        let selecting: Value =
            SELECTING.into_iter().filter_map(|field| Some((field, given(target, field)?.clone()))).collect();
        Target {
            selector: Template::prepare(&selecting, semantics),
            context: context::read(rule, &below.key("context"), semantics),
            preconditions: conditions::read(rule, &below.key("preconditions"), at, semantics, findings),
            whole: Template::prepare_at(rule, &below, semantics),
        }
    });
    entries.collect()
}

/// The kinds of targets without wildcards and variables, each once.
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
