//! State that classic policies share for one object.

use std::cell::{Cell, OnceCell, RefCell};

use crate::policy::{FailurePolicy, Operation};
use crate::report::UndecidedException;
use crate::value::Value;

/// State that classic policies share for one object.
#[derive(Default)]
pub(in crate::engine) struct ObjectState {
    /// The context of the request, by operation.
    context_roots: [OnceCell<Value>; Operation::ALL.len()],
    /// Whether a policy has seen the request, by failure policy: each has its own webhook and so its own request.
    seen: [Cell<bool>; 2],
    /// Exceptions whose conditions cannot be evaluated.
    pub(in crate::engine) undecided: RefCell<Vec<UndecidedException>>,
}

impl ObjectState {
    /// The context of a request with this operation, created once.
    pub(super) fn context_root(&self, operation: Option<Operation>, create: impl FnOnce() -> Value) -> Value {
        let index = Operation::ALL.iter().position(|known| Some(*known) == operation);
        match index.and_then(|index| self.context_roots.get(index)) {
            Some(root) => root.get_or_init(create).clone(),
            None => create(),
        }
    }

    /// Whether a policy with this failure policy has seen the request.
    pub(super) fn is_seen(&self, failure_policy: FailurePolicy) -> bool {
        self.seen(failure_policy).is_some_and(Cell::get)
    }

    /// Records that a policy with this failure policy has seen the request.
    pub(super) fn note_seen(&self, failure_policy: FailurePolicy) {
        if let Some(seen) = self.seen(failure_policy) {
            seen.set(true);
        }
    }

    /// Forgets what policies did, which is returned.
    pub(in crate::engine) fn restart(&self) -> ([bool; 2], Vec<UndecidedException>) {
        let seen = [0, 1].map(|index| self.seen.get(index).is_some_and(|seen| seen.replace(false)));
        (seen, self.undecided.take())
    }

    /// Restores what [`ObjectState::restart`] returned.
    pub(in crate::engine) fn restore(&self, (seen, undecided): ([bool; 2], Vec<UndecidedException>)) {
        self.seen.iter().zip(seen).for_each(|(cell, seen)| cell.set(seen));
        self.undecided.replace(undecided);
    }

    fn seen(&self, failure_policy: FailurePolicy) -> Option<&Cell<bool>> {
        self.seen.get(usize::from(failure_policy == FailurePolicy::Ignore))
    }
}
