//! The kinds of operations.

use std::fmt;

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationKind {
    /// Sets a member or inserts an element.
    Add,
    /// Removes a member or an element, if it exists.
    Remove,
    /// Replaces an existing value.
    Replace,
    /// Moves a value to another path.
    Move,
    /// Copies a value to another path.
    Copy,
    /// Fails unless a value is as expected.
    Test,
}

impl OperationKind {
    /// The operation with this lower-case name.
    pub(super) fn named(name: &str) -> Option<Self> {
        [Self::Add, Self::Remove, Self::Replace, Self::Move, Self::Copy, Self::Test]
            .into_iter()
            .find(|kind| kind.name() == name)
    }

    /// Its name in a patch.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Remove => "remove",
            Self::Replace => "replace",
            Self::Move => "move",
            Self::Copy => "copy",
            Self::Test => "test",
        }
    }

    /// Whether Kyverno's documentation mentions it; all six work.
    pub const fn is_documented(self) -> bool {
        matches!(self, Self::Add | Self::Remove | Self::Replace)
    }
}

impl fmt::Display for OperationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
