//! The program `kubectl-kyv`.

use std::process::ExitCode;

fn main() -> ExitCode {
    kyv::commands::run(std::env::args_os())
}
