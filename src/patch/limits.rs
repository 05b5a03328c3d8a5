//! Bounds on the size of patches and on the work of applying them.

/// The most operations of a JSON patch.
pub(super) const MAX_OPERATIONS: usize = 10_000;

/// The most reference tokens of a JSON pointer.
pub(super) const MAX_PATH_TOKENS: usize = crate::value::MAX_DEPTH;

/// The most elements of a list that was padded to reach an index.
pub(super) const MAX_PADDING: usize = 100_000;

/// The most bytes of values that a JSON patch copies.
pub(super) const MAX_COPIED_BYTES: usize = 64 << 20;

/// The most keys and elements that an overlay visits in lists of the object.
pub(super) const MAX_STEPS: usize = 1_000_000;

/// A bound that a patch exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Limit {
    /// Nesting.
    #[error("patch limit: nested deeper than {} levels", crate::value::MAX_DEPTH)]
    Depth,
    /// Parts of one JSON pointer.
    #[error("patch limit: a path of more than {MAX_PATH_TOKENS} parts")]
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
    /// Keys and elements visited by one overlay.
    #[error("patch limit: more than {MAX_STEPS} steps")]
    Steps,
}

/// Counts the keys and elements that a patch visits, up to [`MAX_STEPS`].
#[derive(Debug, Default)]
pub(super) struct StepCounter(usize);

impl StepCounter {
    /// Counts one step.
    #[inline]
    pub(super) fn count(&mut self) -> Result<(), Limit> {
        self.0 += 1;
        if self.0 > MAX_STEPS { Err(Limit::Steps) } else { Ok(()) }
    }
}
