//! The policies and exceptions of a cluster.

use std::sync::Arc;

use crate::resources::ApiResource;
use crate::source::{ExceptionLoader, PolicyLoader};

use super::{Cluster, ClusterError, ClusterResult, Pages, Selection};

/// The kinds of policies and exceptions; a cluster without the first one has no Kyverno.
const KINDS: [&str; 8] = [
    "clusterpolicies.kyverno.io",
    "policies.kyverno.io",
    "mutatingpolicies.policies.kyverno.io",
    "namespacedmutatingpolicies.policies.kyverno.io",
    "mutatingadmissionpolicies.admissionregistration.k8s.io",
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io",
    EXCEPTIONS,
    CEL_EXCEPTIONS,
];

/// Exceptions from CEL policies, which may be for objects of other namespaces, too.
const CEL_EXCEPTIONS: &str = "policyexceptions.policies.kyverno.io";

/// Exceptions from classic policies, which may be for objects of other namespaces.
const EXCEPTIONS: &str = "policyexceptions.kyverno.io";

/// Policies per request.
const PAGE_SIZE: u32 = 100;

/// A kind of policies that could not be read, or not wholly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadPolicies {
    /// The kind, and which part of it.
    pub what: String,
    /// Why not.
    pub why: ClusterError,
}

/// Loads the policies and exceptions of a cluster: all of them, or those for objects of one namespace. Returns what could
/// not be read.
///
/// # Errors
///
/// Discovery failed, or the cluster has no Kyverno.
pub fn load_cluster_policies(
    cluster: &Arc<dyn Cluster>,
    namespace: Option<&str>,
    loader: &mut PolicyLoader,
    exceptions: &mut ExceptionLoader,
) -> ClusterResult<Vec<UnreadPolicies>> {
    let served = cluster.resources()?;
    let resources: Vec<_> = KINDS.iter().filter_map(|kind| served.resolve(kind).cloned()).collect();
    if !resources.iter().any(|resource| resource.full_name() == KINDS[0]) {
        return Err(ClusterError::UnknownType("clusterpolicies".into()));
    }
    let selection = |resource: ApiResource| {
        let is_of_namespace = resource.is_namespaced && !is_of_exceptions(&resource);
        let namespace = namespace.filter(|_| is_of_namespace).map(str::to_owned);
        Selection { namespace, ..Selection::all(resource) }
    };
    let selections = resources.into_iter().map(selection).collect();
    let unread = read(cluster, selections, loader, exceptions);
    let unread_policies = |(resource, why): (ApiResource, ClusterError)| {
        let name = resource.full_name();
        // A user with access to only one namespace gets its exceptions.
        let is_refused = is_of_exceptions(&resource) && matches!(why, ClusterError::Refused { .. });
        let own = namespace.filter(|_| is_refused).filter(|namespace| {
            let own = Selection { namespace: Some((*namespace).to_owned()), ..Selection::all(resource) };
            read(cluster, vec![own], loader, exceptions).is_empty()
        });
        UnreadPolicies { what: own.map_or(name.clone(), |own| format!("{name} outside of {own}")), why }
    };
    Ok(unread.into_iter().map(unread_policies).collect())
}

fn is_of_exceptions(resource: &ApiResource) -> bool {
    [EXCEPTIONS, CEL_EXCEPTIONS].contains(&&*resource.full_name())
}

/// Loads the policies of lists; returns the kinds of those that could not be read to their end, and why.
fn read(
    cluster: &Arc<dyn Cluster>,
    selections: Vec<Selection>,
    loader: &mut PolicyLoader,
    exceptions: &mut ExceptionLoader,
) -> Vec<(ApiResource, ClusterError)> {
    let mut unread: Vec<Option<ClusterError>> = vec![None; selections.len()];
    let mut is_done = vec![false; selections.len()];
    let mut last = None;
    for batch in Pages::start(Arc::clone(cluster), selections.clone(), PAGE_SIZE) {
        let (index, is_last) = (batch.selection, batch.is_last);
        let selection = selections.get(index);
        let excepts = selection.is_some_and(|selection| is_of_exceptions(&selection.resource));
        match batch.read() {
            Ok(objects) if excepts => objects.iter().for_each(|object| exceptions.stored(object)),
            Ok(objects) => objects.iter().for_each(|object| loader.stored(object)),
            Err(error) => {
                last = Some(error.clone());
                unread.get_mut(index).into_iter().for_each(|slot| *slot = Some(error.clone()));
            }
        }
        is_done.get_mut(index).into_iter().for_each(|slot| *slot |= is_last);
    }
    let rows = selections.into_iter().zip(unread).zip(is_done);
    rows.filter_map(|((selection, why), is_done)| {
        // The rest was not requested after the server stopped to respond.
        let why = why.or_else(|| last.clone().filter(|_| !is_done))?;
        Some((selection.resource, why))
    })
    .collect()
}
