//! The exceptions of a run, found by policy.

use std::collections::BTreeMap;

use crate::value::Text;

use super::PolicyException;

/// Exceptions in the order in which they apply, with an index by the policies they name.
#[derive(Clone, Debug, Default)]
pub struct PolicyExceptions {
    exceptions: Vec<PolicyException>,
    by_policy: BTreeMap<Text, Vec<usize>>,
}

impl PolicyExceptions {
    /// Sorts exceptions by namespace and name, and indexes them.
    pub fn new(mut exceptions: Vec<PolicyException>) -> Self {
        exceptions.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
        let mut by_policy: BTreeMap<Text, Vec<usize>> = BTreeMap::new();
        for (index, exception) in exceptions.iter().enumerate() {
            for policy in exception.policies() {
                let places = by_policy.entry(policy.clone()).or_default();
                // An exception may name a policy several times.
                if places.last() != Some(&index) {
                    places.push(index);
                }
            }
        }
        Self { exceptions, by_policy }
    }

    /// The exceptions, sorted by namespace and name.
    pub fn all(&self) -> &[PolicyException] {
        &self.exceptions
    }

    /// The exceptions from a rule of a policy with this full name.
    pub fn of<'a>(&'a self, policy: &str, rule: &'a str) -> impl Iterator<Item = &'a PolicyException> {
        let named = self.by_policy.get_key_value(policy);
        named.into_iter().flat_map(move |(policy, places)| {
            let exceptions = places.iter().filter_map(|index| self.exceptions.get(*index));
            exceptions.filter(move |exception| exception.names(policy, rule))
        })
    }
}
