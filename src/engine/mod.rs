//! The order Kyverno runs things in.
//!
//! An [`Engine`] holds compiled policies and turns one object into one [`ObjectReport`]. It never prints,
//! reads no clock and touches neither files nor sockets: all look-ups go through a [`World`].
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod context;
mod early;
mod exemption;
mod foreach;
mod images;
mod limits;
mod loading;
mod policies;
mod rule;
mod values;
mod world;

use crate::patch::Schemas;
use crate::policy::{Operation, PolicyExceptions, PolicySet, UserInfo};
use crate::report::ObjectReport;
use crate::semantics::Semantics;
use crate::value::{Text, Value};

pub use crate::value::{KindScope, builtin_scope};
pub use limits::Limits;
pub use loading::image_name;
pub use values::{Assignments, DottedName, PolicyValues, SubresourceKind, Values};
pub use world::{EmptyWorld, Lookup, LookupError, World};

/// Compiled policies and everything that is the same for all objects of a run.
#[derive(Debug)]
pub struct Engine {
    policies: PolicySet,
    settings: Settings,
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
    /// Which operation the requests are. Unless this or a value says otherwise they create objects, and
    /// update those that are stored already.
    pub operation: Option<Operation>,
    /// The namespace that objects of namespaced kinds without one are evaluated in. It is never written
    /// out. Empty stands for `default`.
    pub namespace: Text,
    /// What bounds the evaluation of one rule on one object.
    pub limits: Limits,
    /// Whether reports tell how each outcome came about.
    pub trace: bool,
}

impl Engine {
    /// An engine for these policies.
    pub const fn new(policies: PolicySet, settings: Settings) -> Self {
        Self { policies, settings }
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
        policies::run(self, object, old, world)
    }
}
