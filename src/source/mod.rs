//! Where objects, policies and lookups come from: files, standard input, child programs, the cluster.
//!
//! Knows paths, globs, the documents beside policies and manifests, and how files are written; [`OfflineWorld`] performs the
//! engine's lookups in them. Knows nothing of arguments and output formats.

mod batch;
mod bindings;
pub mod cluster;
mod context_objects;
mod crds;
mod error;
mod exceptions;
mod form;
mod helm;
mod kustomize;
mod lint_baseline;
mod manifests;
mod not_evaluated;
mod old_objects;
mod paths;
mod policies;
mod policy_files;
mod policy_texts;
mod prescan;
mod signals;
mod suites;
mod text;
mod user;
mod values;
mod world;
mod write;

pub use batch::{InputBatch, InputErrors, UnparsedText};
pub use context_objects::{ContextObjectLoader, ContextObjects, RequestedResources};
pub use crds::{CustomKind, custom_kind_at, custom_kinds, custom_kinds_in};
pub use error::{Place, SourceError};
pub use exceptions::{ExceptionLoader, LoadedExceptions};
pub use form::Head;
pub use helm::helm_marker;
pub use kustomize::{Kustomize, kustomize};
pub use lint_baseline::read_baseline;
pub use manifests::{Content, InputDocument, Manifests};
pub use not_evaluated::{Unsupported, UnsupportedCause, not_evaluated};
pub use old_objects::OldObjects;
pub use paths::{Exclusions, Location, Walk, expand, relative_to, relative_to_current_folder};
pub use policies::{LoadedPolicies, PolicyLoader, PolicyNote, PolicyWarning, Refused};
pub use policy_files::{PolicyFile, Refusal, WrittenPolicy};
pub use policy_texts::{PolicyNode, PolicyText, PolicyTexts};
pub use suites::{find_suites, read_all, read_file};
pub use text::{items_of, read_text};
pub use user::load_user;
pub use values::{AssignmentError, LoadedValues, assignment, load_values, values_inside};
pub use world::OfflineWorld;
pub use write::{check_unchanged, create_file, replace_file, replace_read_file};
