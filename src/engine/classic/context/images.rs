//! The variable `images`: the parsed images of a Pod or of a controller's template.

use crate::jmespath::{ImageError, ImageReference};
use crate::value::{Pointer, Value};

/// The registry of images that name none.
const DEFAULT_REGISTRY: &str = "docker.io";

/// The path of the Pod's specification in objects of a kind.
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

/// Why `images` has no value, in Kyverno's words.
#[derive(Debug, thiserror::Error)]
pub(super) enum ImagesError {
    #[error("invalid type")]
    List,
    #[error("invalid image config")]
    Container,
    #[error("invalid key")]
    Name,
    #[error("invalid image '{image}' ({error})")]
    Reference { image: String, error: ImageError },
}

/// The value of `images` for an object; `None` if the object has none.
pub(super) fn images(object: &Value) -> Result<Option<Value>, ImagesError> {
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
        let containers = containers.as_array().ok_or(ImagesError::List)?;
        let mut entries = Vec::new();
        for (index, container) in containers.iter().enumerate() {
            if container.as_object().is_none() {
                return Err(ImagesError::Container);
            }
            let image = container.get("image").and_then(Value::as_str).unwrap_or_default();
            if image.is_empty() {
                continue;
            }
            let name = container.get("name").and_then(Value::as_text).ok_or(ImagesError::Name)?;
            let place = at.key(list).index(index).key("image");
            entries.push((name.clone(), image_value(image, &place)?));
        }
        if !entries.is_empty() {
            types.push((list, entries.into_iter().collect::<Value>()));
        }
    }
    Ok((!types.is_empty()).then(|| types.into_iter().collect()))
}

fn image_value(image: &str, place: &Pointer) -> Result<Value, ImagesError> {
    let parsed = ImageReference::parse(image, DEFAULT_REGISTRY)
        .map_err(|error| ImagesError::Reference { image: image.to_owned(), error })?;
    Ok(parsed.to_value(&place.to_json_pointer()))
}
