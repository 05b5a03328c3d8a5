//! Results of applying an overlay, and what the caller provides for it.

use crate::value::{Pointer, Value};

use super::{InlineError, PatchError};

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

/// Why an overlay is not applied.
#[derive(Debug)]
pub(super) enum OverlayError {
    /// A condition does not hold. `None` inside of list elements, where the details are not reported.
    Condition(Option<Box<FailedCondition>>),
    /// A global anchor does not hold.
    Global(Box<FailedCondition>),
    /// The overlay cannot be applied.
    Patch(PatchError),
}

impl OverlayError {
    /// Whether a list element is selected, given the result of testing the conditions on it.
    pub(super) fn selected(tested: Result<(), Self>) -> Result<bool, Self> {
        match tested {
            Ok(()) => Ok(true),
            Err(Self::Condition(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The result for the caller.
    pub(super) fn into_merged(self) -> Result<Merged, PatchError> {
        match self {
            Self::Patch(error) => Err(error),
            Self::Global(failed) | Self::Condition(Some(failed)) => Ok(Merged::ConditionFailed(*failed)),
            Self::Condition(None) => Ok(Merged::ConditionFailed(FailedCondition {
                overlay: Pointer::ROOT,
                at: Pointer::ROOT,
                reason: "a condition does not hold".into(),
                global: false,
            })),
        }
    }
}

impl<E: Into<PatchError>> From<E> for OverlayError {
    fn from(error: E) -> Self {
        Self::Patch(error.into())
    }
}
