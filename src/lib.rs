//! What Kyverno mutate policies do to Kubernetes objects, without a cluster and without the Kyverno CLI.
//!
//! A [`Mutator`] is built once, from policies and what they need besides the object, and applied to any number of
//! manifests, on any number of threads. It needs none of the features `cli` and `cluster`:
//!
//! ```toml
//! kubectl-kyv = { path = "../kubectl-kyv", default-features = false }
//! ```
//!
//! ```
//! use kyv::{Input, Mutator, Outcome};
//!
//! let policies = "
//! apiVersion: kyverno.io/v1
//! kind: ClusterPolicy
//! metadata: {name: pull}
//! spec:
//!   rules:
//!   - name: always
//!     match: {any: [{resources: {kinds: [Pod]}}]}
//!     mutate:
//!       patchStrategicMerge:
//!         spec: {containers: [{(image): '*:dev', imagePullPolicy: Always}]}
//! ";
//! let mutator = Mutator::builder().policies(Input::text("pull.yaml", policies)).build()?;
//!
//! let report = mutator.mutate(
//!     "apiVersion: v1
//! kind: Pod
//! metadata: {name: web}
//! spec:
//!   containers:
//!   - name: web # comments stay
//!     image: nginx:dev
//! ",
//! )?;
//! assert_eq!(
//!     report.manifest(),
//!     "apiVersion: v1
//! kind: Pod
//! metadata: {name: web}
//! spec:
//!   containers:
//!   - name: web # comments stay
//!     image: nginx:dev
//!     imagePullPolicy: Always
//! "
//! );
//! let rule = report.rules().next().ok_or("no rule matches")?;
//! assert_eq!((rule.policy(), rule.rule(), rule.outcome()), ("pull", "always", Outcome::Patched));
//! assert_eq!(rule.changed_paths(), ["/spec/containers/0/imagePullPolicy"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What is documented here follows semantic versioning. The other modules are public for the program and its tests alone:
//! they are hidden from this documentation and may change in any release. `docs/architecture.md` describes them.
#![warn(clippy::too_many_lines)]

mod library;

pub use library::{
    Input, LoadError, ManifestError, Mutator, MutatorBuilder, Operation, Outcome, Report, RuleReport,
    Semantics, View,
};

#[doc(hidden)]
pub mod admission;
#[doc(hidden)]
pub mod argocd;
#[doc(hidden)]
pub mod cel;
#[doc(hidden)]
pub mod check;
#[doc(hidden)]
pub mod convert;
#[doc(hidden)]
pub mod decode;
#[doc(hidden)]
pub mod diagnostics;
#[doc(hidden)]
pub mod drift;
#[doc(hidden)]
pub mod engine;
#[doc(hidden)]
pub mod formats;
#[doc(hidden)]
pub mod jmespath;
#[doc(hidden)]
pub mod krm;
#[doc(hidden)]
pub mod lint;
#[doc(hidden)]
pub mod patch;
#[doc(hidden)]
pub mod pattern;
#[doc(hidden)]
pub mod policy;
#[doc(hidden)]
pub mod proof;
#[doc(hidden)]
pub mod regexp;
#[doc(hidden)]
pub mod render;
#[doc(hidden)]
pub mod report;
#[doc(hidden)]
pub mod resources;
#[doc(hidden)]
pub mod secrets;
#[doc(hidden)]
pub mod semantics;
#[doc(hidden)]
pub mod source;
#[doc(hidden)]
pub mod suite;
#[doc(hidden)]
pub mod value;
#[doc(hidden)]
pub mod variables;
#[doc(hidden)]
pub mod yaml;

#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod commands;
