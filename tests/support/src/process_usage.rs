//! Time and memory of a child process: its resource usage as Linux counts it, and samples while it runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use wait4::Wait4 as _;

/// The shortest and the longest pause between two samples: sampling takes time from the process.
const POLL_INTERVALS: [Duration; 2] = [Duration::from_micros(250), Duration::from_millis(20)];

/// The resources that one run used.
#[derive(Clone, Copy, Debug)]
pub struct ProcessUsage {
    /// From before the start until the end is known.
    pub wall: Duration,
    /// Processor time of all threads, and of child processes that it waited for.
    pub cpu: Duration,
    /// Peak resident memory in KiB; of the largest process where it ran others.
    pub peak: u64,
    /// The share of the samples in which no thread was runnable: the process waited for the network.
    pub waiting: f64,
    pub code: Option<i32>,
}

impl ProcessUsage {
    /// Runs a command to its end. Its output must go to a file or nowhere: nobody reads a pipe here.
    pub fn measure(command: &mut Command) -> Self {
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
        // Between fork and exec the child counts the memory of this process as its own.
        let counted = used.rusage.maxrss / 1024;
        let peak = if counted > own || seen.peak == 0 { counted } else { seen.peak };
        let cpu = used.rusage.utime + used.rusage.stime;
        Self { wall, cpu, peak, waiting: seen.waiting, code: used.status.code() }
    }
}

struct Process(PathBuf);

/// What sampling a running process found.
struct Observed {
    peak: u64,
    waiting: f64,
}

impl Process {
    fn of(child: &Child) -> Self {
        Self(Path::new("/proc").join(child.id().to_string()))
    }

    fn watch(&self, ended: &AtomicBool) -> Observed {
        let (started, mut last) = (Instant::now(), Duration::ZERO);
        let (mut idle, mut peak) = (Duration::ZERO, 0);
        while !ended.load(Ordering::Relaxed) {
            // A process that has ended has no memory any more.
            let Some(resident) = self.peak() else { break };
            peak = resident;
            let now = started.elapsed();
            if self.is_idle() {
                idle += now - last;
            }
            last = now;
            thread::sleep((now / 100).clamp(POLL_INTERVALS[0], POLL_INTERVALS[1]));
        }
        Observed { peak, waiting: idle.as_secs_f64() / last.as_secs_f64().max(1e-9) }
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
            // The state follows the name of the program, which may hold any characters.
            stat.rsplit_once(") ")?.1.split(' ').next().map(str::to_owned)
        });
        // Waiting for a disk is not waiting for the network.
        !states.any(|state| matches!(&*state, "R" | "D"))
    }
}
