//! The state of a walk through an overlay and an object.

use crate::value::{Pointer, Text};

use super::limits::StepCounter;
use super::outcome::{FailedCondition, OverlayError};

/// The current paths in overlay and object, and the steps so far.
#[derive(Debug, Default)]
pub(super) struct Cursor {
    pub(super) overlay: Pointer,
    pub(super) at: Pointer,
    pub(super) steps: StepCounter,
    /// Inside a list element that a failed condition only skips, so that its details are not reported.
    pub(super) in_element: bool,
}

impl Cursor {
    /// The error for a condition that does not hold, given its path in the object and the reason.
    pub(super) fn failed(&self, global: bool, detail: impl FnOnce() -> (Pointer, String)) -> OverlayError {
        if self.in_element && !global {
            return OverlayError::Condition(None);
        }
        let (at, reason) = detail();
        let failed = Box::new(FailedCondition { overlay: self.overlay.clone(), at, reason, global });
        if global { OverlayError::Global(failed) } else { OverlayError::Condition(Some(failed)) }
    }

    /// The error for a condition at the current paths.
    pub(super) fn not_met(&self, reason: impl FnOnce() -> String) -> OverlayError {
        self.failed(false, || (self.at.clone(), reason()))
    }

    /// Moves down to a member, given its key in the overlay and in the object.
    #[inline]
    pub(super) fn enter(&mut self, overlay_key: impl Into<Text>, key: impl Into<Text>) {
        self.overlay.push_key(overlay_key);
        self.at.push_key(key);
    }

    /// Moves back up.
    #[inline]
    pub(super) fn leave(&mut self) {
        self.overlay.pop();
        self.at.pop();
    }
}
