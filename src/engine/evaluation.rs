//! One object on its way through the policies: what is the same for all of them.

use std::cell::Cell;

use crate::patch::MergeContext;
use crate::policy::{Candidate, Operation};
use crate::report::MissingInputs;
use crate::secrets::TaintTracker;
use crate::value::{GroupVersionKind, ObjectRef, Text, Value};

use super::classic::state::ObjectState;
use super::placed::Placed;
use super::{Engine, World};

/// What is the same for all policies of one object.
pub(super) struct Evaluation<'a> {
    pub(super) engine: &'a Engine,
    pub(super) world: &'a dyn World,
    pub(super) taint: &'a TaintTracker,
    /// The kind of the object itself.
    pub(super) own_kind: &'a GroupVersionKind,
    /// The kind that policies match: for a subresource that of its parent.
    pub(super) kind: &'a GroupVersionKind,
    pub(super) subresource: &'a str,
    pub(super) identity: Option<&'a ObjectRef>,
    pub(super) placed: &'a Placed,
    /// The object of the request, which an update without a stored object starts from.
    pub(super) original: &'a Value,
    pub(super) namespace_labels: Option<&'a Value>,
    /// The stored object of an update.
    pub(super) old: Option<&'a Value>,
    /// What is known of the lists of the object.
    pub(super) survey: MergeContext<'a>,
    /// A policy asked for labels of the namespace, or for the user, and they are not known.
    missed_labels: Cell<bool>,
    missed_user: Cell<bool>,
    /// What hides the object from policies that would change it.
    pub(super) filter: Cell<Option<Text>>,
    pub(super) classic: ObjectState,
}

/// The states of an object that an evaluation starts from.
#[derive(Clone, Copy)]
pub(super) struct Input<'a> {
    /// The object that policies see first.
    pub(super) placed: &'a Placed,
    /// The object of the request.
    pub(super) original: &'a Value,
    pub(super) own_kind: &'a GroupVersionKind,
    /// The stored object of an update.
    pub(super) old: Option<&'a Value>,
}

/// Prepares the evaluation of one object.
pub(super) fn evaluate<T>(
    engine: &Engine,
    input: Input<'_>,
    (world, taint): (&dyn World, &TaintTracker),
    run: impl FnOnce(&Evaluation<'_>) -> T,
) -> T {
    let Input { placed, original, own_kind, old } = input;
    for object in [&placed.object, original].into_iter().chain(old) {
        taint.see(object);
    }
    let (kind, subresource) = engine.settings.values.as_subresource(own_kind);
    let labels = engine
        .needs_namespace_labels(kind, subresource)
        .then(|| world.namespace_labels(&placed.namespace))
        .flatten();
    let identity = ObjectRef::of(&placed.object);
    let identity = identity.map(|identity| ObjectRef {
        // A namespace that only the evaluation added is not shown.
        namespace: identity.namespace.filter(|_| !placed.is_added()),
        ..identity
    });
    run(&Evaluation {
        engine,
        world,
        taint,
        own_kind,
        kind,
        subresource,
        identity: identity.as_ref(),
        placed,
        original,
        namespace_labels: labels.as_ref(),
        old,
        survey: MergeContext::new(&engine.settings.schemas),
        missed_labels: Cell::new(false),
        missed_user: Cell::new(false),
        filter: Cell::default(),
        classic: ObjectState::default(),
    })
}

impl Evaluation<'_> {
    /// The operation of the request that a policy sees: an update where a stored object is given, unless the
    /// run or a value says otherwise.
    pub(super) fn operation(&self, policy: &str) -> Operation {
        let settings = &self.engine.settings;
        let given = settings.operation.or_else(|| settings.values.operation(policy, self.name()));
        given.unwrap_or(if self.old.is_some() { Operation::Update } else { Operation::Create })
    }

    /// The name of the object, empty where it has none.
    pub(super) fn name(&self) -> &str {
        self.identity.map_or("", |identity| &identity.name)
    }

    /// The object in its current state, as policies match it.
    pub(super) fn candidate<'b>(&'b self, object: &'b Value, operation: Option<Operation>) -> Candidate<'b> {
        Candidate {
            object,
            kind: self.kind,
            subresource: self.subresource,
            operation,
            user: self.engine.settings.user.as_ref(),
            namespace: &self.placed.namespace,
            namespace_labels: self.namespace_labels,
        }
    }

    /// The part of Kyverno's configuration that keeps the request for the object from policies. Its webhooks match
    /// the object of the request, whatever policies changed since.
    pub(super) fn hidden(&self, object: &Value, operation: Option<Operation>) -> Option<Text> {
        let filters = &self.engine.settings.filters;
        let old = self.old.filter(|_| operation != Some(Operation::Create));
        let filter = filters.excluding(&self.candidate(object, operation), (self.original, old))?;
        self.filter.set(Some(filter.clone()));
        Some(filter)
    }

    /// Records that a decision depends on labels of the namespace or on the user, if they are not known.
    pub(super) fn note_missing(&self, labels: bool, user: bool) {
        if labels && self.namespace_labels.is_none() && !self.placed.namespace.is_empty() {
            self.missed_labels.set(true);
        }
        if user && self.engine.settings.user.is_none() {
            self.missed_user.set(true);
        }
    }

    /// What policies asked for and is not known.
    pub(super) fn unknown(&self) -> MissingInputs {
        MissingInputs {
            namespace: self.missed_labels.get().then(|| self.placed.namespace.clone()),
            user: self.missed_user.get(),
            undecided: self.classic.undecided.take(),
        }
    }

    /// Makes what is only needed in a trace.
    pub(super) fn traced<T>(&self, make: impl FnOnce() -> T) -> Option<T> {
        self.engine.settings.trace.then(make)
    }
}
