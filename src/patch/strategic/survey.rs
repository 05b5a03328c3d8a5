//! What is known of the lists of an object before it is patched.

use std::borrow::Cow;
use std::cell::RefCell;
use std::ptr;

use foldhash::fast::RandomState;
use indexmap::IndexSet;

use crate::semantics::{Divergence, DivergenceTracker};
use crate::value::Value;

use super::schema::Schemas;
use super::schema::Type;
use super::keyed::Keys;
use super::schema::{Position, Strategy};

/// The schemas with which one object is patched, patch after patch, and what was found out about its lists: each is
/// looked at again only where a patch changed it.
#[derive(Debug)]
pub struct Survey<'s> {
    schemas: &'s Schemas,
    /// The last object whose lists Kyverno would leave alone, and its type.
    regular: RefCell<Option<(&'static Type, Value)>>,
}

impl<'s> Survey<'s> {
    /// Nothing is known but schemas.
    pub const fn new(schemas: &'s Schemas) -> Self {
        Self { schemas, regular: RefCell::new(None) }
    }

    /// The schemas.
    pub const fn schemas(&self) -> &'s Schemas {
        self.schemas
    }

    /// The root of an object; kinds are looked up by the object, and by the patch where it has none.
    pub(super) fn root(&self, object: &Value, patch: &Value) -> Position<'s> {
        let regular = self.regular.borrow();
        let is_alike = |known: &Value, name: &str| {
            let text = object.get(name).and_then(Value::as_text).filter(|text| !text.is_empty());
            text.is_some() && known.get(name).and_then(Value::as_text) == text
        };
        match &*regular {
            Some((root, known)) if ["apiVersion", "kind"].iter().all(|name| is_alike(known, name)) => {
                Position::Object(root)
            }
            _ => self.schemas.root(object, patch),
        }
    }

    /// Marks what Kyverno does to lists of an object that no patch names.
    pub(super) fn suspect_irregular(
        &self,
        object: &Value,
        position: Position<'_>,
        tracker: &DivergenceTracker,
    ) {
        let Position::Object(root) = position else { return };
        let own = DivergenceTracker::new(tracker.semantics());
        let mut regular = self.regular.borrow_mut();
        let known = regular.as_ref().filter(|(of, _)| ptr::eq(*of, root)).map(|(_, known)| known);
        suspect_irregular(object, known, position, &own);
        if own.reached().is_empty() {
            *regular = Some((root, object.clone()));
        } else {
            tracker.reach_all(own.reached());
        }
    }
}

/// The same for a node; what stood in its place before is known to be regular.
fn suspect_irregular(
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
        let place = position.member(name);
        if matches!(place, Position::Unknown) {
            continue;
        }
        let regular = regular.and_then(|regular| regular.get(name));
        if regular.is_some_and(|regular| regular.same_storage(member)) {
            continue;
        }
        match (place.strategy(), member) {
            (Strategy::Keys(keys), Value::Array(items)) => {
                if let Some(difference) = Keys::new(&keys).irregular(items) {
                    tracker.reach(difference);
                }
                for (index, item) in items.iter().enumerate() {
                    let regular = regular.and_then(|regular| regular.at(index));
                    suspect_irregular(item, regular, place.element(), tracker);
                }
            }
            (Strategy::Set, Value::Array(items)) => {
                let mut seen: IndexSet<Cow<'_, str>, RandomState> = IndexSet::default();
                if !items.iter().all(|item| seen.insert(element_text(item))) {
                    tracker.reach(Divergence::DuplicateMergeKey);
                }
            }
            (Strategy::Replace, Value::Object(_)) => suspect_irregular(member, regular, place, tracker),
            _ => {}
        }
    }
}

/// What an element of a set is known by.
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

    /// What is suspected of an object, by a survey that may know others.
    fn suspected(survey: &Survey<'_>, object: &Value) -> Vec<Divergence> {
        let tracker = DivergenceTracker::new(Semantics::Documented);
        survey.suspect_irregular(object, survey.root(object, &Value::Null), &tracker);
        tracker.reached().iter().collect()
    }

    #[test]
    fn what_was_changed_is_looked_at_again() {
        let schemas = Schemas::kubernetes();
        let survey = Survey::new(&schemas);
        let pod = json(
            r#"{"apiVersion":"v1","kind":"Pod","metadata":{"finalizers":["a"]},
                "spec":{"containers":[{"name":"a","env":[{"name":"x"}]}]}}"#,
        );
        let twice = [Divergence::DuplicateMergeKey];
        assert!(suspected(&survey, &pod).is_empty());
        let mut other = pod.clone();
        let metadata = json(r#"{"finalizers":["a","a"]}"#);
        other.insert("metadata", metadata);
        assert_eq!(suspected(&survey, &other), twice);
        // It is found again each time.
        assert_eq!(suspected(&survey, &other), twice);
        assert!(suspected(&survey, &pod).is_empty());
        let spec = json(r#"{"containers":[{"name":"a","env":[{"name":"x"},{"name":"x"}]}]}"#);
        let mut other = pod;
        other.insert("spec", spec);
        assert_eq!(suspected(&survey, &other), twice);
    }

    #[test]
    fn what_is_known_of_another_type_does_not_count() {
        let schemas = Schemas::kubernetes();
        let survey = Survey::new(&schemas);
        let spec = json(r#"{"ports":[{"port":1},{"port":1}],"containers":[{"name":"a"},{"name":"a"}]}"#);
        let of = |kind: &str| -> Value {
            [("apiVersion", Value::from("v1")), ("kind", Value::from(kind)), ("spec", spec.clone())]
                .into_iter()
                .collect()
        };
        assert!(suspected(&survey, &of("ConfigMap")).is_empty());
        assert!(!suspected(&survey, &of("Service")).is_empty());
        assert!(!suspected(&survey, &of("Pod")).is_empty());
    }
}
