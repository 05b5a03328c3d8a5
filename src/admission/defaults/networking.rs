//! Services, endpoints, ingress classes and network policies.

use crate::admission::fields::Setter;
use crate::admission::fields::{
    field_mut, is_empty, items_mut, number_of, set_bool, set_text, text_of, unset,
};
use crate::value::Value;

pub(super) fn core(name: &str) -> Option<Setter> {
    Some(match name {
        "Service" => service,
        "ServiceSpec" => service_spec,
        "ServicePort" => service_port,
        "EndpointPort" => |port| set_text(port, "protocol", "TCP"),
        _ => return None,
    })
}

pub(super) fn discovery(name: &str) -> Option<Setter> {
    (name == "EndpointPort").then_some(|port| {
        set_text(port, "name", "");
        set_text(port, "protocol", "TCP");
    })
}

pub(super) fn networking(name: &str) -> Option<Setter> {
    Some(match name {
        "NetworkPolicySpec" => network_policy_spec,
        "NetworkPolicyPort" => |port| set_text(port, "protocol", "TCP"),
        "IngressClassParametersReference" => |parameters| set_text(parameters, "scope", "Cluster"),
        _ => return None,
    })
}

/// The addresses of load balancers are virtual IPs.
fn service(service: &mut Value) {
    if service.path(&["spec", "type"]).and_then(Value::as_str) != Some("LoadBalancer") {
        return;
    }
    let Some(balancer) = field_mut(service, "status").and_then(|status| field_mut(status, "loadBalancer"))
    else {
        return;
    };
    for ingress in items_mut(balancer, "ingress").iter_mut().filter(|ingress| !unset(ingress, "ip")) {
        set_text(ingress, "ipMode", "VIP");
    }
}

/// The seconds that a client stays with a Pod.
const AFFINITY_SECONDS: i64 = 3 * 60 * 60;

/// The cluster IP, its families and the ports of nodes are allocated after admission.
fn service_spec(spec: &mut Value) {
    set_text(spec, "sessionAffinity", "None");
    match text_of(spec, "sessionAffinity") {
        "None" => {
            spec.remove("sessionAffinityConfig");
        }
        "ClientIP" => {
            let seconds = spec.path(&["sessionAffinityConfig", "clientIP", "timeoutSeconds"]);
            if seconds.is_none_or(Value::is_null) {
                let object = |field, value| -> Value { [(field, value)].into_iter().collect() };
                let client = object("timeoutSeconds", AFFINITY_SECONDS.into());
                spec.insert("sessionAffinityConfig", object("clientIP", client));
            }
        }
        _ => {}
    }
    set_text(spec, "type", "ClusterIP");
    let kind = text_of(spec, "type");
    let (in_cluster, load_balancer) = (kind == "ClusterIP", kind == "LoadBalancer");
    if !(in_cluster || load_balancer || kind == "NodePort") {
        return;
    }
    if !in_cluster || !is_empty(spec, "externalIPs") {
        set_text(spec, "externalTrafficPolicy", "Cluster");
    }
    set_text(spec, "internalTrafficPolicy", "Cluster");
    if load_balancer {
        set_bool(spec, "allocateLoadBalancerNodePorts", true);
    }
}

fn service_port(port: &mut Value) {
    let target = match port.get("targetPort") {
        None | Some(Value::Null) => true,
        Some(Value::Number(number)) => number.as_i64() == Some(0),
        Some(target) => target.as_str() == Some(""),
    };
    if target {
        let number = number_of(port, "port");
        port.insert("targetPort", Value::from(number));
    }
}

/// A policy with egress rules concerns egress too.
fn network_policy_spec(spec: &mut Value) {
    if is_empty(spec, "policyTypes") {
        let mut types = vec![Value::from("Ingress")];
        if !is_empty(spec, "egress") {
            types.push(Value::from("Egress"));
        }
        spec.insert("policyTypes", Value::array(types));
    }
}
