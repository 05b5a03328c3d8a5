//! What a run of a program takes, seen from outside by what Linux tells of its threads.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

/// How often is looked.
const STEP: Duration = Duration::from_millis(1);

/// The unit of processor time in `/proc`, the same on all that Rust runs on.
const TICK: Duration = Duration::from_millis(10);

/// What a run took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gauge {
    pub(crate) wall: Duration,
    /// Processor time of all threads.
    pub(crate) cpu: Duration,
    /// The most memory that was resident at once, in KiB.
    pub(crate) peak: u64,
    /// The share of the looks at which no thread could have run: with nothing to read from and nobody in the way of
    /// what is printed, the program waits for answers.
    pub(crate) waiting: f64,
    pub(crate) code: Option<i32>,
}

impl Gauge {
    /// Runs a program to its end. Its output must lead somewhere that takes it: a file, or nowhere.
    pub(crate) fn of(command: &mut Command) -> Self {
        let started = Instant::now();
        let mut child = command.spawn().expect("the program starts");
        let process = Process::of(&child);
        let (mut looks, mut idle, mut peak) = (0_u32, 0_u32, 0);
        // Whoever has ended and was not yet waited for still tells its times, and has no memory any more.
        let wall = loop {
            let Some(status) = process.status() else { break started.elapsed() };
            if status.contains("State:\tZ") {
                break started.elapsed();
            }
            peak = number(&status, "VmHWM:").unwrap_or(peak);
            looks += 1;
            idle += u32::from(process.is_idle());
            thread::sleep(STEP);
        };
        let cpu = process.times();
        let code = child.wait().expect("the program ends").code();
        Self { wall, cpu, peak, waiting: f64::from(idle) / f64::from(looks.max(1)), code }
    }
}

struct Process(PathBuf);

impl Process {
    fn of(child: &Child) -> Self {
        Self(Path::new("/proc").join(child.id().to_string()))
    }

    fn status(&self) -> Option<String> {
        fs::read_to_string(self.0.join("status")).ok()
    }

    fn is_idle(&self) -> bool {
        let threads = fs::read_dir(self.0.join("task")).into_iter().flatten().flatten();
        let mut states = threads.filter_map(|thread| {
            let stat = fs::read_to_string(thread.path().join("stat")).ok()?;
            fields(&stat).next().map(str::to_owned)
        });
        // Waiting for a disk is no waiting for an answer.
        !states.any(|state| matches!(&*state, "R" | "D"))
    }

    fn times(&self) -> Duration {
        let stat = fs::read_to_string(self.0.join("stat")).unwrap_or_default();
        let ticks = fields(&stat).skip(11).take(2).filter_map(|field| field.parse::<u32>().ok()).sum();
        TICK * ticks
    }
}

/// What follows the name of a program, which may hold anything: its state first.
fn fields(stat: &str) -> impl Iterator<Item = &str> {
    stat.rsplit_once(") ").map_or("", |(_, rest)| rest).split(' ')
}

fn number(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}
