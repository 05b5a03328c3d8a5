//! CEL policies: `MutatingPolicy` and `NamespacedMutatingPolicy` of `policies.kyverno.io`, `MutatingAdmissionPolicy` of
//! `admissionregistration.k8s.io`.

mod autogen;
mod binding;
mod checks;
mod constraints;
mod exception;
mod field_checks;
mod findings;
mod load;
mod names;
mod paths;
mod schema;
#[cfg(test)]
mod tests;
mod variant;
mod webhook;

use std::sync::{Arc, OnceLock};

use crate::cel::{Env, Program};
use crate::semantics::DivergenceSet;
use crate::value::{GroupVersionKind, Pointer, Text};

use super::expression::Expression;
use super::{
    FailurePolicy, IndexKey, KindKeys, Meta, Part, PolicyError, PolicyFamily, RulePaths, RuleSummary,
};

pub use binding::{Binding, NotFound, ParamRef};
pub use constraints::{MatchConstraints, ResourceRule, RuleScope};
pub use exception::{CelException, CelExceptions};
pub(super) use load::parse;
pub use names::metadata_errors;
pub use webhook::SharedWebhooks;

/// Groups and kinds of the documents.
pub(super) const KINDS: &[(&str, &str)] = &[
    (KYVERNO_GROUP, "MutatingPolicy"),
    (KYVERNO_GROUP, "NamespacedMutatingPolicy"),
    (KUBERNETES_GROUP, "MutatingAdmissionPolicy"),
];

/// Group and kind of a binding.
pub(super) const BINDING: (&str, &str) = (KUBERNETES_GROUP, "MutatingAdmissionPolicyBinding");

const KYVERNO_GROUP: &str = "policies.kyverno.io";
const KUBERNETES_GROUP: &str = "admissionregistration.k8s.io";

/// The kind of a CEL policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CelPolicyKind {
    /// Kyverno's, for all namespaces.
    MutatingPolicy,
    /// Kyverno's, for its own namespace.
    NamespacedMutatingPolicy,
    /// That of the API server.
    MutatingAdmissionPolicy,
}

impl CelPolicyKind {
    /// The kind as documents write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::MutatingPolicy => "MutatingPolicy",
            Self::NamespacedMutatingPolicy => "NamespacedMutatingPolicy",
            Self::MutatingAdmissionPolicy => "MutatingAdmissionPolicy",
        }
    }

    /// Whether Kyverno runs it, not the API server.
    pub const fn is_of_kyverno(self) -> bool {
        !matches!(self, Self::MutatingAdmissionPolicy)
    }
}

/// A CEL policy, compiled.
#[derive(Clone, Debug)]
pub struct CelPolicy {
    /// What policies of all families have.
    pub meta: Meta,
    /// Its kind.
    pub kind: CelPolicyKind,
    /// The policy as written, then those generated from it for pod controllers.
    pub variants: Vec<Arc<CelVariant>>,
    /// Whether requests are mutated.
    pub evaluates_admission: bool,
    /// Whether stored objects are mutated: its targets, or else what it matches.
    pub mutates_existing: bool,
    /// Whether `ApplyConfiguration` may replace atomic lists, maps and structs.
    pub allows_atomic: bool,
    /// Whether it runs again after other changes of the object.
    pub reinvokes: bool,
    /// The webhooks that it shares with other policies.
    pub shared_webhooks: Option<SharedWebhooks>,
    /// The kind of its parameters.
    pub param_kind: Option<GroupVersionKind>,
    /// The bindings; `None` if none was loaded.
    pub bindings: Option<Vec<Binding>>,
}

/// A CEL policy as written, or as generated for pod controllers.
#[derive(Debug)]
pub struct CelVariant {
    /// The name of the policy, for a generated one with `autogen-` or `autogen-cronjob-` before it.
    pub name: Text,
    /// The variables of its expressions, in the order of their numbers.
    pub env: Env,
    /// Which requests it is for.
    pub constraints: MatchConstraints,
    /// What must be true.
    pub conditions: Vec<Expression>,
    /// Of the conditions that name `oldObject` those that the API server evaluates, too, before it calls Kyverno.
    pub webhook_conditions: Vec<usize>,
    /// The policy's own variables.
    pub variables: CelVariables,
    /// The mutations, in order.
    pub mutations: Vec<CelMutation>,
    /// Expressions for annotations of the report, with the key as name.
    pub audit_annotations: Vec<Expression>,
    /// The objects that are mutated instead of the matched one.
    pub targets: Option<CelTargets>,
    /// Why it cannot be evaluated: a generated one whose expressions do not compile.
    pub error: Option<PolicyError>,
    /// What is generated under the other semantics instead, and which divergences that are.
    pub other: Option<(Arc<Self>, DivergenceSet)>,
    /// Whether an expression may name `oldObject`.
    pub names_old: bool,
    /// What it reads and writes, found on the first use.
    pub(super) paths: OnceLock<RulePaths>,
}

/// The variables of a policy. A later one of the same name hides an earlier one.
#[derive(Debug, Default)]
pub struct CelVariables {
    /// Their names, by number.
    pub names: Vec<Text>,
    /// Their places in the document, by number.
    pub pointers: Vec<Pointer>,
    /// Their expressions, by number.
    pub programs: Vec<Program>,
}

/// A mutation.
#[derive(Debug)]
pub struct CelMutation {
    /// Its place in the document.
    pub pointer: Pointer,
    /// What it does.
    pub patch: CelPatch,
}

/// What a mutation does.
#[derive(Debug)]
pub enum CelPatch {
    /// Merges an `Object` into the object.
    ApplyConfiguration(Program),
    /// Applies a list of `JSONPatch`.
    JsonPatch(Program),
    /// Nothing, as in Kyverno, for this reason.
    Ignored(&'static str),
}

/// The targets of a policy that mutates stored objects.
#[derive(Debug)]
pub struct CelTargets {
    /// Which objects are targets.
    pub constraints: MatchConstraints,
    /// An expression for the targets, instead of the constraints; `object` is the trigger.
    pub expression: Option<Program>,
    /// What must be true of a target, instead of the conditions of the policy.
    pub conditions: Vec<Expression>,
}

impl CelPolicy {
    /// Whether a target is something else than what the policy matches.
    pub fn has_own_targets(&self) -> bool {
        self.variants.iter().any(|variant| variant.targets.is_some())
    }

    /// What a variant selects. Targets may be their own triggers.
    fn part<'p>(&'p self, variant: &'p CelVariant) -> Part<'p> {
        let own = variant.targets.as_ref();
        let constraints = [Some(&variant.constraints), own.map(|targets| &targets.constraints)];
        let plurals: Option<Vec<_>> =
            constraints.into_iter().flatten().map(|one| one.plurals.as_ref()).collect();
        let keys = || own.is_none().then(|| variant.constraints.index_keys())?;
        Part {
            kinds: plurals.map_or(KindKeys::Any, |plurals| {
                KindKeys::Resources(plurals.into_iter().flatten().collect())
            }),
            keys: match &self.meta.namespace {
                Some(namespace) => Some(vec![IndexKey::InNamespace(namespace)]),
                None => keys(),
            },
        }
    }
}

impl PolicyFamily for CelPolicy {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn rules(&self) -> Vec<RuleSummary<'_>> {
        let summary = |(index, variant): (usize, &'_ Arc<CelVariant>)| RuleSummary {
            name: &self.variants[index].name,
            source: &self.meta.name,
            is_generated: *variant.name != *self.meta.name,
            pointer: None,
            not_evaluated: None,
        };
        self.variants.iter().enumerate().map(summary).collect()
    }

    fn parts(&self) -> Vec<Part<'_>> {
        self.variants.iter().map(|variant| self.part(variant)).collect()
    }

    fn paths(&self, part: usize) -> Option<&RulePaths> {
        let variant = self.variants.get(part)?;
        Some(variant.paths.get_or_init(|| paths::paths(variant, self.kind.dialect())))
    }

    fn may_change(&self, kind: &GroupVersionKind, (parent, subresource): (&GroupVersionKind, &str)) -> bool {
        self.variants.iter().any(|variant| {
            let of_targets = variant.targets.as_ref().is_some_and(|targets| {
                targets.expression.is_some() || targets.constraints.may_select(kind, "")
            });
            of_targets || variant.constraints.may_select(parent, subresource)
        })
    }

    fn uses_namespace_labels(&self) -> bool {
        let of_bindings = self.bindings.iter().flatten().filter_map(|binding| binding.constraints.as_ref());
        self.variants.iter().any(|variant| variant.uses_namespace_labels())
            || of_bindings.into_iter().any(MatchConstraints::uses_namespace_labels)
    }

    fn sees_all_requests(&self) -> Option<FailurePolicy> {
        None
    }

    fn has_targets(&self) -> bool {
        self.mutates_existing
    }
}
