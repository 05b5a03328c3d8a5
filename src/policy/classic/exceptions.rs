//! The exceptions of a run, found by policy.

use std::collections::BTreeMap;

use crate::value::Text;

use super::PolicyException;

/// Exceptions in the order in which they apply, with an index by the policies they name.
#[derive(Clone, Debug, Default)]
pub struct PolicyExceptions {
    exceptions: Vec<PolicyException>,
    by_policy: BTreeMap<Text, OfPolicy>,
}

/// The exceptions that name a policy.
#[derive(Clone, Debug, Default)]
struct OfPolicy {
    places: Vec<usize>,
    /// Their names, filters and conditions together.
    size: u64,
}

impl PolicyExceptions {
    /// Sorts exceptions by namespace and name, and indexes them.
    pub fn new(mut exceptions: Vec<PolicyException>) -> Self {
        exceptions.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
        let mut by_policy: BTreeMap<Text, OfPolicy> = BTreeMap::new();
        for (index, exception) in exceptions.iter().enumerate() {
            for policy in exception.policies() {
                let OfPolicy { places, size } = by_policy.entry(policy.clone()).or_default();
                // An exception may name a policy several times.
                if places.last() != Some(&index) {
                    places.push(index);
                    *size = size.saturating_add(exception.size());
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
        named.into_iter().flat_map(move |(policy, named)| {
            let exceptions = named.places.iter().filter_map(|index| self.exceptions.get(*index));
            exceptions.filter(move |exception| exception.names(policy, rule))
        })
    }

    /// The exceptions that name a policy, whatever rule of it.
    pub(super) fn of_policy(&self, policy: &str) -> impl Iterator<Item = &PolicyException> {
        let places = self.by_policy.get(policy).into_iter().flat_map(|named| &named.places);
        places.filter_map(|index| self.exceptions.get(*index))
    }

    /// How many exceptions name a policy, and how many names, filters and conditions they have together: what a search for
    /// those from one of its rules looks at.
    pub fn size(&self, policy: &str) -> (usize, u64) {
        self.by_policy.get(policy).map_or((0, 0), |named| (named.places.len(), named.size))
    }
}
