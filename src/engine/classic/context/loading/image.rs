//! The metadata of images, as context entries have it.

use crate::jmespath::ImageReference;
use crate::value::{Map, Value};

/// The registry of images that name none, as Kyverno's lookups of images call it.
const DEFAULT_REGISTRY: &str = "index.docker.io";
/// The other names of that registry.
const SAME_REGISTRY: [&str; 2] = ["docker.io", "registry-1.docker.io"];
/// The prefix there of paths with one segment.
const LIBRARY: &str = "library/";

/// The full name of an image: registry, repository, and digest or else tag. References to the same image have the same
/// name. `None` if the text is not a reference.
pub fn image_name(reference: &str) -> Option<String> {
    let image = Image::of(reference)?;
    let ImageReference { digest, tag, .. } = &image.reference;
    let identifier = if digest.is_empty() { format!(":{tag}") } else { format!("@{digest}") };
    Some(format!("{}/{}{identifier}", image.registry, image.repository))
}

struct Image {
    registry: String,
    repository: String,
    reference: ImageReference,
}

impl Image {
    fn of(text: &str) -> Option<Self> {
        let reference = ImageReference::parse(text, DEFAULT_REGISTRY).ok()?;
        let is_default =
            reference.registry == DEFAULT_REGISTRY || SAME_REGISTRY.contains(&&*reference.registry);
        let registry = if is_default { DEFAULT_REGISTRY } else { &reference.registry };
        let library = if is_default && !reference.path.contains('/') { LIBRARY } else { "" };
        Some(Self {
            registry: registry.to_owned(),
            repository: format!("{library}{}", reference.path),
            reference,
        })
    }
}

/// The value of a context entry for an image, from the user's metadata: Kyverno's two formats name the fields
/// differently. Manifest and configuration have only the given fields.
pub(super) fn image_data(reference: &str, given: &Value) -> Result<Value, &'static str> {
    let image = Image::of(reference).ok_or("it is no reference to an image")?;
    let text = |name: &str| given.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let registry = text("registry").unwrap_or(&image.registry);
    let repository = text("repository").unwrap_or(&image.repository);
    let ImageReference { tag, digest, .. } = &image.reference;
    let is_tagged = reference
        .split('@')
        .next()
        .is_some_and(|name| name.rsplit('/').next().is_some_and(|last| last.contains(':')));
    let identifier = match (digest.is_empty(), is_tagged) {
        (true, _) => tag.clone(),
        (false, true) => format!("{tag}@{digest}"),
        (false, false) => digest.clone(),
    };
    let digest = text("digest").or_else(|| Some(&**digest).filter(|digest| !digest.is_empty()));
    let resolved = text("resolvedImage")
        .map(str::to_owned)
        .or_else(|| digest.map(|digest| format!("{registry}/{repository}@{digest}")));
    let mut members = Map::default();
    members.insert("image".into(), reference.into());
    if let Some(resolved) = resolved {
        members.insert("resolvedImage".into(), resolved.into());
    }
    members.insert("registry".into(), registry.into());
    members.insert("repository".into(), repository.into());
    members.insert("identifier".into(), identifier.into());
    members.insert("manifestList".into(), given.get("imageIndex").cloned().unwrap_or_default());
    for (name, key) in [("manifest", "manifest"), ("config", "configData")] {
        if let Some(value) = given.get(name).filter(|value| !value.is_null()) {
            members.insert(key.into(), value.clone());
        }
    }
    Ok(Value::object(members))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "sha256:0123456789012345678901234567890123456789012345678901234567890123";

    #[test]
    fn references_to_the_same_image_have_the_same_name() {
        for text in ["nginx", "nginx:latest", "docker.io/nginx", "index.docker.io/library/nginx:latest"] {
            assert_eq!(image_name(text).unwrap(), "index.docker.io/library/nginx:latest", "{text}");
        }
        for (text, expected) in [
            ("org/app:1", "index.docker.io/org/app:1"),
            ("ghcr.io/org/app:1", "ghcr.io/org/app:1"),
            ("localhost:5000/app", "localhost:5000/app:latest"),
        ] {
            assert_eq!(image_name(text).unwrap(), expected);
        }
        assert_eq!(image_name(&format!("ghcr.io/app:1@{DIGEST}")).unwrap(), format!("ghcr.io/app@{DIGEST}"));
        assert_eq!(image_name("Not An Image"), None);
    }

    #[test]
    fn missing_metadata_comes_from_the_reference() {
        let data = image_data("nginx:1.21", &Value::from_json(r#"{"config":{"a":1}}"#).unwrap()).unwrap();
        assert_eq!(
            data.to_json(),
            r#"{"image":"nginx:1.21","registry":"index.docker.io","repository":"library/nginx","identifier":"1.21","manifestList":null,"configData":{"a":1}}"#
        );
        let given = Value::from_json(&format!(r#"{{"digest":"{DIGEST}","manifest":{{}}}}"#)).unwrap();
        let data = image_data("ghcr.io/a/b:2", &given).unwrap();
        assert_eq!(data.get("resolvedImage").unwrap().as_str().unwrap(), format!("ghcr.io/a/b@{DIGEST}"));
        let data = image_data(&format!("ghcr.io/a/b:2@{DIGEST}"), &Value::empty_object()).unwrap();
        assert_eq!(data.get("identifier").unwrap().as_str().unwrap(), format!("2@{DIGEST}"));
    }
}
