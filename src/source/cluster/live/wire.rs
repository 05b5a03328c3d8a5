//! Paths asked for.

use super::{ListQuery, api_path, segment};

/// The path of a page of a list.
pub(super) fn list_path(query: &ListQuery<'_>) -> String {
    let mut path = api_path(query.resource, query.namespace);
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
