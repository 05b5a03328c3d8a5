//! `argocd parameters`: what the user interface offers for an application.

use std::fs;
use std::path::PathBuf;

use clap::Args;

use crate::argocd::{self, Renderer, announcement};
use crate::diagnostics::Code;

use crate::commands::exit::Exit;
use crate::commands::reporter::{Reporter, Verbosity};
use crate::commands::version::print;

/// Print the parameters of the application in the current folder, as JSON.
///
/// Only parameters that have an effect on it are printed.
#[derive(Debug, Args)]
#[command(help_template = crate::commands::HELP)]
pub(super) struct Arguments {
    /// Include the parameter `policies`, as with the same flag of generate.
    #[arg(long)]
    app_policies: bool,
    /// Include the parameter `policy-sets`, as with the same flag of generate.
    #[arg(long, value_name = "DIR")]
    policy_sets: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Exit {
    let variables = super::variables();
    let pairs = variables.iter().map(|(name, value)| (&**name, &**value));
    // An application with invalid parameters still has the others announced.
    let chosen = argocd::Parameters::read(pairs).ok().and_then(|parameters| parameters.renderer);
    match chosen.map_or_else(found, Ok) {
        Ok(renderer) => print(&format!(
            "{}\n",
            announcement(renderer, arguments.app_policies, arguments.policy_sets.is_some()).to_json()
        )),
        Err(error) => {
            let mut reporter = Reporter::new(Verbosity::default());
            reporter.error(
                Exit::Input,
                Code::Unreadable,
                format_args!("the application's folder cannot be read: {error}"),
            );
            reporter.exit()
        }
    }
}

pub(super) fn found() -> std::io::Result<Renderer> {
    let names = fs::read_dir(".")?.map(|entry| entry.map(|entry| entry.file_name()));
    let names = names.collect::<Result<Vec<_>, _>>()?;
    Ok(Renderer::of_folder(names.iter().map(|name| &**name)))
}
