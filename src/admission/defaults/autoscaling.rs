//! Horizontal Pod autoscalers.

use crate::admission::fields::Setter;
use crate::admission::fields::{field_mut, is_empty, set, set_number, set_object, set_text};
use crate::value::Value;

pub(super) fn version_1(name: &str) -> Option<Setter> {
    (name == "HorizontalPodAutoscalerSpec").then_some(|spec| set_number(spec, "minReplicas", 1))
}

pub(super) fn version_2(name: &str) -> Option<Setter> {
    Some(match name {
        "HorizontalPodAutoscalerSpec" => spec,
        "HorizontalPodAutoscalerBehavior" => behavior,
        _ => return None,
    })
}

/// The percentage of the requested CPU that is aimed at without metrics.
const CPU_UTILIZATION: i64 = 80;

fn spec(spec: &mut Value) {
    set_number(spec, "minReplicas", 1);
    if is_empty(spec, "metrics") {
        let object = |fields: [(&str, Value); 2]| -> Value { fields.into_iter().collect() };
        let target = object([("type", "Utilization".into()), ("averageUtilization", CPU_UTILIZATION.into())]);
        let resource = object([("name", "cpu".into()), ("target", target)]);
        let metric = object([("type", "Resource".into()), ("resource", resource)]);
        spec.insert("metrics", Value::array(vec![metric]));
    }
}

const PERIOD_SECONDS: i64 = 15;

fn behavior(behavior: &mut Value) {
    let policy = |kind: &str, value: i64| -> Value {
        [("type", kind.into()), ("value", value.into()), ("periodSeconds", PERIOD_SECONDS.into())]
            .into_iter()
            .collect()
    };
    let percent = || policy("Percent", 100);
    set_object(behavior, "scaleUp");
    if let Some(up) = field_mut(behavior, "scaleUp") {
        set_number(up, "stabilizationWindowSeconds", 0);
        set_text(up, "selectPolicy", "Max");
        set(up, "policies", || Value::array(vec![policy("Pods", 4), percent()]));
    }
    set_object(behavior, "scaleDown");
    if let Some(down) = field_mut(behavior, "scaleDown") {
        set_text(down, "selectPolicy", "Max");
        set(down, "policies", || Value::array(vec![percent()]));
    }
}
