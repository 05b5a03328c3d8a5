//! Pods, their templates and containers.

use super::{image, pod_resources};
use crate::admission::fields::Setter;
use crate::admission::fields::{
    field_mut, items, items_mut, number_of, set_bool, set_number, set_object, set_text, unset,
};
use crate::value::Value;

pub(super) fn of_type(name: &str) -> Option<Setter> {
    Some(match name {
        "Pod" => pod,
        "PodSpec" => pod_spec,
        "Container" | "EphemeralContainer" => container,
        "Probe" => probe,
        "HTTPGetAction" => http_get,
        "ObjectFieldSelector" => |field| set_text(field, "apiVersion", "v1"),
        _ => return None,
    })
}

/// What only Pods get, not Pod templates.
fn pod(pod: &mut Value) {
    let Some(spec) = field_mut(pod, "spec") else { return };
    pod_resources::set_requests(spec);
    set_bool(spec, "enableServiceLinks", true);
    if spec.get("hostNetwork").and_then(Value::as_bool) == Some(true) {
        set_host_ports(spec, "containers");
        set_host_ports(spec, "initContainers");
    }
}

/// In the network of the host, containers' ports are ports of the host.
fn set_host_ports(spec: &mut Value, containers: &str) {
    let lacks_host_port = |port: &Value| unset(port, "hostPort") && number_of(port, "containerPort") != 0;
    if !items(spec, containers).iter().flat_map(|container| items(container, "ports")).any(lacks_host_port) {
        return;
    }
    for container in items_mut(spec, containers) {
        for port in items_mut(container, "ports").iter_mut().filter(|port| lacks_host_port(port)) {
            let number = number_of(port, "containerPort");
            port.insert("hostPort", Value::from(number));
        }
    }
}

fn pod_spec(spec: &mut Value) {
    set_text(spec, "dnsPolicy", "ClusterFirst");
    set_text(spec, "restartPolicy", "Always");
    set_object(spec, "securityContext");
    set_number(spec, "terminationGracePeriodSeconds", 30);
    set_text(spec, "schedulerName", "default-scheduler");
}

fn container(container: &mut Value) {
    set_text(container, "terminationMessagePath", "/dev/termination-log");
    set_text(container, "terminationMessagePolicy", "File");
    image::set_pull_policy(container, "image", "imagePullPolicy");
}

fn probe(probe: &mut Value) {
    set_number(probe, "timeoutSeconds", 1);
    set_number(probe, "periodSeconds", 10);
    set_number(probe, "successThreshold", 1);
    set_number(probe, "failureThreshold", 3);
}

fn http_get(action: &mut Value) {
    set_text(action, "path", "/");
    set_text(action, "scheme", "HTTP");
}
