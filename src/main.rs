//! The program `kubectl-kyv`.

use std::process::ExitCode;

/// That of musl lets threads wait for each other, and objects are many small pieces of memory.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    kyv::commands::run(std::env::args_os())
}
