//! Namespace objects found ahead of their turn: their labels decide about objects that come before them.

use std::sync::Arc;

use crate::value::Value;
use crate::yaml::{Limits, Source, read};

/// The Namespace objects of a text, also those inside lists. Only documents that name the kind are parsed.
pub(super) fn namespaces_in(source: &Source, limits: &Limits) -> Vec<Value> {
    if !names_kind(source.text()) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for part in parts(source.text()).filter(|part| names_kind(part)) {
        let part = Arc::new(Source::new(source.name(), part));
        let Ok(documents) = read(&part, limits) else { continue };
        let mut open: Vec<Value> =
            documents.into_iter().rev().filter_map(|one| one.value().cloned()).collect();
        while let Some(value) = open.pop() {
            if let Some(items) = value.get("items").and_then(Value::as_array) {
                open.extend(items.iter().rev().cloned());
            } else if is_namespace(&value) {
                found.push(value);
            }
        }
    }
    found
}

fn is_namespace(value: &Value) -> bool {
    let is = |field, text| value.get(field).and_then(Value::as_str) == Some(text);
    is("apiVersion", "v1") && is("kind", "Namespace")
}

/// Whether somewhere `Namespace` stands behind a colon.
fn names_kind(text: &str) -> bool {
    text.match_indices("Namespace").any(|(at, word)| {
        let before = text[..at].trim_end_matches([' ', '\t', '"', '\'']);
        let after = text[at + word.len()..].chars().next();
        before.ends_with(':') && !after.is_some_and(char::is_alphanumeric)
    })
}

/// The text cut before each line that starts with `---`.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.find("\n---").map_or(rest.len(), |at| at + 1);
        let (part, after) = rest.split_at(end);
        rest = after;
        Some(part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namespaces_are_found_wherever_they_stand() {
        let text = "kind: Pod\n---\nbroken: [\nx: Namespace\n---\n# c\napiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n\
            ---\n{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\
            \"metadata\":{\"name\":\"b\"}}]}\n---\nkind: NamespacedThing\n";
        let found = namespaces_in(&Source::new("", text), &Limits::default());
        let names: Vec<_> =
            found.iter().filter_map(|one| one.path(&["metadata", "name"]).and_then(Value::as_str)).collect();
        assert_eq!(names, ["a", "b"]);
    }
}
