//! Persistent volumes, their claims, storage classes and CSI drivers.

use crate::admission::fields::Setter;
use crate::admission::fields::{field_mut, is_empty, set_bool, set_object, set_text};
use crate::value::Value;

pub(super) fn core(name: &str) -> Option<Setter> {
    Some(match name {
        "PersistentVolume" => persistent_volume,
        "PersistentVolumeClaim" => set_pending,
        "PersistentVolumeClaimSpec" => |spec| set_text(spec, "volumeMode", "Filesystem"),
        _ => return None,
    })
}

pub(super) fn storage(name: &str) -> Option<Setter> {
    Some(match name {
        "StorageClass" => |class| {
            set_text(class, "reclaimPolicy", "Delete");
            set_text(class, "volumeBindingMode", "Immediate");
        },
        "CSIDriverSpec" => csi_driver_spec,
        _ => return None,
    })
}

/// The spec alone, as in attachments of volumes, has no defaults.
fn persistent_volume(volume: &mut Value) {
    set_pending(volume);
    if let Some(spec) = field_mut(volume, "spec") {
        set_text(spec, "persistentVolumeReclaimPolicy", "Retain");
        set_text(spec, "volumeMode", "Filesystem");
    }
}

fn set_pending(object: &mut Value) {
    set_object(object, "status");
    if let Some(status) = field_mut(object, "status") {
        set_text(status, "phase", "Pending");
    }
}

fn csi_driver_spec(spec: &mut Value) {
    set_bool(spec, "attachRequired", true);
    set_bool(spec, "podInfoOnMount", false);
    set_bool(spec, "storageCapacity", false);
    set_text(spec, "fsGroupPolicy", "ReadWriteOnceWithFSType");
    if is_empty(spec, "volumeLifecycleModes") {
        spec.insert("volumeLifecycleModes", Value::array(vec!["Persistent".into()]));
    }
    set_bool(spec, "requiresRepublish", false);
    set_bool(spec, "seLinuxMount", false);
}
