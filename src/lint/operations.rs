//! Requests that a rule cannot match, or for which it can do nothing.

use crate::diagnostics::Code;
use crate::policy::KindSelector;
use crate::value::{Text, Value};

use super::{Lint, LintLevel, Rule};

/// Adds findings about filters below `all` that no object matches together.
pub(super) fn check_filters(rule: &Rule<'_>, found: &mut Vec<Lint>) {
    let all = rule.value.path(&["match", "all"]).and_then(Value::as_array).unwrap_or_default();
    for field in ["kinds", "namespaces", "names"] {
        let lists: Vec<Vec<Text>> = all.iter().map(|filter| plain(filter, field)).collect();
        let lists: Vec<_> = lists.iter().filter(|list| !list.is_empty()).collect();
        let Some((first, others)) = lists.split_first() else { continue };
        if first.iter().any(|one| others.iter().all(|list| list.contains(one))) {
            continue;
        }
        found.push(rule.found(
            Code::NeverMatches,
            LintLevel::Warning,
            rule.at.key("match").key("all"),
            format!("the filters have no {field} in common: no object matches all of them"),
            "write the filters below `any`",
        ));
    }
}

/// The values of a list of a filter; none if it has patterns or variables. Kinds are without their groups and versions.
fn plain(filter: &Value, field: &str) -> Vec<Text> {
    let texts: Vec<&str> = Rule::texts(filter, field).collect();
    if texts.iter().any(|text| text.contains(['*', '?', '{'])) {
        return Vec::new();
    }
    let name =
        |text: &&str| if field == "kinds" { KindSelector::parse(text).kind } else { Text::from(*text) };
    texts.iter().map(name).collect()
}

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
