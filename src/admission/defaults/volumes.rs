//! Volumes and their sources.

use super::image;
use crate::admission::fields::Setter;
use crate::admission::fields::{set_number, set_object, set_text};
use crate::value::Value;

pub(super) fn of_type(name: &str) -> Option<Setter> {
    Some(match name {
        "Volume" => volume,
        "SecretVolumeSource"
        | "ConfigMapVolumeSource"
        | "DownwardAPIVolumeSource"
        | "ProjectedVolumeSource" => |source| set_number(source, "defaultMode", 0o644),
        "ServiceAccountTokenProjection" => |token| set_number(token, "expirationSeconds", 60 * 60),
        "ImageVolumeSource" => |source| image::set_pull_policy(source, "reference", "pullPolicy"),
        "HostPathVolumeSource" => |host_path| set_text(host_path, "type", ""),
        _ => return None,
    })
}

/// A volume without a source is an empty directory.
fn volume(volume: &mut Value) {
    if volume.as_object().is_some_and(|fields| fields.keys().all(|field| &**field == "name")) {
        set_object(volume, "emptyDir");
    }
}
