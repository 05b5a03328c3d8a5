//! Objects and look-ups from a cluster.
//!
//! Everything here goes through the trait [`Cluster`], which blocks: the engine stays synchronous. The
//! live one reads with GET and LIST, and asks what somebody may do with access reviews, with the rights of the
//! person who asks; dry runs, where they are asked for, are the only other requests it can make. A recording of its
//! answers can stand in for it.

mod answers;
mod api_path;
mod connection;
mod error;
mod globals;
mod installed;
mod listing;
#[cfg(feature = "cluster")]
mod live;
mod missed;
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

pub use connection::{Connection, Impersonation, Secret};
pub use error::ClusterError;
pub use installed::{InstalledKyverno, KyvernoConfiguration};
pub use listing::{Listed, Listing};
#[cfg(feature = "cluster")]
pub use live::LiveCluster;
pub use missed::Missed;
pub use pages::{PageBatch, Pages};
pub use policies::{UnreadPolicies, load_cluster_policies};
pub use recording::{RecordedCluster, RecordingCluster};
pub use rights::{Access, Rights, Subject};
pub use schemas::{LiveKinds, MissingSchema, custom_kinds_of};
pub use selection::{Fitting, Selection, SelectionError, Wanted};
pub use served::{in_another_version, lacks, serves};
pub use stored::{MissingInCluster, StoredObjects};
pub use world::ClusterWorld;

/// What a cluster is asked. One cluster serves many threads.
pub trait Cluster: Send + Sync + std::fmt::Debug {
    /// The kinds that it serves, the same for the length of a run.
    ///
    /// # Errors
    ///
    /// Whatever keeps the cluster from answering.
    fn resources(&self) -> Result<Arc<Resources>, ClusterError>;

    /// One page of a list.
    ///
    /// # Errors
    ///
    /// Whatever keeps the cluster from answering.
    fn list(&self, query: &ListQuery<'_>) -> Result<Page, ClusterError>;

    /// The same, with objects that need not be read yet.
    ///
    /// # Errors
    ///
    /// Whatever keeps the cluster from answering.
    fn listing(&self, query: &ListQuery<'_>) -> Result<Listing, ClusterError> {
        self.list(query).map(Listing::from)
    }

    /// One object by its name.
    ///
    /// # Errors
    ///
    /// Whatever keeps the cluster from answering; an object that does not exist.
    fn get(&self, resource: &ApiResource, namespace: Option<&str>, name: &str) -> Result<Value, ClusterError>;

    /// What a GET of a path gives; the path may hold a query.
    ///
    /// # Errors
    ///
    /// Whatever keeps the cluster from answering; an object that does not exist.
    fn ask(&self, path: &str) -> Result<Value, ClusterError>;

    /// Whether somebody may do something; whoever asks, where no subject is given.
    ///
    /// # Errors
    ///
    /// Whatever keeps the cluster from answering; one that cannot be asked that.
    fn may(&self, _subject: Option<&Subject>, _access: &Access<'_>) -> Result<bool, ClusterError> {
        Err(ClusterError::Config("this cluster tells nothing of rights".into()))
    }

    /// What the cluster would store for an object, by a dry run: its own validation and webhooks are run, and
    /// nothing is stored.
    ///
    /// # Errors
    ///
    /// Whatever keeps the cluster from answering; a refusal of the object.
    fn dry_run(&self, draft: &Draft<'_>) -> Result<Value, ClusterError> {
        Err(ClusterError::NoDryRun(draft.resource.full_name()))
    }

    /// The cluster for lookups that were made of secrets, which no recording may hold. `None` where this cluster records
    /// nothing.
    fn unrecorded(&self) -> Option<&dyn Cluster> {
        None
    }

    /// The namespace that is meant where none is given.
    fn default_namespace(&self) -> &str;

    /// The time that the run sees; `None` where it is that of the clock.
    fn now(&self) -> Option<Timestamp> {
        None
    }

    /// What there is to say of the look-ups when the run is over.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Which part of which list is asked for.
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
    /// How many objects at most.
    pub limit: u32,
    /// Where the page before ended.
    pub after: Option<&'a str>,
}

/// An object that a cluster is asked about.
#[derive(Clone, Debug)]
pub struct Draft<'a> {
    /// Its kind.
    pub resource: &'a ApiResource,
    /// Its namespace; `None` for kinds without namespaces.
    pub namespace: Option<&'a str>,
    /// Its name; empty where the cluster is to make one up.
    pub name: &'a str,
    /// The object.
    pub object: &'a Value,
    /// The object as it may be shown.
    pub shown: &'a Value,
    /// What is known of secrets in it.
    pub secrets: &'a Secrets,
    /// What would be done.
    pub act: Act,
}

/// What would be done with an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// It takes the place of the stored one.
    Replace,
    /// It is applied, as `kubectl apply --server-side --force-conflicts` does.
    Apply,
    /// It is created.
    Create,
}

/// A part of a list.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The objects, each with its `apiVersion` and `kind`.
    pub objects: Vec<Value>,
    /// What the next page is asked for by; `None` on the last.
    pub next: Option<Text>,
    /// The list could not be kept as it was when its first page was asked for: what was made, changed or
    /// deleted since may be missing, or be there.
    pub is_inconsistent: bool,
}
