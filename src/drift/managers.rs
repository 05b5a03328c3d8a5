//! Who set a field of an object in a cluster, by its `metadata.managedFields`.

use crate::report::DriftStep;
use crate::value::{Text, Value};

/// The field managers that own a place of an object or something below it; else those that own the nearest place above it,
/// as a map or list that is replaced as a whole. Sorted.
pub(super) fn managers(live: &Value, path: &[DriftStep]) -> Vec<Text> {
    let entries = live.path(&["metadata", "managedFields"]).and_then(Value::as_array).unwrap_or_default();
    let owner = |entry: &Value| {
        let depth = owned_depth(entry.get("fieldsV1")?, path)?;
        Some((depth, entry.get("manager")?.as_text()?.clone()))
    };
    let owners: Vec<(usize, Text)> = entries.iter().filter_map(owner).collect();
    let deepest = owners.iter().map(|(depth, _)| *depth).max();
    let mut found: Vec<Text> =
        owners.into_iter().filter(|(depth, _)| Some(*depth) == deepest).map(|(_, manager)| manager).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// The length of the part of a path that fields have, if they have it or end there. Source: `fieldpath/serialize.go` of
/// structured-merge-diff.
fn owned_depth(fields: &Value, path: &[DriftStep]) -> Option<usize> {
    let mut fields = fields;
    for (depth, step) in path.iter().enumerate() {
        let is_of_step = |key: &str| match step {
            DriftStep::Key(name) => key.strip_prefix("f:") == Some(name),
            DriftStep::Element { key: name, value } => {
                let parsed = key.strip_prefix("k:").and_then(|keys| Value::from_json(keys).ok());
                parsed.is_some_and(|keys| keys.get(name) == Some(value))
            }
            DriftStep::Item(item) => {
                let parsed = key.strip_prefix("v:").and_then(|item| Value::from_json(item).ok());
                parsed.is_some_and(|parsed| parsed == *item)
            }
            DriftStep::Index(_) => false,
        };
        let members = fields.as_object()?;
        if members.is_empty() {
            return (depth > 0).then_some(depth);
        }
        fields = members.iter().find(|(key, _)| is_of_step(key)).map(|(_, below)| below)?;
    }
    Some(path.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_of_a_field_are_found_by_its_path() {
        let live = Value::from_json(
            r#"{"metadata":{"managedFields":[
                {"manager":"kubectl-edit","fieldsV1":{"f:spec":{"f:containers":{"k:{\"name\":\"a\"}":{"f:image":{}}}}}},
                {"manager":"argocd-controller","fieldsV1":{"f:spec":{"f:replicas":{},"f:selector":{},"f:strategy":{".":{}}}}},
                {"manager":"old","fieldsV1":{"f:spec":{"f:replicas":{},"f:containers":{}}}},{"manager":"none","fieldsV1":{}}
            ]}}"#,
        )
        .unwrap();
        let key = |name: &str| DriftStep::Key(name.into());
        let element = |name: &str| DriftStep::Element { key: "name".into(), value: name.into() };
        for (path, expected) in [
            (vec![key("spec"), key("containers"), element("a"), key("image")], "kubectl-edit"),
            (vec![key("spec"), key("containers"), element("a")], "kubectl-edit"),
            (vec![key("spec"), key("containers"), element("b")], "old"),
            (vec![key("spec"), key("replicas")], "argocd-controller old"),
            (vec![key("spec"), key("selector"), key("app")], "argocd-controller"),
            (vec![key("spec"), key("strategy"), key("type")], ""),
            (vec![key("spec")], "argocd-controller kubectl-edit old"),
            (vec![key("metadata")], ""),
        ] {
            assert_eq!(managers(&live, &path).join(" "), expected, "{path:?}");
        }
    }
}
