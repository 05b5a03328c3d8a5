//! Secrets, namespaces, limits, role bindings, priorities and other settings.

use super::set_labels_of_template;
use crate::admission::fields::Setter;
use crate::admission::fields::{
    add_missing_to, field_mut, set_empty_text, set_number, set_object, set_text, set_zero, text_of, unset,
};
use crate::value::{Quantity, Value};

pub(super) fn core(name: &str) -> Option<Setter> {
    Some(match name {
        "ResourceList" => resource_list,
        "Secret" => |secret| set_text(secret, "type", "Opaque"),
        "Namespace" => namespace,
        "NamespaceStatus" => |status| set_text(status, "phase", "Active"),
        "LimitRangeItem" => limit_range_item,
        "ReplicationController" => replication_controller,
        _ => return None,
    })
}

pub(super) fn rbac(name: &str) -> Option<Setter> {
    Some(match name {
        "RoleRef" => |role| set_empty_text(role, "apiGroup", RBAC_GROUP),
        "Subject" => |subject| {
            if matches!(text_of(subject, "kind"), "User" | "Group") {
                set_text(subject, "apiGroup", RBAC_GROUP);
            }
        },
        _ => return None,
    })
}

const RBAC_GROUP: &str = "rbac.authorization.k8s.io";

pub(super) fn scheduling(name: &str) -> Option<Setter> {
    (name == "PriorityClass").then_some(|class| set_text(class, "preemptionPolicy", "PreemptLowerPriority"))
}

pub(super) fn flowcontrol(name: &str) -> Option<Setter> {
    Some(match name {
        "FlowSchemaSpec" => |spec| set_zero(spec, "matchingPrecedence", 1000),
        "LimitedPriorityLevelConfiguration" => |limited| {
            set_number(limited, "nominalConcurrencyShares", 30);
            set_number(limited, "lendablePercent", 0);
        },
        "ExemptPriorityLevelConfiguration" => |exempt| {
            set_number(exempt, "nominalConcurrencyShares", 0);
            set_number(exempt, "lendablePercent", 0);
        },
        "QueuingConfiguration" => |queuing| {
            set_zero(queuing, "handSize", 8);
            set_zero(queuing, "queues", 64);
            set_zero(queuing, "queueLengthLimit", 50);
        },
        _ => return None,
    })
}

/// Quantities are rounded up to thousandths.
fn resource_list(list: &mut Value) {
    let rounded = |quantity: &Value| {
        let quantity = quantity.as_str().filter(|text| text.ends_with(['n', 'u']) || text.contains('e'))?;
        Quantity::parse(quantity).ok()?.rounded_up_to_milli().map(|rounded| rounded.to_string())
    };
    let Some(members) = list.as_object() else { return };
    if members.values().any(|quantity| rounded(quantity).is_some()) {
        for (_, quantity) in list.as_object_mut().into_iter().flat_map(|members| members.iter_mut()) {
            if let Some(rounded) = rounded(quantity) {
                *quantity = Value::from(rounded);
            }
        }
    }
}

/// A namespace has its name as a label; without `generateName`, that is.
fn namespace(namespace: &mut Value) {
    const LABEL: &str = "kubernetes.io/metadata.name";
    let Some(metadata) = field_mut(namespace, "metadata") else { return };
    let Some(name) = metadata.get("name").filter(|name| name.as_str() != Some("")).cloned() else { return };
    set_object(metadata, "labels");
    if let Some(labels) = field_mut(metadata, "labels") {
        labels.insert(LABEL, name);
    }
}

/// The default of a container's limit is the maximum, that of its request the limit's or the minimum.
fn limit_range_item(item: &mut Value) {
    if text_of(item, "type") == "Container" {
        for (field, source) in [("default", "max"), ("defaultRequest", "default"), ("defaultRequest", "min")]
        {
            let source = item.get(source).cloned();
            add_missing_to(item, field, source.as_ref());
        }
    }
}

fn replication_controller(controller: &mut Value) {
    set_labels_of_template(controller);
    let labels = controller.path(&["spec", "template", "metadata", "labels"]).cloned();
    set_object(controller, "spec");
    let Some(spec) = field_mut(controller, "spec") else { return };
    if let Some(labels) = labels
        && unset(spec, "selector")
    {
        spec.insert("selector", labels);
    }
}
