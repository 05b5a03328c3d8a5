//! The state of a walk through a legacy overlay and an object.

use crate::patch::limits::StepCounter;
use crate::patch::{FailedCondition, Limit, PatchError};
use crate::value::{Pointer, Text};

/// Why an overlay is not applied.
#[derive(Debug)]
pub(super) enum OverlayError {
    /// A condition does not hold. `None` inside of list elements, where the details are not reported.
    NotMet(Option<Box<FailedCondition>>),
    /// The overlay cannot be applied.
    Patch(PatchError),
}

impl From<PatchError> for OverlayError {
    fn from(error: PatchError) -> Self {
        Self::Patch(error)
    }
}

impl From<Limit> for OverlayError {
    fn from(limit: Limit) -> Self {
        Self::Patch(limit.into())
    }
}

/// The current paths in overlay and object, and the steps so far.
#[derive(Debug, Default)]
pub(super) struct Cursor {
    pub(super) overlay: Pointer,
    pub(super) at: Pointer,
    pub(super) steps: StepCounter,
    /// How many enclosing list elements are candidates: if one does not match, only the list is reported.
    pub(super) candidates: usize,
}

impl Cursor {
    /// The error for a condition at the current paths.
    pub(super) fn not_met(&self, reason: impl FnOnce() -> String) -> OverlayError {
        OverlayError::NotMet((self.candidates == 0).then(|| {
            Box::new(FailedCondition {
                overlay: self.overlay.clone(),
                at: self.at.clone(),
                reason: reason(),
                global: false,
            })
        }))
    }

    /// Moves down to a member, given its key in the overlay and in the object.
    pub(super) fn enter(&mut self, overlay_key: &Text, key: &Text) {
        self.overlay.push_key(overlay_key.clone());
        self.at.push_key(key.clone());
    }

    /// Moves back up.
    pub(super) fn leave(&mut self) {
        self.overlay.pop();
        self.at.pop();
    }
}
