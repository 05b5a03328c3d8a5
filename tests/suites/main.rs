//! Test suites: our own through `kubectl kyv test`, and Kyverno's through it, the engine and the Kyverno CLI.

mod cel_conformance;
mod conformance;
mod converted;
mod coverage;
mod differential;
mod generated_order;
mod init;
mod mutants;
mod order;
mod test_command;
mod update;
mod views;
