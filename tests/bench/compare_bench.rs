//! kyv, the Kyverno CLI, kustomize and the limit beside each other. `tests/bench/README.md` says how.

mod compare;

use std::process::ExitCode;

/// The limits have the allocator that kyv has.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    compare::main(std::env::args_os().skip(1).collect())
}
