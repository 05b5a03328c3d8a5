//! Services: allocated values are immutable.

use crate::value::{Pointer, Value};

use super::{differing, list, pointer, text};

pub(super) fn changed(old: &Value, new: &Value) -> Vec<Pointer> {
    let mut found = Vec::new();
    let (was, is) = (of_type(old), of_type(new));
    if was != "ExternalName" && is != "ExternalName" {
        found.extend(addresses(old, new));
    }
    if was == "LoadBalancer" && is == "LoadBalancer" {
        found.extend(differing(old, new, &[&["spec", "loadBalancerClass"]]));
        let place: &[&str] = &["spec", "healthCheckNodePort"];
        let is_checked = |service| text(service, &["spec", "externalTrafficPolicy"]) == Some("Local");
        if is_checked(old) && is_checked(new) && new.path(place).is_some() {
            found.extend(differing(old, new, &[place]));
        }
    }
    found
}

fn of_type(service: &Value) -> &str {
    text(service, &["spec", "type"]).unwrap_or("ClusterIP")
}

/// Refused changes of IP addresses and families: omitted ones are kept, the first is immutable, the second may be
/// released.
fn addresses(old: &Value, new: &Value) -> Vec<Pointer> {
    let mut found = Vec::new();
    let list = |service, field| list(service, &["spec", field]).to_vec();
    let first = |service: &Value| service.path(&["spec", "clusterIP"]).cloned();
    let mut was = list(old, "clusterIPs");
    if was.is_empty() {
        was.extend(first(old));
    }
    let mut is = list(new, "clusterIPs");
    let mut field = "clusterIPs";
    if is.is_empty() || is == was {
        is.clone_from(&was);
        if let Some(one) = first(new).filter(|one| Some(one) != was.first()) {
            is = vec![one];
            field = "clusterIP";
        }
    }
    let is_headless = |addresses: &[Value]| addresses.first().and_then(Value::as_str) == Some("None");
    if !(is_headless(&was) && is_headless(&is)) && differ(&was, &is) {
        found.push(pointer(&["spec", field]));
    }
    if !is_headless(&was) && !is_headless(&is) {
        let (were, mut are) = (list(old, "ipFamilies"), list(new, "ipFamilies"));
        if are.is_empty() {
            are.clone_from(&were);
        }
        if differ(&were, &are) {
            found.push(pointer(&["spec", "ipFamilies"]));
        }
        let policy = ["spec", "ipFamilyPolicy"];
        let policy = new.path(&policy).or_else(|| old.path(&policy)).and_then(Value::as_str);
        if (are.len() < were.len() || is.len() < was.len()) && policy != Some("SingleStack") {
            found.push(pointer(&["spec", "ipFamilyPolicy"]));
        }
    }
    found
}

/// Whether two lists differ where both have elements.
fn differ(was: &[Value], is: &[Value]) -> bool {
    was.iter().zip(is).any(|(was, is)| was != is)
}
