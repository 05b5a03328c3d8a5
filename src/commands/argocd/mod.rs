//! `argocd`: the config management plugin of Argo CD. Its server runs these commands in the folder of an
//! application.

mod error;
mod generate;
mod parameters;
mod policy_sets;
mod program;
mod tree;
mod watch;

use clap::{Args, Subcommand};

use super::exit::Exit;

/// Render applications of Argo CD, and mutate the objects by Kyverno policies.
///
/// The commands of a config management plugin: the plugin server runs them in the folder of an application.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Generate(Box<generate::Arguments>),
    Parameters(parameters::Arguments),
}

pub(super) fn run(arguments: &Arguments) -> Exit {
    match &arguments.command {
        Command::Generate(arguments) => generate::run(arguments),
        Command::Parameters(arguments) => parameters::run(arguments),
    }
}

/// The variables of the environment that are text: those of an application are.
fn variables() -> Vec<(String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}
