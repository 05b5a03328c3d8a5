//! The program `kubectl-kyv`.

use std::process::ExitCode;

/// One that lets a thread free what another made without waiting for it: objects are many small pieces of memory, and
/// what is made on all threads is printed on one.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    kyv::commands::run(std::env::args_os())
}
