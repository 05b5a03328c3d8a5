//! The program `kubectl-kyv`.

use std::process::ExitCode;

/// Objects are many small allocations of all threads, freed by the one thread that prints: mimalloc does that without
/// contention.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    kyv::commands::run(std::env::args_os())
}
