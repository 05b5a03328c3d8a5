//! Proofs: pairs of policies under `convert --check`.

mod catalogue;
mod command;
mod mutations;
mod pairs;
