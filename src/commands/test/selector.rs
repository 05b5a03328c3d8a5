//! The selection of expectations.

use std::collections::BTreeSet;

use crate::commands::argument_values::ArgumentError;
use crate::pattern::matches;
use crate::suite::Expectation;
use crate::value::Text;

/// Patterns for fields of an expectation. A missing field matches every pattern.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Selector {
    policy: Option<String>,
    rule: Option<String>,
    resource: Option<String>,
}

impl Selector {
    /// Reads `policy=P,rule=R,resource=N`, each optional.
    pub(super) fn parse(text: &str) -> Result<Self, ArgumentError> {
        let mut selector = Self::default();
        for pair in text.split(',').filter(|pair| !pair.is_empty()) {
            let expected = ArgumentError::Expected("KEY=PATTERN, separated by commas");
            let (key, pattern) = pair.split_once('=').ok_or(expected)?;
            let place = match key.trim() {
                "policy" => &mut selector.policy,
                "rule" => &mut selector.rule,
                "resource" => &mut selector.resource,
                other => return Err(ArgumentError::SelectorKey(other.to_owned())),
            };
            if pattern.is_empty() {
                return Err(ArgumentError::EmptyPattern(key.to_owned()));
            }
            if place.replace(pattern.to_owned()).is_some() {
                return Err(ArgumentError::Duplicate(key.to_owned()));
            }
        }
        Ok(selector)
    }

    /// Whether an expectation is run on objects of these names. One without resources gets the matching ones.
    pub(super) fn narrow<'n>(
        &self,
        expectation: &mut Expectation,
        names: impl Iterator<Item = &'n Text>,
    ) -> bool {
        let Some(pattern) = &self.resource else { return true };
        if !expectation.resources.is_empty() || !expectation.specs.is_empty() {
            return true;
        }
        let fitting: BTreeSet<&Text> = names.filter(|name| matches(pattern, name)).collect();
        expectation.resources = fitting.into_iter().cloned().collect();
        !expectation.resources.is_empty()
    }

    /// Whether an expectation is run. Its resources are reduced to the matching ones.
    pub(super) fn select(&self, expectation: &mut Expectation) -> bool {
        let fits = |pattern: &Option<String>, text: &str| {
            pattern.as_ref().is_none_or(|pattern| matches(pattern, text))
        };
        let policy = fits(&self.policy, &expectation.policy) || fits(&self.policy, expectation.policy_name());
        if !policy || expectation.rule.as_ref().is_some_and(|rule| !fits(&self.rule, rule)) {
            return false;
        }
        if expectation.resources.is_empty() && expectation.specs.is_empty() {
            return true;
        }
        let named = |name: &str| {
            fits(&self.resource, name)
                || name.split_once('/').is_some_and(|(_, name)| fits(&self.resource, name))
        };
        expectation.resources.retain(|resource| named(resource));
        expectation.specs.retain(|spec| named(&spec.name));
        !expectation.resources.is_empty() || !expectation.specs.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use crate::suite::Suite;
    use crate::yaml;

    use super::*;

    fn left(selector: &str) -> Vec<String> {
        let document = "{apiVersion: a, kind: Test, results: [{policy: ns/p, rule: r, result: pass, resources: [a, ns/b]}, \
                        {policy: q, result: pass}]}";
        let mut suite = Suite::read(&yaml::parse_value(document).unwrap()).unwrap();
        let selector = Selector::parse(selector).unwrap();
        suite.results.retain_mut(|result| selector.select(result));
        suite
            .results
            .iter()
            .map(|result| format!("{} {}", result.policy, result.resources.join(" ")))
            .collect()
    }

    #[test]
    fn all_patterns_must_fit() {
        assert_eq!(left(""), ["ns/p a ns/b", "q "]);
        assert_eq!(left("policy=p"), ["ns/p a ns/b"]);
        assert_eq!(left("policy=*,rule=s*"), ["q "]);
        assert_eq!(left("resource=b"), ["ns/p ns/b", "q "]);
        assert_eq!(left("policy=ns/p,resource=?"), ["ns/p a ns/b"]);
        assert_eq!(left("policy=p,resource=c"), Vec::<String>::new());
    }

    #[test]
    fn malformed_selectors_are_refused() {
        for bad in ["policy", "name=x", "policy=a,policy=b", "rule="] {
            assert!(Selector::parse(bad).is_err(), "{bad}");
        }
    }
}
