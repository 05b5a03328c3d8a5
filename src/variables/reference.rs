//! `$(…)` references to other fields of the same document.

use crate::semantics::{Divergence, DivergenceTracker, Semantics};
use crate::value::{Pointer, Segment, Value};

use super::{SubstitutionError, quoted, scan};

/// The maximum number of bytes that references insert into a document.
const MAX_INSERTED_BYTES: usize = 2 << 20;

/// The bytes that references may still insert into a document, as each of many references may insert the same long text.
pub(super) struct Budget(usize);

impl Default for Budget {
    fn default() -> Self {
        Self(MAX_INSERTED_BYTES)
    }
}

impl Budget {
    fn spend(&mut self, bytes: usize) -> Result<(), String> {
        let rest = self.0.checked_sub(bytes);
        self.0 = rest.unwrap_or(0);
        rest.map(drop).ok_or_else(|| {
            format!("limit: references bring more than {MAX_INSERTED_BYTES} bytes into the document")
        })
    }
}

/// Replaces the references of a string at `at` in the document.
///
/// # Errors
///
/// A reference without target or to something that is no string, and an exceeded budget.
pub(super) fn resolve(
    text: &str,
    document: &Value,
    at: &Pointer,
    tracker: &DivergenceTracker,
    budget: &mut Budget,
) -> Result<String, SubstitutionError> {
    let mut out = String::new();
    let mut end = 0;
    for range in scan::references(text) {
        out.push_str(&text[end..range.start]);
        let reference = &text[range.clone()];
        let resolved = resolve_one(reference, document, at, tracker);
        let resolved = resolved.and_then(|text| budget.spend(text.len()).map(|()| text));
        out.push_str(&resolved.map_err(|cause| SubstitutionError::Reference {
            reference: quoted(reference),
            at: at.clone(),
            cause,
        })?);
        end = range.end;
    }
    out.push_str(&text[end..]);
    Ok(scan::unescape_references(&out))
}

/// The strings of a document that may contain references, in document order.
fn candidates(document: &Value) -> Vec<(Pointer, &str)> {
    let mut found = Vec::new();
    add_candidates(document, &mut Pointer::default(), &mut found);
    found
}

/// Documents are not nested deeper than [`MAX_DEPTH`](crate::value::MAX_DEPTH).
fn add_candidates<'v>(value: &'v Value, at: &mut Pointer, found: &mut Vec<(Pointer, &'v str)>) {
    match value {
        Value::String(text) if text.contains("$(") => found.push((at.clone(), text)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                at.push_index(index);
                add_candidates(item, at, found);
                at.pop();
            }
        }
        Value::Object(members) => {
            for (key, member) in members.iter() {
                at.push_key(key.clone());
                add_candidates(member, at, found);
                at.pop();
            }
        }
    }
}

/// The strings of a document with references for which Kyverno refuses a policy: without target, or to something that has
/// no text.
pub fn broken_references(document: &Value) -> Vec<(Pointer, SubstitutionError)> {
    let tracker = DivergenceTracker::new(Semantics::Kyverno);
    let mut budget = Budget::default();
    let mut error_in = |at: &_, text| resolve(text, document, at, &tracker, &mut budget).err();
    candidates(document)
        .into_iter()
        .filter_map(|(at, text)| error_in(&at, text).map(|error| (at, error)))
        .collect()
}

/// The node at a place of a document with its references replaced. Where `$(` is text, it is escaped.
///
/// # Errors
///
/// A reference without target or to something that has no text, and too long texts.
pub fn with_references(
    document: &Value,
    at: &Pointer,
    semantics: Semantics,
) -> Result<Value, SubstitutionError> {
    let node = document.pointed(at).cloned().unwrap_or_default();
    let tracker = DivergenceTracker::new(semantics);
    let mut budget = Budget::default();
    let mut replaced = node.clone();
    for (below, text) in candidates(&node) {
        let resolved = resolve(text, document, &at.join(&below), &tracker, &mut budget)?;
        if let Some(place) = replaced.pointed_mut(below.segments()) {
            *place = resolved.replace("$(", r"\$(").into();
        }
    }
    Ok(replaced)
}

/// Whether the references in a node resolve the same in the node alone as in the document.
pub(super) fn is_self_contained(node: &Value, document: &Value, at: &Pointer) -> bool {
    let tracker = DivergenceTracker::new(Semantics::Kyverno);
    let (mut budget, mut budget_alone) = (Budget::default(), Budget::default());
    candidates(node).into_iter().all(|(below, text)| {
        let whole = resolve(text, document, &at.join(&below), &tracker, &mut budget);
        let alone = resolve(text, node, &below, &tracker, &mut budget_alone);
        matches!((whole, alone), (Ok(whole), Ok(alone)) if whole == alone)
    })
}

fn resolve_one(
    reference: &str,
    document: &Value,
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
    match find_last(document, &target) {
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
        Some(Value::Array(_) | Value::Object(_)) | None => Err("there is no value".into()),
    }
}

/// The absolute path of a reference in the string at `at`.
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

/// The node at a path, ignoring anchors of keys; the last one if there are several.
fn find_last<'a>(node: &'a Value, steps: &[String]) -> Option<&'a Value> {
    let Some((step, rest)) = steps.split_first() else { return Some(node) };
    match node {
        Value::Object(members) => members
            .iter()
            .rev()
            .filter(|(key, _)| without_anchor(key) == step)
            .find_map(|(_, member)| find_last(member, rest)),
        Value::Array(items) => find_last(items.get(step.parse::<usize>().ok()?)?, rest),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// A key without its anchor.
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
        resolve(text, &root, &pointer, &DivergenceTracker::default(), &mut Budget::default())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn references_are_relative_or_absolute() {
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
    fn a_node_has_the_values_of_its_references() {
        let document = r#"{"a":{"x":"$(/b)","y":["$(./../../../c) $()","\\$(z)"]},"b":"B","c":"{{ v }}"}"#;
        let document = Value::from_json(document).unwrap();
        let at = Pointer::ROOT.key("a");
        let node = with_references(&document, &at, Semantics::default()).unwrap();
        assert_eq!(node.to_json(), r#"{"x":"B","y":["{{ v }} \\$()","\\$(z)"]}"#);
        let document = Value::from_json(r#"{"a":"$(/b)"}"#).unwrap();
        assert!(with_references(&document, &at, Semantics::default()).is_err());
    }

    #[test]
    fn inserted_bytes_are_limited() {
        let text = "$(/b) ".repeat(3 << 10);
        let document = |bytes: usize| format!(r#"{{"a":{{"x":"{text}"}},"b":"{}"}}"#, "b".repeat(bytes));
        assert_eq!(resolved(&document(600), &["a", "x"]).map(|text| text.len()), Ok(601 * (3 << 10)));
        let refused = resolved(&document(700), &["a", "x"]).unwrap_err();
        assert!(refused.contains("limit: references bring more than 2097152 bytes"), "{refused}");
    }

    #[test]
    fn a_reference_without_target_is_an_error() {
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
