//! The differences between an object in Git and the one in a cluster, and what explains them.

use std::sync::Arc;

use foldhash::fast::RandomState;
use indexmap::{IndexMap, IndexSet};

use crate::patch::{ListStrategy, Schemas};
use crate::report::{Cause, DriftField, DriftKind, DriftStep, LiveDrift, OtherField};
use crate::value::{Map, Pointer, Text, Value};

use super::lists::{has_keys, places, strategy};
use super::managers::Managers;
use super::{MAX_DEPTH, Sides, cause};

/// What the API server keeps for itself in the metadata of an object.
const OF_SERVER: [&str; 9] = [
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "managedFields",
    "selfLink",
];

/// The annotation with the manifest of the last `kubectl apply`.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// What a GitOps tool shows. What policies do in one of the requests is theirs, the rest is of others.
pub(super) fn shown(sides: &[Sides<'_>], live: &Value, managers: &Managers) -> Vec<DriftField> {
    let Some(first) = sides.first() else { return Vec::new() };
    let requests = sides.iter().map(|sides| [sides.predicted(), sides.compared(&sides.predicted, live)]);
    let requests: Vec<[Vec<DriftField>; 2]> = requests.collect();
    let requests: Vec<_> =
        requests.iter().map(|[predicted, unexplained]| (causes(predicted), paths(unexplained))).collect();
    let with_cause = |field: DriftField| {
        let explained = requests.iter().find_map(|(causes, unexplained)| {
            let is_explained = !unexplained.contains(&*field.path);
            causes.get(&(&*field.path, field.kind)).filter(|_| is_explained)
        });
        let cause = explained.map_or_else(
            || Cause::Others { managers: managers.owners(&field.path) }.into(),
            |explained| Arc::clone(explained),
        );
        DriftField { cause, ..field }
    };
    first.compared(&first.in_git, live).into_iter().map(with_cause).collect()
}

/// The causes of differences; of equal ones that of the first.
fn causes(fields: &[DriftField]) -> IndexMap<(&[DriftStep], DriftKind), &Arc<Cause>, RandomState> {
    fields.iter().rev().map(|field| ((&*field.path, field.kind), &field.cause)).collect()
}

fn paths(fields: &[DriftField]) -> IndexSet<&[DriftStep], RandomState> {
    fields.iter().map(|field| &*field.path).collect()
}

/// What else differs, `shown` aside.
pub(super) fn others(
    sides: &[Sides<'_>],
    live: &Value,
    shown: &[DriftField],
    managers: &Managers,
) -> LiveDrift {
    let Some(first) = sides.first() else { return LiveDrift::default() };
    let mut walk = Walk { sides, managers, found: LiveDrift::default() };
    let node = Node {
        config: Some(&first.config),
        in_git: Some(&first.in_git),
        predicted: sides.iter().map(|sides| Some(&sides.predicted)).collect(),
        live: Some(live),
    };
    walk.node(node, &mut Vec::new(), &Pointer::ROOT);
    // What policies would do with the object as it is applied now, and the cluster does not have.
    let shown = paths(shown);
    let missing = first.predicted().into_iter().filter(|field| !shown.contains(&*field.path));
    let missing = missing.filter(|field| field.kind != DriftKind::Order);
    walk.found.others.extend(missing.map(|field| OtherField {
        path: field.path,
        cause: field.cause,
        is_missing: true,
    }));
    walk.found
}

/// A place of an object in all its states.
struct Node<T> {
    config: Option<T>,
    in_git: Option<T>,
    /// After the policies, in each request.
    predicted: Vec<Option<T>>,
    live: Option<T>,
}

struct Walk<'a, 'r> {
    sides: &'a [Sides<'r>],
    managers: &'a Managers,
    found: LiveDrift,
}

impl Walk<'_, '_> {
    /// Compares what Git does not set. `at` is the place in the object of the first request after the policies.
    fn node(&mut self, node: Node<&Value>, path: &mut Vec<DriftStep>, at: &Pointer) {
        if path.len() > MAX_DEPTH {
            return;
        }
        let first = node.predicted.first().copied().flatten();
        match (first, node.live) {
            (Some(Value::Object(predicted)), Some(Value::Object(live))) => {
                self.maps(&node, (predicted, live), path, at);
            }
            (None, Some(Value::Object(live))) if !live.is_empty() => {
                self.maps(&node, (&Map::default(), live), path, at);
            }
            (Some(Value::Array(predicted)), Some(Value::Array(live))) => {
                match self.merge_key(path, [predicted, live]) {
                    Some(key) => self.elements(&key, &node, (predicted, live), path, at),
                    None => self.leaf(&node, path, at),
                }
            }
            _ => self.leaf(&node, path, at),
        }
    }

    fn maps(&mut self, node: &Node<&Value>, maps: (&Map, &Map), path: &mut Vec<DriftStep>, at: &Pointer) {
        let (predicted, live) = maps;
        let added = live.keys().filter(|key| !predicted.contains_key(*key));
        for key in predicted.keys().chain(added) {
            if is_of_server(path, key) {
                continue;
            }
            path.push(DriftStep::Key(key.clone()));
            self.node(node.map(|value| value.get(key)), path, &at.key(key.clone()));
            path.pop();
        }
    }

    fn elements(
        &mut self,
        key: &Text,
        node: &Node<&Value>,
        lists: (&[Value], &[Value]),
        path: &mut Vec<DriftStep>,
        at: &Pointer,
    ) {
        let (predicted, live) = lists;
        let states = node.map(|list| Some((*list, places(list.as_array()?, key))));
        let places = places(predicted, key);
        let of_key = |list| <[Value]>::iter(list).filter_map(|element| element.get(key));
        let added = of_key(live).filter(|value| !places.contains_key(*value));
        for value in of_key(predicted).chain(added) {
            let index = places.get(value).copied().unwrap_or(predicted.len());
            path.push(DriftStep::Element { key: key.clone(), value: value.clone() });
            let below = states.map(|(list, places)| list.at(*places.get(value)?));
            self.node(below, path, &at.index(index));
            path.pop();
        }
    }

    /// A value that is compared as a whole.
    fn leaf(&mut self, node: &Node<&Value>, path: &[DriftStep], at: &Pointer) {
        if node.config.is_some() {
            return;
        }
        let first = node.predicted.first().copied().flatten();
        let explaining = node.predicted.iter().position(|predicted| *predicted == node.live);
        let (cause, is_missing) = match (explaining, node.live) {
            (Some(_), live) if node.in_git == live => {
                self.found.defaults += live.map_or(0, leaves);
                return;
            }
            (Some(request), _) => {
                let Some(sides) = self.sides.get(request) else { return };
                (cause(sides.writers(), at), false)
            }
            // Defaults that another version of the API server does not have are no difference.
            (None, None) if node.in_git == first => return,
            (None, live) if live.is_none() || node.in_git == live => {
                let Some(sides) = self.sides.first() else { return };
                (cause(sides.writers(), at), true)
            }
            (None, _) => (Cause::Others { managers: self.managers.owners(path) }, false),
        };
        self.found.others.push(OtherField { path: path.to_vec(), cause: cause.into(), is_missing });
    }

    /// The merge key of a list whose elements all have one, each another.
    fn merge_key(&self, path: &[DriftStep], lists: [&[Value]; 2]) -> Option<Text> {
        let sides = self.sides.first()?;
        if !Schemas::is_built_in(&sides.kind) {
            return None;
        }
        let ListStrategy::Keys(keys) = strategy(&sides.schemas, &sides.kind, path) else { return None };
        let key = Text::from(*keys.first()?);
        has_keys(&lists, &key).then_some(key)
    }
}

impl<T> Node<T> {
    fn map<'a, U>(&'a self, change: impl Fn(&'a T) -> Option<U>) -> Node<U> {
        let map = |state: &'a Option<T>| state.as_ref().and_then(&change);
        Node {
            config: map(&self.config),
            in_git: map(&self.in_git),
            predicted: self.predicted.iter().map(map).collect(),
            live: map(&self.live),
        }
    }
}

/// Whether a field is what names the object, its status, or metadata that the API server keeps.
pub(super) fn is_of_server(path: &[DriftStep], key: &str) -> bool {
    match path {
        [] => matches!(key, "apiVersion" | "kind" | "status"),
        [DriftStep::Key(parent)] => &**parent == "metadata" && OF_SERVER.contains(&key),
        _ => false,
    }
}

/// An object without what `kubectl apply` keeps in it.
pub(super) fn without_last_applied(live: &Value) -> Value {
    const ANNOTATIONS: [&str; 2] = ["metadata", "annotations"];
    let mut live = live.clone();
    let has_others = |annotations: &Map| annotations.keys().any(|key| &**key != LAST_APPLIED);
    let Some(has_others) = live.path(&ANNOTATIONS).and_then(Value::as_object).map(has_others) else {
        return live;
    };
    if let Some(metadata) = live.as_object_mut().and_then(|members| members.get_mut("metadata")) {
        if has_others {
            let annotations = metadata.as_object_mut().and_then(|members| members.get_mut("annotations"));
            annotations.map(|annotations| annotations.remove(LAST_APPLIED));
        } else {
            metadata.remove("annotations");
        }
    }
    live
}

/// The number of values without members of their own.
fn leaves(value: &Value) -> usize {
    let mut count = 0;
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(members) if !members.is_empty() => open.extend(members.values()),
            Value::Array(items) if !items.is_empty() => open.extend(items.iter()),
            _ => count += 1,
        }
    }
    count
}
