//! Recorded requests, and the names of their files.

use std::fmt;

use sha2::{Digest as _, Sha256};

use crate::resources::ApiResource;
use crate::source::cluster::{Access, DryRunRequest, DryRunVerb, ListQuery, Subject};
use crate::value::Value;

/// The most characters of a name in the name of a file.
const MAX_NAME_CHARS: usize = 40;

/// A request to the cluster.
#[derive(Clone, Debug)]
pub(super) struct RecordedRequest {
    /// The whole request.
    pub(super) content: Value,
    /// What the name of the file shows.
    parts: Vec<String>,
}

impl RecordedRequest {
    fn new(act: &str, target: &str, members: &[(&str, Option<&str>)]) -> Self {
        let present = members.iter().filter_map(|(name, value)| Some((*name, (*value)?)));
        let content =
            [(act, target)].into_iter().chain(present).map(|(name, value)| (name, Value::from(value)));
        Self { content: content.collect(), parts: vec![act.to_owned()] }
    }

    fn with(mut self, parts: &[&str]) -> Self {
        self.parts.extend(parts.iter().filter(|part| !part.is_empty()).map(|part| (*part).to_owned()));
        self
    }

    /// The resources that the cluster serves.
    pub(super) fn kinds() -> Self {
        Self::new("list", "kinds", &[]).with(&["kinds"])
    }

    /// A page of a list, the first of which is 1.
    pub(super) fn list(query: &ListQuery<'_>, page: usize) -> Self {
        let (limit, page) = (query.limit.to_string(), page.to_string());
        let name = query.resource.full_name();
        let members = [
            ("version", Some(&*query.resource.kind.version)),
            ("namespace", query.namespace),
            ("labels", query.labels),
            ("fields", query.fields),
            ("limit", Some(&*limit)),
            ("page", Some(&*page)),
        ];
        Self::new("list", &name, &members).with(&[&name, query.namespace.unwrap_or_default(), &page])
    }

    /// One object.
    pub(super) fn get(resource: &ApiResource, namespace: Option<&str>, name: &str) -> Self {
        let kind = resource.full_name();
        let members =
            [("version", Some(&*resource.kind.version)), ("namespace", namespace), ("name", Some(name))];
        Self::new("get", &kind, &members).with(&[&kind, namespace.unwrap_or_default(), name])
    }

    /// A GET of a path.
    pub(super) fn path(path: &str) -> Self {
        Self::new("ask", path, &[]).with(&[path.trim_start_matches('/')])
    }

    /// An access review.
    pub(super) fn review(subject: Option<&Subject>, access: &Access<'_>) -> Self {
        let (plural, review) = access.review(subject);
        let digest = digest(&review);
        Self::new("review", plural, &[("spec", Some(&*digest))]).with(&[plural])
    }

    /// A dry run of an object, in the form that may be recorded.
    pub(super) fn dry_run(request: &DryRunRequest<'_>, object: &Value) -> Self {
        let kind = request.resource.full_name();
        let act = match request.verb {
            DryRunVerb::Update => "replace",
            DryRunVerb::Apply => "apply",
            DryRunVerb::Create => "create",
        };
        let digest = digest(object);
        let members = [
            ("version", Some(&*request.resource.kind.version)),
            ("namespace", request.namespace),
            ("name", Some(request.name)),
            ("act", Some(act)),
            ("object", Some(&*digest)),
        ];
        let parts = [&*kind, request.namespace.unwrap_or_default(), request.name];
        Self::new("try", &kind, &members).with(&parts)
    }

    /// The name of the file with the response.
    pub(super) fn file_name(&self) -> String {
        let parts: Vec<String> = self.parts.iter().map(|part| harmless(part)).collect();
        format!("{}-{}.json", parts.join("-"), digest(&self.content))
    }

    /// Whether this may be the name of a file with a response.
    pub(super) fn is_file_name(name: &str) -> bool {
        let digest = name.strip_suffix(".json").and_then(|stem| stem.rsplit_once('-'));
        digest.is_some_and(|(_, digest)| {
            digest.len() == 16 && digest.bytes().all(|byte| byte.is_ascii_hexdigit())
        })
    }
}

impl fmt::Display for RecordedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (name, value)) in self.content.as_object().into_iter().flatten().enumerate() {
            let value = value.as_str().unwrap_or_default();
            match index {
                0 => write!(f, "{name} {value}")?,
                _ => write!(f, ", {name} {value}")?,
            }
        }
        Ok(())
    }
}

/// The beginning of a value's SHA-256.
fn digest(value: &Value) -> String {
    let digest = Sha256::digest(value.to_json().as_bytes());
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// A name without characters that are special in some file system.
fn harmless(name: &str) -> String {
    let plain = |c: char| match c {
        'a'..='z' | '0'..='9' | '.' => c,
        'A'..='Z' => c.to_ascii_lowercase(),
        _ => '_',
    };
    name.chars().take(MAX_NAME_CHARS).map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_objects_cannot_lead_out_of_the_directory() {
        for name in ["../../etc/passwd", "..\\x", "a:b", "CON", &"x".repeat(500), "ä\n\0", "", "."] {
            let file = RecordedRequest::get(ApiResource::config_maps(), Some(name), name).file_name();
            assert!(file.starts_with("get-configmaps-") && file.len() < 200, "{file}");
            assert!(
                file.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte)),
                "{file}"
            );
            assert!(RecordedRequest::is_file_name(&file), "{file}");
        }
    }

    #[test]
    fn similar_requests_have_different_files() {
        let name = |name: &str| RecordedRequest::get(ApiResource::config_maps(), None, name).file_name();
        assert_ne!(name("a_b"), name("a-b"));
        assert_ne!(name("A"), name("a"));
        assert_eq!(name("a"), name("a"));
        assert!(
            !RecordedRequest::is_file_name("recording.json") && !RecordedRequest::is_file_name("a-0123.json")
        );
    }
}
