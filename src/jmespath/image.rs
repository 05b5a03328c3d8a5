//! Container image references.

use std::sync::LazyLock;

use regex::Regex;

use crate::value::{Map, Value};

/// A parsed image reference.
///
/// ```
/// use kyv::jmespath::ImageReference;
///
/// let image = ImageReference::parse("test/nginx", "docker.io").unwrap();
/// assert_eq!(image.reference, "docker.io/test/nginx:latest");
/// assert!(ImageReference::parse("++", "docker.io").is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageReference {
    /// The registry, with its port.
    pub registry: String,
    /// The path in the registry.
    pub path: String,
    /// The last segment of the path.
    pub name: String,
    /// The tag; `latest` without tag and digest, empty with only a digest.
    pub tag: String,
    /// The digest, or empty.
    pub digest: String,
    /// Registry, path and digest; tag if there is no digest.
    pub reference: String,
    /// Registry, path and tag; it ends in `:` if there is no tag.
    pub reference_with_tag: String,
}

/// Why a text is no image reference.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "bad image: {image}, defaultRegistry: {default_registry}, enableDefaultRegistryMutation: true: {reason}"
)]
pub struct ImageError {
    /// The text, with the default registry if it has none.
    pub image: String,
    /// The default registry.
    pub default_registry: String,
    /// What is wrong.
    pub reason: &'static str,
}

const COMPONENT: &str = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*";
const DOMAIN: &str = r"(?:(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])(?:\.(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]))*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?";
const TAG: &str = r"[0-9A-Za-z_][0-9A-Za-z_.-]{0,127}";
const DIGEST: &str = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}";

static REFERENCE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let path = format!("{COMPONENT}(?:/{COMPONENT})*");
    Regex::new(&format!("^(?:({DOMAIN})/)?({path})(?::({TAG}))?(?:@({DIGEST}))?$")).ok()
});

const MAX_PATH_BYTES: usize = 255;

impl ImageReference {
    /// Parses a reference; without a registry it gets the default one.
    ///
    /// # Errors
    ///
    /// Text that is no reference.
    pub fn parse(text: &str, default_registry: &str) -> Result<Self, ImageError> {
        let image = if has_registry(text) { text.to_owned() } else { format!("{default_registry}/{text}") };
        parse_complete(&image).map_err(|reason| ImageError {
            image,
            default_registry: default_registry.to_owned(),
            reason,
        })
    }

    /// The object of an image in the variable `images`.
    pub fn to_value(&self, json_pointer: &str) -> Value {
        let mut members = Map::default();
        let optional = [
            ("registry", &self.registry),
            ("tag", &self.tag),
            ("digest", &self.digest),
            ("reference", &self.reference),
            ("referenceWithTag", &self.reference_with_tag),
        ];
        for (key, text) in [("name", &self.name), ("path", &self.path)] {
            members.insert(key.into(), text.as_str().into());
        }
        for (key, text) in optional.into_iter().filter(|(_, text)| !text.is_empty()) {
            members.insert(key.into(), text.as_str().into());
        }
        members.insert("jsonPointer".into(), json_pointer.into());
        Value::object(members)
    }
}

/// Whether the part before the first slash is a registry.
fn has_registry(text: &str) -> bool {
    text.split_once('/').is_some_and(|(first, _)| {
        first.contains(['.', ':']) || first == "localhost" || first.to_lowercase() != first
    })
}

/// Parses a reference to which a missing registry was added.
fn parse_complete(image: &str) -> Result<ImageReference, &'static str> {
    let Some(reference) = &*REFERENCE else { return Err("invalid reference format") };
    let Some(found) = reference.captures(image) else {
        let lower = reference.is_match(&image.to_lowercase());
        return Err(if lower { "repository name must be lowercase" } else { "invalid reference format" });
    };
    let part = |number| found.get(number).map_or("", |part| part.as_str()).to_owned();
    let [registry, path, mut tag, digest] = [1, 2, 3, 4].map(part);
    if path.len() > MAX_PATH_BYTES {
        return Err("repository name must not be more than 255 characters");
    }
    check_digest(&digest)?;
    if tag.is_empty() && digest.is_empty() {
        "latest".clone_into(&mut tag);
    }
    let name = path.rsplit('/').next().unwrap_or_default().to_owned();
    let full_path = if registry.is_empty() { path.clone() } else { format!("{registry}/{path}") };
    let reference_with_tag = format!("{full_path}:{tag}");
    let reference =
        if digest.is_empty() { reference_with_tag.clone() } else { format!("{full_path}@{digest}") };
    Ok(ImageReference { registry, path, name, tag, digest, reference, reference_with_tag })
}

fn check_digest(digest: &str) -> Result<(), &'static str> {
    let Some((algorithm, hash)) = digest.split_once(':') else { return Ok(()) };
    if algorithm.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Err("invalid checksum digest format");
    }
    let length = match algorithm {
        "sha256" => 64,
        "sha384" => 96,
        "sha512" => 128,
        _ => return Err("unsupported digest algorithm"),
    };
    if hash.len() != length {
        return Err("invalid checksum digest length");
    }
    if hash.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Err("invalid checksum digest format");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "sha256:128c6e3534b842a2eec139999b8ce8aa9a2af9907e2b9269550809d18cd832a3";

    /// Each line: reference | default registry | registry, path, name, tag, reference, reference with tag.
    #[test]
    fn references_are_parsed() {
        const TABLE: &str = "
        nginx | docker.io | docker.io nginx nginx latest docker.io/nginx:latest docker.io/nginx:latest
        nginx:v10.3 | docker.io | docker.io nginx nginx v10.3 docker.io/nginx:v10.3 docker.io/nginx:v10.3
        test/nginx | docker.io | docker.io test/nginx nginx latest docker.io/test/nginx:latest docker.io/test/nginx:latest
        localhost:4443/test/nginx | docker.io | localhost:4443 test/nginx nginx latest localhost:4443/test/nginx:latest localhost:4443/test/nginx:latest
        docker.io/test/centos@D | docker.io | docker.io test/centos centos - docker.io/test/centos@D docker.io/test/centos:
        reg.example:10443/img:tag@D | docker.io | reg.example:10443 img img tag reg.example:10443/img@D reg.example:10443/img:tag
        test/nginx | gcr.io | gcr.io test/nginx nginx latest gcr.io/test/nginx:latest gcr.io/test/nginx:latest
        Foo/nginx | docker.io | Foo nginx nginx latest Foo/nginx:latest Foo/nginx:latest
        my_reg/b:c | docker.io | docker.io my_reg/b b c docker.io/my_reg/b:c docker.io/my_reg/b:c
        [::1]:5000/b:c | docker.io | [::1]:5000 b b c [::1]:5000/b:c [::1]:5000/b:c";
        for line in TABLE.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let line = line.replace("@D", &format!("@{HASH}"));
            let [text, default, expected] = line.split(" | ").collect::<Vec<_>>()[..] else {
                panic!("{line}")
            };
            let image = ImageReference::parse(text, default).unwrap();
            let tag = if image.tag.is_empty() { "-" } else { &image.tag };
            let ImageReference { registry, path, name, digest, reference, reference_with_tag, .. } = &image;
            let found = format!("{registry} {path} {name} {tag} {reference} {reference_with_tag}");
            assert_eq!(found, expected, "{text}");
            assert_eq!(digest, if text.contains('@') { HASH } else { "" }, "{text}");
        }
    }

    #[test]
    fn errors_have_a_reason() {
        for (text, reason) in [
            ("", "invalid reference format"),
            ("++", "invalid reference format"),
            ("a//b", "invalid reference format"),
            ("a/b/", "invalid reference format"),
            ("a___b", "invalid reference format"),
            ("a..b", "invalid reference format"),
            ("reg:/x", "invalid reference format"),
            ("a.b/x:-y", "invalid reference format"),
            ("nginx@sha256:128c", "invalid reference format"),
            ("Nginx", "repository name must be lowercase"),
            ("Foo_x/nginx", "repository name must be lowercase"),
            (
                "nginx@sha256:128C6e3534b842a2eec139999b8ce8aa9a2af9907e2b9269550809d18cd832a3",
                "invalid checksum digest format",
            ),
            (
                "nginx@sha256:128c6e3534b842a2eec139999b8ce8aa9a2af9907e2b9269550809d18cd832a3aa",
                "invalid checksum digest length",
            ),
            (
                "nginx@foo:128c6e3534b842a2eec139999b8ce8aa9a2af9907e2b9269550809d18cd832a3aa",
                "unsupported digest algorithm",
            ),
        ] {
            assert_eq!(ImageReference::parse(text, "docker.io").unwrap_err().reason, reason, "{text}");
        }
        assert_eq!(
            ImageReference::parse("++", "docker.io").unwrap_err().to_string(),
            "bad image: docker.io/++, defaultRegistry: docker.io, enableDefaultRegistryMutation: true: invalid reference format"
        );
    }

    #[test]
    fn the_object_of_an_image_omits_empty_fields() {
        let image = ImageReference::parse(&format!("a.b/c@{HASH}"), "docker.io").unwrap();
        assert_eq!(
            image.to_value("/spec/containers/0/image").to_json(),
            format!(
                r#"{{"name":"c","path":"c","registry":"a.b","digest":"{HASH}","reference":"a.b/c@{HASH}","referenceWithTag":"a.b/c:","jsonPointer":"/spec/containers/0/image"}}"#
            )
        );
    }
}
