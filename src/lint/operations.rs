//! Objects and requests that a rule cannot match, or for which it can do nothing.

use std::collections::BTreeSet;

use crate::diagnostics::Code;
use crate::pattern;
use crate::policy::KindSelector;
use crate::value::{Text, Value};

use super::{Lint, LintLevel, MAX_COMPARED, Rule};

/// Adds findings about filters below `all` that no object matches together.
pub(super) fn check_filters(rule: &Rule<'_>, found: &mut Vec<Lint>) {
    let all = rule.value.path(&["match", "all"]).and_then(Value::as_array).unwrap_or_default();
    for field in ["kinds", "namespaces", "names"] {
        let lists: Vec<BTreeSet<Text>> = all.iter().map(|filter| plain(filter, field)).collect();
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
fn plain(filter: &Value, field: &str) -> BTreeSet<Text> {
    let texts: Vec<&str> = Rule::texts(filter, field).collect();
    if texts.iter().any(|text| text.contains(['*', '?', '{'])) {
        return BTreeSet::new();
    }
    let name =
        |text: &&str| if field == "kinds" { KindSelector::parse(text).kind } else { Text::from(*text) };
    texts.iter().map(name).collect()
}

/// The lists of a filter that patterns may cover, and the parts of a filter that have to be the same.
const LISTS: [&str; 4] = ["kinds", "names", "namespaces", "operations"];
const PARTS: [&str; 3] = ["subjects", "roles", "clusterRoles"];

/// Adds a finding about a rule whose `exclude` leaves nothing of its `match`.
pub(super) fn check_exclude(rule: &Rule<'_>, found: &mut Vec<Lint>) {
    let filters =
        |block: &str, of: &str| rule.value.path(&[block, of]).and_then(Value::as_array).unwrap_or_default();
    let [any, all] = ["any", "all"].map(|of| filters("match", of));
    if any.len().max(all.len()) > MAX_COMPARED {
        return;
    }
    // Whether all objects of a filter are excluded, which any filter below `any` does alone.
    let [one, together] =
        ["any", "all"].map(|of| filters("exclude", of)).map(|all| &all[..all.len().min(MAX_COMPARED)]);
    let is_excluded = |filter: &Value| {
        let is_covered = |kind| {
            one.iter().any(|excluded| covers(excluded, filter, kind))
                || !together.is_empty() && together.iter().all(|excluded| covers(excluded, filter, kind))
        };
        let mut kinds = Rule::texts(filter, "kinds").map(Some).peekable();
        if kinds.peek().is_none() { is_covered(None) } else { kinds.all(is_covered) }
    };
    if !any.is_empty() && any.iter().all(is_excluded) || all.iter().any(is_excluded) {
        found.push(rule.found(
            Code::NeverMatches,
            LintLevel::Warning,
            rule.at.key("exclude"),
            "`exclude` excludes all that `match` selects: the rule never runs".to_owned(),
            "exclude less, or remove the rule",
        ));
    }
}

/// Whether a filter of `exclude` holds for every object of one of its kinds for which a filter of `match` holds.
fn covers(excluded: &Value, filter: &Value, kind: Option<&str>) -> bool {
    let members =
        |value: &Value, name: &str| value.get(name).and_then(Value::as_object).cloned().unwrap_or_default();
    let [resources, matched] = [excluded, filter].map(|one| members(one, "resources"));
    let is_covered = |name: &str| match name {
        name if LISTS.contains(&name) => {
            let patterns: Vec<&str> = Rule::texts(excluded, name).collect();
            let texts: Vec<&str> = match name {
                "kinds" => kind.into_iter().collect(),
                name => Rule::texts(filter, name).collect(),
            };
            let fits = |pattern: &&str, text: &str| match name {
                "kinds" => {
                    *pattern == "*" || *pattern == text || **pattern == *KindSelector::parse(text).kind
                }
                _ => *pattern == text || !text.contains(['*', '?', '{']) && pattern::matches(pattern, text),
            };
            !texts.is_empty() && texts.iter().all(|text| patterns.iter().any(|pattern| fits(pattern, text)))
        }
        name => resources.get(name) == matched.get(name),
    };
    let has_parts = PARTS.iter().any(|name| excluded.get(name).is_some());
    (has_parts || !resources.is_empty())
        && PARTS.iter().all(|name| excluded.get(name).is_none_or(|part| filter.get(name) == Some(part)))
        && resources.keys().all(|name| is_covered(name))
}

/// Adds a finding about a rule that changes its own object and names the operation DELETE.
pub(super) fn check(rule: &Rule<'_>, found: &mut Vec<Lint>) {
    if rule.has_targets() {
        return;
    }
    let deletes = |filter| Rule::texts(filter, "operations").any(|operation| operation == "DELETE");
    if rule.filters().into_iter().any(deletes) {
        found.push(rule.found(
            Code::RuleOnDelete,
            LintLevel::Warning,
            rule.at.key("match"),
            "the rule names the operation DELETE, for which there is no object to change".to_owned(),
            "remove DELETE from `operations`",
        ));
    }
    let conditions =
        |block| rule.value.path(&["preconditions", block]).and_then(Value::as_array).unwrap_or_default();
    let all = conditions("all").iter().position(is_deletion).map(|index| ("all", index));
    let any = conditions("any");
    let any = (!any.is_empty() && any.iter().all(is_deletion)).then_some(("any", 0));
    if let Some((block, index)) = all.or(any) {
        found.push(rule.found(
            Code::RuleOnDelete,
            LintLevel::Warning,
            rule.at.key("preconditions").key(block).index(index),
            "the rule is only for the operation DELETE, for which there is no object to change".to_owned(),
            "name other operations, or change other objects by `targets`",
        ));
    }
}

/// Whether a condition holds for requests to delete an object alone.
fn is_deletion(condition: &Value) -> bool {
    let text = |name| condition.get(name).and_then(Value::as_str).unwrap_or_default();
    let key: String = text("key").chars().filter(|c| !c.is_whitespace()).collect();
    let is_equality =
        ["equals", "equal", "in", "anyin"].iter().any(|name| name.eq_ignore_ascii_case(text("operator")));
    let is_delete = match condition.get("value") {
        Some(Value::Array(items)) => matches!(&items[..], [only] if only.as_str() == Some("DELETE")),
        value => value.and_then(Value::as_str) == Some("DELETE"),
    };
    key == "{{request.operation}}" && is_equality && is_delete
}
