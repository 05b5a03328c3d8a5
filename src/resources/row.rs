//! The rows of the table of built-in kinds.

use super::KindScope;

/// A group with its resources, in the server's order.
pub(super) struct Group(pub(super) &'static str, pub(super) &'static [Row]);

/// Version, kind, plural, singular, short names, categories, scope, [`LIST`] or [`NO_LIST`], and subresources.
///
/// A subresource is a name and a kind: `Kind` in the group and version of the row, else `group/version/Kind`.
pub(super) struct Row(
    pub(super) &'static str,
    pub(super) &'static str,
    pub(super) &'static str,
    pub(super) &'static str,
    pub(super) &'static [&'static str],
    pub(super) &'static [&'static str],
    pub(super) KindScope,
    pub(super) bool,
    pub(super) &'static [(&'static str, &'static str)],
);

/// The verb `list` is supported.
pub(super) const LIST: bool = true;
/// The verb `list` is not supported.
pub(super) const NO_LIST: bool = false;
