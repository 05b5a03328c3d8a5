//! Evaluation of policies.
//!
//! An [`Engine`] runs compiled policies on one object and returns an [`ObjectReport`]. It never prints, and uses clock,
//! files and network only through a [`World`].
//!
//! `order.rs` runs all policies on one object; `family.rs` dispatches to the family of a policy, such as `classic/`.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod admission_request;
mod cel;
mod classic;
mod evaluation;
mod expression_trace;
mod family;
#[cfg(test)]
mod fixed_label;
#[cfg(test)]
mod generated;
mod global_entry;
mod input_names;
mod later_world;
mod limits;
mod lookups;
mod met;
mod order;
mod order_check;
mod placed;
mod priority;
mod replay;
mod rerun;
mod targets;
mod values;
mod views;
mod webhook_conditions;
mod world;

use crate::admission::{Admission, KindSchemas};
use crate::patch::Schemas;
use crate::policy::{
    Candidates, CelExceptions, Operation, Policy, PolicyException, PolicyExceptions, PolicySet,
    RequestFilters, UserInfo,
};
use crate::report::ObjectReport;
use crate::semantics::Semantics;
use crate::value::{GroupVersionKind, Text, Value};

use met::Met;

pub use classic::{LAST_APPLIED, image_name};
pub use input_names::InputNames;
pub use later_world::LaterWorld;
pub use limits::Limits;
pub use targets::{MutatedTarget, Targets, Triggered};
pub use values::{Assignments, DottedName, NameError, PolicyValues, SubresourceKind, Values};
pub use world::{
    EmptyWorld, Lookup, LookupError, LookupSource, TargetAccess, TargetLookup, TargetRefusal, World, kinds_of,
};

/// Compiled policies and the settings of a run.
#[derive(Debug)]
pub struct Engine {
    policies: PolicySet,
    settings: Settings,
    uses_namespace_labels: bool,
    met: Met,
}

/// The settings of a run.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Which semantics apply where Kyverno diverges from its documentation.
    pub semantics: Semantics,
    /// What the API server does to manifests before policies see them; `None`: they see manifests as written.
    pub admission: Option<Admission>,
    /// Merge keys of lists, for strategic merge patches.
    pub schemas: Schemas,
    /// The schemas of kinds, for apply configurations.
    pub kind_schemas: KindSchemas,
    /// Values of variables.
    pub values: Values,
    /// The user of the requests, if known.
    pub user: Option<UserInfo>,
    /// Policy exceptions.
    pub exceptions: PolicyExceptions,
    /// Exceptions from CEL policies.
    pub cel_exceptions: CelExceptions,
    /// The objects that Kyverno's configuration excludes from all policies.
    pub filters: RequestFilters,
    /// The operation of the requests. By default, and unless a value overrides it, an update of objects that are stored
    /// already, and the creation of others.
    pub operation: Option<Operation>,
    /// The namespace of objects of namespaced kinds that name none; it is not part of the output. Empty means `default`.
    pub namespace: Text,
    /// Limits of the evaluation of one rule on one object.
    pub limits: Limits,
    /// Whether the policies were just created or updated, so that there is no request: only mutate-existing rules with
    /// `mutateExistingOnPolicyUpdate` run.
    pub on_policy_update: bool,
    /// Whether other orders of the policies are evaluated where they may lead to another result.
    pub checks_order: bool,
    /// Whether reports have the object after both orders where they differ.
    pub keeps_order_results: bool,
    /// Whether reports have traces.
    pub trace: bool,
    /// Whether lookups come from a recording without the values of Secrets: rules that need one fail.
    pub is_replay: bool,
    /// Names of the user's inputs in messages.
    pub input_names: InputNames,
}

impl Engine {
    /// Combines policies and settings.
    pub fn new(policies: PolicySet, settings: Settings) -> Self {
        let mut all = policies.policies().iter();
        let uses_namespace_labels = all.any(Policy::uses_namespace_labels)
            || settings.exceptions.all().iter().any(PolicyException::uses_namespace_labels)
            || settings.filters.uses_namespace_labels();
        let met = Met::new(&policies);
        Self { policies, settings, uses_namespace_labels, met }
    }

    /// An engine with the same settings, and of the policies only those with these names.
    pub fn narrowed(&self, names: &[Text]) -> Self {
        let all = self.policies.policies().iter();
        let named = all.filter(|policy| names.contains(&policy.full_name())).cloned().collect();
        Self::new(PolicySet::new(named), self.settings.clone())
    }

    /// Whether anything depends on the labels of namespaces.
    pub const fn uses_namespace_labels(&self) -> bool {
        self.uses_namespace_labels
    }

    /// Whether policies may match objects of this kind, or change them as targets.
    pub fn concerns(&self, kind: &GroupVersionKind) -> bool {
        let (named, subresource) = self.settings.values.as_subresource(kind);
        self.policies.policies().iter().any(|policy| policy.may_change(kind, (named, subresource)))
    }

    /// Whether results for objects of this kind may depend on the labels of their namespace.
    fn needs_namespace_labels(
        &self,
        policies: Candidates<'_>,
        kind: &GroupVersionKind,
        subresource: &str,
    ) -> bool {
        if !self.uses_namespace_labels || self.settings.filters.uses_namespace_labels() {
            return self.uses_namespace_labels;
        }
        policies.all().any(|(policy, parts)| {
            policy.needs_namespace_labels(&parts, (kind, subresource), &self.settings.exceptions)
        })
    }

    /// The policies, in order.
    pub const fn policies(&self) -> &PolicySet {
        &self.policies
    }

    /// The settings of the run.
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Runs the policies that concern an object, one after the other: each sees the changes of the earlier ones. `old` is
    /// the stored object of an update. Errors of rules are outcomes in the report.
    pub fn mutate(&self, object: &Value, old: Option<&Value>, world: &dyn World) -> ObjectReport {
        order::run(self, (object, old), world, order::Notes::Compared)
    }

    /// What [`Engine::mutate`] reports, without what other orders and the other view lead to.
    pub fn mutate_alone(&self, object: &Value, old: Option<&Value>, world: &dyn World) -> ObjectReport {
        order::run(self, (object, old), world, order::Notes::Absent)
    }

    /// The policies with mutate-existing rules.
    pub fn policies_with_targets(&self) -> impl Iterator<Item = &Policy> {
        self.policies.policies().iter().filter(|policy| policy.has_targets())
    }

    /// Whether there are mutate-existing rules.
    pub fn has_targets(&self) -> bool {
        self.policies_with_targets().next().is_some()
    }

    /// Runs the mutate-existing rules that an object triggers, on the current state of the targets. `before` and `after` are
    /// the object before and after [`Engine::mutate`]; `old` is the stored object of an update.
    pub fn mutate_targets(
        &self,
        (before, after): (&Value, &Value),
        old: Option<&Value>,
        targets: &mut Targets,
        world: &dyn World,
    ) -> Triggered {
        order::run_targets(self, (before, after), old, targets, world)
    }
}
