//! Help: `help COMMAND`, the short help of one screen, `options`.

use std::ffi::OsString;

use clap::{Arg, Args, Command};

use super::arguments::ConnectionArguments;
use super::exit::Exit;
use super::kubectl::as_kubectl;
use super::version::print;

mod short;

pub(super) use short::short;

/// The end of the help of commands that read a cluster.
const OPTIONS: &str = "Use \"kubectl kyv options\" for the flags of the connection to a cluster.";

/// Print the help of a command.
#[derive(Debug, Args)]
#[command(help_template = super::HELP)]
pub(super) struct Arguments {
    /// The command, such as `jp query`; by default the whole program.
    command: Vec<String>,
}

/// List the flags of the connection to a cluster, which several commands have.
#[derive(Debug, Args)]
#[command(help_template = super::HELP)]
pub(super) struct OptionsArguments {}

pub(super) fn run(arguments: &Arguments, program: Option<&OsString>) -> Exit {
    let found = find(super::command(program), &arguments.command);
    let words = arguments.command.iter().map(OsString::from);
    let line: Vec<OsString> = program.cloned().into_iter().chain(words).chain(["--help".into()]).collect();
    // The parser ends with the help as if it was an error.
    match found.err().or_else(|| super::parse(&line).err()) {
        Some(error) => {
            super::print_error(&error);
            if error.use_stderr() { Exit::Input } else { Exit::Done }
        }
        None => Exit::Done,
    }
}

pub(super) fn run_options() -> Exit {
    let command = Command::new("options").disable_help_flag(true).max_term_width(120);
    let command = as_kubectl(ConnectionArguments::augment_args(command));
    let mut command =
        command.mut_args(|argument| argument.help_heading(None::<&str>)).help_template("{options}");
    let flags = command.render_long_help();
    print(&format!("These flags can be passed to check, diff, drift, explain and mutate:\n\n{flags}\n"))
}

/// The command that these words name.
pub(super) fn find(mut program: Command, words: &[String]) -> Result<Command, clap::Error> {
    program.build();
    let mut command = program;
    for word in words {
        let Some(found) = shown(&command).find(|inner| inner.get_name() == word).cloned() else {
            let names: Vec<_> = shown(&command).map(Command::get_name).collect();
            let expected = if names.is_empty() { "nothing more".into() } else { names.join(", ") };
            let message = format!("no command is called `{word}`; expected {expected}");
            return Err(command.error(clap::error::ErrorKind::InvalidSubcommand, message));
        };
        command = found;
    }
    Ok(command)
}

/// The commands below a command that its help lists.
pub(super) fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|inner| !inner.is_hide_set())
}

/// A command whose help leaves out the flags that `options` lists, and ends with its exit codes.
pub(super) fn with_short_lists(command: Command) -> Command {
    let exit_codes = exit_codes(command.get_name());
    let has = |command: &Command, name: &str| command.get_arguments().any(|known| known.get_id() == name);
    if !has(&command, "server") {
        return if exit_codes.is_empty() { command } else { command.after_help(exit_codes) };
    }
    let connection = ConnectionArguments::augment_args(Command::new("options"));
    let is_of_connection = |argument: &Arg| {
        connection.get_arguments().any(|of_connection| of_connection.get_id() == argument.get_id())
    };
    let command = command.mut_args(|argument| {
        let is_hidden = argument.is_hide_long_help_set() || is_of_connection(&argument);
        argument.hide_long_help(is_hidden)
    });
    command.after_help(format!("{exit_codes}\n\n{OPTIONS}"))
}

/// The exit codes of a command; empty for commands that only print.
fn exit_codes(command: &str) -> String {
    let no_failure = match command {
        "diff" => &["0    nothing would change", "1    something would change"][..],
        "drift" => &["0    all objects are in sync", "1    an object would be OutOfSync"],
        "check" | "lint" => &["0    no findings", "1    findings"],
        "mutate" => &["0    done", "1    --check: something would change"],
        "test" => &["0    nothing failed", "1    a result is not as expected"],
        "fn" => &["0    done", "1    mode validate: something would change, with severity error"],
        "explain" | "argocd" => &["0    done"],
        _ => return String::new(),
    };
    let cluster = ["4    the cluster could not be read, completely or in part", "130  interrupted"];
    let reads_cluster = ["check", "diff", "drift", "explain", "mutate"].contains(&command);
    let input = if command == "test" {
        "2    wrong usage, or a suite could not be loaded"
    } else {
        "2    wrong usage, unreadable input or a refused policy"
    };
    let failures = [input, "3    a rule could not be evaluated"];
    let failures = if command == "lint" { &failures[..1] } else { &failures[..] };
    let codes = no_failure.iter().chain(failures).chain(cluster.iter().filter(|_| reads_cluster));
    codes.fold("Exit codes:".to_owned(), |text, code| format!("{text}\n  {code}"))
}
