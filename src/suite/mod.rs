//! Kyverno's test suites: the document, which objects and rules an expectation is about, the comparison.
//!
//! A [`Suite`] is what a `kyverno-test.yaml` says; [`check()`] lays it beside what the engine made of the
//! suite's objects and gives rows. Knows nothing of files: whoever calls it reads them.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod check;
mod compare;
mod document;

pub use check::{Evaluation, ExpectedFiles, SuiteRun, TargetState, check, unmatched_names};
pub use compare::in_order_of;
pub use document::{Expectation, ResourceSpec, Status, Suite};
