//! The variable `images`: the images of a Pod or of a controller's template, taken apart.

use crate::jmespath::ImageReference;
use crate::value::{Pointer, Value};

/// The registry that an image without one comes from.
const DEFAULT_REGISTRY: &str = "docker.io";

/// Where the Pod's specification stands in objects of a kind.
fn pod_spec(kind: &str) -> Option<&'static [&'static str]> {
    match kind {
        "Pod" => Some(&["spec"]),
        "DaemonSet" | "Deployment" | "Job" | "ReplicaSet" | "ReplicationController" | "StatefulSet" => {
            Some(&["spec", "template", "spec"])
        }
        "CronJob" => Some(&["spec", "jobTemplate", "spec", "template", "spec"]),
        _ => None,
    }
}

/// The value of `images` for an object; `None` where the object has none.
///
/// # Errors
///
/// An image or a container that cannot be read, in Kyverno's words.
pub(super) fn images(object: &Value) -> Result<Option<Value>, String> {
    let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default();
    let Some(path) = pod_spec(kind) else { return Ok(None) };
    let Some(spec) = object.path(path) else { return Ok(None) };
    let at = path.iter().fold(Pointer::ROOT, |at, key| at.key(*key));
    let mut types = Vec::new();
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        let Some(containers) = spec.get(list) else { continue };
        if containers.is_null() {
            continue;
        }
        let containers = containers.as_array().ok_or("invalid type")?;
        let mut entries = Vec::new();
        for (index, container) in containers.iter().enumerate() {
            if container.as_object().is_none() {
                return Err("invalid image config".into());
            }
            let image = container.get("image").and_then(Value::as_str).unwrap_or_default();
            if image.is_empty() {
                continue;
            }
            let name = container.get("name").and_then(Value::as_text).ok_or("invalid key")?;
            let place = at.key(list).index(index).key("image");
            entries.push((name.clone(), image_value(image, &place)?));
        }
        if !entries.is_empty() {
            types.push((list, entries.into_iter().collect::<Value>()));
        }
    }
    Ok((!types.is_empty()).then(|| types.into_iter().collect()))
}

fn image_value(image: &str, place: &Pointer) -> Result<Value, String> {
    let parsed = ImageReference::parse(image, DEFAULT_REGISTRY)
        .map_err(|fault| format!("invalid image '{image}' ({fault})"))?;
    Ok(parsed.to_value(&place.to_json_pointer()))
}
