//! The definitions of a cluster's custom resources.

use crate::engine::{KindScope, builtin_scope};
use crate::policy::KindSelector;
use crate::source::CustomKind;

use super::{Cluster, ClusterError, Resource};

/// What a cluster tells of custom resources.
#[derive(Debug, Default)]
pub struct LiveKinds {
    /// Those whose definition could be read.
    pub found: Vec<CustomKind>,
    /// The names of the others, and why.
    pub missing: Vec<(String, ClusterError)>,
}

/// The definitions of the custom resources that one of the selectors fits, for what they say of lists; and
/// those that cannot be read.
///
/// # Errors
///
/// Whatever keeps the cluster from telling what it serves.
pub fn custom_kinds_of(cluster: &dyn Cluster, selectors: &[KindSelector]) -> Result<LiveKinds, ClusterError> {
    let served = cluster.resources()?;
    let definitions = served.resolve("customresourcedefinitions.apiextensions.k8s.io").cloned();
    let mut kinds = LiveKinds::default();
    let Some(definitions) = definitions else { return Ok(kinds) };
    for resource in served.fitting(selectors).into_iter().filter(|resource| is_custom(resource)) {
        let name = resource.full_name();
        match cluster.get(&definitions, None, &name) {
            Ok(definition) => kinds.found.push(CustomKind {
                group: resource.kind.group.clone(),
                kind: resource.kind.kind.clone(),
                scope: if resource.is_namespaced { KindScope::Namespaced } else { KindScope::Cluster },
                definition,
                origin: format!("CustomResourceDefinition {name}"),
            }),
            // An aggregated API serves kinds without definitions.
            Err(error) if error.is_not_found() => {}
            Err(error) => kinds.missing.push((name, error)),
        }
    }
    Ok(kinds)
}

/// Whether Kubernetes itself does not know the kind.
fn is_custom(resource: &Resource) -> bool {
    resource.kind.group.contains('.') && builtin_scope(&resource.kind) == KindScope::Unknown
}
