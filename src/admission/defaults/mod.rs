//! Defaults that an API server sets in objects of built-in kinds, by Go type.
//!
//! One function for each Go type that has a `SetDefaults_*` in Kubernetes 1.36, with the feature gates at their defaults:
//! constant defaults too. Those that the types themselves declare (`+default`) are in the table of types.
//!
//! A function gets a normalized object: types are right, and fields with the zero value are absent unless they are always
//! written. It runs before the functions of the fields. There is none for `DeviceTaint`: its default is the time.

mod admissionregistration;
mod apps;
mod autoscaling;
mod batch;
mod configuration;
mod extensions;
mod image;
mod networking;
mod nodes;
mod pod_resources;
mod pods;
mod reads;
mod resource;
mod storage;
mod volumes;

pub(super) use image::has_latest_tag;
#[cfg(test)]
pub(super) use reads::READS;
pub(super) use reads::{Indifference, States, indifference, reads};

use super::fields::Setter;
use super::fields::{field_mut, set, set_object};
use crate::value::Value;

/// The defaults of a Go type such as `core/v1.PodSpec`; `None` if it has none.
pub(super) fn of_type(go_type: &str) -> Option<Setter> {
    let (package, name) = go_type.split_once('.')?;
    match package {
        "core/v1" => pods::of_type(name)
            .or_else(|| volumes::of_type(name))
            .or_else(|| networking::core(name))
            .or_else(|| storage::core(name))
            .or_else(|| configuration::core(name))
            .or_else(|| nodes::of_type(name)),
        "apps/v1" => apps::of_type(name),
        "batch/v1" => batch::of_type(name),
        "autoscaling/v1" => autoscaling::version_1(name),
        "autoscaling/v2" => autoscaling::version_2(name),
        "networking/v1" => networking::networking(name),
        "discovery/v1" => networking::discovery(name),
        "storage/v1" => storage::storage(name),
        "rbac/v1" => configuration::rbac(name),
        "scheduling/v1" => configuration::scheduling(name),
        "flowcontrol/v1" => configuration::flowcontrol(name),
        "resource/v1" | "resource/v1beta1" | "resource/v1beta2" => resource::of_type(name),
        "apiextensions/v1" => extensions::apiextensions(name),
        "apiregistration/v1" => extensions::apiregistration(name),
        _ => admissionregistration::of_type(package.strip_prefix("admissionregistration/")?, name),
    }
}

/// The labels of the Pod template of a controller without labels are its labels.
fn set_labels_of_template(object: &mut Value) {
    let Some(labels) = object.path(&["spec", "template", "metadata", "labels"]).cloned() else { return };
    set_object(object, "metadata");
    if let Some(metadata) = field_mut(object, "metadata") {
        set(metadata, "labels", || labels);
    }
}
