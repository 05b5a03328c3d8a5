//! What a family of policies provides.

use crate::value::{GroupVersionKind, Text};

use super::{Candidate, FailurePolicy, Meta, Part, PolicyExceptions, Why};

/// What the policies of a family answer about themselves. [`super::Policy`] passes each question on.
pub trait PolicyFamily {
    /// Kind, name, namespace, failure policy, notes.
    fn meta(&self) -> &Meta;

    /// The rules, in the order they run. A policy without rules of its own is one rule with its name.
    fn rules(&self) -> Vec<RuleSummary<'_>>;

    /// The parts of the policy that select objects by themselves, such as rules. Elsewhere a part is known by its
    /// place in this list.
    fn parts(&self) -> Vec<Part<'_>>;

    /// Whether one of these parts takes an object.
    fn concerns(&self, parts: &[usize], candidate: &Candidate<'_>) -> bool;

    /// Whether the policy may take objects of a kind, or change them as targets. `parent` is the kind that matching
    /// uses: for a subresource that of its parent.
    fn may_change(&self, kind: &GroupVersionKind, matched: (&GroupVersionKind, &str)) -> bool;

    /// Whether some decision depends on the labels of a namespace.
    fn uses_namespace_labels(&self) -> bool {
        false
    }

    /// Whether what these parts do with objects of a kind may depend on the labels of their namespace, the
    /// exceptions from them included.
    fn needs_namespace_labels(
        &self,
        _parts: &[usize],
        _matched: (&GroupVersionKind, &str),
        _exceptions: &PolicyExceptions,
    ) -> bool {
        self.uses_namespace_labels()
    }

    /// The failure policy of the webhook through which every request for objects of its kinds reaches the policy,
    /// whether or not a part takes the object. `None` where that makes no difference to other policies.
    fn sees_all_requests(&self) -> Option<FailurePolicy> {
        None
    }

    /// Whether the policy changes other objects than the one that triggers it.
    fn has_targets(&self) -> bool {
        false
    }
}

/// A rule as reports and test suites know it.
#[derive(Clone, Copy, Debug)]
pub struct RuleSummary<'p> {
    /// Its name.
    pub name: &'p Text,
    /// The name of the written rule that it was generated from; its own where it was not generated.
    pub source: &'p Text,
    /// Whether it was generated from another.
    pub is_generated: bool,
    /// Why it is not evaluated, if it is not.
    pub not_evaluated: Option<Why>,
}
