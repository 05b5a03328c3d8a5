//! Bounds on the size of patches and on the work of applying them.

use crate::value::Value;

/// The most operations of a JSON patch.
pub(super) const MAX_OPERATIONS: usize = 10_000;

/// The most reference tokens of a JSON pointer.
pub(super) const MAX_PATH_TOKENS: usize = crate::value::MAX_DEPTH;

/// The most elements of a list that was padded to reach an index.
pub(super) const MAX_PADDING: usize = 100_000;

/// The most bytes of values that a JSON patch copies.
const MAX_COPIED_BYTES: usize = 64 << 20;

/// The most values that a JSON patch copies, each with all that is in it: copies of copies double an object each time.
const MAX_COPIED_VALUES: usize = 100_000;

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
    /// Values copied by one JSON patch.
    #[error("patch limit: more than {MAX_COPIED_VALUES} values copied, which no option changes")]
    CopiedValues,
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

    /// The steps so far.
    pub(super) const fn taken(&self) -> usize {
        self.0
    }
}

/// Counts what a JSON patch copies, up to [`MAX_COPIED_BYTES`] and [`MAX_COPIED_VALUES`].
#[derive(Clone, Debug, Default)]
pub(super) struct CopyCounter {
    /// The approximate size as text.
    bytes: usize,
    values: usize,
}

impl CopyCounter {
    /// Counts a value with all that is in it. Stops where a limit is exceeded.
    pub(super) fn count(&mut self, value: &Value) -> Result<(), Limit> {
        let mut pending = vec![value];
        while let Some(node) = pending.pop() {
            self.values += 1;
            if self.values > MAX_COPIED_VALUES {
                return Err(Limit::CopiedValues);
            }
            self.add_bytes(match node {
                Value::Null | Value::Bool(_) | Value::Number(_) => 8,
                Value::String(text) => text.len() + 2,
                Value::Array(items) => {
                    pending.extend(items.iter());
                    2
                }
                Value::Object(members) => {
                    pending.extend(members.values());
                    2 + members.keys().map(|key| key.len() + 3).sum::<usize>()
                }
            })?;
        }
        Ok(())
    }

    /// Counts nulls that fill a list up.
    pub(super) fn count_nulls(&mut self, count: usize) -> Result<(), Limit> {
        self.add_bytes(count.saturating_mul(8))
    }

    fn add_bytes(&mut self, bytes: usize) -> Result<(), Limit> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > MAX_COPIED_BYTES { Err(Limit::Copied) } else { Ok(()) }
    }
}
