//! Claims, volumes and other kinds with conditionally immutable fields.

use std::cmp::Ordering;

use crate::value::{Pointer, Quantity, Value};

use super::{list, pointer, put, reset};

/// The deprecated annotation for the storage class of a claim.
const CLASS: &str = "volume.beta.kubernetes.io/storage-class";

/// Resets the mutable fields of a claim: volume and class once, size when it is bound. Returns refused changes.
pub(super) fn claim(old: &Value, new: &mut Value) -> Vec<Pointer> {
    let mut found = Vec::new();
    let class = ["spec", "storageClassName"];
    let named = |claim: &Value| claim.path(&["metadata", "annotations", CLASS]).cloned();
    let (was_named, is_named) = (named(old), named(new));
    let is_first = old.path(&class).is_none() && new.path(&class).is_some();
    let is_same = was_named.as_ref().is_none_or(|name| new.path(&class) == Some(name));
    let is_moved = was_named.is_some() && is_named.is_none() && is_first && is_same;
    if was_named != is_named && !is_moved {
        found.push(pointer(&["metadata", "annotations", CLASS]));
    }
    if is_first && is_same {
        put(new, &class, None);
    }
    // A claim is bound once it has a volume.
    let volume = ["spec", "volumeName"];
    if old.path(&volume).is_none() {
        reset(old, new, &volume);
        return found;
    }
    let size = ["spec", "resources", "requests", "storage"];
    if new.path(&["spec", "resources", "requests"]).is_some() {
        if is_less(new.path(&size), old.path(&size)) {
            found.push(pointer(&size));
        }
        reset(old, new, &size);
    }
    reset(old, new, &["spec", "volumeAttributesClassName"]);
    found
}

fn is_less(new: Option<&Value>, old: Option<&Value>) -> bool {
    let quantity = |value: Option<&Value>| Quantity::parse(value.and_then(Value::as_str).unwrap_or("0")).ok();
    let (Some(new), Some(old)) = (quantity(new), quantity(old)) else { return false };
    new.partial_cmp(&old) == Some(Ordering::Less)
}

/// Resets the fields of a volume that may be set once. Returns refused changes.
pub(super) fn volume(old: &Value, new: &mut Value) -> Vec<Pointer> {
    let secret = ["spec", "csi", "controllerExpandSecretRef"];
    if old.path(&["spec", "csi"]).is_some() && old.path(&secret).is_none() && new.path(&secret).is_some() {
        put(new, &secret, None);
    }
    if old.path(&["spec", "nodeAffinity"]).is_none() {
        put(new, &["spec", "nodeAffinity"], None);
    }
    let class = ["spec", "volumeAttributesClassName"];
    let is_lost = old.path(&class).is_some() && new.path(&class).is_none();
    is_lost.then(|| pointer(&class)).into_iter().collect()
}

/// Refused changes of CIDRs: only a second one may be added.
pub(super) fn ranges(old: &Value, new: &Value) -> Vec<Pointer> {
    let [was, is] = [old, new].map(|object| list(object, &["spec", "cidrs"]));
    let may = was == is || was.len() == 1 && is.len() == 2 && is.starts_with(was);
    (!may).then(|| pointer(&["spec", "cidrs"])).into_iter().collect()
}

/// Refused changes of the drivers of a node: they may be added or removed, and only `allocatable` may change.
pub(super) fn drivers(old: &Value, new: &Value) -> Vec<Pointer> {
    const DRIVERS: &[&str] = &["spec", "drivers"];
    let fixed = |mut driver: Value| {
        driver.remove("allocatable");
        driver
    };
    let was: Vec<Value> = list(old, DRIVERS).iter().cloned().map(fixed).collect();
    let is_other =
        |driver: &Value| was.iter().any(|was| was.get("name") == driver.get("name") && was != driver);
    let is = list(new, DRIVERS).iter().cloned().map(fixed).enumerate();
    is.filter(|(_, driver)| is_other(driver)).map(|(index, _)| pointer(DRIVERS).index(index)).collect()
}
