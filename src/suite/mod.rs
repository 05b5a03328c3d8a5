//! Kyverno's test suites: the document, the objects and rules of an expectation, the comparison.
//!
//! A [`Suite`] is a parsed `kyverno-test.yaml`; [`check()`] compares it with the outcomes of the engine, in rows. Reads no
//! files: the caller does.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod check;
mod compare;
mod coverage;
mod document;
mod mutants;
mod objects;
mod parts;
mod run;

pub use check::{Evaluation, ExpectedFiles, UnreadableFile, check, unmatched_names};
pub use compare::{in_order_of, is_same};
pub use coverage::Coverage;
pub use document::{Expectation, ResourceSpec, Status, Suite};
pub use mutants::{Mutants, MutatedPolicy, mutants};
pub use run::{SuiteRun, TargetState};
