//! Operations for which a rule can do nothing.

use crate::diagnostics::Code;

use super::{Lint, LintLevel, Rule};

/// Adds a finding about a rule that changes its own object and names the operation DELETE.
pub(super) fn check(rule: &Rule<'_>, found: &mut Vec<Lint>) {
    let deletes = |filter| Rule::texts(filter, "operations").any(|operation| operation == "DELETE");
    if !rule.has_targets() && rule.filters().into_iter().any(deletes) {
        found.push(rule.found(
            Code::RuleOnDelete,
            LintLevel::Warning,
            rule.at.key("match"),
            "the rule names the operation DELETE, for which there is no object to change".to_owned(),
            "remove DELETE from `operations`",
        ));
    }
}
