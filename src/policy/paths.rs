//! Which paths of an object a rule reads and writes.

use crate::value::PathSet;

/// What a rule may read and write of the object that it is for, whatever the object: never less than it does, often more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RulePaths {
    /// The paths whose values may decide whether the rule applies, and what it writes.
    pub reads: PathSet,
    /// The paths that it may set, change or remove. Empty for a rule with targets.
    pub writes: PathSet,
}
