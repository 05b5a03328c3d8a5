//! `replace` of fields that an object may lack, where Kyverno fails and its documentation says that they are added.

use crate::admission::{Admission, minimal};
use crate::semantics::Divergence;
use crate::value::{GroupVersionKind, Value, unescaped_token};

use super::{Lint, MAX_COMPARED, Rule, WrittenPatch, divergences, patches};

/// Adds findings about `replace` of fields that objects of the kinds need not have, if nothing looks for them before.
pub(super) fn check(
    rule: &Rule<'_>,
    patches: &[WrittenPatch<'_>],
    earlier: &[Rule<'_>],
    found: &mut Vec<Lint>,
) {
    let is_replace = |operation: &Value| operation.get("op").and_then(Value::as_str) == Some("replace");
    let replaces =
        |patch: &&WrittenPatch<'_>| patch.conditions.is_empty() && patch.operations.iter().any(is_replace);
    let mut patches = patches.iter().filter(replaces).peekable();
    if patches.peek().is_none() || earlier.len() > MAX_COMPARED {
        return;
    }
    let earlier: Vec<String> = earlier.iter().filter_map(Rule::mutate).map(Value::to_json).collect();
    let kinds = patches::kinds(rule).unwrap_or_default();
    // Objects with the fewest fields, as the API server stores them.
    let admission = Admission::default();
    let smallest = |kind: &GroupVersionKind| admission.view(&minimal(kind, "object")?, kind).ok();
    let smallest: Vec<Value> = kinds.iter().filter_map(smallest).collect();
    for patch in patches {
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
                && !may_set(&earlier, path)
        };
        if patch.operations.iter().take(MAX_COMPARED).enumerate().any(may_fail) {
            found.push(divergences::found(rule, Divergence::ReplaceOfMissing, patch.at.clone()));
        }
    }
}

/// Whether mutations, given as JSON, may set a field, given as a JSON pointer: they name its last part.
fn may_set(mutations: &[String], path: &str) -> bool {
    let name = unescaped_token(path.rsplit('/').next().unwrap_or_default());
    mutations.iter().any(|mutation| mutation.contains(&name))
}

/// Whether an object lacks a member of a map that a JSON pointer leads to over maps. The image of a container is no field that
/// the types require, but the API server takes no container without one.
fn lacks_member(object: &Value, path: &str) -> bool {
    let path = path.strip_suffix("/image").unwrap_or(path);
    let mut node = object;
    for part in path.split('/').skip(1) {
        let next = match node.as_array() {
            Some(_) => part.parse().ok().and_then(|index| node.at(index)),
            None => node.get(&unescaped_token(part)),
        };
        match next {
            Some(next) => node = next,
            None => return node.as_object().is_some(),
        }
    }
    false
}
