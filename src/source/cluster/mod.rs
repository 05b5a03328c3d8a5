//! Objects and look-ups from a cluster.
//!
//! Everything here goes through the trait [`Cluster`], which blocks: the engine stays synchronous. The
//! live one reads with GET and LIST alone, with the rights of the person who asks.

mod error;
#[cfg(feature = "cluster")]
mod live;
mod pages;
mod resources;
mod selection;
mod world;

use std::sync::Arc;

use crate::value::{Text, Value};

pub use error::ClusterError;
#[cfg(feature = "cluster")]
pub use live::{Connection, LiveCluster};
pub use pages::{Batch, Pages};
pub use resources::{Resource, Resources};
pub use selection::{Selection, SelectionError, Wanted};
pub use world::ClusterWorld;

/// What a cluster is asked. One cluster serves many threads.
pub trait Cluster: Send + Sync {
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

    /// One object by its name.
    ///
    /// # Errors
    ///
    /// Whatever keeps the cluster from answering; an object that does not exist.
    fn get(&self, resource: &Resource, namespace: Option<&str>, name: &str) -> Result<Value, ClusterError>;

    /// The namespace that is meant where none is given.
    fn default_namespace(&self) -> &str;
}

/// Which part of which list is asked for.
#[derive(Clone, Debug)]
pub struct ListQuery<'a> {
    /// The kind of the objects.
    pub resource: &'a Resource,
    /// Their namespace; `None` for all, and for kinds without namespaces.
    pub namespace: Option<&'a str>,
    /// A label selector in kubectl's grammar.
    pub labels: Option<&'a str>,
    /// How many objects at most.
    pub limit: u32,
    /// Where the page before ended.
    pub after: Option<&'a str>,
}

/// A part of a list.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The objects, each with its `apiVersion` and `kind`.
    pub objects: Vec<Value>,
    /// What the next page is asked for by; `None` on the last.
    pub next: Option<Text>,
}
