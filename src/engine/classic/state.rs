//! What classic policies share on one object.

use std::cell::{Cell, OnceCell, RefCell};

use crate::policy::{FailurePolicy, Operation};
use crate::report::UndecidedException;
use crate::value::Value;

/// What classic policies share on one object.
#[derive(Default)]
pub(in crate::engine) struct ObjectState {
    /// The context that the request alone gives, by operation.
    bases: [OnceCell<Value>; Operation::ALL.len()],
    /// Whether a policy has seen the request, by failure policy: each has its own webhook and so its own request.
    passed: [Cell<bool>; 2],
    /// Exceptions whose conditions could not be evaluated.
    pub(in crate::engine) undecided: RefCell<Vec<UndecidedException>>,
}

impl ObjectState {
    /// The context that a request of this operation gives, made once.
    pub(super) fn base(&self, operation: Option<Operation>, make: impl FnOnce() -> Value) -> Value {
        let at = Operation::ALL.iter().position(|known| Some(*known) == operation);
        match at.and_then(|at| self.bases.get(at)) {
            Some(base) => base.get_or_init(make).clone(),
            None => make(),
        }
    }

    /// Whether a policy with this failure policy has seen the request.
    pub(super) fn has_passed(&self, failure_policy: FailurePolicy) -> bool {
        self.passed(failure_policy).is_some_and(Cell::get)
    }

    /// Records that a policy with this failure policy has seen the request.
    pub(super) fn note_passed(&self, failure_policy: FailurePolicy) {
        if let Some(passed) = self.passed(failure_policy) {
            passed.set(true);
        }
    }

    fn passed(&self, failure_policy: FailurePolicy) -> Option<&Cell<bool>> {
        self.passed.get(usize::from(failure_policy == FailurePolicy::Ignore))
    }
}
