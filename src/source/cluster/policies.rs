//! The policies of a cluster.

use std::sync::Arc;

use crate::resources::ApiResource;
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

/// The exceptions from classic policies. Those of one namespace may be for objects of another.
const EXCEPTIONS: &str = "policyexceptions.kyverno.io";

/// So many policies are read at once.
const PAGE_SIZE: u32 = 100;

/// A kind of policies of which not all could be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadPolicies {
    /// The kind, and where it was read all the same.
    pub what: String,
    /// Why the others are missing.
    pub why: ClusterError,
}

/// Takes in the policies and exceptions of a cluster, by kind, namespace and name: all of them, or those that can
/// concern objects of one namespace. A policy that was taken in before stands in for one of its kind and name.
/// What could not be read is returned.
///
/// # Errors
///
/// Whatever keeps the cluster from telling what it serves; one without Kyverno's kinds.
pub fn load_cluster_policies(
    cluster: &Arc<dyn Cluster>,
    namespace: Option<&str>,
    loader: &mut PolicyLoader,
    exceptions: &mut ExceptionLoader,
) -> Result<Vec<UnreadPolicies>, ClusterError> {
    let served = cluster.resources()?;
    let resources: Vec<_> = KINDS.iter().filter_map(|kind| served.resolve(kind).cloned()).collect();
    if !resources.iter().any(|resource| resource.full_name() == KINDS[0]) {
        return Err(ClusterError::UnknownType("clusterpolicies".into()));
    }
    let selection = |resource: ApiResource| {
        let is_of_namespace = resource.is_namespaced && resource.full_name() != EXCEPTIONS;
        let namespace = namespace.filter(|_| is_of_namespace).map(str::to_owned);
        Selection { resource, namespace, names: Vec::new(), labels: None, fields: None }
    };
    let selections = resources.into_iter().map(selection).collect();
    let mut unread = read(cluster, selections, loader, exceptions);
    // Who may see one namespace alone gets at least the exceptions that lie there.
    let excepted = unread.iter_mut().find(|(resource, _)| resource.full_name() == EXCEPTIONS);
    let mut elsewhere = None;
    if let (Some((resource, ClusterError::Refused { .. })), Some(namespace)) = (excepted, namespace) {
        let own = Selection {
            resource: resource.clone(),
            namespace: Some(namespace.to_owned()),
            names: Vec::new(),
            labels: None,
            fields: None,
        };
        let is_read = read(cluster, vec![own], loader, exceptions).is_empty();
        elsewhere = is_read.then(|| format!("{EXCEPTIONS} outside of {namespace}"));
    }
    let named = |(resource, why): (ApiResource, ClusterError)| {
        let name = resource.full_name();
        let what = if name == EXCEPTIONS { elsewhere.clone().unwrap_or(name) } else { name };
        UnreadPolicies { what, why }
    };
    Ok(unread.into_iter().map(named).collect())
}

/// Takes in the policies of some lists; the kinds of those that could not be read to their end, and why.
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
        let excepts = selection.is_some_and(|selection| selection.resource.full_name() == EXCEPTIONS);
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
        // Nobody was asked for the rest, after the server had gone silent.
        let why = why.or_else(|| last.clone().filter(|_| !is_done))?;
        Some((selection.resource, why))
    })
    .collect()
}
