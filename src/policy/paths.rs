//! Which paths of an object a rule reads and writes.

use std::sync::OnceLock;

use crate::value::{PathSet, Step, Value};

/// What a rule may read and write of the object that it is for, whatever the object: never less than it does, often more.
#[derive(Clone, Debug, Default)]
pub struct RulePaths {
    /// The paths whose values may decide whether the rule applies, and what it writes.
    pub reads: PathSet,
    /// The paths that it may set, change or remove. Empty for a rule with targets.
    pub writes: PathSet,
    /// The literals that its expressions compare the values at paths with, or write there, as far as they are found:
    /// nothing may be concluded from what is absent. Patterns stand as written.
    pub literals: Vec<(Vec<Step>, Value)>,
    /// The scalars that it may set, with their paths, conditions among them; `None` if it may set others.
    pub constants: Option<Vec<(Vec<Step>, Value)>>,
    touched: OnceLock<PathSet>,
}

impl RulePaths {
    /// What it reads, what it writes and the literals.
    pub fn new(reads: PathSet, writes: PathSet, literals: Vec<(Vec<Step>, Value)>) -> Self {
        Self { reads, writes, literals, ..Self::default() }
    }

    /// The paths that it may read or write.
    pub fn touched(&self) -> &PathSet {
        self.touched.get_or_init(|| {
            let mut touched = self.reads.clone();
            touched.extend(&self.writes);
            touched
        })
    }
}
