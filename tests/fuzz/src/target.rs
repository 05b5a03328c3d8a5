//! One target, and the time it may take.

use std::path::Path;
use std::time::{Duration, Instant};
use std::{env, fs};

/// The folder that a fuzz target writes its seeds to before it starts.
const SEEDS: &str = "KYV_FUZZ_SEEDS";

/// The processor time that one input may take. Fuzzing builds are some three times slower than others.
const BOUND: Duration = Duration::from_secs(2);

/// A fuzz target.
pub struct Target {
    /// What the program and its folders are called.
    pub name: &'static str,
    /// Checks one input.
    pub run: fn(&[u8]),
    /// Makes inputs from the cases of a corpus folder.
    pub seeds: fn(&Path) -> Vec<Vec<u8>>,
}

impl Target {
    /// Writes the seeds to the folder that the environment names, if it names one.
    pub fn start(&self) {
        let Some(folder) = env::var_os(SEEDS) else { return };
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus");
        for (index, seed) in (self.seeds)(&corpus).iter().enumerate() {
            let path = Path::new(&folder).join(format!("seed-{index:05}"));
            fs::write(path, seed).expect("the folder for the seeds exists and can be written");
        }
    }

    /// Checks one input, the time it takes included.
    ///
    /// The wall clock says too much where other programs run, so an input that seems slow is run again
    /// with the clock of the processor.
    pub fn run_within_bounds(&self, data: &[u8]) {
        let start = Instant::now();
        (self.run)(data);
        if start.elapsed() < BOUND {
            return;
        }
        let before = processor_time();
        let start = Instant::now();
        (self.run)(data);
        let spent = match (before, processor_time()) {
            (Some(before), Some(after)) => after.saturating_sub(before),
            _ => start.elapsed(),
        };
        assert!(spent < BOUND, "slow: {spent:?} for {} bytes", data.len());
    }
}

/// The processor time of this thread, where the system tells it.
fn processor_time() -> Option<Duration> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}
