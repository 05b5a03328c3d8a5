//! References to images, as the library that Kyverno uses parses them.

use std::fmt;

use super::error::EvalError;

/// A reference to an image: registry, repository, tag or digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// The host, the default one if none is written.
    pub registry: String,
    /// The repository; of the default host with `library/` if it has one part.
    pub repository: String,
    /// The tag; `None` with a digest.
    pub tag: Option<String>,
    /// The digest.
    pub digest: Option<String>,
    /// As written; references that are written differently are not equal.
    pub text: String,
}

const DEFAULT_REGISTRY: &str = "index.docker.io";

impl Image {
    /// Parses a reference.
    pub(super) fn parse(text: &str) -> Result<Self, EvalError> {
        let error = || EvalError::failed(format!("could not parse reference: {text}"));
        let (base, digest) = match text.split_once('@') {
            Some((base, digest)) => (base, Some(digest)),
            None => (text, None),
        };
        if let Some(digest) = digest {
            let hex = digest.strip_prefix("sha256:").ok_or_else(error)?;
            if hex.len() != 64 || !hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
                return Err(error());
            }
        }
        let (name, tag) = match base.rsplit_once(':') {
            Some((name, tag)) if !tag.contains('/') => (name, Some(tag)),
            _ => (base, None),
        };
        if tag.is_some_and(|tag| !is_tag(tag)) {
            return Err(error());
        }
        let (registry, repository) = split(name);
        if !is_registry(registry) || !is_repository(repository) {
            return Err(error());
        }
        let registry = if matches!(registry, "" | "docker.io") { DEFAULT_REGISTRY } else { registry };
        let is_official = registry == DEFAULT_REGISTRY && !repository.contains('/');
        let repository = if is_official { format!("library/{repository}") } else { repository.to_owned() };
        let tag = if digest.is_some() { None } else { Some(tag.unwrap_or("latest").to_owned()) };
        Ok(Self {
            registry: registry.to_owned(),
            repository,
            tag,
            digest: digest.map(str::to_owned),
            text: text.to_owned(),
        })
    }

    /// The digest, or else the tag.
    pub fn identifier(&self) -> &str {
        self.digest.as_deref().or(self.tag.as_deref()).unwrap_or_default()
    }
}

impl fmt::Display for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = if self.digest.is_some() { '@' } else { ':' };
        write!(f, "{}/{}{mark}{}", self.registry, self.repository, self.identifier())
    }
}

/// The host, if the first part is one, and the rest.
fn split(name: &str) -> (&str, &str) {
    match name.split_once('/') {
        Some((first, rest)) if first.contains(['.', ':']) || first == "localhost" => (first, rest),
        _ => ("", name),
    }
}

fn is_registry(registry: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
    registry.chars().all(allowed)
}

fn is_repository(repository: &str) -> bool {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-./".contains(c);
    (2..=255).contains(&repository.len()) && repository.chars().all(allowed)
}

fn is_tag(tag: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    (1..=128).contains(&tag.len()) && tag.chars().all(allowed)
}
