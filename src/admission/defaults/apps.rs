//! Deployments, stateful sets, daemon sets and replica sets.

use crate::admission::fields::Setter;
use crate::admission::fields::{field_mut, set_number, set_object, set_text, text_of};
use crate::value::Value;

pub(super) fn of_type(name: &str) -> Option<Setter> {
    Some(match name {
        "DeploymentSpec" => deployment_spec,
        "StatefulSetSpec" => stateful_set_spec,
        "DaemonSetSpec" => daemon_set_spec,
        "ReplicaSetSpec" => |spec| set_number(spec, "replicas", 1),
        _ => return None,
    })
}

const ROLLING_UPDATE: &str = "RollingUpdate";

/// Sets the type of a strategy; its settings for rolling updates, if it is that type.
fn rolling_update<'v>(spec: &'v mut Value, strategy: &'static str) -> Option<&'v mut Value> {
    set_object(spec, strategy);
    let strategy = field_mut(spec, strategy)?;
    set_text(strategy, "type", ROLLING_UPDATE);
    if text_of(strategy, "type") != ROLLING_UPDATE {
        return None;
    }
    set_object(strategy, "rollingUpdate");
    field_mut(strategy, "rollingUpdate")
}

fn deployment_spec(spec: &mut Value) {
    set_number(spec, "replicas", 1);
    if let Some(rolling_update) = rolling_update(spec, "strategy") {
        set_text(rolling_update, "maxUnavailable", "25%");
        set_text(rolling_update, "maxSurge", "25%");
    }
    set_number(spec, "revisionHistoryLimit", 10);
    set_number(spec, "progressDeadlineSeconds", 600);
}

fn daemon_set_spec(spec: &mut Value) {
    if let Some(rolling_update) = rolling_update(spec, "updateStrategy") {
        set_number(rolling_update, "maxUnavailable", 1);
        set_number(rolling_update, "maxSurge", 0);
    }
    set_number(spec, "revisionHistoryLimit", 10);
}

fn stateful_set_spec(spec: &mut Value) {
    set_text(spec, "podManagementPolicy", "OrderedReady");
    set_object(spec, "updateStrategy");
    if let Some(strategy) = field_mut(spec, "updateStrategy") {
        // With a type that is written, `rollingUpdate` stays absent.
        if text_of(strategy, "type").is_empty() {
            set_text(strategy, "type", ROLLING_UPDATE);
            set_object(strategy, "rollingUpdate");
        }
        if text_of(strategy, "type") == ROLLING_UPDATE
            && let Some(rolling_update) = field_mut(strategy, "rollingUpdate")
        {
            set_number(rolling_update, "partition", 0);
        }
    }
    set_object(spec, "persistentVolumeClaimRetentionPolicy");
    if let Some(retention) = field_mut(spec, "persistentVolumeClaimRetentionPolicy") {
        set_text(retention, "whenDeleted", "Retain");
        set_text(retention, "whenScaled", "Retain");
    }
    set_number(spec, "replicas", 1);
    set_number(spec, "revisionHistoryLimit", 10);
}
