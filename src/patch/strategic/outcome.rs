//! Results of applying an overlay, and what the caller provides for it.

use crate::patch::{InlineError, Limit, PatchError};
use crate::value::{Pointer, Value};

/// The result of applying an overlay to an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Merged {
    /// The patched object; equal to the one before if there was nothing to change.
    Patched(Value),
    /// A condition on the whole patch does not hold.
    ConditionFailed(FailedCondition),
}

/// A condition that keeps an overlay from being applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedCondition {
    /// The path of the condition in the overlay.
    pub overlay: Pointer,
    /// The path in the object of the value that was tested or is missing.
    pub at: Pointer,
    /// Why it does not hold; never contains values of the object.
    pub reason: String,
    /// Whether it is a global anchor, which decides on the whole rule.
    pub global: bool,
}

impl FailedCondition {
    /// A condition of which neither path nor reason is known.
    pub(in crate::patch) fn unspecified() -> Self {
        Self {
            overlay: Pointer::ROOT,
            at: Pointer::ROOT,
            reason: "a condition does not hold".into(),
            global: false,
        }
    }
}

/// Resolves the leaves of an overlay that refer to the value they replace.
pub trait InlineResolver {
    /// The value of a string leaf; `None` where the leaf is no such reference.
    ///
    /// `overlay` is the path of the leaf in the overlay, `at` the path of the patched node in the object, and `base`
    /// that node, if it exists. An error says what could not be resolved.
    fn resolve(
        &self,
        overlay: &Pointer,
        at: &Pointer,
        base: Option<&Value>,
    ) -> Option<Result<Value, InlineError>>;
}

/// Why a planner returns no plan.
#[derive(Debug)]
pub(super) enum PlanError {
    /// A condition does not hold. `None` inside of list elements, where the details are not reported.
    Condition(Option<Box<FailedCondition>>),
    /// A global anchor does not hold.
    Global(Box<FailedCondition>),
    /// The patch cannot be applied.
    Patch(PatchError),
}

impl From<PatchError> for PlanError {
    fn from(error: PatchError) -> Self {
        Self::Patch(error)
    }
}

impl From<Limit> for PlanError {
    fn from(limit: Limit) -> Self {
        Self::Patch(limit.into())
    }
}
