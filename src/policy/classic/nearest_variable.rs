//! Suggestions for misspelt variables.

use crate::pattern::nearest;

/// The names at the root of an expression that no rule declares.
const ROOTS: [&str; 7] = [
    "request",
    "element",
    "elementIndex",
    "images",
    "target",
    "serviceAccountName",
    "serviceAccountNamespace",
];

/// The fields of `request`.
const REQUEST_FIELDS: [&str; 16] = [
    "object",
    "oldObject",
    "operation",
    "namespace",
    "name",
    "userInfo",
    "roles",
    "clusterRoles",
    "kind",
    "resource",
    "subResource",
    "requestKind",
    "requestResource",
    "requestSubResource",
    "options",
    "dryRun",
];

/// What the first name of a path or the one below `request` probably means, if the expression has the unknown key there:
/// `request.object` for `object`, `element` for `elem`, `object` for the key of `request.objct`. `declared` are the names
/// that the context of the rule declares.
pub fn nearest_variable<'a>(
    expression: &str,
    key: &str,
    declared: impl Iterator<Item = &'a str>,
) -> Option<String> {
    if key.is_empty() {
        return None;
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let (start, _) = expression.match_indices(key).find(|(start, _)| {
        let (before, after) = (&expression[..*start], &expression[start + key.len()..]);
        !before.ends_with(is_name) && !after.starts_with(is_name)
    })?;
    let before = &expression[..start];
    if before.ends_with('.') {
        let is_of_request = before.ends_with("request.") && !before.ends_with(".request.");
        if REQUEST_FIELDS.contains(&key) {
            return None;
        }
        return is_of_request.then(|| nearest(key, REQUEST_FIELDS.into_iter()))?.map(str::to_owned);
    }
    if REQUEST_FIELDS.contains(&key) {
        return Some(format!("request.{key}"));
    }
    let names: Vec<&str> = declared.chain(ROOTS).filter(|name| *name != key).collect();
    let is_begun = |name: &&&str| key.len() >= 3 && name.starts_with(key);
    let meant = nearest(key, names.iter().copied()).or_else(|| names.iter().find(is_begun).copied());
    meant.map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_variables_have_a_suggestion() {
        for (expression, key, expected) in [
            ("request.objct.metadata.name", "objct", Some("object")),
            ("to_upper(object.metadata.name)", "object", Some("request.object")),
            ("elem.image", "elem", Some("element")),
            ("elment.image", "elment", Some("element")),
            ("seting.data", "seting", Some("settings")),
            ("request.object.metadata.objct", "objct", None),
            ("spec.request.objct", "objct", None),
            ("unknown.name", "unknown", None),
            ("settings.data.objct", "objct", None),
            ("request.userInfo.username", "userInfo", None),
        ] {
            let found = nearest_variable(expression, key, ["settings"].into_iter());
            assert_eq!(found.as_deref(), expected, "{expression}");
        }
    }
}
