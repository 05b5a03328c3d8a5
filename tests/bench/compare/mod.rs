//! kyv, the Kyverno CLI, kustomize and the limit beside each other: the same work, in turn, in one run.
//!
//! What is measured always runs in a process of its own, started by a small one that measures: see [`apart`].

mod agreement;
mod apart;
mod axes;
mod chart;
mod contestant;
mod draw;
mod drawn;
mod goals;
mod limit;
mod machine;
mod manifests;
mod options;
mod policies;
mod programs;
mod results;
mod rounds;
mod table;

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::process::ExitCode;

use axes::Bench;
use options::Options;

/// The whole program.
pub(crate) fn main(arguments: Vec<OsString>) -> ExitCode {
    if let Some(code) = subcommand(&arguments) {
        return code;
    }
    let written: Vec<String> =
        arguments.iter().map(|argument| argument.to_string_lossy().into_owned()).collect();
    let print = |text: &str| io::stdout().write_all(text.as_bytes()).expect("stdout takes the text");
    if written.iter().any(|argument| matches!(&**argument, "-h" | "--help")) {
        print(&options::usage());
        return ExitCode::SUCCESS;
    }
    let done = Options::parse(written).and_then(|options| {
        let bench = run(&options)?;
        let report = table::report(&bench);
        print(&report);
        write(&bench, &report)
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("compare: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// What this program does when it calls itself.
pub(crate) fn subcommand(arguments: &[OsString]) -> Option<ExitCode> {
    match arguments.first()?.to_str()? {
        apart::SUBCOMMAND => Some(apart::subcommand(&arguments[1..])),
        limit::SUBCOMMAND => Some(limit::subcommand(&arguments[1..])),
        _ => None,
    }
}

/// Runs what the options ask for.
///
/// # Errors
///
/// Where two programs that should make the same of the same objects do not, and where a program fails.
fn run(options: &Options) -> Result<Bench, String> {
    if let Some(folder) = &options.write {
        // Sooner than after all the measuring.
        let probe = folder.join("table.md.probe");
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&probe, ""))
            .and_then(|()| fs::remove_file(&probe))
            .map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let mut bench = Bench::new(options)?;
    for axis in &options.axes {
        axes::measure(*axis, &mut bench)?;
    }
    Ok(bench)
}

/// Writes the report, the figures and the charts where the options ask for it.
fn write(bench: &Bench, report: &str) -> Result<(), String> {
    let Some(folder) = &bench.options.write else { return Ok(()) };
    let write = |name: &str, text: &str| fs::write(folder.join(name), text);
    write("table.md", report)
        .and_then(|()| write("figures.csv", &bench.results.csv()))
        .and_then(|()| chart::all(&bench.results).iter().try_for_each(|(name, svg)| write(name, svg)))
        .map_err(|error| format!("{}: {error}", folder.display()))
}

/// A line of progress.
fn say(line: &str) {
    drop(io::stderr().write_all(format!("{line}\n").as_bytes()));
}
