//! Paths of the Kubernetes API.

use crate::resources::ApiResource;

/// The path of a resource's objects, in one namespace or in all; the namespace of a cluster-scoped one does not count.
pub(super) fn api_path(resource: &ApiResource, namespace: Option<&str>) -> String {
    let (group, version) = (&resource.kind.group, &resource.kind.version);
    let mut path =
        if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
    if let Some(namespace) = namespace.filter(|_| resource.is_namespaced) {
        path.push_str("/namespaces/");
        path.push_str(&segment(namespace));
    }
    path.push('/');
    path.push_str(&segment(&resource.plural));
    path
}

/// A name as one segment of a path.
pub(super) fn segment(name: &str) -> String {
    let bytes = name.bytes().map(|byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b':' => char::from(byte).into(),
        _ => format!("%{byte:02X}"),
    });
    bytes.collect()
}

#[cfg(test)]
mod tests {
    use crate::value::GroupVersionKind;

    use super::*;

    #[test]
    fn names_cannot_leave_their_segment_of_the_path() {
        let mut resource = ApiResource::namespaces().clone();
        assert_eq!(api_path(&resource, Some("web")), "/api/v1/namespaces");
        resource.kind = GroupVersionKind::new("apps/v1", "Deployment");
        resource.plural = "deployments".into();
        resource.is_namespaced = true;
        assert_eq!(api_path(&resource, Some("web")), "/apis/apps/v1/namespaces/web/deployments");
        assert_eq!(api_path(&resource, Some("a/b?c")), "/apis/apps/v1/namespaces/a%2Fb%3Fc/deployments");
        assert_eq!(segment("system:admin"), "system:admin");
    }
}
