//! One target, and the time it may take.

use std::path::Path;
use std::time::{Duration, Instant};
use std::{env, fs};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

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
    /// Makes the inputs that every run starts with: seeds, and what fuzzing found beyond them.
    pub fn inputs(&self) -> [Vec<Vec<u8>>; 2] {
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        let kept = package.join("corpora").join(self.name).with_extension("txt");
        let kept = fs::read_to_string(kept).unwrap_or_default();
        let kept = kept.lines().map(|line| BASE64.decode(line).expect("each line is an input"));
        [(self.seeds)(&package.join("../corpus")), kept.collect()]
    }

    /// Writes these inputs to the folder that the environment names, if it names one.
    pub fn start(&self) {
        let Some(folder) = env::var_os(SEEDS) else { return };
        for (inputs, name) in self.inputs().iter().zip(["seed", "kept"]) {
            for (index, input) in inputs.iter().enumerate() {
                let path = Path::new(&folder).join(format!("{name}-{index:05}"));
                fs::write(path, input).expect("the folder for the seeds exists and can be written");
            }
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
