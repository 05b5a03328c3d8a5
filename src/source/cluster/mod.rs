//! Objects and lookups from a cluster.
//!
//! Everything here goes through the trait [`Cluster`], which blocks: the engine stays synchronous. The live cluster sends
//! GET and LIST requests and access reviews, with the rights of the user; server dry runs are the only other requests it
//! can send. A recording of its responses can replace it.

mod advance;
mod api_path;
mod connection;
mod error;
mod failed_lookups;
mod globals;
mod installed;
mod listing;
#[cfg(feature = "cluster")]
mod live;
mod lookup_cache;
mod once_map;
mod pages;
mod policies;
mod recording;
mod rights;
mod schemas;
mod selection;
mod served;
mod stored;
mod targets;
mod world;

use std::sync::Arc;

use jiff::Timestamp;

use crate::resources::{ApiResource, Resources};
use crate::secrets::Secrets;
use crate::value::{Text, Value};

use advance::Advance;
pub use connection::{Connection, Impersonation, Secret};
pub use error::ClusterError;
pub use failed_lookups::FailedLookup;
pub use installed::{InstalledKyverno, KyvernoConfiguration, UnreadConfiguration};
pub use listing::{ListedObject, ListedPage};
#[cfg(feature = "cluster")]
pub use live::LiveCluster;
pub use pages::{PageBatch, Pages};
pub use policies::{UnreadPolicies, load_cluster_policies};
pub use recording::{RecordedCluster, RecordingCluster};
pub use rights::{Access, Rights, Subject};
pub use schemas::{LiveKinds, MissingSchema, custom_kinds_of};
pub use selection::{MatchedSelections, ObjectArguments, Selection, SelectionError};
pub use served::{in_another_version, lacks, serves};
pub use stored::{MissingInCluster, StoredObjects};
pub use world::ClusterWorld;

/// The result of a request to a cluster.
pub type ClusterResult<T = Value> = Result<T, ClusterError>;

/// The requests to a cluster, which may come from many threads.
pub trait Cluster: Send + Sync + std::fmt::Debug {
    /// The resources that it serves, the same for the length of a run.
    ///
    /// # Errors
    ///
    /// The request failed.
    fn resources(&self) -> ClusterResult<Arc<Resources>>;

    /// One page of a list.
    ///
    /// # Errors
    ///
    /// The request failed.
    fn list(&self, query: &ListQuery<'_>) -> ClusterResult<Page>;

    /// The same, with objects that are parsed only when they are used.
    ///
    /// # Errors
    ///
    /// The request failed.
    fn list_lazily(&self, query: &ListQuery<'_>) -> ClusterResult<ListedPage> {
        self.list(query).map(Page::listed)
    }

    /// One object by its name.
    ///
    /// # Errors
    ///
    /// The request failed, or there is no such object.
    fn get(&self, resource: &ApiResource, namespace: Option<&str>, name: &str) -> ClusterResult;

    /// The response to a GET of a path, which may have a query.
    ///
    /// # Errors
    ///
    /// The request failed, or there is no such object.
    fn get_path(&self, path: &str) -> ClusterResult;

    /// Whether a subject may access something; without a subject, whether the user may.
    ///
    /// # Errors
    ///
    /// The request failed, or this cluster has no access reviews.
    fn is_allowed(&self, _subject: Option<&Subject>, _access: &Access<'_>) -> ClusterResult<bool> {
        Err(ClusterError::Config("this cluster does not report rights".into()))
    }

    /// What the cluster would store for an object: a server dry run, with its validation and webhooks.
    ///
    /// # Errors
    ///
    /// The request failed, or the object is refused.
    fn dry_run(&self, _request: &DryRunRequest<'_>) -> ClusterResult {
        Err(ClusterError::Config("this cluster has no dry runs".into()))
    }

    /// The cluster for lookups that were made of secrets, which must not be recorded. `None` where this cluster records
    /// nothing.
    fn unrecorded(&self) -> Option<&dyn Cluster> {
        None
    }

    /// The namespace of requests that name none.
    fn default_namespace(&self) -> &str;

    /// The time that the run sees; `None` for that of the clock.
    fn now(&self) -> Option<Timestamp> {
        None
    }

    /// Notes for the user at the end of the run.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A request for one page of a list.
#[derive(Clone, Debug)]
pub struct ListQuery<'a> {
    /// The kind of the objects.
    pub resource: &'a ApiResource,
    /// Their namespace; `None` for all, and for kinds without namespaces.
    pub namespace: Option<&'a str>,
    /// A label selector in kubectl's grammar.
    pub labels: Option<&'a str>,
    /// A field selector in kubectl's grammar.
    pub fields: Option<&'a str>,
    /// The most objects of a page; 0 for all.
    pub limit: u32,
    /// The continue token of the page before; `None` for the first page.
    pub after: Option<&'a str>,
}

impl<'a> ListQuery<'a> {
    /// All objects of a resource.
    fn all(resource: &'a ApiResource, limit: u32) -> Self {
        Self { resource, namespace: None, labels: None, fields: None, limit, after: None }
    }

    /// All pages of the list, up to the first error.
    fn pages(self, cluster: &'a dyn Cluster) -> impl Iterator<Item = ClusterResult<Page>> {
        let mut next = Some(None);
        let mut advance = Advance::default();
        std::iter::from_fn(move || {
            let token: Option<Text> = next.take()?;
            let page = cluster.list(&ListQuery { after: token.as_deref(), ..self.clone() });
            let page = page.and_then(|page| advance.add(self.resource, &page).map(|()| page));
            next = page.as_ref().ok().and_then(|page| page.next.clone()).map(Some);
            Some(page)
        })
    }
}

/// An object in messages.
fn object_name(resource: &ApiResource, namespace: Option<&str>, name: &str) -> String {
    let namespace = namespace.map_or_else(String::new, |namespace| format!(" in {namespace}"));
    format!("{} \"{name}\"{namespace}", resource.full_name())
}

/// A server dry run of one object.
#[derive(Clone, Debug)]
pub struct DryRunRequest<'a> {
    /// Its kind.
    pub resource: &'a ApiResource,
    /// Its namespace; `None` for kinds without namespaces.
    pub namespace: Option<&'a str>,
    /// Its name; empty where the server generates one.
    pub name: &'a str,
    /// The object.
    pub object: &'a Value,
    /// The object with its secrets masked.
    pub shown: &'a Value,
    /// The secrets in it.
    pub secrets: &'a Secrets,
    /// Which request.
    pub verb: DryRunVerb,
}

/// The request of a server dry run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DryRunVerb {
    /// The stored object is updated: PUT.
    Update,
    /// The object is applied, as by `kubectl apply --server-side --force-conflicts`: PATCH.
    Apply,
    /// The object is created: POST.
    Create,
}

/// A page of a list.
#[derive(Clone, Debug, Default)]
pub struct Page<O = Value> {
    /// The objects, each with its `apiVersion` and `kind`.
    pub objects: Vec<O>,
    /// The continue token of the next page; `None` on the last.
    pub next: Option<Text>,
    /// The snapshot of the list expired on the server: objects that were created, changed or deleted since the first
    /// page may be missing or listed.
    pub is_inconsistent: bool,
}
