//! `completion`.

use clap::Args;
use clap_complete::{Shell, generate};

use super::exit::Exit;
use super::version::print;

/// Print a script that completes the command line in a shell.
#[derive(Debug, Args)]
#[command(help_template = super::HELP, before_help = "\
Examples:
  # Complete kubectl-kyv in this bash
  source <(kubectl kyv completion bash)")]
pub(super) struct Arguments {
    /// The shell.
    shell: Shell,
}

pub(super) fn run(arguments: &Arguments) -> Exit {
    let mut script = Vec::new();
    let mut command = super::command(None).bin_name("kubectl-kyv");
    generate(arguments.shell, &mut command, "kubectl-kyv", &mut script);
    print(&String::from_utf8_lossy(&script))
}
