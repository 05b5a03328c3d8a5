//! What a policy family implements.

use crate::value::{GroupVersionKind, Pointer, Text};

use super::{FailurePolicy, Meta, Part, PolicyExceptions, RulePaths, Why};

/// A policy of one family.
pub trait PolicyFamily {
    /// Kind, name, namespace, failure policy, notes.
    fn meta(&self) -> &Meta;

    /// The rules, in the order in which they run. A policy without rules of its own is one rule with its name.
    fn rules(&self) -> Vec<RuleSummary<'_>>;

    /// The parts of the policy that each select objects, such as rules. Other methods get them by their index here.
    fn parts(&self) -> Vec<Part<'_>>;

    /// The paths that a part may read and write; `None` if the part never runs. Computed on the first call.
    fn paths(&self, part: usize) -> Option<&RulePaths>;

    /// Whether the policy may change objects of a kind, also as targets. `matched` is the kind that `match` is compared
    /// with: for a subresource that of its parent, with the subresource.
    fn may_change(&self, kind: &GroupVersionKind, matched: (&GroupVersionKind, &str)) -> bool;

    /// Whether the labels of a namespace may decide anything.
    fn uses_namespace_labels(&self) -> bool {
        false
    }

    /// Whether the labels of their namespace may decide anything for objects of a kind, exceptions included.
    fn needs_namespace_labels(
        &self,
        _parts: &[usize],
        _matched: (&GroupVersionKind, &str),
        _exceptions: &PolicyExceptions,
    ) -> bool {
        self.uses_namespace_labels()
    }

    /// The failure policy of the webhook by which every request for objects of its kinds reaches the policy, whether or
    /// not a part selects the object. `None` if that makes no difference to other policies.
    fn sees_all_requests(&self) -> Option<FailurePolicy> {
        None
    }

    /// Whether the policy changes other objects than its trigger.
    fn has_targets(&self) -> bool {
        false
    }
}

/// A rule in reports and test suites.
#[derive(Clone, Copy, Debug)]
pub struct RuleSummary<'p> {
    /// Its name.
    pub name: &'p Text,
    /// The name of the written rule that it was generated from, else its own.
    pub source: &'p Text,
    /// Whether it was generated from another.
    pub is_generated: bool,
    /// The place in the policy of the written rule; `None` if the policy is the rule.
    pub pointer: Option<&'p Pointer>,
    /// Why it is not evaluated, if it is not.
    pub not_evaluated: Option<Why>,
}
