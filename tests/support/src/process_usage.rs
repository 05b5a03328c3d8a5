//! What a run of a program takes: what Linux counts for it until its end, and what is seen of it meanwhile.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use wait4::Wait4 as _;

/// How often is looked at first, and how often at a program that runs for long: looks take time from it.
const STEPS: [Duration; 2] = [Duration::from_micros(250), Duration::from_millis(20)];

/// What a run took.
#[derive(Clone, Copy, Debug)]
pub struct Gauge {
    /// From before the program starts until its end is known.
    pub wall: Duration,
    /// Processor time of all threads, and of the programs that it ran and waited for.
    pub cpu: Duration,
    /// The most memory that was resident at once, in KiB; of the largest where it ran programs.
    pub peak: u64,
    /// The share of the time in which no thread could have run: with nothing to read from and nobody in the way of
    /// what is printed, the program waits for answers.
    pub waiting: f64,
    pub code: Option<i32>,
}

impl Gauge {
    /// Runs a program to its end. Its output must lead somewhere that takes it: a file, or nowhere.
    pub fn of(command: &mut Command) -> Self {
        let own = Process(PathBuf::from("/proc/self")).peak().unwrap_or(u64::MAX);
        let ended = Arc::new(AtomicBool::new(false));
        let started = Instant::now();
        let child = command.spawn().expect("the program starts");
        let (process, told) = (Process::of(&child), Arc::clone(&ended));
        let watch = thread::spawn(move || process.watch(&told));
        let used = child.wait4().expect("the program ends");
        let wall = started.elapsed();
        ended.store(true, Ordering::Relaxed);
        let seen = watch.join().expect("a watch ends");
        // Until it becomes the program, the new process counts the memory of this one as its own.
        let counted = used.rusage.maxrss / 1024;
        let peak = if counted > own || seen.peak == 0 { counted } else { seen.peak };
        let cpu = used.rusage.utime + used.rusage.stime;
        Self { wall, cpu, peak, waiting: seen.waiting, code: used.status.code() }
    }
}

struct Process(PathBuf);

/// What is seen of a program while it runs.
struct Seen {
    peak: u64,
    waiting: f64,
}

impl Process {
    fn of(child: &Child) -> Self {
        Self(Path::new("/proc").join(child.id().to_string()))
    }

    fn watch(&self, ended: &AtomicBool) -> Seen {
        let (started, mut last) = (Instant::now(), Duration::ZERO);
        let (mut idle, mut peak) = (Duration::ZERO, 0);
        while !ended.load(Ordering::Relaxed) {
            // Whoever has ended has no memory any more.
            let Some(resident) = self.peak() else { break };
            peak = resident;
            let now = started.elapsed();
            if self.is_idle() {
                idle += now - last;
            }
            last = now;
            thread::sleep((now / 100).clamp(STEPS[0], STEPS[1]));
        }
        Seen { peak, waiting: idle.as_secs_f64() / last.as_secs_f64().max(1e-9) }
    }

    fn peak(&self) -> Option<u64> {
        let status = fs::read_to_string(self.0.join("status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        line.trim().trim_end_matches(" kB").parse().ok()
    }

    fn is_idle(&self) -> bool {
        let threads = fs::read_dir(self.0.join("task")).into_iter().flatten().flatten();
        let mut states = threads.filter_map(|thread| {
            let stat = fs::read_to_string(thread.path().join("stat")).ok()?;
            // What follows the name of a program, which may hold anything: its state first.
            stat.rsplit_once(") ")?.1.split(' ').next().map(str::to_owned)
        });
        // Waiting for a disk is no waiting for an answer.
        !states.any(|state| matches!(&*state, "R" | "D"))
    }
}
