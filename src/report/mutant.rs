//! Small faults in policies, and whether test suites notice them.

use super::finding::FilePlace;
use crate::value::{Pointer, Text};

/// A policy with a fault, and whether a suite notices it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutant {
    /// The policy, with its namespace.
    pub policy: Text,
    /// The rule with the fault, as it is written.
    pub rule: Text,
    /// The place of the fault.
    pub place: FilePlace,
    /// The node with the fault, in the policy.
    pub at: Pointer,
    /// What is wrong, in a few words.
    pub fault: String,
    /// Whether a row of a suite has another result.
    pub is_noticed: bool,
}
