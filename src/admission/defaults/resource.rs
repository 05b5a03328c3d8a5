//! Claims and slices of dynamic resources.

use crate::admission::fields::Setter;
use crate::admission::fields::{field_mut, set_number, set_text, text_of};
use crate::value::Value;

/// In version 1beta1, `DeviceRequest` has the fields that `ExactDeviceRequest` has later, and `BasicDevice` those of
/// `Device`.
pub(super) fn of_type(name: &str) -> Option<Setter> {
    Some(match name {
        "ExactDeviceRequest" | "DeviceSubRequest" => device_request,
        "DeviceRequest" => |request| {
            if !text_of(request, "deviceClassName").is_empty() {
                device_request(request);
            }
        },
        "Device" | "BasicDevice" => device,
        _ => return None,
    })
}

fn device_request(request: &mut Value) {
    set_text(request, "allocationMode", "ExactCount");
    if text_of(request, "allocationMode") == "ExactCount" {
        set_number(request, "count", 1);
    }
}

fn device(device: &mut Value) {
    let mappings = field_mut(device, "nodeAllocatableResourceMappings").and_then(Value::as_object_mut);
    for (_, mapping) in mappings.into_iter().flat_map(|mappings| mappings.iter_mut()) {
        set_text(mapping, "allocationMultiplier", "1");
    }
}
