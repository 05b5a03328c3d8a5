//! Measuring from a process that holds nothing.
//!
//! Until a new process becomes the program that it is to run, Linux counts the memory of its parent as its own: a
//! parent that holds manifests would hide how little a program takes. So the benchmark calls itself, and that process
//! starts the program.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use test_support::process_usage::ProcessUsage;

use crate::compare::contestant::Contestant;

/// The name under which the program calls itself.
pub(crate) const SUBCOMMAND: &str = "apart";

/// What one run took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) wall: Duration,
    pub(crate) cpu: Duration,
    /// In KiB.
    pub(crate) peak: u64,
    /// The share of the time spent waiting for somebody else.
    pub(crate) waiting: f64,
}

/// Runs a contestant once; what it prints goes to a file, what it says to another.
///
/// # Errors
///
/// How it ended, where that is no success.
pub(crate) fn sample(contestant: &Contestant, printed: &Path) -> Result<Sample, String> {
    let said = printed.with_extension("said");
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(this);
    command.arg(SUBCOMMAND).arg(printed).arg(&said).arg(&contestant.program).args(&contestant.arguments);
    let told = command.env_clear().stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    let fields: Vec<&str> = told.split_whitespace().collect();
    let [wall, cpu, peak, waiting, code] = fields[..] else {
        return Err(format!("{} could not be measured: {told}", contestant.name));
    };
    let number = |field: &str| field.parse::<u64>().map_err(|error| error.to_string());
    if !contestant.codes.iter().any(|allowed| allowed.to_string() == code) {
        let said = std::fs::read_to_string(&said).unwrap_or_default();
        let lines: Vec<&str> = said.lines().take(10).collect();
        return Err(format!("{} ended with {code}: {}", contestant.name, lines.join("\n")));
    }
    Ok(Sample {
        wall: Duration::from_nanos(number(wall)?),
        cpu: Duration::from_nanos(number(cpu)?),
        peak: number(peak)?,
        waiting: waiting.parse().map_err(|_| "no share of time")?,
    })
}

/// Runs the program that the arguments name and tells what it took.
pub(crate) fn subcommand(arguments: &[OsString]) -> ExitCode {
    let [printed, said, program, arguments @ ..] = arguments else { return ExitCode::FAILURE };
    let file = |path| File::create(path).expect("a file for what is printed");
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(file(printed)).stderr(file(said));
    let ProcessUsage { wall, cpu, peak, waiting, code } = ProcessUsage::measure(&mut command);
    let code = code.map_or_else(|| "a signal".to_owned(), |code| code.to_string());
    let line = format!("{} {} {peak} {waiting} {code}\n", wall.as_nanos(), cpu.as_nanos());
    io::stdout().write_all(line.as_bytes()).expect("the benchmark listens");
    ExitCode::SUCCESS
}
