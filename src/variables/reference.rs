//! `$(…)` references to another place of the same document.

use crate::semantics::{Divergence, DivergenceTracker, Semantics};
use crate::value::{Pointer, Segment, Value};

use super::SubstitutionError;
use super::scan;
use super::substitute::shown_path;

/// The bytes that references may bring into a document.
const MAX_BROUGHT: usize = 2 << 20;

/// What references may still bring into a document: a text that is named a thousand times stands there a thousand times.
pub(super) struct Room(usize);

impl Default for Room {
    fn default() -> Self {
        Self(MAX_BROUGHT)
    }
}

impl Room {
    fn take(&mut self, bytes: usize) -> Result<(), String> {
        self.0 = self.0.checked_sub(bytes).ok_or_else(|| {
            self.0 = 0;
            format!("limit: references bring more than {MAX_BROUGHT} bytes into the document")
        })?;
        Ok(())
    }
}

/// Replaces the references of one string.
///
/// # Errors
///
/// A reference that leads nowhere or to something that is no string, and one that there is no room for.
pub(super) fn resolve(
    text: &str,
    root: &Value,
    at: &Pointer,
    tracker: &DivergenceTracker,
    room: &mut Room,
) -> Result<String, SubstitutionError> {
    let mut out = String::new();
    let mut end = 0;
    for range in scan::references(text) {
        out.push_str(&text[end..range.start]);
        let reference = &text[range.clone()];
        let resolved = resolve_one(reference, root, at, tracker);
        let resolved = resolved.and_then(|text| room.take(text.len()).map(|()| text)).map_err(|cause| {
            SubstitutionError::Reference { reference: super::shown(reference), path: shown_path(at), cause }
        })?;
        out.push_str(&resolved);
        end = range.end;
    }
    out.push_str(&text[end..]);
    Ok(scan::unescape_references(&out))
}

/// The strings of a document with references that Kyverno refuses a policy for: they lead nowhere, or to what has no text.
pub fn broken_references(document: &Value) -> Vec<(Pointer, SubstitutionError)> {
    let tracker = DivergenceTracker::new(Semantics::Kyverno);
    let mut broken = Vec::new();
    let mut room = Room::default();
    let mut open = vec![(Pointer::ROOT, document)];
    while let Some((at, value)) = open.pop() {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
            Value::String(text) => {
                if text.contains("$(")
                    && let Err(error) = resolve(text, document, &at, &tracker, &mut room)
                {
                    broken.push((at, error));
                }
            }
            Value::Array(items) => {
                open.extend(items.iter().enumerate().rev().map(|(index, item)| (at.index(index), item)));
            }
            Value::Object(members) => {
                open.extend(members.iter().rev().map(|(key, member)| (at.key(key.clone()), member)));
            }
        }
    }
    broken
}

/// Whether the references in a node of a document lead to the same if there is nothing but the node.
pub(super) fn is_the_same_alone(node: &Value, document: &Value, at: &Pointer) -> bool {
    let tracker = DivergenceTracker::new(Semantics::Kyverno);
    let (mut room, mut room_alone) = (Room::default(), Room::default());
    let mut open = vec![(Pointer::ROOT, node)];
    while let Some((below, value)) = open.pop() {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
            Value::String(text) => {
                if text.contains("$(") {
                    let whole = resolve(text, document, &at.join(&below), &tracker, &mut room);
                    let alone = resolve(text, node, &below, &tracker, &mut room_alone);
                    if !matches!((whole, alone), (Ok(whole), Ok(alone)) if whole == alone) {
                        return false;
                    }
                }
            }
            Value::Array(items) => {
                open.extend(items.iter().enumerate().map(|(index, item)| (below.index(index), item)));
            }
            Value::Object(members) => {
                open.extend(members.iter().map(|(key, member)| (below.key(key.clone()), member)));
            }
        }
    }
    true
}

fn resolve_one(
    reference: &str,
    root: &Value,
    at: &Pointer,
    tracker: &DivergenceTracker,
) -> Result<String, String> {
    let inside = reference.trim_matches(['$', '(', ')']);
    let operator =
        [">=", "<=", ">", "<", "!"].into_iter().find(|operator| inside.starts_with(operator)).unwrap_or("");
    let path = inside[operator.len()..].trim();
    if path.is_empty() {
        return Err("expected path, found empty reference".into());
    }
    let target = absolute(path, at);
    match last_hit(root, &target) {
        Some(Value::String(text)) => Ok(format!("{operator}{text}")),
        Some(Value::Number(number)) if !operator.is_empty() => {
            let text = match number.integer_text() {
                Some(text) if number.is_written_as_integer() => text,
                _ => format!("{:.6}", number.as_f64()),
            };
            Ok(format!("{operator}{text}"))
        }
        Some(Value::Object(members)) if !members.is_empty() => {
            if tracker.documented(Divergence::ReferenceToMap) {
                return Err("it leads to a map".into());
            }
            Ok(members.keys().max().map(|key| format!("{operator}{key}")).unwrap_or_default())
        }
        Some(Value::Null | Value::Bool(_) | Value::Number(_)) if !operator.is_empty() => {
            Err(format!("operator {operator} needs a string or a number"))
        }
        Some(Value::Null | Value::Bool(_) | Value::Number(_)) => Err("it does not lead to a string".into()),
        Some(Value::Array(_) | Value::Object(_)) | None => Err("nothing stands there".into()),
    }
}

/// The steps a reference asks for, seen from the leaf it stands in (the leaf's own key included).
fn absolute(path: &str, at: &Pointer) -> Vec<String> {
    let mut steps: Vec<String> = Vec::new();
    if !path.starts_with('/') {
        steps.extend(at.segments().iter().map(|segment| match segment {
            Segment::Key(key) => key.to_string(),
            Segment::Index(index) => index.to_string(),
        }));
    }
    for step in path.split('/') {
        match step {
            "" | "." => {}
            ".." => {
                steps.pop();
            }
            step => steps.push(step.into()),
        }
    }
    steps
}

/// The node that the steps lead to, anchors around keys left aside; the last one where several fit.
fn last_hit<'a>(node: &'a Value, steps: &[String]) -> Option<&'a Value> {
    let Some((step, rest)) = steps.split_first() else { return Some(node) };
    match node {
        Value::Object(members) => members
            .iter()
            .rev()
            .filter(|(key, _)| without_anchor(key) == step)
            .find_map(|(_, member)| last_hit(member, rest)),
        Value::Array(items) => last_hit(items.get(step.parse::<usize>().ok()?)?, rest),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// A key without the anchor around it.
fn without_anchor(key: &str) -> &str {
    let inside = key.strip_prefix(['+', '<', '=', 'X', '^']).unwrap_or(key);
    inside
        .strip_prefix('(')
        .and_then(|inside| inside.strip_suffix(')'))
        .filter(|inside| !inside.is_empty())
        .unwrap_or(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(document: &str, at: &[&str]) -> Result<String, String> {
        let root = Value::from_json(document).unwrap();
        let pointer: Pointer = at.iter().map(|key| Segment::Key((*key).into())).collect();
        let text = root.pointed(&pointer).unwrap().as_str().unwrap();
        resolve(text, &root, &pointer, &DivergenceTracker::default(), &mut Room::default())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn references_are_relative_to_the_leaf_or_absolute() {
        for (document, expected) in [
            (r#"{"a":{"x":"$(./../../b)"},"b":"B"}"#, "B"),
            (r#"{"a":{"x":"$(../../b)"},"b":"B"}"#, "B"),
            (r#"{"a":{"x":"$(/b)"},"b":"B"}"#, "B"),
            (r#"{"a":{"x":"pre $(/b) post"},"b":"B"}"#, "pre B post"),
            (r#"{"a":{"x":"$(/b) $(/b)"},"b":"B"}"#, "B B"),
            (r#"{"a":{"x":"\\$(/b)"},"b":"B"}"#, "$(/b)"),
            (r#"{"a":{"x":"$(>/b)"},"b":5.5}"#, ">5.500000"),
            (r#"{"a":{"x":"$(>=/b)"},"b":"5Gi"}"#, ">=5Gi"),
            (r#"{"a":{"x":"$(!/b)"},"b":"5Gi"}"#, "!5Gi"),
            (r#"{"a":{"x":"$(/b/c)"},"=(b)":{"c":"C"}}"#, "C"),
            (r#"{"a":{"x":"$(/l/0)"},"l":["L0"]}"#, "L0"),
            (r#"{"a":{"x":"$(/b)"},"b":"$(/a/x)"}"#, "$(/a/x)"),
        ] {
            assert_eq!(resolved(document, &["a", "x"]).unwrap(), expected, "{document}");
        }
    }

    #[test]
    fn what_references_bring_is_bounded() {
        let text = "$(/b) ".repeat(3 << 10);
        let document = |bytes: usize| format!(r#"{{"a":{{"x":"{text}"}},"b":"{}"}}"#, "b".repeat(bytes));
        assert_eq!(resolved(&document(600), &["a", "x"]).map(|text| text.len()), Ok(601 * (3 << 10)));
        let refused = resolved(&document(700), &["a", "x"]).unwrap_err();
        assert!(refused.contains("limit: references bring more than 2097152 bytes"), "{refused}");
    }

    #[test]
    fn what_leads_nowhere_is_an_error() {
        for document in [
            r#"{"a":{"x":"$(/b)-$(/c)"},"b":"B","c":"C"}"#,
            r#"{"a":{"x":"$(/b)"},"b":5}"#,
            r#"{"a":{"x":"$(/(b)/c)"},"(b)":{"c":"C"}}"#,
            r#"{"a":{"x":"$(/b)"},"b":{"c":1}}"#,
            r#"{"a":{"x":"$(/b)"},"b":["c"]}"#,
            r#"{"a":{"x":"$(>)"}}"#,
        ] {
            assert!(resolved(document, &["a", "x"]).is_err(), "{document}");
        }
        assert!(resolved(r#"{"a":"$(./b)","b":"B"}"#, &["a"]).is_err());
    }
}
