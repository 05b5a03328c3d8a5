//! Bounds on the size of patches and on the work of applying them.

/// How many operations one JSON patch may have.
pub const MAX_OPERATIONS: usize = 10_000;

/// How many reference tokens one JSON pointer may have.
pub const MAX_PATH_PARTS: usize = crate::value::MAX_DEPTH;

/// How many elements a list may have after it was padded to reach an index.
pub const MAX_PADDING: usize = 100_000;

/// How many bytes of values one JSON patch may copy.
pub const MAX_COPIED_BYTES: usize = 64 << 20;

/// How many keys and elements one strategic merge patch may visit in lists of the object.
pub const MAX_STEPS: usize = 1_000_000;

/// A bound that a patch exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Limit {
    /// Nesting.
    #[error("patch limit: nested deeper than {} levels", crate::value::MAX_DEPTH)]
    Depth,
    /// Parts of one JSON pointer.
    #[error("patch limit: a path of more than {MAX_PATH_PARTS} parts")]
    PathParts,
    /// Operations of one JSON patch.
    #[error("patch limit: more than {MAX_OPERATIONS} operations")]
    Operations,
    /// Elements added to a list to reach an index.
    #[error("patch limit: a list padded to more than {MAX_PADDING} elements")]
    Padding,
    /// Bytes of values copied by one JSON patch.
    #[error("patch limit: more than {} MiB copied, which no option changes", MAX_COPIED_BYTES >> 20)]
    Copied,
    /// Keys and elements visited by one strategic merge patch.
    #[error("patch limit: more than {MAX_STEPS} steps")]
    Steps,
}

/// Counts the keys and elements that a patch visits, up to [`MAX_STEPS`].
#[derive(Debug, Default)]
pub(super) struct StepCounter(usize);

impl StepCounter {
    /// Counts one step.
    pub(super) fn count(&mut self) -> Result<(), Limit> {
        self.0 += 1;
        if self.0 > MAX_STEPS { Err(Limit::Steps) } else { Ok(()) }
    }
}
