//! `man`.

use clap::Args;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use super::exit::Exit;
use super::help::{find, shown};
use super::version::print;

/// Print a page of the manual.
#[derive(Debug, Args)]
#[command(help_template = super::HELP, before_help = "\
Examples:
  # Read the page of the command diff
  kubectl kyv man diff | man -l -

  # List all pages
  kubectl kyv man --list")]
pub(super) struct Arguments {
    /// The command, such as `jp query`; by default the whole program.
    command: Vec<String>,
    /// Print the names of all pages.
    #[arg(long, conflicts_with = "command")]
    list: bool,
}

pub(super) fn run(arguments: &Arguments) -> Exit {
    let mut program = super::command(None).bin_name("kubectl-kyv").name("kubectl-kyv");
    program.build();
    if arguments.list {
        let mut names = String::new();
        list(&program, &mut names);
        return print(&names);
    }
    match page(program, &arguments.command) {
        Ok(text) => print(&text),
        Err(error) => {
            super::print_error(&error);
            Exit::Input
        }
    }
}

/// The page about a command, in the language of roff.
fn page(program: clap::Command, words: &[String]) -> Result<String, clap::Error> {
    let command = find(program, words)?;
    // A page has its examples at the end, where the help of a command has them first.
    let examples = command.get_before_help().map(ToString::to_string);
    let version = concat!("kubectl-kyv ", env!("CARGO_PKG_VERSION"));
    let page = Man::new(command.before_help("").after_help("")).source(version).manual("kubectl-kyv");
    let mut text = Vec::new();
    page.render(&mut text)?;
    if let Some(examples) = examples {
        let mut section = Roff::new();
        section.control("SH", ["EXAMPLES"]).control("nf", []);
        for line in examples.lines().filter(|line| *line != "Examples:") {
            section.text([roman(line)]);
        }
        section.control("fi", []).to_writer(&mut text)?;
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// A line for each page of a command: the words that `man` needs for it.
fn list(command: &clap::Command, names: &mut String) {
    let words = command.get_bin_name().and_then(|name| name.split_once(' ')).map_or("", |(_, words)| words);
    if !words.is_empty() {
        names.push_str(words);
        names.push('\n');
    }
    for inner in shown(command) {
        list(inner, names);
    }
}
