//! Patches that make another object of the one they change: another name, namespace or kind.

use crate::diagnostics::Code;
use crate::patch::{Anchor, split_anchor};
use crate::policy::KindSelector;
use crate::value::{Pointer, Value};

use super::{Lint, LintLevel, Rule, WrittenPatch};

/// The fields, with what the API server does. Checked with a policy on a real one.
pub(super) const FIELDS: [(&[&str], &str); 4] = [
    (&["metadata", "name"], "an object that is created gets the name, and every update is refused"),
    (&["metadata", "namespace"], "the API server refuses the object"),
    (&["kind"], "the API server refuses the object"),
    (&["apiVersion"], "the API server refuses the object"),
];

/// Adds a finding for each of the fields that a patch of the rule sets to something else.
pub(super) fn check(rule: &Rule<'_>, patches: &[WrittenPatch<'_>], found: &mut Vec<Lint>) {
    for patch in patches {
        for (field, what) in FIELDS {
            let Some((at, value)) = written(patch, field) else { continue };
            if is_other(rule, patch, field, value) {
                let name = field.join(".");
                let what = if rule.has_targets() { "the API server refuses the change" } else { what };
                found.push(rule.found(
                    Code::ChangesIdentity,
                    LintLevel::Warning,
                    at,
                    format!("the patch sets `{name}`: {what}"),
                    "remove the field, or write a condition such as `(name)` if the objects of that name are meant",
                ));
            }
        }
    }
}

/// The value that a patch gives a field, with its place in the policy.
fn written<'p>(patch: &'p WrittenPatch<'_>, field: &[&str]) -> Option<(Pointer, &'p Value)> {
    if let Some(overlay) = patch.overlay {
        let mut at = patch.at.clone();
        let mut node = overlay;
        for (depth, name) in field.iter().enumerate() {
            let is_last = depth + 1 == field.len();
            // A condition is only tested, and these fields are always there for `+()`.
            let is_field = |key: &str| match split_anchor(key) {
                None => key == *name,
                Some((inner, _)) => !is_last && inner == *name && !Anchor::is_test_key(key),
            };
            let (key, member) = node.as_object()?.iter().find(|(key, _)| is_field(key))?;
            at = at.key(key.clone());
            node = member;
        }
        return Some((at, node));
    }
    let pointer = format!("/{}", field.join("/"));
    let operation = patch.operations.iter().find(|operation| {
        let text = |name| operation.get(name).and_then(Value::as_str);
        matches!(text("op"), Some("add" | "replace")) && text("path") == Some(&pointer)
    })?;
    Some((patch.at.clone(), operation.get("value")?))
}

/// Whether a value is not that of the objects which the rule is for, as far as the policy tells.
fn is_other(rule: &Rule<'_>, patch: &WrittenPatch<'_>, field: &[&str], value: &Value) -> bool {
    let Some(text) = value.as_str() else { return false };
    // What is one variable may be the name that the object has.
    let is_variable = text.starts_with("{{") && text.ends_with("}}") && text.matches("{{").count() == 1;
    let places = [format!("object.{}", field.join(".")), format!("request.{}", field.last().unwrap_or(&""))];
    let is_tested = |conditions: &&Value| {
        let conditions = conditions.to_json();
        places.iter().any(|place| conditions.contains(place))
    };
    let is_unknown = matches!(field, ["kind" | "apiVersion"]) && rule.names_subresources();
    if is_variable || is_unknown || patch.conditions.iter().any(is_tested) {
        return false;
    }
    let known: Vec<String> = rule.selected(field);
    match field {
        ["apiVersion"] => !known.is_empty() && known.iter().all(|one| one != text),
        _ => known.is_empty() || known.iter().any(|one| one != text),
    }
}

impl Rule<'_> {
    /// The values of a field of the objects that the rule changes, as its filters or targets name them.
    fn selected(&self, field: &[&str]) -> Vec<String> {
        let name = field.last().copied().unwrap_or_default();
        if let Some(targets) = self.mutate().and_then(|mutate| mutate.get("targets")) {
            let targets = targets.as_array().unwrap_or_default().iter();
            return targets.filter_map(|target| target.get(name)?.as_str()).map(str::to_owned).collect();
        }
        let mut found = Vec::new();
        for filter in self.filters() {
            match name {
                "kind" => found.extend(
                    Self::texts(filter, "kinds").map(|kind| KindSelector::parse(kind).kind.to_string()),
                ),
                "apiVersion" => {
                    let selectors = Self::texts(filter, "kinds").map(KindSelector::parse);
                    found.extend(selectors.flat_map(|selector| {
                        selector.built_in_kinds().map(|kind| kind.api_version()).collect::<Vec<_>>()
                    }));
                }
                _ => {
                    let one = filter.path(&["resources", name]).and_then(Value::as_str);
                    let plural = format!("{name}s");
                    found.extend(one.into_iter().chain(Self::texts(filter, &plural)).map(str::to_owned));
                }
            }
        }
        found
    }
}
