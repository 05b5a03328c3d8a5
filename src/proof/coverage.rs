//! Which conditions of policies were true and false in the requests of a proof.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::pattern::Conditions;
use crate::policy::{Policy, Rule};

/// The conditions of policies, and whether each was true and false.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    conditions: BTreeMap<String, Covered>,
    /// The conditions on the operation, which are left out.
    operations: BTreeSet<String>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Covered {
    was_true: bool,
    was_false: bool,
}

impl Coverage {
    /// The conditions of two sets of policies: preconditions by their place, match conditions by their name.
    pub(super) fn of(old: &[Policy], new: &[Policy]) -> Self {
        let mut coverage = Self::default();
        for policy in old.iter().chain(new) {
            let name = policy.full_name();
            match policy {
                Policy::Classic(policy) => {
                    let written = policy.rules.iter().filter(|rule| rule.generated_from.is_none());
                    written.for_each(|rule| coverage.add_rule(&name, rule));
                }
                Policy::Cel(policy) => {
                    if let Some(variant) = policy.variants.first() {
                        for condition in &variant.conditions {
                            coverage.add(format!("{name} {}", condition.name));
                        }
                    }
                }
                #[cfg(test)]
                Policy::FixedLabel(_) => {}
            }
        }
        coverage
    }

    fn add_rule(&mut self, policy: &str, rule: &Rule) {
        // A request that deletes an object changes nothing, so conditions on the operation stay true.
        let is_tested = |text: &str| !text.contains("request.operation");
        for condition in rule.preconditions.iter().flat_map(Conditions::iter) {
            if !condition.key.source().as_str().is_none_or(is_tested) {
                self.operations.insert(format!("{policy}/{} {}", rule.name, condition.pointer()));
                continue;
            }
            self.add(format!("{policy}/{} {}", rule.name, condition.pointer()));
        }
    }

    fn add(&mut self, condition: String) {
        self.conditions.entry(condition).or_default();
    }

    /// Adds what an evaluation saw.
    pub(super) fn note(&mut self, seen: &[(String, bool)]) {
        for (key, met) in seen {
            let key = key.rsplit_once('=').map_or(&**key, |(key, _)| key);
            let key = without_generated(key);
            if self.operations.contains(&key) {
                continue;
            }
            let covered = self.conditions.entry(key).or_default();
            if *met {
                covered.was_true = true;
            } else {
                covered.was_false = true;
            }
        }
    }

    /// How many conditions there are.
    pub fn count(&self) -> usize {
        self.conditions.len()
    }

    /// The conditions that were not both true and false, each with what it never was.
    pub fn missing(&self) -> Vec<String> {
        let never = |(name, covered): (&String, &Covered)| {
            let what = match (covered.was_true, covered.was_false) {
                (true, true) => return None,
                (true, false) => "never false",
                (false, true) => "never true",
                (false, false) => "never evaluated",
            };
            Some(format!("{name}: {what}"))
        };
        self.conditions.iter().filter_map(never).collect()
    }
}

/// A condition of a generated rule counts as that of the rule it was generated from.
fn without_generated(key: &str) -> String {
    key.replace("autogen-cronjob-", "").replace("autogen-", "")
}

impl fmt::Display for Coverage {
    /// `all`, or `2 of 3`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let missing = self.missing().len();
        if missing == 0 {
            f.write_str("all")
        } else {
            write!(f, "{} of {}", self.count() - missing, self.count())
        }
    }
}
