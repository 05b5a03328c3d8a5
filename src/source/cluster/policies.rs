//! The policies of a cluster.

use std::sync::Arc;

use crate::source::{ExceptionLoader, PolicyLoader};

use super::{Cluster, ClusterError, Pages, Selection};

/// The kinds that are policies of Kyverno; without the first there is no Kyverno.
const KINDS: [&str; 5] = [
    "clusterpolicies.kyverno.io",
    "policies.kyverno.io",
    "mutatingpolicies.policies.kyverno.io",
    "namespacedmutatingpolicies.policies.kyverno.io",
    EXCEPTIONS,
];

/// The exceptions from classic policies.
const EXCEPTIONS: &str = "policyexceptions.kyverno.io";

/// So many policies are read at once.
const PAGE: u32 = 100;

/// Takes in all policies and exceptions of a cluster, by kind, namespace and name. A policy that was taken in before
/// stands in for one of its kind and name.
///
/// # Errors
///
/// Whatever keeps the cluster from telling of some of them; the others are taken in.
pub fn load_cluster_policies(
    cluster: &Arc<dyn Cluster>,
    loader: &mut PolicyLoader,
    exceptions: &mut ExceptionLoader,
) -> Result<(), Vec<ClusterError>> {
    let served = cluster.resources().map_err(|error| vec![error])?;
    let resources: Vec<_> = KINDS.iter().filter_map(|kind| served.resolve(kind).cloned()).collect();
    if !resources.iter().any(|resource| resource.full_name() == KINDS[0]) {
        return Err(vec![ClusterError::UnknownType("clusterpolicies".into())]);
    }
    let selections: Vec<Selection> = resources
        .into_iter()
        .map(|resource| Selection {
            resource,
            namespace: None,
            names: Vec::new(),
            labels: None,
            fields: None,
        })
        .collect();
    let mut faults = Vec::new();
    for batch in Pages::start(Arc::clone(cluster), selections.clone(), PAGE) {
        let selection = selections.get(batch.selection);
        let excepts = selection.is_some_and(|selection| selection.resource.full_name() == EXCEPTIONS);
        match batch.read() {
            Ok(objects) if excepts => objects.iter().for_each(|object| exceptions.stored(object)),
            Ok(objects) => objects.iter().for_each(|object| loader.stored(object)),
            Err(error) => faults.push(error),
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}
