//! Resources: the kinds that an API server serves, and the names they go by.
//!
//! One type, [`ApiResource`], whatever its source: the table of the built-in kinds, a `CustomResourceDefinition`, or
//! discovery of a live cluster. Knows nothing of files, clusters and policies.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod api_resource;
mod builtin;
mod generated;
mod row;
mod set;

pub use api_resource::{ApiResource, GroupVersionResource, KindResource, KindScope, Subresource};
pub use builtin::{
    builtin_resource, builtin_scope, groups_of_cluster_kind, is_built_into_kubernetes, is_local_group, plural,
};
pub use set::{Resources, UnavailableVersion};
