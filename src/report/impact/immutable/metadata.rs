//! Immutable metadata of all kinds.

use crate::value::{Pointer, Value};

use super::{list, pointer};

/// The identity of an object.
const IDENTITY: [&[&str]; 4] =
    [&["apiVersion"], &["kind"], &["metadata", "name"], &["metadata", "namespace"]];

/// Fields set by the server, which an update may omit but not change.
const SERVER_FIELDS: [&[&str]; 4] = [
    &["metadata", "uid"],
    &["metadata", "resourceVersion"],
    &["metadata", "deletionTimestamp"],
    &["metadata", "deletionGracePeriodSeconds"],
];

/// The paths of changed immutable metadata.
pub(super) fn changed(before: &Value, after: &Value) -> Vec<Pointer> {
    let is_set = |value: &&Value| !value.is_null() && value.as_str() != Some("");
    let at = |object: &Value, place: &[&str]| object.path(place).filter(is_set).cloned();
    let is_other = |place: &&&[&str]| at(before, place) != at(after, place);
    let mut found: Vec<Pointer> = Vec::new();
    let is_refused = |place: &&&[&str]| match place.last() {
        // It is also in the path of the request.
        Some(&"namespace") => at(before, place).is_some() && at(after, place).is_some(),
        Some(&"name") => at(before, place).is_some(),
        _ => true,
    };
    found.extend(IDENTITY.iter().filter(is_other).filter(is_refused).map(|place| pointer(place)));
    let is_given = |place: &&&[&str]| {
        let is_old =
            at(before, place).is_some() || place.last().is_some_and(|key| key.starts_with("deletion"));
        is_old && at(after, place).is_some()
    };
    found.extend(SERVER_FIELDS.iter().filter(is_other).filter(is_given).map(|place| pointer(place)));
    if at(before, &["metadata", "deletionTimestamp"]).is_some() {
        let [old, new] = [before, after].map(|object| list(object, &["metadata", "finalizers"]));
        if new.iter().any(|finalizer| !old.contains(finalizer)) {
            found.push(pointer(&["metadata", "finalizers"]));
        }
    }
    found
}
