//! Conditions that can never hold, and deprecated forms of them.

use std::collections::BTreeMap;

use crate::diagnostics::Code;
use crate::patch::Anchor;
use crate::pattern::Operator;
use crate::policy::KindSelector;
use crate::semantics::DivergenceTracker;
use crate::value::{Pointer, Value};

use super::{Lint, LintLevel, MAX_NESTING, Rule};

/// Adds the findings about the conditions of a rule, its loops and its targets.
pub(super) fn check(rule: &Rule<'_>, found: &mut Vec<Lint>) {
    let mut finder = Finder { rule, found };
    if let Some(conditions) = rule.value.get("preconditions") {
        finder.block(conditions, &rule.at.key("preconditions"));
    }
    let Some(mutate) = rule.mutate() else { return };
    let at = rule.at.key("mutate");
    if let Some(overlay) = mutate.get("patchStrategicMerge") {
        let at = at.key("patchStrategicMerge");
        finder.kind_anchor(overlay, &at);
        finder.anchors(overlay, &at, MAX_NESTING);
    }
    for list in ["targets", "foreach"] {
        finder.members(mutate.get(list), &at.key(list), MAX_NESTING);
    }
}

struct Finder<'r, 'f> {
    rule: &'r Rule<'r>,
    found: &'f mut Vec<Lint>,
}

impl Finder<'_, '_> {
    /// A condition on the kind that `match` excludes.
    fn kind_anchor(&mut self, overlay: &Value, at: &Pointer) {
        let is_kind = |key: &str| {
            Anchor::is_test_key(key) && Anchor::parse(key).is_some_and(|(_, name)| name == "kind")
        };
        let members = overlay.as_object().into_iter().flatten();
        for (key, kind) in members.filter(|(key, _)| is_kind(key)) {
            let Some(kind) =
                kind.as_str().filter(|kind| !self.rule.has_targets() && self.is_other_kind(&[kind]))
            else {
                continue;
            };
            let message = format!("the kind is never {kind}: `match` names others");
            let help = "remove the condition, or write values that occur";
            let at = at.key(key.clone());
            self.found.push(self.rule.found(Code::NeverHolds, LintLevel::Warning, at, message, help));
        }
    }

    /// Condition anchors with a pattern that no value fits.
    fn anchors(&mut self, node: &Value, at: &Pointer, depth: usize) {
        if depth == 0 {
            return;
        }
        for (key, member) in node.as_object().into_iter().flatten() {
            let at = at.key(key.clone());
            if let (Value::String(pattern), true) = (member, Anchor::is_test_key(key))
                && pattern.split('|').all(is_contradiction)
            {
                let message = format!("no number fits `{pattern}`: the condition never holds");
                let help = "write alternatives with `|`";
                self.found.push(self.rule.found(
                    Code::NeverHolds,
                    LintLevel::Warning,
                    at.clone(),
                    message,
                    help,
                ));
            }
            self.anchors(member, &at, depth - 1);
        }
        for (index, item) in node.as_array().unwrap_or_default().iter().enumerate() {
            self.anchors(item, &at.index(index), depth - 1);
        }
    }

    /// The conditions of the elements of `targets` or `foreach`, and of loops inside.
    fn members(&mut self, list: Option<&Value>, at: &Pointer, depth: usize) {
        let elements = list.and_then(Value::as_array).unwrap_or_default();
        for (index, element) in elements.iter().enumerate() {
            let at = at.index(index);
            if let Some(conditions) = element.get("preconditions") {
                self.block(conditions, &at.key("preconditions"));
            }
            if depth > 0 {
                self.members(element.get("foreach"), &at.key("foreach"), depth - 1);
            }
        }
    }

    /// A block of conditions: `any` and `all`, or a list.
    fn block(&mut self, block: &Value, at: &Pointer) {
        if let Some(conditions) = block.as_array() {
            let message = "a list of conditions is deprecated: all of them have to hold".to_owned();
            let help = "write them below `all`";
            self.found.push(self.rule.found(
                Code::DeprecatedForm,
                LintLevel::Info,
                at.clone(),
                message,
                help,
            ));
            self.conditions(conditions, false, at);
            self.contradictions(conditions, at);
        }
        for name in ["any", "all"] {
            let Some(conditions) = block.get(name).and_then(Value::as_array) else { continue };
            if name == "any" && conditions.is_empty() {
                let (code, message) = (Code::NeverHolds, "an empty `any` never holds".to_owned());
                let help = "write a condition, or remove the block";
                self.found.push(self.rule.found(code, LintLevel::Warning, at.key(name), message, help));
            }
            self.conditions(conditions, name == "any", &at.key(name));
            if name == "all" {
                self.contradictions(conditions, &at.key(name));
            }
        }
    }

    fn conditions(&mut self, conditions: &[Value], is_any: bool, at: &Pointer) {
        for (index, condition) in conditions.iter().enumerate() {
            let Some(operator) = condition.get("operator").and_then(Value::as_str) else { continue };
            self.found.extend(operator_finding(self.rule, operator, at.index(index).key("operator")));
            if let Some(why) = self.impossible(condition, operator) {
                let help = "remove the condition, or write values that occur";
                self.found.push(self.rule.found(
                    Code::NeverHolds,
                    LintLevel::Warning,
                    at.index(index),
                    why,
                    help,
                ));
            } else if let Some(holds) = constant(condition, operator) {
                self.found.push(self.constant(holds, is_any, at.index(index)));
            }
        }
    }

    /// Why a condition never holds: no value is in an empty list, and no request has an operation that `match` excludes.
    fn impossible(&self, condition: &Value, operator: &str) -> Option<String> {
        let is = |names: &[&str]| names.iter().any(|name| name.eq_ignore_ascii_case(operator));
        let value = condition.get("value")?;
        if is(&["AnyIn"]) && value.as_array().is_some_and(<[Value]>::is_empty) {
            return Some(format!("`{operator}` of an empty list never holds"));
        }
        let key = condition.get("key").and_then(Value::as_str)?.trim();
        let key = key.strip_prefix("{{")?.strip_suffix("}}")?.trim();
        if !is(&["Equals", "Equal", "In", "AnyIn"]) {
            return None;
        }
        let wanted: Vec<&str> = match value {
            Value::String(text) => vec![text.as_str()],
            Value::Array(items) => items.iter().map(Value::as_str).collect::<Option<_>>()?,
            _ => return None,
        };
        if matches!(key, "request.object.kind" | "request.kind.kind") {
            return self
                .is_other_kind(&wanted)
                .then(|| format!("the kind is never {}: `match` names others", wanted.join(" or ")));
        }
        if key != "request.operation" {
            return None;
        }
        let filters = self.rule.filters();
        let of_filters: Vec<Vec<&str>> =
            filters.into_iter().map(|filter| Rule::texts(filter, "operations").collect()).collect();
        let may_have = |operations: &Vec<&str>| {
            operations.is_empty()
                || wanted.iter().any(|one| one.contains(['*', '?', '{']) || operations.contains(one))
        };
        (!of_filters.is_empty() && !of_filters.iter().any(may_have))
            .then(|| format!("the operation is never {}: `match` names others", wanted.join(" or ")))
    }

    /// Whether no object of the rule has one of these kinds. Of rules for Pods, autogen makes some for other kinds.
    fn is_other_kind(&self, wanted: &[&str]) -> bool {
        if self.rule.names_subresources() {
            return false;
        }
        let kinds: Vec<_> = self.rule.kinds().map(|kind| KindSelector::parse(kind).kind).collect();
        let is_plain = |text: &str| !text.contains(['*', '?', '{', '|', '!', '&']);
        !kinds.is_empty()
            && wanted.iter().all(|kind| is_plain(kind) && kinds.iter().all(|other| **other != **kind))
            && kinds.iter().all(|kind| is_plain(kind) && **kind != *"Pod")
    }

    /// A finding about a condition that looks at nothing of the request.
    fn constant(&self, holds: bool, is_alternative: bool, at: Pointer) -> Lint {
        let (code, level, what) = if holds {
            (Code::AlwaysHolds, LintLevel::Info, "always holds")
        } else {
            (Code::NeverHolds, LintLevel::Warning, "never holds")
        };
        let message = format!("`key` and `value` have no variables: the condition {what}");
        {
            let help = if holds && is_alternative {
                "write a variable in braces; as it is, the whole `any` always holds"
            } else {
                "write a variable in braces, or remove the condition"
            };
            self.rule.found(code, level, at, message, help)
        }
    }

    /// Two conditions that cannot hold at once: one key that equals two texts.
    fn contradictions(&mut self, conditions: &[Value], at: &Pointer) {
        let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
        for (index, condition) in conditions.iter().enumerate() {
            let Some((key, value)) = equality(condition) else { continue };
            match seen.get(key) {
                Some(other) if *other != value => self.found.push(self.rule.found(
                    Code::NeverHolds,
                    LintLevel::Warning,
                    at.index(index),
                    format!(
                        "`{key}` cannot equal `{other}` and `{value}` at once: the conditions never hold"
                    ),
                    "write the conditions below `any`, or use `AnyIn` with both values",
                )),
                Some(_) => {}
                None => {
                    seen.insert(key, value);
                }
            }
        }
    }
}

/// Whether a condition without variables holds. What looks like an expression without braces is another finding.
fn constant(condition: &Value, operator: &str) -> Option<bool> {
    let (key, value) = (condition.get("key")?, condition.get("value")?);
    let has_variable = |value: &Value| {
        let text = value.to_json();
        text.contains('{') || text.contains("$(")
    };
    let is_bare =
        |key: &str| ["request.", "element", "target"].iter().any(|name| key.trim_start().starts_with(name));
    if has_variable(key) || has_variable(value) || key.as_str().is_some_and(is_bare) {
        return None;
    }
    let tracker = DivergenceTracker::default();
    Some(Operator::from_name(operator)?.evaluate(key, value, &tracker))
}

fn operator_finding(rule: &Rule<'_>, operator: &str, at: Pointer) -> Option<Lint> {
    let (instead, help) = match operator.to_ascii_lowercase().as_str() {
        "in" => ("`AnyIn` or `AllIn`", "write the operator that says how many values have to be in the list"),
        "notin" => (
            "`AnyNotIn` or `AllNotIn`",
            "write the operator that says how many values must not be in the list",
        ),
        lower if lower.starts_with("duration") => (
            "the operator without `Duration`",
            "write the operator without `Duration`: it compares durations, too",
        ),
        _ => return None,
    };
    let message = format!("the operator `{operator}` is deprecated: there is {instead}");
    Some(rule.found(Code::DeprecatedForm, LintLevel::Info, at, message, help))
}

/// Whether no number is between the bounds of a pattern that are joined by `&`. Texts may have an `&`: a value that is the
/// pattern itself fits.
fn is_contradiction(pattern: &str) -> bool {
    let parts: Vec<&str> = pattern.split('&').map(str::trim).collect();
    if parts.len() < 2 || pattern.contains("{{") {
        return false;
    }
    let bound = |part: &str, sign: char| -> Option<f64> {
        part.strip_prefix(sign)?.trim_start_matches('=').trim().parse().ok()
    };
    let lower = parts.iter().filter_map(|part| bound(part, '>')).reduce(f64::max);
    let upper = parts.iter().filter_map(|part| bound(part, '<')).reduce(f64::min);
    lower.zip(upper).is_some_and(|(lower, upper)| lower > upper)
}

/// The key and the text that a condition compares it with, without wildcards and variables.
fn equality(condition: &Value) -> Option<(&str, &str)> {
    let text = |name| condition.get(name).and_then(Value::as_str);
    let (key, operator, value) = (text("key")?, text("operator")?, text("value")?);
    let is_equality = ["equals", "equal"].iter().any(|name| name.eq_ignore_ascii_case(operator));
    let is_plain = !value.contains(['*', '?', '{', '$']);
    // Numbers, quantities and durations may be equal although their texts differ.
    let is_word = value.starts_with(|c: char| c.is_alphabetic());
    (is_equality && is_plain && is_word).then_some((key.trim(), value))
}
