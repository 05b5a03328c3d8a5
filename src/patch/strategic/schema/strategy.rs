//! How lists merge.

use std::borrow::Cow;

/// What a patch does to a list, as `x-kubernetes-list-type` or `x-kubernetes-patch-strategy` say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::patch) enum ListStrategy<'s> {
    /// The patch replaces the list.
    Replace,
    /// Scalars that the list lacks are added.
    Set,
    /// Elements with the same merge keys are merged; the first key is the primary one.
    Keys(Cow<'s, [&'s str]>),
}
