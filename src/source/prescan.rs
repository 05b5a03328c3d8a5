//! Finding objects that earlier ones depend on, before the evaluation.

use std::sync::Arc;

use crate::value::{GroupVersionKind, Value};
use crate::yaml::{Limits, Source, read};

/// The Namespace objects of a text, also those inside lists. Only documents that name the kind are parsed.
pub(super) fn namespaces_in(source: &Source, limits: &Limits) -> Vec<Value> {
    objects_in(
        source,
        limits,
        |kind| kind == "Namespace",
        |kind| kind.group.is_empty() && &*kind.version == "v1",
    )
}

/// The objects of a text, also those inside lists, of kinds that both functions accept: the first one sees the name
/// alone. Only documents with such a name are parsed.
pub(super) fn objects_in(
    source: &Source,
    limits: &Limits,
    is_name: impl Fn(&str) -> bool,
    is_kind: impl Fn(&GroupVersionKind) -> bool,
) -> Vec<Value> {
    if !names_kind(source.text(), &is_name) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for text in split_documents(source.text()).filter(|text| names_kind(text, &is_name)) {
        let text = Arc::new(Source::new(source.name(), text));
        let Ok(documents) = read(&text, limits) else { continue };
        let mut open: Vec<Value> =
            documents.into_iter().rev().filter_map(|one| one.value().cloned()).collect();
        while let Some(value) = open.pop() {
            if let Some(items) = value.get("items").and_then(Value::as_array) {
                open.extend(items.iter().rev().cloned());
            } else if GroupVersionKind::of(&value).is_some_and(|kind| is_name(&kind.kind) && is_kind(&kind)) {
                found.push(value);
            }
        }
    }
    found
}

/// Whether a text contains `kind:` and an accepted name.
fn names_kind(text: &str, is_name: impl Fn(&str) -> bool) -> bool {
    text.match_indices("kind").any(|(at, word)| {
        let after = text[at + word.len()..].trim_start_matches(['"', '\'', ' ', '\t']);
        let Some(after) = after.strip_prefix(':') else { return false };
        let name = after.trim_start_matches(|c: char| c.is_whitespace() || c == '"' || c == '\'');
        let end = name.find(|c: char| !c.is_alphanumeric()).unwrap_or(name.len());
        is_name(&name[..end])
    })
}

/// The text split before each line that starts with `---`.
fn split_documents(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.find("\n---").map_or(rest.len(), |at| at + 1);
        let (document, after) = rest.split_at(end);
        rest = after;
        Some(document)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namespaces_are_found_in_all_documents_and_lists() {
        let text = "kind: Pod\n---\nbroken: [\nx: Namespace\n---\n# c\napiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n\
            ---\n{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\
            \"metadata\":{\"name\":\"b\"}}]}\n---\nkind: NamespacedThing\n";
        let found = namespaces_in(&Source::new("", text), &Limits::default());
        let names: Vec<_> =
            found.iter().filter_map(|one| one.path(&["metadata", "name"]).and_then(Value::as_str)).collect();
        assert_eq!(names, ["a", "b"]);
    }

    #[test]
    fn only_objects_of_accepted_kinds_are_found() {
        let text = "{apiVersion: v1, kind: Secret, metadata: {name: a}}\n---\nkind: ConfigMap\napiVersion: v1\n\
            ---\n'kind' : 'Secret'\napiVersion: other/v1\n---\nbroken: [\nkind: Pod\n";
        let source = Source::new("", text);
        let is_core = |kind: &GroupVersionKind| kind.group.is_empty();
        let found = objects_in(&source, &Limits::default(), |name| name == "Secret", is_core);
        assert_eq!(found.len(), 1);
        assert!(objects_in(&source, &Limits::default(), |name| name == "Sec", is_core).is_empty());
    }
}
