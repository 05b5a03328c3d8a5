//! kyv, the Kyverno CLI, kustomize and the limit beside each other. `tests/bench/README.md` says how.

#[path = "compare/mod.rs"]
mod compare;
#[path = "../rig/mod.rs"]
mod rig;

use std::process::ExitCode;

fn main() -> ExitCode {
    compare::main(std::env::args_os().skip(1).collect())
}
