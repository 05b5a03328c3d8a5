//! The benchmark works: on tiny numbers, with the real programs, and without a word about times.

#[path = "bench/compare/mod.rs"]
mod compare;
mod rig;

use std::process::ExitCode;

fn main() -> ExitCode {
    compare::main(std::env::args_os().skip(1).collect())
}
