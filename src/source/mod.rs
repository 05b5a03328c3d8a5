//! Where objects, policies and look-ups come from: files, standard input, child programs, the cluster.
//!
//! Knows paths, globs, the documents that a user hands over beside policies and manifests, and how files
//! are written; answers the engine's questions from what was given ([`OfflineWorld`]). Knows nothing of
//! arguments, and nothing of how outcomes look.

mod batch;
pub mod cluster;
mod context_objects;
mod crds;
mod error;
mod exceptions;
mod kustomize;
mod manifests;
mod old;
mod paths;
mod policies;
mod prescan;
mod strict;
mod suites;
mod text;
mod user;
mod values;
mod world;
mod write;

pub use batch::{Faults, InputBatch, InputBatches, Unread};
pub use context_objects::{Asked, GivenLoader, GivenObjects};
pub use crds::{CustomKind, custom_kinds, custom_kinds_in};
pub use error::{Place, SourceError};
pub use exceptions::{ExceptionLoader, LoadedExceptions, load_exceptions};
pub use kustomize::{Kustomize, kustomize};
pub use manifests::{Content, InputDocument, Manifests};
pub use old::OldObjects;
pub use paths::{Location, Walk, expand, from_here};
pub use policies::{LoadedPolicies, PolicyLoader, PolicyNote, Refused, load_policies};
pub use strict::Head;
pub use suites::{find_suites, items_of, read_all, read_file};
pub use text::read_text;
pub use user::{load_user, user_in};
pub use values::{LoadedValues, assignment, load_values, values_in, values_inside};
pub use world::OfflineWorld;
pub use write::{replace_file, replace_read_file, still_holds};
