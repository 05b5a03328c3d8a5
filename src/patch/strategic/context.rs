//! The schemas that one object is patched with, and which of its lists were checked already.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::ptr;

use foldhash::fast::RandomState;
use indexmap::IndexSet;

use crate::semantics::{Divergence, DivergenceTracker};
use crate::value::Value;

use super::keys::MergeKeys;
use super::schema::{ListStrategy, Position, Schemas, Type};

/// The schemas that one object is patched with, patch after patch, and a memo of its lists: a list is checked again only
/// after a patch changed it.
#[derive(Debug)]
pub struct MergeContext<'s> {
    schemas: &'s Schemas,
    /// The last object whose lists Kyverno would not change, and its type.
    regular: RefCell<Option<(&'static Type, Value)>>,
    /// The steps of all patches: four for each key and element that they visited.
    steps: Cell<usize>,
}

impl<'s> MergeContext<'s> {
    /// A context for an object of which nothing is known yet.
    pub const fn new(schemas: &'s Schemas) -> Self {
        Self { schemas, regular: RefCell::new(None), steps: Cell::new(0) }
    }

    /// The steps of all patches so far.
    pub const fn steps(&self) -> usize {
        self.steps.get()
    }

    /// Adds the keys and elements of one walk. Each counts as four steps: it takes as long as four of an expression.
    pub(super) fn add_steps(&self, visited: usize) {
        const STEPS: usize = 4;
        self.steps.set(self.steps.get().saturating_add(visited.saturating_mul(STEPS)));
    }

    /// The schemas.
    pub const fn schemas(&self) -> &'s Schemas {
        self.schemas
    }

    /// The position of an object's root. The kind is that of the object, or of the patch if the object has none.
    pub(super) fn root(&self, object: &Value, patch: &Value) -> Position<'s> {
        let regular = self.regular.borrow();
        let is_same = |known: &Value, name: &str| {
            let text = object.get(name).and_then(Value::as_text).filter(|text| !text.is_empty());
            text.is_some() && known.get(name).and_then(Value::as_text) == text
        };
        match &*regular {
            Some((root, known)) if ["apiVersion", "kind"].iter().all(|name| is_same(known, name)) => {
                Position::Object(root)
            }
            _ => self.schemas.root(object, patch),
        }
    }

    /// Records what Kyverno would change in lists that no patch names.
    pub(super) fn mark_irregular_lists(
        &self,
        object: &Value,
        position: Position<'_>,
        tracker: &DivergenceTracker,
    ) {
        let Position::Object(root) = position else { return };
        let own = DivergenceTracker::new(tracker.semantics());
        let mut regular = self.regular.borrow_mut();
        let known = regular.as_ref().filter(|(of, _)| ptr::eq(*of, root)).map(|(_, known)| known);
        mark_irregular(object, known, position, &own);
        if own.reached().is_empty() {
            *regular = Some((root, object.clone()));
        } else {
            tracker.reach_all(own.reached());
        }
    }
}

/// Records what Kyverno would change in a node. `regular` is the same node of an earlier object whose lists it would not
/// change.
fn mark_irregular(
    value: &Value,
    regular: Option<&Value>,
    position: Position<'_>,
    tracker: &DivergenceTracker,
) {
    if regular.is_some_and(|regular| regular.same_storage(value)) {
        return;
    }
    if position.fields().is_empty() {
        return;
    }
    for (name, member) in value.as_object().into_iter().flatten() {
        if !matches!(member, Value::Array(_) | Value::Object(_)) {
            continue;
        }
        let position = position.member(name);
        if matches!(position, Position::Unknown) {
            continue;
        }
        let regular = regular.and_then(|regular| regular.get(name));
        if regular.is_some_and(|regular| regular.same_storage(member)) {
            continue;
        }
        match (position.strategy(), member) {
            (ListStrategy::Keys(keys), Value::Array(items)) => {
                let (keys, regular) = (MergeKeys::new(&keys), regular.and_then(Value::as_array));
                let places = regular.and_then(|regular| keys.earlier_places(items, regular));
                if places.is_none()
                    && let Some(divergence) = keys.irregularity(items)
                {
                    tracker.reach(divergence);
                }
                let element = position.element();
                for (index, item) in items.iter().enumerate() {
                    let index = places.map_or(index, |places| places.of(index));
                    let regular = regular.and_then(|regular| regular.get(index));
                    if !regular.is_some_and(|regular| regular.same_storage(item)) {
                        mark_irregular(item, regular, element, tracker);
                    }
                }
            }
            (ListStrategy::Set, Value::Array(items)) => {
                let mut seen: IndexSet<Cow<'_, str>, RandomState> = IndexSet::default();
                if !items.iter().all(|item| seen.insert(element_text(item))) {
                    tracker.reach(Divergence::DuplicateMergeKey);
                }
            }
            (ListStrategy::Replace, Value::Object(_)) => mark_irregular(member, regular, position, tracker),
            _ => {}
        }
    }
}

/// The text that identifies an element of a set.
fn element_text(element: &Value) -> Cow<'_, str> {
    element.as_str().map_or_else(|| Cow::Owned(format!("\0{}", element.to_json())), Cow::Borrowed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::semantics::Semantics;

    fn json(text: &str) -> Value {
        Value::from_json(text).unwrap()
    }

    /// The divergences recorded for an object.
    fn recorded(context: &MergeContext<'_>, object: &Value) -> Vec<Divergence> {
        let tracker = DivergenceTracker::new(Semantics::Documented);
        context.mark_irregular_lists(object, context.root(object, &Value::Null), &tracker);
        tracker.reached().iter().collect()
    }

    #[test]
    fn changed_lists_are_checked_again() {
        let schemas = Schemas::kubernetes();
        let context = MergeContext::new(&schemas);
        let pod = json(
            r#"{"apiVersion":"v1","kind":"Pod","metadata":{"finalizers":["a"]},
                "spec":{"containers":[{"name":"a","env":[{"name":"x"}]}]}}"#,
        );
        let twice = [Divergence::DuplicateMergeKey];
        assert!(recorded(&context, &pod).is_empty());
        let mut other = pod.clone();
        let metadata = json(r#"{"finalizers":["a","a"]}"#);
        other.insert("metadata", metadata);
        assert_eq!(recorded(&context, &other), twice);
        // It is found again each time.
        assert_eq!(recorded(&context, &other), twice);
        assert!(recorded(&context, &pod).is_empty());
        let spec = json(r#"{"containers":[{"name":"a","env":[{"name":"x"},{"name":"x"}]}]}"#);
        let mut other = pod;
        other.insert("spec", spec);
        assert_eq!(recorded(&context, &other), twice);
    }

    #[test]
    fn the_memo_of_another_kind_does_not_count() {
        let schemas = Schemas::kubernetes();
        let context = MergeContext::new(&schemas);
        let spec = json(r#"{"ports":[{"port":1},{"port":1}],"containers":[{"name":"a"},{"name":"a"}]}"#);
        let of = |kind: &str| -> Value {
            [("apiVersion", Value::from("v1")), ("kind", Value::from(kind)), ("spec", spec.clone())]
                .into_iter()
                .collect()
        };
        assert!(recorded(&context, &of("ConfigMap")).is_empty());
        assert!(!recorded(&context, &of("Service")).is_empty());
        assert!(!recorded(&context, &of("Pod")).is_empty());
    }
}
