//! The order in which policies run, and what they do to one object.
//!
//! An [`Engine`] holds compiled policies and turns one object into one [`ObjectReport`]. It never prints,
//! reads no clock and touches neither files nor sockets: all lookups go through a [`World`].
//!
//! `order.rs` takes one object through all policies; `family.rs` passes each turn on to the family of the policy.
//! What only classic policies do is in `classic/`.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod classic;
mod evaluation;
mod family;
#[cfg(test)]
mod fixed_label;
mod input_names;
mod limits;
mod lookups;
mod order;
mod placed;
mod replay;
mod targets;
mod values;
mod world;

use crate::patch::Schemas;
use crate::policy::{
    Candidates, Operation, Policy, PolicyException, PolicyExceptions, PolicySet, RequestFilters, UserInfo,
};
use crate::report::ObjectReport;
use crate::semantics::Semantics;
use crate::value::{GroupVersionKind, Text, Value};

pub use classic::{LAST_APPLIED, image_name};
pub use input_names::InputNames;
pub use limits::Limits;
pub use targets::{Taken, Targets, Triggered};
pub use values::{Assignments, DottedName, NameError, PolicyValues, SubresourceKind, Values};
pub use world::{
    EmptyWorld, Lookup, LookupError, LookupSource, TargetAccess, TargetLookup, TargetRefusal, World,
};

/// Compiled policies and everything that is the same for all objects of a run.
#[derive(Debug)]
pub struct Engine {
    policies: PolicySet,
    settings: Settings,
    uses_namespace_labels: bool,
}

/// What is the same for all objects of a run.
#[derive(Debug, Default)]
pub struct Settings {
    /// Which side is taken where documentation and controllers part.
    pub semantics: Semantics,
    /// Merge keys of lists.
    pub schemas: Schemas,
    /// Values given for names of the JSON context.
    pub values: Values,
    /// Who makes the requests; `None` where nobody said.
    pub user: Option<UserInfo>,
    /// Which objects rules leave alone although they select them.
    pub exceptions: PolicyExceptions,
    /// Which objects no policy sees, as far as the configuration of Kyverno says so.
    pub filters: RequestFilters,
    /// Which operation the requests are. Unless this or a value says otherwise they create objects, and
    /// update those that are stored already.
    pub operation: Option<Operation>,
    /// The namespace that objects of namespaced kinds without one are evaluated in. It is never written
    /// out. Empty stands for `default`.
    pub namespace: Text,
    /// What bounds the evaluation of one rule on one object.
    pub limits: Limits,
    /// Whether the policies have just come or changed, and nobody sends a request: rules with targets that ask
    /// for it run for all objects, and no others.
    pub on_policy_update: bool,
    /// Whether reports tell how each outcome came about.
    pub trace: bool,
    /// Whether the answers come from a recording without the values of Secrets: a rule that needs one is an error.
    pub is_replay: bool,
    /// How messages name the user's inputs.
    pub input_names: InputNames,
}

impl Engine {
    /// An engine for these policies.
    pub fn new(policies: PolicySet, settings: Settings) -> Self {
        let mut all = policies.policies().iter();
        let uses_namespace_labels = all.any(Policy::uses_namespace_labels)
            || settings.exceptions.all().iter().any(PolicyException::uses_namespace_labels)
            || settings.filters.uses_namespace_labels();
        Self { policies, settings, uses_namespace_labels }
    }

    /// Whether anything looks at the labels of namespaces.
    pub const fn uses_namespace_labels(&self) -> bool {
        self.uses_namespace_labels
    }

    /// Whether rules can take or change objects of this kind.
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

    /// The policies, in the order they run.
    pub const fn policies(&self) -> &PolicySet {
        &self.policies
    }

    /// What is the same for all objects.
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Runs the policies that concern an object, one after the other: each sees what the earlier ones
    /// left. `old` is the stored object of an update.
    ///
    /// A rule that cannot be evaluated is an outcome of the report, never a failure of the call.
    pub fn mutate(&self, object: &Value, old: Option<&Value>, world: &dyn World) -> ObjectReport {
        order::run(self, object, old, world)
    }

    /// Whether some rule changes other objects than the one that triggers it.
    pub fn has_targets(&self) -> bool {
        self.policies.policies().iter().any(Policy::has_targets)
    }

    /// Runs the rules with targets that an object triggers, on the targets as they stand. `before` and `after`
    /// are the object as it came and as [`Engine::mutate`] left it; `old` is the stored object of an update.
    ///
    /// Objects trigger rules one after the other, each seeing what the earlier ones left of the targets.
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
