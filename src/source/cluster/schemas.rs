//! The definitions of custom resources of a cluster.

use crate::policy::KindSelector;
use crate::resources::{ApiResource, KindScope, builtin_scope};
use crate::source::CustomKind;
use crate::value::{GroupVersionKind, Value};

use super::served::fitting;
use super::{Cluster, ClusterError, ClusterResult, ListQuery};

/// The most definitions that are read one by one.
const MAX_SINGLE_READS: usize = 10;

/// Definitions per request: they are large.
const PAGE_SIZE: u32 = 50;

/// The custom resources of a cluster.
#[derive(Debug, Default)]
pub struct LiveKinds {
    /// Those whose definition could be read.
    pub found: Vec<CustomKind>,
    /// The others.
    pub missing: Vec<MissingSchema>,
}

/// Custom resources whose definition could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingSchema {
    /// Their name in messages.
    pub name: String,
    /// Their kinds.
    pub kinds: Vec<GroupVersionKind>,
    /// Why it could not be read.
    pub why: ClusterError,
}

/// The definitions of the custom resources that one of the selectors matches, for the merge keys of their lists.
///
/// # Errors
///
/// The resources that the cluster serves cannot be read.
pub fn custom_kinds_of(cluster: &dyn Cluster, selectors: &[KindSelector]) -> ClusterResult<LiveKinds> {
    let served = cluster.resources()?;
    let definitions = served.resolve("customresourcedefinitions.apiextensions.k8s.io").cloned();
    let mut kinds = LiveKinds::default();
    let Some(definitions) = definitions else { return Ok(kinds) };
    let custom: Vec<&ApiResource> =
        fitting(&served, selectors).into_iter().filter(|resource| is_custom(resource)).collect();
    if custom.len() > MAX_SINGLE_READS {
        list(cluster, &definitions, &custom, &mut kinds);
        return Ok(kinds);
    }
    for resource in custom {
        let name = resource.full_name();
        match cluster.get(&definitions, None, &name) {
            Ok(definition) => kinds.found.push(custom_kind(resource, name, definition)),
            // An aggregated API serves kinds without definitions.
            Err(error) if error.is_not_found() => {}
            Err(why) => {
                let of = vec![resource.kind.clone()];
                kinds.missing.push(MissingSchema { name, kinds: of, why });
            }
        }
    }
    Ok(kinds)
}

/// Reads all definitions, and keeps those of these resources.
fn list(cluster: &dyn Cluster, definitions: &ApiResource, custom: &[&ApiResource], kinds: &mut LiveKinds) {
    for page in ListQuery::all(definitions, PAGE_SIZE).pages(cluster) {
        let page = match page {
            Ok(page) => page,
            Err(why) => {
                let is_found = |resource: &&&ApiResource| {
                    kinds.found.iter().any(|found| found.defines(&resource.kind.group, &resource.kind.kind))
                };
                let missing = custom.iter().filter(|resource| !is_found(resource));
                let of = missing.map(|resource| resource.kind.clone()).collect();
                let name = "custom resources".to_owned();
                return kinds.missing.push(MissingSchema { name, kinds: of, why });
            }
        };
        for definition in page.objects {
            let name = definition.path(&["metadata", "name"]).and_then(Value::as_str).unwrap_or_default();
            if let Some(resource) = custom.iter().find(|resource| resource.full_name() == name) {
                kinds.found.push(custom_kind(resource, name.to_owned(), definition));
            }
        }
    }
}

fn custom_kind(resource: &ApiResource, name: String, definition: Value) -> CustomKind {
    CustomKind {
        versions: vec![resource.clone()],
        definition,
        origin: format!("CustomResourceDefinition {name}"),
    }
}

/// Whether the kind is not built in.
fn is_custom(resource: &ApiResource) -> bool {
    resource.kind.group.contains('.') && builtin_scope(&resource.kind) == KindScope::Unknown
}
