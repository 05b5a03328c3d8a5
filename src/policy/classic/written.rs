//! Rules as they are written.

use crate::policy::fields::{given, list, texts};
use crate::semantics::{DivergenceTracker, Semantics};
use crate::value::{Pointer, Text, Value};

/// A rule as written.
#[derive(Debug)]
pub(super) struct WrittenRule {
    pub(super) value: Value,
    /// Its place in the policy.
    pub(super) at: Pointer,
    /// Decides the divergences of the rule.
    pub(super) tracker: DivergenceTracker,
    /// Decides the divergences of the rules that are generated from it.
    pub(super) autogen_tracker: DivergenceTracker,
}

impl WrittenRule {
    pub(super) fn new(value: Value, index: usize, semantics: Semantics) -> Self {
        Self {
            value,
            at: Pointer::ROOT.key("spec").key("rules").index(index),
            tracker: DivergenceTracker::new(semantics),
            autogen_tracker: DivergenceTracker::new(semantics),
        }
    }
}

/// Whether a rule mutates. As in Kyverno, a block of empty strings counts as none.
pub(super) fn mutates(rule: &Value) -> bool {
    match given(rule, "mutate") {
        Some(Value::Object(members)) => {
            members.values().any(|member| !member.is_null() && member.as_str() != Some(""))
        }
        // The schema reports a wrong type.
        mutate => mutate.is_some(),
    }
}

/// The `targets` of a rule.
pub(super) fn targets(rule: &Value) -> Option<&Value> {
    given(rule.get("mutate")?, "targets")
}

/// The filters of `match` or `exclude`, with their places in the rule: the block itself, then the entries of `any` and
/// `all`.
pub(super) fn filters<'v>(
    rule: &'v Value,
    block: &'static str,
) -> impl Iterator<Item = (Pointer, &'v Value)> {
    let at = Pointer::ROOT.key(block);
    rule.get(block).into_iter().flat_map(move |whole| {
        let entries = ["any", "all"].into_iter().flat_map({
            let at = at.clone();
            move |branch| {
                let at = at.key(branch);
                let entries = list(whole, branch).iter().enumerate();
                entries.map(move |(index, filter)| (at.index(index), filter))
            }
        });
        std::iter::once((at.clone(), whole)).chain(entries)
    })
}

/// The kinds of a filter.
pub(super) fn kinds(filter: &Value) -> Vec<Text> {
    texts(filter.path(&["resources", "kinds"]))
}
