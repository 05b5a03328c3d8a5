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
    /// Its conditions and anchors.
    pub parts: Vec<PartCoverage>,
}

/// What test suites reach of a condition or anchor of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartCoverage {
    /// Its path in the rule, or of a CEL policy `matchConditions` and the name.
    pub path: Text,
    /// The line where it is written.
    pub line: usize,
    /// With how many objects it was true; of an add anchor, with how many the field was missing.
    pub held: usize,
    /// With how many objects it was false; of an add anchor, with how many the field was there.
    pub failed: usize,
}

impl PartCoverage {
    /// What no suite shows of it, in a few words.
    pub const fn missing(&self) -> Option<&'static str> {
        match (self.held, self.failed) {
            (0, 0) => Some("never evaluated"),
            (0, _) => Some("never true"),
            (_, 0) => Some("never false"),
            _ => None,
        }
    }
}

impl RuleCoverage {
    /// The branches that no suite reaches.
    pub fn missing(&self) -> impl Iterator<Item = MissingBranch> {
        let changed = (self.changed == 0).then_some(MissingBranch::Changed);
        let unchanged = (self.has_conditions && self.unchanged == 0).then_some(MissingBranch::Unchanged);
        changed.into_iter().chain(unchanged)
    }

    /// The conditions and anchors of which a suite shows one side only, or none; all of them are missing where no object
    /// reached the rule, and a single one says no more than the branches.
    pub fn missing_parts(&self) -> impl Iterator<Item = (&PartCoverage, &'static str)> {
        let is_reached = self.changed + self.unchanged > 0 && self.parts.len() > 1;
        let missing = |part: &'_ PartCoverage| part.missing();
        self.parts.iter().filter(move |_| is_reached).filter_map(move |part| Some((part, missing(part)?)))
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
