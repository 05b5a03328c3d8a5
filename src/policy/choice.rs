//! A choice of policies and rules by patterns for their names.

use crate::pattern;

use super::Policy;

/// The policies and rules that are evaluated; all where there are no patterns.
#[derive(Clone, Debug, Default)]
pub struct PolicyChoice {
    /// Patterns for the names of policies.
    pub policies: Vec<String>,
    /// Patterns `POLICY/RULE`, or `POLICY` for all its rules.
    pub rules: Vec<String>,
}

impl PolicyChoice {
    /// Whether there are no patterns.
    pub const fn is_everything(&self) -> bool {
        self.policies.is_empty() && self.rules.is_empty()
    }

    /// Whether a policy may be chosen whose rules are not known.
    pub fn may_have(&self, policy: &str) -> bool {
        let is_chosen = |patterns: &[String], names: fn(&str, &str) -> bool| {
            patterns.is_empty() || patterns.iter().any(|pattern| names(pattern, policy))
        };
        is_chosen(&self.policies, names_policy) && is_chosen(&self.rules, may_name_rule)
    }

    /// Removes the rules that are not chosen; whether any rule is left.
    pub fn narrow(&self, policy: &mut Policy) -> bool {
        let name = policy.full_name();
        if !self.may_have(&name) {
            return false;
        }
        if self.rules.is_empty() {
            return true;
        }
        let has_rule = |rule: &str| self.rules.iter().any(|pattern| names_rule(pattern, &name, rule));
        match policy {
            Policy::Classic(policy) => {
                for rules in [&mut policy.rules, &mut policy.controller_only_rules] {
                    rules.retain(|rule| has_rule(&rule.name) || has_rule(rule.source_name()));
                }
                let meta = &mut policy.meta;
                meta.not_evaluated.retain(|part| part.rule.as_deref().is_none_or(has_rule));
                meta.notes.retain(|note| note.rule.as_deref().is_none_or(has_rule));
                meta.warnings.retain(|warning| warning.rule.as_deref().is_none_or(has_rule));
                !policy.rules.is_empty()
            }
            Policy::Cel(policy) => {
                let source = policy.meta.name.clone();
                policy.variants.retain(|variant| has_rule(&variant.name) || has_rule(&source));
                !policy.variants.is_empty()
            }
            #[cfg(test)]
            Policy::FixedLabel(_) => true,
        }
    }

    /// Removes the patterns that name a policy or one of its mutate rules.
    pub fn remove_matched(&mut self, policy: &Policy) {
        let name = policy.full_name();
        self.policies.retain(|pattern| !names_policy(pattern, &name));
        let rules = policy.rules();
        let is_named = |pattern: &str| {
            rules
                .iter()
                .any(|rule| names_rule(pattern, &name, rule.name) || names_rule(pattern, &name, rule.source))
        };
        self.rules.retain(|pattern| !is_named(pattern));
    }

    /// Removes the patterns that may name a policy whose rules are not known, or one of its rules.
    pub fn remove_possible(&mut self, policy: &str) {
        self.policies.retain(|pattern| !names_policy(pattern, policy));
        self.rules.retain(|pattern| !may_name_rule(pattern, policy));
    }
}

/// Whether a pattern names a policy; one of a namespace may be named without it.
fn names_policy(pattern: &str, policy: &str) -> bool {
    short_names(policy).any(|name| pattern::matches(pattern, name))
}

/// Whether a pattern names a rule; policies of a namespace may be named without it.
pub fn names_rule(pattern: &str, policy: &str, rule: &str) -> bool {
    !pattern.contains('/') && names_policy(pattern, policy)
        || short_names(policy).any(|name| pattern::matches(pattern, &format!("{name}/{rule}")))
}

/// Whether a pattern may name a rule of a policy.
fn may_name_rule(pattern: &str, policy: &str) -> bool {
    let is_start = |end: usize, name: &str| {
        pattern.get(..end).is_some_and(|start| pattern::matches(start, &format!("{name}/")))
    };
    !pattern.contains('/') && names_policy(pattern, policy)
        || short_names(policy).any(|name| (1..=pattern.len()).any(|end| is_start(end, name)))
}

/// The name of a policy with its namespace and without.
fn short_names(policy: &str) -> impl Iterator<Item = &str> {
    [Some(policy), policy.split_once('/').map(|(_, name)| name)].into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_name_rules() {
        for (pattern, policy, rule) in [
            ("add-*", "add-labels", "a"),
            ("add-labels/a", "add-labels", "a"),
            ("*/a", "add-labels", "a"),
            ("shop/web/a", "shop/web", "a"),
            ("web/a", "shop/web", "a"),
            ("web", "shop/web", "a"),
            ("shop/*", "shop/web", "a"),
        ] {
            assert!(names_rule(pattern, policy, rule), "{pattern}");
            assert!(may_name_rule(pattern, policy), "{pattern}");
        }
        for (pattern, policy, rule) in
            [("labels", "add-labels", "a"), ("add-labels/b", "add-labels", "a"), ("shop", "shop/web", "a")]
        {
            assert!(!names_rule(pattern, policy, rule), "{pattern}");
        }
        assert!(may_name_rule("add-labels/b", "add-labels"));
        assert!(!may_name_rule("add-labels/b", "labels") && !may_name_rule("add-labels/b", "add-labels-2"));
    }
}
