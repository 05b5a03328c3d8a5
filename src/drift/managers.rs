//! Who set a field of an object in a cluster, by its `metadata.managedFields`.

use foldhash::fast::RandomState;
use indexmap::IndexMap;

use crate::report::DriftStep;
use crate::value::{Text, Value};

/// The field managers of an object, with what they own.
pub(super) struct Managers(Vec<(Text, Fields)>);

/// What a manager owns of a place. Source: `fieldpath/serialize.go` of structured-merge-diff.
struct Fields {
    /// Whether it owns the place as a whole.
    is_whole: bool,
    /// The places below, and the steps to them: one for each merge key of an element.
    below: Vec<Self>,
    steps: IndexMap<DriftStep, usize, RandomState>,
}

impl Managers {
    pub(super) fn of(live: &Value) -> Self {
        let entries = live.path(&["metadata", "managedFields"]).and_then(Value::as_array).unwrap_or_default();
        let manager = |entry: &Value| {
            Some((entry.get("manager")?.as_text()?.clone(), Fields::of(entry.get("fieldsV1")?)))
        };
        Self(entries.iter().filter_map(manager).collect())
    }

    /// Those that own a place or something below it; else those that own the nearest place above it, as a map or list that is
    /// replaced as a whole. Sorted.
    pub(super) fn owners(&self, path: &[DriftStep]) -> Vec<Text> {
        let owners = self.0.iter().filter_map(|(manager, fields)| Some((fields.depth(path)?, manager)));
        let owners: Vec<(usize, &Text)> = owners.collect();
        let deepest = owners.iter().map(|(depth, _)| *depth).max();
        let deepest = owners.into_iter().filter(|(depth, _)| Some(*depth) == deepest);
        let mut found: Vec<Text> = deepest.map(|(_, manager)| manager.clone()).collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}

impl Fields {
    fn of(fields: &Value) -> Self {
        let members = fields.as_object();
        let is_whole = members.is_some_and(|members| members.is_empty());
        let mut found = Self { is_whole, below: Vec::new(), steps: IndexMap::default() };
        for (key, below) in members.into_iter().flat_map(|members| members.iter()) {
            for step in steps(key) {
                found.steps.entry(step).or_insert(found.below.len());
            }
            found.below.push(Self::of(below));
        }
        found
    }

    /// The length of the part of a path that is owned, if all of it is or it ends at a whole.
    fn depth(&self, path: &[DriftStep]) -> Option<usize> {
        let mut fields = self;
        for (depth, step) in path.iter().enumerate() {
            if fields.is_whole {
                return (depth > 0).then_some(depth);
            }
            fields = fields.below.get(*fields.steps.get(step)?)?;
        }
        Some(path.len())
    }
}

/// The steps that a key stands for.
fn steps(key: &str) -> Vec<DriftStep> {
    let json = |prefix: &str| Value::from_json(key.strip_prefix(prefix)?).ok();
    if let Some(name) = key.strip_prefix("f:") {
        vec![DriftStep::Key(name.into())]
    } else if let Some(item) = json("v:") {
        vec![DriftStep::Item(item)]
    } else {
        let keys = json("k:").unwrap_or_default();
        let members = keys.as_object().into_iter().flat_map(|members| members.iter());
        members.map(|(key, value)| DriftStep::Element { key: key.clone(), value: value.clone() }).collect()
    }
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
            assert_eq!(Managers::of(&live).owners(&path).join(" "), expected, "{path:?}");
        }
    }
}
