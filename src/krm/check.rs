//! Checks of items that an orchestrator would refuse.

use std::collections::{BTreeMap, BTreeSet};

use crate::value::{ObjectRef, Value};

use super::annotations::internal_annotation;
use super::is_resource;

/// The place of an item: the package (packages may be nested), the path in it, and the index of the document.
fn place(item: &Value) -> Option<(Option<&str>, &str, &str)> {
    let index = internal_annotation(item, "index").unwrap_or("0");
    Some((internal_annotation(item, "package-path"), internal_annotation(item, "path")?, index))
}

/// The indexes of the items with the place of an earlier one. kpt refuses a response with such items, and then does not
/// show the results in it.
pub fn duplicates<'a>(items: &[&'a Value]) -> Vec<usize> {
    let mut places = BTreeSet::new();
    let duplicate = |(number, item): (usize, &&'a Value)| {
        let is_known = place(item).is_some_and(|place| !places.insert(place));
        is_known.then_some(number)
    };
    items.iter().enumerate().filter_map(duplicate).collect()
}

/// Errors of the items as a whole: a resource without a name, and duplicate items.
/// `label` names an item by its number.
pub fn item_errors(
    items: &[&Value],
    function_config: &Value,
    label: &dyn Fn(usize) -> String,
) -> Vec<String> {
    let mut errors = Vec::new();
    let mut places = BTreeMap::new();
    let mut ids = BTreeMap::new();
    let mut objects = BTreeMap::new();
    for (number, item) in items.iter().enumerate() {
        let path = internal_annotation(item, "path");
        let mut error = |first: usize, text: String| {
            errors.push(format!("{} and {} {text}", label(first), label(number)));
        };
        if let Some(path) = path {
            let index = internal_annotation(item, "index").unwrap_or("0");
            if let Some(first) = places.insert(place(item), number) {
                error(
                    first,
                    format!("are one document ({path}, index {index}): do two selectors choose it?"),
                );
                continue;
            }
        }
        let id = item.path(&["metadata", "annotations", "internal.config.kubernetes.io/id"]);
        if let Some(id) = id.and_then(Value::as_str)
            && let Some(first) = ids.insert(id, number)
        {
            error(first, format!("have the same internal.config.kubernetes.io/id: {id}"));
            continue;
        }
        if !is_resource(item, function_config) {
            continue;
        }
        let Some(object) = ObjectRef::of(item) else { continue };
        if object.name.is_empty() {
            if !object.kind.kind.ends_with("List") {
                errors.push(format!("{}: the {} has no metadata.name", label(number), object.kind.kind));
            }
        } else if path.is_none() && item.path(&["metadata", "name"]).is_some() {
            let text = format!("are both {} {object}", object.kind.api_version());
            if let Some(first) = objects.insert(object, number) {
                error(first, text);
            }
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(items: &str) -> Vec<String> {
        let items = Value::from_json(items).unwrap();
        let items: Vec<&Value> = items.as_array().unwrap().iter().collect();
        item_errors(&items, &Value::Null, &|number| format!("items[{number}]"))
    }

    #[test]
    fn resources_have_names_but_lists_and_files_of_the_orchestrators_need_none() {
        assert_eq!(
            found(
                r#"[{"apiVersion":"v1","kind":"Pod"},{"apiVersion":"v1","kind":"Pod","metadata":{"name":""}}]"#
            ),
            ["items[0]: the Pod has no metadata.name", "items[1]: the Pod has no metadata.name"]
        );
        assert!(
            found(
                r#"[{"apiVersion":"v1","kind":"PodList","items":[]},{"a":1},
                {"apiVersion":"kustomize.config.k8s.io/v1beta1","kind":"Kustomization"},
                {"apiVersion":"v1","kind":"Pod","metadata":{"generateName":"a-"}},
                {"apiVersion":"v1","kind":"Pod","metadata":{"generateName":"a-"}}]"#
            )
            .is_empty()
        );
    }

    #[test]
    fn duplicate_items_are_named() {
        let pod = |annotations: &str| {
            format!(
                r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"a","namespace":"n","annotations":{{{annotations}}}}}}}"#
            )
        };
        let (here, there) =
            (r#""config.kubernetes.io/path":"a.yaml""#, r#""internal.config.kubernetes.io/path":"b.yaml""#);
        let pair = |first: &str, second: &str| found(&format!("[{},{}]", pod(first), pod(second)));
        assert_eq!(pair("", ""), ["items[0] and items[1] are both v1 Pod/n/a"]);
        assert_eq!(
            pair(here, here),
            ["items[0] and items[1] are one document (a.yaml, index 0): do two selectors choose it?"]
        );
        assert!(pair(here, there).is_empty());
        let inner = format!(r#"{here},"internal.config.kubernetes.io/package-path":"/p/inner""#);
        assert!(pair(here, &inner).is_empty());
        let id = r#","internal.config.kubernetes.io/id":"7""#;
        assert_eq!(
            pair(&format!("{here}{id}"), &format!("{there}{id}")),
            ["items[0] and items[1] have the same internal.config.kubernetes.io/id: 7"]
        );
    }
}
