//! What test suites reach of policies.

use super::finding::FilePlace;
use crate::value::Text;

/// What test suites reach of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleCoverage {
    /// The policy, with its namespace.
    pub policy: Text,
    /// The rule; one that autogen made has its own name.
    pub rule: Text,
    /// The place of the rule as it is written.
    pub place: FilePlace,
    /// Whether it has conditions beside `match` and `exclude`: preconditions, match conditions, condition anchors.
    pub has_conditions: bool,
    /// How many objects it changed.
    pub changed: usize,
    /// How many objects it left as they were although it matches them.
    pub unchanged: usize,
}

impl RuleCoverage {
    /// The branches that no suite reaches.
    pub fn missing(&self) -> impl Iterator<Item = MissingBranch> {
        let changed = (self.changed == 0).then_some(MissingBranch::Changed);
        let unchanged = (self.has_conditions && self.unchanged == 0).then_some(MissingBranch::Unchanged);
        changed.into_iter().chain(unchanged)
    }

    /// The number of branches: that it changes an object, and that its conditions are false.
    pub fn branches(&self) -> usize {
        1 + usize::from(self.has_conditions)
    }
}

/// A branch of a rule that no suite reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingBranch {
    /// The rule changes an object.
    Changed,
    /// The conditions of the rule are false.
    Unchanged,
}

impl MissingBranch {
    /// What is missing, in a few words.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Changed => "no object is changed",
            Self::Unchanged => "no object fails its conditions",
        }
    }
}
