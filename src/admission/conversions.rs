//! What the conversion of an object to its internal version and back changes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::fields::Setter;
use super::fields::{
    field_mut, is_empty, items, items_mut, number_of, set_number, set_object, set_text, text_of, unset,
};
use crate::value::{Map, Value};

/// What conversion does to the JSON of a Go type such as `core/v1.PodSpec` after all defaults are set; `None` if nothing.
pub(super) fn of_type(go_type: &str) -> Option<Setter> {
    Some(match go_type {
        "core/v1.Pod" => pod,
        "core/v1.PodTemplateSpec" => |template| drop_annotations(template, INIT_CONTAINER_ANNOTATIONS),
        "core/v1.PodSpec" => pod_spec,
        "core/v1.PodStatus" => |status| first_of_list(status, "podIP", "podIPs", Some("ip")),
        "core/v1.NodeSpec" => |spec| first_of_list(spec, "podCIDR", "podCIDRs", None),
        "core/v1.Secret" => secret,
        "apps/v1.Deployment" => deployment,
        "apps/v1.StatefulSetSpec" => stateful_set_spec,
        "apps/v1.DaemonSet" => daemon_set,
        // The internal version has no pointers for these.
        "apps/v1.RollingUpdateDeployment" | "apps/v1.RollingUpdateDaemonSet" => |rolling_update| {
            set_number(rolling_update, "maxUnavailable", 0);
            set_number(rolling_update, "maxSurge", 0);
        },
        "apps/v1.RollingUpdateStatefulSetStrategy" => {
            |rolling_update| set_number(rolling_update, "partition", 0)
        }
        "autoscaling/v1.HorizontalPodAutoscaler" => autoscaler,
        "autoscaling/v2.HorizontalPodAutoscaler" => {
            |autoscaler| drop_annotations(autoscaler, AUTOSCALER_ANNOTATIONS)
        }
        "autoscaling/v2.HPAScalingRules" => |rules| drop_if_empty(rules, "policies"),
        "core/v1.NodeStatus" => |status| drop_if_empty(status, "allocatable"),
        "resource/v1beta1.Device" => |device| set_object(device, "basic"),
        "policy/v1.PodDisruptionBudgetSpec" => disruption_budget_spec,
        "apiextensions/v1.CustomResourceConversion" => custom_resource_conversion,
        _ => return None,
    })
}

fn drop_if_empty(object: &mut Value, field: &str) {
    if is_empty(object, field) {
        object.remove(field);
    }
}

/// Removes annotations of earlier versions of Kubernetes that conversion uses.
fn drop_annotations(object: &mut Value, names: &[&str]) {
    let annotations = object.path(&["metadata", "annotations"]);
    if !annotations.is_some_and(|annotations| names.iter().any(|name| annotations.get(name).is_some())) {
        return;
    }
    let Some(metadata) = field_mut(object, "metadata") else { return };
    if let Some(annotations) = field_mut(metadata, "annotations") {
        for name in names {
            annotations.remove(name);
        }
    }
    if is_empty(metadata, "annotations") {
        metadata.remove("annotations");
    }
}

/// The annotation, if it is text.
fn annotation<'v>(object: &'v Value, name: &str) -> Option<&'v str> {
    object.path(&["metadata", "annotations", name]).and_then(Value::as_str)
}

/// Writes an integer in an annotation canonically.
fn rewrite_integer(object: &mut Value, name: &str) {
    let Some(written) = annotation(object, name) else { return };
    let Some(canonical) = written.parse::<i64>().ok().map(|number| number.to_string()) else { return };
    if canonical != written
        && let Some(annotations) =
            field_mut(object, "metadata").and_then(|metadata| field_mut(metadata, "annotations"))
    {
        annotations.insert(name, Value::from(canonical));
    }
}

/// What init containers were written in before Kubernetes 1.6.
const INIT_CONTAINER_ANNOTATIONS: &[&str] = &[
    "pod.beta.kubernetes.io/init-containers",
    "pod.alpha.kubernetes.io/init-containers",
    "pod.beta.kubernetes.io/init-container-statuses",
    "pod.alpha.kubernetes.io/init-container-statuses",
];

fn pod(pod: &mut Value) {
    drop_annotations(pod, INIT_CONTAINER_ANNOTATIONS);
    const GRACE_PERIOD: &str = "terminationGracePeriodSeconds";
    if pod.get("spec").is_some_and(|spec| number_of(spec, GRACE_PERIOD) < 0)
        && let Some(spec) = field_mut(pod, "spec")
    {
        spec.insert(GRACE_PERIOD, Value::from(1));
    }
}

/// `serviceAccount` is the old name of `serviceAccountName`.
fn pod_spec(spec: &mut Value) {
    const NAMES: [&str; 2] = ["serviceAccountName", "serviceAccount"];
    let [name, old_name] =
        NAMES.map(|field| spec.get(field).filter(|name| name.as_str() != Some("")).cloned());
    if name != old_name
        && let Some(name) = name.or(old_name)
    {
        for field in NAMES {
            spec.insert(field, name.clone());
        }
    }
}

/// Makes a field equal to the first element of a list, or to a field of that element. If they differ, the list is
/// replaced: older clients know the single field only.
fn first_of_list(object: &mut Value, single: &str, list: &str, field: Option<&str>) {
    let first = items(object, list).first().map(|first| match field {
        Some(field) => text_of(first, field),
        None => first.as_str().unwrap_or_default(),
    });
    let value = text_of(object, single);
    if value.is_empty() {
        if let Some(first) = first.filter(|first| !first.is_empty()).map(Value::from) {
            object.insert(single, first);
        }
    } else if first != Some(value) {
        let value = Value::from(value);
        let element = match field {
            Some(field) => [(field, value)].into_iter().collect(),
            None => value,
        };
        object.insert(list, Value::array(vec![element]));
    }
}

/// `stringData` is only written: it becomes `data`.
fn secret(secret: &mut Value) {
    let Some(texts) = secret.remove("stringData") else { return };
    set_object(secret, "data");
    if let Some(data) = field_mut(secret, "data") {
        for (key, text) in texts.as_object().into_iter().flat_map(Map::iter) {
            data.insert(key.clone(), Value::from(BASE64.encode(text.as_str().unwrap_or_default())));
        }
    }
}

fn deployment(deployment: &mut Value) {
    const ROLLBACK_TO: &str = "deprecated.deployment.rollback.to";
    if annotation(deployment, ROLLBACK_TO) == Some("") {
        drop_annotations(deployment, &[ROLLBACK_TO]);
    }
    rewrite_integer(deployment, ROLLBACK_TO);
}

fn stateful_set_spec(spec: &mut Value) {
    for claim in items_mut(spec, "volumeClaimTemplates") {
        claim.insert("apiVersion", Value::from("v1"));
        claim.insert("kind", Value::from("PersistentVolumeClaim"));
    }
}

/// The generation of the template is a field of the internal version.
fn daemon_set(daemon_set: &mut Value) {
    const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";
    set_object(daemon_set, "metadata");
    if let Some(metadata) = field_mut(daemon_set, "metadata") {
        set_object(metadata, "annotations");
        if let Some(annotations) = field_mut(metadata, "annotations") {
            set_text(annotations, TEMPLATE_GENERATION, "0");
        }
    }
    rewrite_integer(daemon_set, TEMPLATE_GENERATION);
}

const CURRENT_METRICS: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";

/// What version 1 has no fields for.
const AUTOSCALER_ANNOTATIONS: &[&str] = &[
    METRICS,
    "autoscaling.alpha.kubernetes.io/behavior",
    "autoscaling.alpha.kubernetes.io/scale-down-tolerance",
    "autoscaling.alpha.kubernetes.io/scale-up-tolerance",
    CURRENT_METRICS,
    "autoscaling.alpha.kubernetes.io/conditions",
];

/// Annotations that hold fields of later versions as JSON, and whether it is a list. Other texts and empty lists are
/// dropped.
const AUTOSCALER_JSON: [(&str, bool); 4] = [
    (METRICS, true),
    (CURRENT_METRICS, true),
    ("autoscaling.alpha.kubernetes.io/conditions", true),
    ("autoscaling.alpha.kubernetes.io/behavior", false),
];

/// Without any metrics, also in the annotation, it is 80 % of the requested CPU.
fn autoscaler(autoscaler: &mut Value) {
    for (name, is_list) in AUTOSCALER_JSON {
        let json = annotation(autoscaler, name).map(Value::from_json);
        let is_kept = json.is_none_or(|json| match json {
            Ok(Value::Array(elements)) => is_list && !elements.is_empty(),
            Ok(Value::Object(_)) => !is_list,
            _ => false,
        });
        if !is_kept {
            drop_annotations(autoscaler, &[name]);
        }
    }
    if annotation(autoscaler, METRICS).is_none()
        && let Some(spec) = field_mut(autoscaler, "spec")
    {
        set_number(spec, "targetCPUUtilizationPercentage", 80);
    }
    let current = autoscaler.path(&["status", "currentCPUUtilizationPercentage"]);
    if let Some(current) = current.and_then(Value::as_number).map(ToString::to_string) {
        let metrics = format!(
            r#"[{{"type":"Resource","resource":{{"name":"cpu","currentAverageUtilization":{current},"currentAverageValue":"0"}}}}]"#
        );
        set_object(autoscaler, "metadata");
        if let Some(metadata) = field_mut(autoscaler, "metadata") {
            set_object(metadata, "annotations");
            if let Some(annotations) = field_mut(metadata, "annotations") {
                annotations.insert(CURRENT_METRICS, metrics.into());
            }
        }
    }
}

/// Removes what meant "no Pods" before version 1, unless it is the whole selector.
fn disruption_budget_spec(spec: &mut Value) {
    const KEY: &str = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match";
    let Some(selector) = spec.get("selector") else { return };
    let expressions = items(selector, "matchExpressions");
    let kept: Vec<Value> = expressions.iter().filter(|each| text_of(each, "key") != KEY).cloned().collect();
    let selects_none = unset(selector, "matchLabels")
        && matches!(expressions, [only] if text_of(only, "operator") == "Exists" && is_empty(only, "values"));
    if kept.len() == expressions.len() || selects_none {
        return;
    }
    let Some(selector) = field_mut(spec, "selector") else { return };
    if kept.is_empty() {
        selector.remove("matchExpressions");
    } else {
        selector.insert("matchExpressions", Value::array(kept));
    }
}

/// An empty `webhook` has no counterpart in the internal version.
fn custom_resource_conversion(conversion: &mut Value) {
    let webhook = conversion.get("webhook");
    if webhook
        .is_some_and(|webhook| unset(webhook, "clientConfig") && unset(webhook, "conversionReviewVersions"))
    {
        conversion.remove("webhook");
    }
}
