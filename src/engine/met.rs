//! Which policies may read or write what another one writes, whatever the object.

use std::sync::OnceLock;

use crate::policy::{Policy, PolicySet, RulePaths};
use crate::value::PathSet;

/// Of larger sets nothing is kept.
const MAX_POLICIES: usize = 512;

/// For each policy those that may read or write what it writes, found once it has changed an object.
#[derive(Debug)]
pub(super) struct Met {
    policies: Vec<OnceLock<Row>>,
}

#[derive(Debug)]
struct Row {
    /// What the policy may change; new maps aside.
    changes: PathSet,
    /// Whether each policy may read or write that.
    is_met: Vec<bool>,
}

impl Met {
    pub(super) fn new(policies: &PolicySet) -> Self {
        let number = policies.policies().len();
        let kept = if number > MAX_POLICIES { 0 } else { number };
        Self { policies: std::iter::repeat_with(OnceLock::new).take(kept).collect() }
    }

    /// Whether each policy may read or write what this one changed, new maps aside; `None`: all may.
    pub(super) fn by(&self, policies: &PolicySet, changing: usize, changed: &PathSet) -> Option<&[bool]> {
        let policies = policies.policies();
        let row = self.policies.get(changing)?.get_or_init(|| {
            let mut changes = PathSet::default();
            for rule in rules(&policies[changing]) {
                changes.extend(&rule.writes.with_whole_lists());
            }
            let is_met = |policy: &Policy| {
                rules(policy).any(|rule| rule.reads.intersects(&changes) || rule.writes.intersects(&changes))
            };
            let is_met = policies.iter().map(is_met).collect();
            Row { changes, is_met }
        });
        row.changes.covers(changed).then_some(&row.is_met[..])
    }
}

fn rules(policy: &Policy) -> impl Iterator<Item = &RulePaths> {
    (0..policy.rules().len()).filter_map(|part| policy.paths(part))
}
