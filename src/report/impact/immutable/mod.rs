//! Immutable fields, whose change the API server refuses.
//!
//! Both objects are normalized, then mutable fields are reset to their old values, as Kubernetes 1.36 does it in
//! `ValidatePodUpdate` and similar functions in `pkg/apis/*/validation`; the remaining differences are refused.

mod metadata;
mod pod;
mod service;
mod storage;
mod table;

use std::collections::BTreeSet;

use crate::value::{Change, GroupVersionKind, Pointer, Segment, Value, changes};

use super::defaulting::{self, GatedFields};
use super::{list, pointer, text};
use table::{Row, TABLE};

/// The paths of changed immutable fields.
pub(super) fn changed(kind: &GroupVersionKind, before: &Value, after: &Value) -> Vec<Pointer> {
    let mut found = metadata::changed(before, after);
    let is_kind = |(group, kinds, ..): &&Row| {
        *kind.group == **group && kinds.split(' ').any(|name| *kind.kind == *name)
    };
    let row = TABLE.iter().find(is_kind);
    let is_more = matches!(
        (&*kind.group, &*kind.kind),
        ("", "Service" | "ConfigMap") | ("networking.k8s.io", "ServiceCIDR") | ("storage.k8s.io", "CSINode")
    );
    if row.is_none() && !is_more {
        return found;
    }
    let gated = GatedFields::of(kind, before);
    let old = defaulting::object(kind, before, gated);
    let mut new = defaulting::object(kind, after, gated);
    found.extend(match (&*kind.group, &*kind.kind) {
        ("", "Pod") => pod::changed(&old, &mut new),
        ("", "Service") => service::changed(&old, &new),
        ("", "PersistentVolumeClaim") => storage::claim(&old, &mut new),
        ("", "PersistentVolume") => storage::volume(&old, &mut new),
        ("", "ConfigMap" | "Secret") => sealed(&old, &new),
        ("", "ResourceQuota") => quota(&old, &mut new),
        ("", "Node") => once(&old, &new, &[&["spec", "podCIDRs"], &["spec", "providerID"]]),
        ("batch", "Job") => pod::job(&old, &mut new),
        ("networking.k8s.io", "ServiceCIDR") => storage::ranges(&old, &new),
        ("storage.k8s.io", "CSINode") => storage::drivers(&old, &new),
        _ => Vec::new(),
    });
    if new.get("spec").and_then(Value::as_object).is_some_and(|spec| spec.is_empty()) {
        new.remove("spec");
    }
    let (locked, open) = row.map_or(("", ""), |(.., locked, open)| (*locked, *open));
    let is_locked = |change: &Change| {
        let at = change.pointer.segments();
        let is_in = |places: &str| places.split_whitespace().any(|place| is_below(at, place));
        let is_other = |place: &str| {
            let parts: Vec<&str> = place.split('.').collect();
            old.path(&parts) != new.path(&parts)
        };
        let holds =
            |places: &str| places.split_whitespace().any(|place| is_above(at, place) && is_other(place));
        (is_in(locked) || holds(locked)) && !is_in(open)
    };
    let differing = changes(&old, &new).into_iter().filter(is_locked).map(|change| change.pointer);
    for place in differing.flat_map(|place| inside(before, after, place)) {
        if !found.contains(&place) {
            found.push(place);
        }
    }
    found
}

/// The paths of the differences inside a field, if both objects have it.
fn inside(before: &Value, after: &Value, place: Pointer) -> Vec<Pointer> {
    match (before.pointed(&place), after.pointed(&place)) {
        (Some(was @ Value::Object(_)), Some(is @ Value::Object(_))) if was != is => {
            changes(was, is).into_iter().map(|change| place.join(&change.pointer)).collect()
        }
        _ => vec![place],
    }
}

/// Changed fields of an immutable `ConfigMap` or Secret.
fn sealed(old: &Value, new: &Value) -> Vec<Pointer> {
    if old.get("immutable") != Some(&Value::Bool(true)) {
        return Vec::new();
    }
    differing(old, new, &[&["data"], &["binaryData"], &["immutable"]])
}

/// Resets the scopes of a quota, which are a set, if only their order changed.
fn quota(old: &Value, new: &mut Value) -> Vec<Pointer> {
    let scopes =
        |object| list(object, &["spec", "scopes"]).iter().filter_map(Value::as_str).collect::<BTreeSet<_>>();
    if scopes(old) == scopes(new) {
        reset(old, new, &["spec", "scopes"]);
    }
    Vec::new()
}

/// Changed fields of those that are immutable once set.
fn once(old: &Value, new: &Value, places: &[&[&str]]) -> Vec<Pointer> {
    let set: Vec<&[&str]> = places.iter().copied().filter(|place| old.path(place).is_some()).collect();
    differing(old, new, &set)
}

/// The paths of changed fields.
fn differing(old: &Value, new: &Value, places: &[&[&str]]) -> Vec<Pointer> {
    places.iter().filter(|place| old.path(place) != new.path(place)).map(|place| pointer(place)).collect()
}

/// Resets a field to its old value; missing parents are created if needed.
fn reset(old: &Value, new: &mut Value, place: &[&str]) {
    put(new, place, old.path(place).cloned());
}

fn put(object: &mut Value, place: &[&str], value: Option<Value>) {
    match place {
        [] => {}
        [key] => match value {
            Some(value) => {
                if !matches!(object, Value::Object(_)) {
                    *object = Value::empty_object();
                }
                object.insert(*key, value);
            }
            None => drop(object.remove(key)),
        },
        [key, rest @ ..] => {
            let inner = object.get(key).cloned();
            if inner.is_some() || value.is_some() {
                let mut inner = inner.unwrap_or_else(Value::empty_object);
                put(&mut inner, rest, value);
                object.insert(*key, inner);
            }
        }
    }
}

/// Whether a path is this one or below it.
fn is_below(at: &[Segment], place: &str) -> bool {
    let mut segments = at.iter();
    place.split('.').all(|part| segments.next().is_some_and(|segment| is_called(segment, part)))
}

/// Whether a path is above this one.
fn is_above(at: &[Segment], place: &str) -> bool {
    let mut parts = place.split('.');
    at.iter().all(|segment| parts.next().is_some_and(|part| is_called(segment, part)))
}

fn is_called(segment: &Segment, part: &str) -> bool {
    matches!(segment, Segment::Key(key) if **key == *part)
}

#[cfg(test)]
mod tests;
