//! When images are pulled.

use crate::admission::fields::{text_of, unset};
use crate::value::Value;

/// Sets the pull policy of an image: images with the tag `latest`, written or not, are always pulled.
pub(super) fn set_pull_policy(object: &mut Value, reference: &str, policy: &str) {
    if unset(object, policy) {
        let always = has_latest_tag(text_of(object, reference));
        object.insert(policy, Value::from(if always { "Always" } else { "IfNotPresent" }));
    }
}

/// Whether this is a valid reference to an image with the tag `latest`, or with neither tag nor digest.
pub(in crate::admission) fn has_latest_tag(reference: &str) -> bool {
    let (tagged, digest) = match reference.split_once('@') {
        Some((tagged, digest)) => (tagged, Some(digest)),
        None => (reference, None),
    };
    let last_segment = tagged.rfind('/').map_or(0, |slash| slash + 1);
    let (name, tag) = match tagged[last_segment..].find(':') {
        Some(colon) => (&tagged[..last_segment + colon], Some(&tagged[last_segment + colon + 1..])),
        None => (tagged, None),
    };
    match (tag, digest) {
        (None, None) => is_name(name) && !is_identifier(name),
        (Some("latest"), None) => is_name(name),
        (Some("latest"), Some(digest)) => is_name(name) && is_digest(digest),
        _ => false,
    }
}

const MAX_PATH_BYTES: usize = 255;

/// The namespace of images of Docker Hub without one.
const LIBRARY: &str = "library/";

/// Whether this is a registry and a path, or just a path in Docker Hub.
fn is_name(name: &str) -> bool {
    let (registry, path) = match name.split_once('/') {
        Some((first, path)) if is_registry(first) => (Some(first), path),
        _ => (None, name),
    };
    let library = if path.contains('/') || !matches!(registry, None | Some("docker.io" | "index.docker.io")) {
        0
    } else {
        LIBRARY.len()
    };
    // A registry that is no domain can still be the first component of a path.
    registry.is_none_or(|registry| is_domain(registry) || is_component(registry))
        && path.len() + library <= MAX_PATH_BYTES
        && path.split('/').all(is_component)
}

/// The ID of an image, which is no name.
fn is_identifier(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(is_lower_hex)
}

const fn is_lower_hex(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

/// Whether what comes before the first slash is meant as a registry.
fn is_registry(first: &str) -> bool {
    first == "localhost" || first.contains(['.', ':']) || first.to_lowercase() != first
}

/// A host name or an IPv6 address in brackets, with a port or without.
fn is_domain(text: &str) -> bool {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (text, None),
    };
    let is_label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let is_address = |host: &str| {
        host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).is_some_and(|address| {
            !address.is_empty() && address.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b':')
        })
    };
    port.is_none_or(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()))
        && (is_address(host) || host.split('.').all(is_label))
}

/// Lower-case letters and digits, with `.`, `_`, `__` or dashes in between.
fn is_component(component: &str) -> bool {
    let is_word_byte = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9');
    component.starts_with(|first: char| first.is_ascii_alphanumeric())
        && component.ends_with(|last: char| last.is_ascii_alphanumeric())
        && component.bytes().all(|byte| is_word_byte(byte) || matches!(byte, b'.' | b'_' | b'-'))
        && component.split(|byte: char| byte.is_ascii_alphanumeric()).all(|separator| {
            matches!(separator, "" | "." | "_" | "__") || separator.bytes().all(|byte| byte == b'-')
        })
}

/// A digest of an algorithm that registries use.
fn is_digest(digest: &str) -> bool {
    let Some((algorithm, hash)) = digest.split_once(':') else { return false };
    let length = match algorithm {
        "sha256" => 64,
        "sha384" => 96,
        "sha512" => 128,
        _ => return false,
    };
    hash.len() == length && hash.bytes().all(is_lower_hex)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "sha256:128c6e3534b842a2eec139999b8ce8aa9a2af9907e2b9269550809d18cd832a3";

    #[test]
    fn valid_references_without_tag_or_with_the_tag_latest() {
        for reference in [
            "nginx",
            "nginx:latest",
            "library/nginx",
            "localhost/nginx",
            "localhost:5000/nginx",
            "reg.example:5000/a/b:latest",
            "[::1]:5000/b",
            "[::1]/b",
            "Foo/nginx",
            "foo__bar/a--b.c",
            "a.b__c/nginx",
            &format!("nginx:latest@{HASH}"),
        ] {
            assert!(has_latest_tag(reference), "{reference}");
        }
    }

    #[test]
    fn other_tags_digests_and_invalid_references() {
        let [long, hex] = [256, 64].map(|length| "a".repeat(length));
        for reference in [
            "",
            "nginx:1.27",
            "nginx:",
            "localhost:5000",
            "Nginx",
            "Nginx:latest",
            "nginx:Latest",
            "a//b",
            "/a",
            "a/",
            "a___b",
            "a..b",
            "-a",
            "a:b/c",
            "a.b:x/c",
            "foo/Bar",
            " nginx",
            "nginx@sha256:128c",
            "nginx:latest@sha256:128c",
            &long,
            &hex,
            &format!("nginx@{HASH}"),
            &format!("nginx:1@{HASH}"),
            &format!("nginx:latest@{}", HASH.to_uppercase()),
        ] {
            assert!(!has_latest_tag(reference), "{reference}");
        }
    }
}
