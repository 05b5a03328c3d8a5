//! The command line: arguments, terminal, exit codes, and the one driver that all commands share.
//!
//! Joins the modules: `source` loads policies and objects, the engine evaluates them, `render` makes text of the
//! reports. Standard output has the result and nothing else; diagnostics go to standard error.

mod argocd;
mod argument_values;
mod arguments;
mod cel;
mod check;
mod code_page;
mod color;
mod complete;
mod completion;
mod connect;
mod convert;
mod diff;
mod discovery;
mod divergence_notes;
mod drift;
mod driver;
mod evaluate;
mod exit;
mod explain;
mod external_diff;
mod failed_rules;
mod formats;
mod function;
mod grouped;
mod help;
mod in_place;
mod jp;
mod kubectl;
mod kyverno_cli;
mod lint;
mod live;
mod man;
mod manifests;
mod missing_schemas;
mod mutate;
mod mutate_existing;
mod options;
mod order_notes;
mod pager;
mod pipeline;
mod policies;
mod policy_notes;
mod policy_places;
mod present;
mod progress;
mod query;
mod reporter;
mod rule_sources;
mod run_context;
mod selection;
mod server_dry_run;
mod session;
mod spool;
mod summary;
mod terminal;
mod test;
mod unmatched_elements;
mod unread;
mod version;
mod versions;
mod view_notes;

use std::ffi::OsString;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::diagnostics::Code;
use crate::render;

use color::Color;
use exit::Exit;
use kubectl::as_kubectl;

/// The help of a command, in the order that kubectl has: examples before options, usage last.
const HELP: &str = "{about}\n\n{before-help}{all-args}\n\nUsage:\n  {usage}{after-help}\n";

/// Shows and applies what Kyverno mutate policies do to Kubernetes objects.
#[derive(Debug, Parser)]
#[command(
    version,
    disable_help_subcommand = true,
    disable_version_flag = true,
    subcommand_required = true,
    arg_required_else_help = true,
    max_term_width = 120,
    help_template = "{about}\n\nUsage:\n  {usage}\n\n{all-args}{after-help}\n",
    after_help = "Use \"kubectl kyv COMMAND --help\" for more about a command."
)]
struct Cli {
    /// Print the version.
    #[arg(short = 'V', long, action = clap::ArgAction::Version)]
    version: Option<bool>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Mutate(Box<mutate::Arguments>),
    Diff(Box<diff::Arguments>),
    Lint(Box<lint::Arguments>),
    Check(Box<check::Arguments>),
    Drift(Box<drift::Arguments>),
    Explain(Box<explain::Arguments>),
    Jp(jp::Arguments),
    Cel(cel::Arguments),
    Convert(Box<convert::Arguments>),
    Test(Box<test::Arguments>),
    Fn(function::Arguments),
    Argocd(argocd::Arguments),
    Version(version::Arguments),
    Completion(completion::Arguments),
    Man(man::Arguments),
    Options(help::OptionsArguments),
    Help(help::Arguments),
}

/// Runs the program with its arguments, the first of which is its own name.
#[must_use]
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    // An orchestrator starts a function by its bare name.
    if arguments.len() <= 1
        && let Some(exit) = function::detect()
    {
        return exit.into();
    }
    if let Some(codes) = code_page::codes(&arguments) {
        return code_page::run(&codes).into();
    }
    if let Some(words) = completed(&arguments) {
        return complete::run(words).into();
    }
    if let Some((config, rest)) = function::plugin_config(&arguments) {
        return function::run_plugin(config, rest).into();
    }
    if let Some(exit) = answered(&arguments) {
        return exit.into();
    }
    let exit = match parse(&arguments) {
        Ok(Cli { command: Command::Mutate(arguments), .. }) => mutate::run(*arguments),
        Ok(Cli { command: Command::Diff(arguments), .. }) => diff::run(*arguments),
        Ok(Cli { command: Command::Check(arguments), .. }) => check::run(*arguments),
        Ok(Cli { command: Command::Drift(arguments), .. }) => drift::run(*arguments),
        Ok(Cli { command: Command::Lint(arguments), .. }) => lint::run(&arguments),
        Ok(Cli { command: Command::Explain(arguments), .. }) => explain::run(*arguments),
        Ok(Cli { command: Command::Jp(arguments), .. }) => jp::run(&arguments),
        Ok(Cli { command: Command::Cel(arguments), .. }) => cel::run(&arguments),
        Ok(Cli { command: Command::Convert(arguments), .. }) => convert::run(*arguments),
        Ok(Cli { command: Command::Test(arguments), .. }) => test::run(&arguments),
        Ok(Cli { command: Command::Fn(arguments), .. }) => function::run(&arguments),
        Ok(Cli { command: Command::Argocd(arguments), .. }) => argocd::run(&arguments),
        Ok(Cli { command: Command::Version(arguments), .. }) => version::run(&arguments),
        Ok(Cli { command: Command::Completion(arguments), .. }) => completion::run(&arguments),
        Ok(Cli { command: Command::Man(arguments), .. }) => man::run(&arguments),
        Ok(Cli { command: Command::Options(_), .. }) => help::run_options(),
        Ok(Cli { command: Command::Help(words), .. }) => help::run(&words, arguments.first()),
        Err(error) => {
            print_error(&error);
            if error.use_stderr() { Exit::Input } else { Exit::Done }
        }
    };
    exit.into()
}

/// Prints an error of the command line, or the help that was asked for.
fn print_error(error: &clap::Error) {
    // The exit code is the same if the message cannot be written.
    let Some(code) = usage_code(error.kind()) else {
        let _printed = error.print();
        return;
    };
    let rendered = error.render();
    let is_coloured = Color::Auto.is_wanted(io::stderr().is_terminal());
    let text = if is_coloured { rendered.ansi().to_string() } else { rendered.to_string() };
    let text = text.replacen("error:", &format!("error[{code}]:"), 1);
    let _written = io::stderr().lock().write_all(text.as_bytes());
}

/// The code of an error of the command line; `None` for help.
const fn usage_code(kind: ErrorKind) -> Option<Code> {
    Some(match kind {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => return None,
        ErrorKind::InvalidValue
        | ErrorKind::NoEquals
        | ErrorKind::ValueValidation
        | ErrorKind::TooManyValues
        | ErrorKind::TooFewValues
        | ErrorKind::WrongNumberOfValues
        | ErrorKind::InvalidUtf8 => Code::InvalidValue,
        ErrorKind::ArgumentConflict => Code::ArgumentConflict,
        ErrorKind::MissingRequiredArgument | ErrorKind::MissingSubcommand => Code::MissingArgument,
        _ => Code::UnknownArgument,
    })
}

/// The words of a command line to be completed. kubectl runs `kubectl_complete-kyv`: a link to this program, or a script
/// that runs the hidden command.
fn completed(arguments: &[OsString]) -> Option<&[OsString]> {
    let (program, rest) = arguments.split_first()?;
    if Path::new(program).file_stem().is_some_and(|name| name == "kubectl_complete-kyv") {
        return Some(rest);
    }
    rest.split_first().filter(|(command, _)| *command == "__complete").map(|(_, words)| words)
}

/// Prints what needs no parsing: the short help, the list of limits, and the equivalent of a command line of the Kyverno CLI.
/// `None` for any other command line.
fn answered(arguments: &[OsString]) -> Option<Exit> {
    let words: Option<Vec<String>> =
        arguments.iter().skip(1).map(|word| word.to_str().map(str::to_owned)).collect();
    let words = words?;
    let has = |flag: &str| words.iter().any(|word| word == flag);
    if has("-h")
        && !has("--help")
        && let Some(text) = help::short(&words)
    {
        return Some(version::print(text));
    }
    if has("--limit=help") || words.windows(2).any(|pair| pair == ["--limit", "help"]) {
        return Some(version::print(&argument_values::limits_help()));
    }
    let (text, exit) = kyverno_cli::answer(&words)?;
    // The exit code is the same if the message cannot be written.
    let _written = io::stderr().lock().write_all(render::printable(&text).as_bytes());
    Some(exit)
}

fn parse(arguments: &[OsString]) -> Result<Cli, clap::Error> {
    let matches = command(arguments.first()).try_get_matches_from(arguments).map_err(with_tip)?;
    Cli::from_arg_matches(&matches)
}

/// An error with the command for what was probably meant: to check files and see the difference.
fn with_tip(mut error: clap::Error) -> clap::Error {
    let text = error.to_string();
    if error.kind() == ErrorKind::ArgumentConflict && text.contains("'--check'") && text.contains("'--output")
    {
        let tip = "`kubectl kyv diff` prints what would change, and ends with exit code 1 if anything would";
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// The command with the name of the program's file, or `kubectl kyv` if kubectl can find it.
fn command(program: Option<&OsString>) -> clap::Command {
    let name = program.and_then(|program| Path::new(program).file_stem()).map(|name| name.to_string_lossy());
    let name = match name {
        Some(name) if !name.starts_with("kubectl-") => name.into_owned(),
        _ => "kubectl kyv".to_owned(),
    };
    let command = Cli::command().mut_subcommands(|command| help::with_short_lists(as_kubectl(command)));
    command.bin_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_well_formed() {
        command(None).debug_assert();
    }

    #[test]
    fn usage_names_the_program_as_it_is_called() {
        let usage = |program: &str| {
            let error = parse(&[program.into(), "mutate".into(), "--nope".into()]).unwrap_err();
            error.render().to_string()
        };
        assert!(usage("/usr/bin/kubectl-kyv").contains("Usage: kubectl kyv mutate"));
        assert!(usage("kyv.exe").contains("Usage: kyv mutate"));
    }
}
