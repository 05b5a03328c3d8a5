//! Proofs: pairs of policies under `convert --check`.

mod catalogue;
mod command;
mod limits;
mod mutations;
mod pairs;
