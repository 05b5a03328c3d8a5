//! Jobs and cron jobs.

use super::set_labels_of_template;
use crate::admission::fields::Setter;
use crate::admission::fields::{field_mut, set_bool, set_empty_text, set_number, set_text, unset};
use crate::value::Value;

pub(super) fn of_type(name: &str) -> Option<Setter> {
    Some(match name {
        "Job" => job,
        "CronJobSpec" => cron_job_spec,
        "PodFailurePolicyOnPodConditionsPattern" => |pattern| set_empty_text(pattern, "status", "True"),
        _ => return None,
    })
}

/// The template of a cron job does not get these.
fn job(job: &mut Value) {
    set_labels_of_template(job);
    let Some(spec) = field_mut(job, "spec") else { return };
    if unset(spec, "parallelism") {
        set_number(spec, "completions", 1);
    }
    set_number(spec, "parallelism", 1);
    set_number(
        spec,
        "backoffLimit",
        if unset(spec, "backoffLimitPerIndex") { 6 } else { i64::from(i32::MAX) },
    );
    set_text(spec, "completionMode", "NonIndexed");
    set_bool(spec, "suspend", false);
    let replacement = if unset(spec, "podFailurePolicy") { "TerminatingOrFailed" } else { "Failed" };
    set_text(spec, "podReplacementPolicy", replacement);
    set_bool(spec, "manualSelector", false);
}

fn cron_job_spec(spec: &mut Value) {
    set_text(spec, "concurrencyPolicy", "Allow");
    set_bool(spec, "suspend", false);
    set_number(spec, "successfulJobsHistoryLimit", 3);
    set_number(spec, "failedJobsHistoryLimit", 1);
}
