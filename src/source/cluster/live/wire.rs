//! Paths asked for, and answers taken apart.

use crate::value::{GroupVersionKind, Text, Value};

use super::{ListQuery, Page, segment};

/// The path of a page of a list.
pub(super) fn list_path(query: &ListQuery<'_>) -> String {
    let mut path = query.resource.path(query.namespace);
    let limit = (query.limit > 0).then(|| query.limit.to_string());
    let parameters = [
        ("labelSelector", query.labels),
        ("fieldSelector", query.fields),
        ("limit", limit.as_deref()),
        ("continue", query.after),
    ];
    let mut separator = '?';
    for (name, value) in parameters {
        if let Some(value) = value {
            path.extend([&*separator.to_string(), name, "=", &segment(value)]);
            separator = '&';
        }
    }
    path
}

/// Takes a list's answer apart.
pub(super) fn page(text: &str, kind: &GroupVersionKind) -> Result<Page, String> {
    let list = Value::from_json(text).map_err(|error| error.to_string())?;
    let next = list.path(&["metadata", "continue"]).and_then(Value::as_text);
    let next = next.filter(|token| !token.is_empty()).cloned();
    let objects = match list.get("items") {
        Some(Value::Array(items)) => items.iter().map(|item| with_kind(item.clone(), kind)).collect(),
        Some(Value::Null) => Vec::new(),
        Some(other) => return Err(format!("expected items to be a list, found {}", other.type_name())),
        None => return Err("it has no items".into()),
    };
    Ok(Page { objects, next, is_inconsistent: false })
}

/// An object with its `apiVersion` and `kind` in front; the elements of a list lack them.
pub(super) fn with_kind(object: Value, kind: &GroupVersionKind) -> Value {
    let Some(members) = object.as_object() else { return object };
    let own =
        |key: &str, other: Text| (Text::from(key), members.get(key).cloned().unwrap_or(Value::String(other)));
    [own("apiVersion", kind.api_version().into()), own("kind", kind.kind.clone())]
        .into_iter()
        .chain(
            members
                .iter()
                .filter(|(key, _)| !matches!(&***key, "apiVersion" | "kind"))
                .map(|(key, value)| (key.clone(), value.clone())),
        )
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_of_a_list_get_their_kind_in_front() {
        let kind = GroupVersionKind::new("v1", "Pod");
        let text = r#"{"kind":"PodList","metadata":{"continue":"x"},"items":[{"metadata":{"name":"a"}}]}"#;
        let read = page(text, &kind).unwrap();
        assert_eq!(read.next.as_deref(), Some("x"));
        assert_eq!(read.objects[0].to_json(), r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}"#);
        assert_eq!(page(r#"{"metadata":{"continue":""},"items":null}"#, &kind).unwrap().next, None);
        assert!(page("{}", &kind).is_err());
        assert!(page("<html>", &kind).is_err());
    }
}
