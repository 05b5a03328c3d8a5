//! The metadata with which look-ups of images are answered.

use crate::engine::image_name;
use crate::value::Value;

/// The digest of images whose reference has none.
const DIGEST: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// What a registry would tell of an image by its reference alone; `None` if the text is no reference. The field
/// `resolvedImage` is left out: the two generations of policies have another one.
pub(super) fn metadata(reference: &str) -> Option<Value> {
    let name = image_name(reference)?;
    let (registry, rest) = name.split_once('/')?;
    let (repository, tag, digest) = match rest.split_once('@') {
        Some((repository, digest)) => (repository, None, digest),
        None => {
            let (repository, tag) = rest.rsplit_once(':')?;
            (repository, Some(tag), DIGEST)
        }
    };
    let members =
        [("image", reference), ("registry", registry), ("repository", repository), ("digest", digest)];
    let members = members.into_iter().chain(tag.map(|tag| ("tag", tag)));
    Some(members.map(|(name, text)| (name, Value::from(text))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_tells_the_parts_of_its_metadata() {
        let found = metadata("nginx").unwrap();
        let text = |name: &str| found.get(name).and_then(Value::as_str).map(str::to_owned);
        assert_eq!(text("image").as_deref(), Some("nginx"));
        assert_eq!(text("registry").as_deref(), Some("index.docker.io"));
        assert_eq!(text("repository").as_deref(), Some("library/nginx"));
        assert_eq!(text("tag").as_deref(), Some("latest"));
        assert_eq!(text("digest").as_deref(), Some(DIGEST));
        let by_digest = metadata(&format!("localhost:5000/a/b:2@{DIGEST}")).unwrap();
        assert_eq!(by_digest.get("tag"), None);
        assert_eq!(by_digest.get("registry"), Some(&Value::from("localhost:5000")));
        assert_eq!(metadata("Not An Image"), None);
    }
}
