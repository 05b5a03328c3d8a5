//! What every object keeps: who it is.

use crate::value::{Pointer, Value};

/// What makes an object this one.
const IDENTITY: [&[&str]; 4] =
    [&["apiVersion"], &["kind"], &["metadata", "name"], &["metadata", "namespace"]];

/// What the server writes, and takes back only as it is; what is left out stays.
const KEPT: [&[&str]; 4] = [
    &["metadata", "uid"],
    &["metadata", "resourceVersion"],
    &["metadata", "deletionTimestamp"],
    &["metadata", "deletionGracePeriodSeconds"],
];

pub(super) fn changed(before: &Value, after: &Value) -> Vec<Pointer> {
    let is_set = |value: &&Value| !value.is_null() && value.as_str() != Some("");
    let at = |object: &Value, place: &[&str]| object.path(place).filter(is_set).cloned();
    let is_other = |place: &&&[&str]| at(before, place) != at(after, place);
    let mut found: Vec<Pointer> = Vec::new();
    let is_refused = |place: &&&[&str]| match place.last() {
        // The request says it too.
        Some(&"namespace") => at(before, place).is_some() && at(after, place).is_some(),
        Some(&"name") => at(before, place).is_some(),
        _ => true,
    };
    found.extend(IDENTITY.iter().filter(is_other).filter(is_refused).map(|place| super::pointer(place)));
    let is_told = |place: &&&[&str]| {
        let is_old =
            at(before, place).is_some() || place.last().is_some_and(|key| key.starts_with("deletion"));
        is_old && at(after, place).is_some()
    };
    found.extend(KEPT.iter().filter(is_other).filter(is_told).map(|place| super::pointer(place)));
    if at(before, &["metadata", "deletionTimestamp"]).is_some() {
        let finalizers = |object: &Value| {
            object.path(&["metadata", "finalizers"]).and_then(Value::as_array).unwrap_or_default().to_vec()
        };
        let old = finalizers(before);
        if finalizers(after).iter().any(|finalizer| !old.contains(finalizer)) {
            found.push(super::pointer(&["metadata", "finalizers"]));
        }
    }
    found
}
