//! Against Kyverno's real controllers. Runs when `KYV_REAL_PROGRAMS` is 1.

mod admission;
mod conformance;
pub(crate) mod conformance_policies;
mod corpus_case;
mod mutate_existing;
mod mutate_output;
pub(crate) mod sample_objects;
