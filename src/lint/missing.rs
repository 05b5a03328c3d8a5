//! `replace` of fields that an object may lack, where Kyverno fails and its documentation says that they are added.

use crate::admission::{Admission, minimal};
use crate::semantics::Divergence;
use crate::value::{GroupVersionKind, Value};

use super::{Lint, Rule, divergences, patches};

/// Adds findings about `replace` of fields that objects of the kinds need not have, if nothing looks for them before.
pub(super) fn check(rule: &Rule<'_>, earlier: &[Rule<'_>], found: &mut Vec<Lint>) {
    let kinds = patches::kinds(rule).unwrap_or_default();
    // Objects with the fewest fields, as the API server stores them.
    let admission = Admission::default();
    let smallest = |kind: &GroupVersionKind| admission.view(&minimal(kind, "object")?, kind).ok();
    let smallest: Vec<Value> = kinds.iter().filter_map(smallest).collect();
    for patch in rule.patches().into_iter().filter(|patch| patch.conditions.is_empty()) {
        let may_fail = |(index, operation): (usize, &Value)| {
            let text = |name| operation.get(name).and_then(Value::as_str);
            let (Some("replace"), Some(path)) = (text("op"), text("path")) else { return false };
            // What an earlier operation adds, moves or tests is no longer unknown.
            let is_touched = patch.operations[..index].iter().any(|earlier| {
                let touched = earlier.get("path").and_then(Value::as_str).unwrap_or_default();
                path.starts_with(touched)
            });
            let is_selected = path.starts_with("/metadata/") && rule.selects_metadata();
            !is_touched
                && !is_selected
                && !path.contains("{{")
                && smallest.iter().any(|object| lacks_member(object, path))
                && !may_set(earlier, path)
        };
        if patch.operations.iter().enumerate().any(may_fail) {
            found.push(divergences::found(rule, Divergence::ReplaceOfMissing, patch.at));
        }
    }
}

/// Whether rules may set a field, given as a JSON pointer: they name its last part.
fn may_set(rules: &[Rule<'_>], path: &str) -> bool {
    let name = unescaped(path.rsplit('/').next().unwrap_or_default());
    rules.iter().filter_map(Rule::mutate).any(|mutate| mutate.to_json().contains(&name))
}

/// Whether an object lacks a member of a map that a JSON pointer leads to over maps. The image of a container is no field that
/// the types require, but the API server takes no container without one.
fn lacks_member(object: &Value, path: &str) -> bool {
    let path = path.strip_suffix("/image").unwrap_or(path);
    let mut node = object;
    for part in path.split('/').skip(1) {
        let next = match node.as_array() {
            Some(_) => part.parse().ok().and_then(|index| node.at(index)),
            None => node.get(&unescaped(part)),
        };
        match next {
            Some(next) => node = next,
            None => return node.as_object().is_some(),
        }
    }
    false
}

fn unescaped(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}
