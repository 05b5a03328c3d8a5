//! The annotations that belong to the orchestrator.

use crate::value::{Map, Text, Value};

const PREFIXES: [&str; 2] = ["internal.config.kubernetes.io/", "internal.config.k8s.io/"];
const NAMES: [&str; 8] = [
    "config.kubernetes.io/path",
    "config.kubernetes.io/index",
    "config.k8s.io/id",
    "kustomize.config.k8s.io/id",
    "kustomize.config.k8s.io/needs-hash",
    "kustomize.config.k8s.io/behavior",
    "config.kubernetes.io/origin",
    "alpha.config.kubernetes.io/transformations",
];

/// Whether an annotation belongs to the orchestrator and not to the object.
pub fn is_internal(name: &str) -> bool {
    PREFIXES.iter().any(|prefix| name.starts_with(prefix)) || NAMES.contains(&name)
}

/// An annotation of the orchestrator (`path`, `index`), under its current name or the legacy one.
pub(super) fn internal_annotation<'a>(item: &'a Value, name: &str) -> Option<&'a str> {
    let annotations = item.path(&["metadata", "annotations"])?;
    let current = annotations.get(&format!("internal.config.kubernetes.io/{name}"));
    current.or_else(|| annotations.get(&format!("config.kubernetes.io/{name}")))?.as_str()
}

/// The path of the file that an orchestrator read an item from, and writes it to. The file of an item that is missing in
/// the response is deleted. Items that kustomize builds have no files, though they may have paths.
pub fn file_path(item: &Value) -> Option<&str> {
    let built = item.path(&["metadata", "annotations", "kustomize.config.k8s.io/id"]).is_some();
    internal_annotation(item, "path").filter(|_| !built)
}

/// The internal annotations that were removed from an object, and their places.
#[derive(Clone, Debug, Default)]
pub struct InternalAnnotations {
    /// All annotations in their order: internal ones with their value, others without.
    order: Vec<(Text, Option<Value>)>,
    /// The index of `annotations` in `metadata`, if all annotations are internal, so that it was removed, too.
    emptied_at: Option<usize>,
}

/// Removes the internal annotations from an item: policies see the object as in a cluster.
pub fn hide(item: &Value) -> (Value, InternalAnnotations) {
    let Some(annotations) = item.path(&["metadata", "annotations"]).and_then(Value::as_object) else {
        return (item.clone(), InternalAnnotations::default());
    };
    if !annotations.keys().any(|name| is_internal(name)) {
        return (item.clone(), InternalAnnotations::default());
    }
    let order = annotations
        .iter()
        .map(|(name, value)| (name.clone(), is_internal(name).then(|| value.clone())))
        .collect();
    let own: Value = annotations
        .iter()
        .filter(|(name, _)| !is_internal(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let mut shown = item.clone();
    let mut emptied_at = None;
    if let Some(metadata) = metadata_of(&mut shown) {
        if own.as_object().is_some_and(Map::is_empty) {
            emptied_at = metadata.shift_remove_full("annotations").map(|(index, _, _)| index);
        } else {
            metadata.insert("annotations".into(), own);
        }
    }
    (shown, InternalAnnotations { order, emptied_at })
}

impl InternalAnnotations {
    /// Puts the internal annotations back in their places. Policies cannot change them.
    pub fn restore(&self, object: &Value) -> Value {
        let current = object.path(&["metadata", "annotations"]).and_then(Value::as_object);
        if self.order.is_empty()
            && !current.is_some_and(|current| current.keys().any(|name| is_internal(name)))
        {
            return object.clone();
        }
        let mut annotations = Map::default();
        for (name, internal) in &self.order {
            let value = internal.as_ref().or_else(|| current?.get(name));
            annotations.extend(value.map(|value| (name.clone(), value.clone())));
        }
        for (name, value) in current.into_iter().flatten().filter(|(name, _)| !is_internal(name)) {
            annotations.entry(name.clone()).or_insert_with(|| value.clone());
        }
        let mut restored = object.clone();
        let Some(root) = restored.as_object_mut() else { return restored };
        let metadata = root.entry("metadata".into()).or_default();
        if metadata.as_object().is_none() {
            *metadata = Value::empty_object();
        }
        if let Some(metadata) = metadata.as_object_mut() {
            match self.emptied_at.filter(|_| !metadata.contains_key("annotations")) {
                Some(index) => {
                    let index = index.min(metadata.len());
                    metadata.shift_insert(index, "annotations".into(), Value::object(annotations));
                }
                None => {
                    metadata.insert("annotations".into(), Value::object(annotations));
                }
            }
        }
        restored
    }
}

fn metadata_of(object: &mut Value) -> Option<&mut Map> {
    object.as_object_mut()?.get_mut("metadata")?.as_object_mut()
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::{Strategy, prop_assert, prop_assert_eq, proptest};
    use proptest::sample::select;

    use super::*;

    /// Annotations of an object, internal ones and others mixed.
    fn annotations() -> impl Strategy<Value = Map> {
        let prefixes = ["", "own.example.org/", "config.kubernetes.io/local-", PREFIXES[0], PREFIXES[1]];
        let made = (select(prefixes.to_vec()).prop_map(str::to_owned), "[a-c]{1,2}");
        let name = proptest::prop_oneof![
            made.prop_map(|(prefix, rest)| prefix + &rest),
            select(NAMES.to_vec()).prop_map(str::to_owned)
        ];
        vec((name, "[a-z\\n'0-9]{0,4}"), 0..6).prop_map(|pairs| {
            pairs.iter().map(|(name, value)| (Text::from(&**name), Value::from(&**value))).collect()
        })
    }

    fn internal(object: &Value) -> Vec<(Text, Value)> {
        let all = object.path(&["metadata", "annotations"]).and_then(Value::as_object);
        let internal = all.into_iter().flatten().filter(|(name, _)| is_internal(name));
        internal.map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    proptest! {
        #[test]
        fn whatever_a_policy_writes_the_internal_annotations_are_those_that_came(
            came in annotations(), written in annotations()
        ) {
            let object = |annotations: Map| -> Value {
                let metadata: Value = [("name", Value::from("x")), ("annotations", Value::object(annotations))].into_iter().collect();
                [("metadata", metadata)].into_iter().collect()
            };
            let item = object(came);
            let (shown, hidden) = hide(&item);
            prop_assert!(internal(&shown).is_empty());
            prop_assert_eq!(hidden.restore(&shown).to_json(), item.to_json());
            let restored = hidden.restore(&object(written.clone()));
            prop_assert_eq!(internal(&restored), internal(&item));
            let others = restored.path(&["metadata", "annotations"]).and_then(Value::as_object);
            for (name, value) in written.iter().filter(|(name, _)| !is_internal(name)) {
                prop_assert_eq!(others.and_then(|others| others.get(name)), Some(value));
            }
        }
    }

    fn json(text: &str) -> Value {
        Value::from_json(text).unwrap()
    }

    #[test]
    fn what_kustomize_builds_comes_from_no_file() {
        let path = r#""config.kubernetes.io/path":"a.yaml""#;
        let item = |rest: &str| json(&format!(r#"{{"metadata":{{"annotations":{{{path}{rest}}}}}}}"#));
        assert_eq!(file_path(&item("")), Some("a.yaml"));
        assert_eq!(file_path(&item(r#","kustomize.config.k8s.io/id":"kind: Pod""#)), None);
        assert_eq!(file_path(&json("{}")), None);
    }

    #[test]
    fn only_internal_annotations_are_hidden() {
        for (item, expected) in [
            (
                r#"{"kind":"Pod","metadata":{"annotations":{"a":"b","config.kubernetes.io/index":"0",
                "internal.config.kubernetes.io/path":"x.yaml","config.kubernetes.io/depends-on":"y"}}}"#,
                r#"{"kind":"Pod","metadata":{"annotations":{"a":"b","config.kubernetes.io/depends-on":"y"}}}"#,
            ),
            (r#"{"metadata":{"annotations":{"config.k8s.io/id":"1"}}}"#, r#"{"metadata":{}}"#),
        ] {
            let (shown, hidden) = hide(&json(item));
            assert_eq!(shown, json(expected));
            assert_eq!(hidden.restore(&shown), json(item));
        }
    }

    #[test]
    fn internal_annotations_are_restored_whatever_a_policy_writes() {
        let own = r#"{"metadata":{"annotations":{"a":"b","config.k8s.io/id":"1"}}}"#;
        let restored = r#"{"metadata":{"annotations":{"config.k8s.io/id":"1"}}}"#;
        for (item, patched, expected) in [
            (
                r#"{"metadata":{"annotations":{"config.kubernetes.io/index":"0","a":"b","config.k8s.io/id":"1","c":"d"},"name":"x"}}"#,
                r#"{"metadata":{"annotations":{"new":"1","c":"e","a":"b"},"name":"x"}}"#,
                r#"{"metadata":{"annotations":{"config.kubernetes.io/index":"0","a":"b","config.k8s.io/id":"1","c":"e","new":"1"},"name":"x"}}"#,
            ),
            (
                r#"{"metadata":{"annotations":{"config.k8s.io/id":"1"},"name":"x"}}"#,
                r#"{"metadata":{"name":"x"}}"#,
                r#"{"metadata":{"annotations":{"config.k8s.io/id":"1"},"name":"x"}}"#,
            ),
            // A policy cannot add, change or delete them.
            (
                r#"{"metadata":{"name":"x"}}"#,
                r#"{"metadata":{"name":"x","annotations":{"config.k8s.io/id":"1","a":"b"}}}"#,
                r#"{"metadata":{"name":"x","annotations":{"a":"b"}}}"#,
            ),
            (own, r#"{"metadata":{}}"#, restored),
            (own, r#"{"metadata":{"annotations":{"config.k8s.io/id":"9"}}}"#, restored),
            (own, "{}", restored),
        ] {
            let (_, hidden) = hide(&json(item));
            assert_eq!(hidden.restore(&json(patched)).to_json(), json(expected).to_json(), "{patched}");
        }
    }
}
