//! Requests and limits of Pods and of their containers.

use crate::admission::fields::{add_missing_to, field_mut, is_empty, items, items_mut, text_of};
use crate::value::{Map, Quantity, Text, Value};

/// Requests are the limits where only these are set; those of the whole Pod are what its containers need.
pub(super) fn set_requests(spec: &mut Value) {
    for containers in ["containers", "initContainers"] {
        if items(spec, containers).iter().any(lacks_requests) {
            for container in items_mut(spec, containers) {
                if let Some(resources) = field_mut(container, "resources") {
                    let limits = resources.get("limits").cloned();
                    add_missing_to(resources, "requests", limits.as_ref());
                }
            }
        }
    }
    if spec.get("resources").is_some_and(|resources| !resources.is_null()) {
        set_huge_page_limits(spec);
        set_pod_requests(spec);
    }
}

/// Whether a container has a limit without a request.
fn lacks_requests(container: &Value) -> bool {
    let requests = container.path(&["resources", "requests"]);
    let limits = container.path(&["resources", "limits"]).and_then(Value::as_object);
    let requested = |name: &str| requests.is_some_and(|requests| requests.get(name).is_some());
    limits.is_some_and(|limits| limits.keys().any(|name| !requested(name)))
}

const HUGE_PAGES: &str = "hugepages-";

/// A Pod with resources of its own has the huge pages of its containers as limits.
fn set_huge_page_limits(spec: &mut Value) {
    let Some(resources) = spec.get("resources") else { return };
    if is_empty(resources, "limits") && is_empty(resources, "requests") {
        return;
    }
    let requests = resources.get("requests");
    let limits: Value = effective(spec, "limits")
        .into_iter()
        .filter(|(name, _)| name.starts_with(HUGE_PAGES))
        .filter(|(name, _)| requests.is_none_or(|requests| requests.get(name).is_none()))
        .map(|(name, quantity)| (name, Value::from(quantity.to_string())))
        .collect();
    if let Some(resources) = field_mut(spec, "resources") {
        add_missing_to(resources, "limits", Some(&limits));
    }
}

/// A Pod with limits of its own requests what its containers request, or else its limits.
fn set_pod_requests(spec: &mut Value) {
    let Some(limits) = spec.path(&["resources", "limits"]).and_then(Value::as_object) else { return };
    if limits.is_empty() {
        return;
    }
    let mut requests = Map::default();
    for (name, quantity) in effective(spec, "requests") {
        if matches!(&*name, "cpu" | "memory") {
            requests.insert(name, Value::from(quantity.to_string()));
        }
    }
    for (name, limit) in limits {
        let of_pods = matches!(&**name, "cpu" | "memory") || name.starts_with(HUGE_PAGES);
        if of_pods && !requests.contains_key(name) {
            requests.insert(name.clone(), limit.clone());
        }
    }
    if let Some(resources) = field_mut(spec, "resources") {
        add_missing_to(resources, "requests", Some(&Value::object(requests)));
    }
}

type Quantities = Map<Quantity>;

/// What the containers of a Pod need at once: all that run at the same time, or the largest init container with the
/// sidecars that run before it.
fn effective(spec: &Value, list: &str) -> Quantities {
    let mut running = Quantities::default();
    for container in items(spec, "containers") {
        add(&mut running, &quantities(container, list));
    }
    let mut sidecars = Quantities::default();
    let mut starting = Quantities::default();
    for container in items(spec, "initContainers") {
        let mut needed = quantities(container, list);
        if text_of(container, "restartPolicy") == "Always" {
            add(&mut running, &needed);
            add(&mut sidecars, &needed);
            needed.clone_from(&sidecars);
        } else {
            add(&mut needed, &sidecars);
        }
        raise(&mut starting, &needed);
    }
    raise(&mut running, &starting);
    running
}

fn quantities(container: &Value, list: &str) -> Quantities {
    let list = container.path(&["resources", list]).and_then(Value::as_object);
    let parsed =
        |(name, value): (&Text, &Value)| Some((name.clone(), Quantity::parse(value.as_str()?).ok()?));
    list.into_iter().flat_map(Map::iter).filter_map(parsed).collect()
}

fn add(sums: &mut Quantities, more: &Quantities) {
    for (name, quantity) in more {
        let sum = sums.get(name).and_then(|sum| sum.checked_add(quantity));
        sums.insert(name.clone(), sum.unwrap_or_else(|| quantity.clone()));
    }
}

fn raise(least: &mut Quantities, to: &Quantities) {
    for (name, quantity) in to {
        if least.get(name).is_none_or(|least| quantity > least) {
            least.insert(name.clone(), quantity.clone());
        }
    }
}
