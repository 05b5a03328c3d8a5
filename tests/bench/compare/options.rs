//! What a run is asked for.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::compare::axes::Axis;

/// Where table, figures and charts of a release live.
const PUBLISHED: &str = "docs/benchmark";

/// The options of a run.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) axes: Vec<Axis>,
    /// How often each program runs at most; fewer times where one run takes long.
    pub(crate) rounds: usize,
    /// Tiny numbers, to see that everything works.
    pub(crate) quick: bool,
    /// The Kyverno CLI goes on where it takes minutes.
    pub(crate) beyond: bool,
    /// What sets of policies and objects are drawn by.
    pub(crate) seed: u64,
    /// Where table, figures and charts are written, if anywhere.
    pub(crate) write: Option<PathBuf>,
}

impl Options {
    /// Reads the command line.
    ///
    /// # Errors
    ///
    /// What is not understood.
    pub(crate) fn parse(arguments: Vec<String>) -> Result<Self, String> {
        // Another one in each run, so that nothing is tuned for what is drawn.
        let seed = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
        let mut options =
            Self { axes: Vec::new(), rounds: 5, quick: false, beyond: false, seed, write: None };
        let mut publish = false;
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            match &*argument {
                // cargo says so to every benchmark.
                "--bench" => {}
                "--quick" => options.quick = true,
                "--beyond" => options.beyond = true,
                "--write" => publish = true,
                "--rounds" => {
                    let number = arguments.next().and_then(|number| number.parse().ok());
                    options.rounds = number
                        .filter(|number| *number > 0)
                        .ok_or("--rounds: a number of 1 or more has to follow")?;
                }
                "--seed" => {
                    let number = arguments.next().and_then(|number| number.parse().ok());
                    options.seed = number.ok_or("--seed: a number has to follow")?;
                }
                folder if folder.starts_with("--write=") => {
                    let folder = folder.strip_prefix("--write=").filter(|folder| !folder.is_empty());
                    options.write = Some(folder.ok_or("--write=: a folder has to follow")?.into());
                }
                name => match Axis::ALL.iter().find(|axis| axis.name() == name) {
                    Some(axis) => options.axes.push(*axis),
                    None => return Err(format!("`{name}` is unknown; {USAGE}, and axes are {}", names())),
                },
            }
        }
        if publish && (options.quick || !options.axes.is_empty()) {
            return Err(
                "--write without a folder replaces the published figures, which takes all axes and no \
                        --quick; --write=FOLDER writes elsewhere"
                    .to_owned(),
            );
        }
        if publish {
            options.write = Some(Path::new(env!("CARGO_MANIFEST_DIR")).join(PUBLISHED));
        }
        if options.axes.is_empty() {
            options.axes = Axis::ALL.to_vec();
        }
        // Some axes take figures of others over.
        options.axes.sort_unstable();
        options.axes.dedup();
        if options.quick {
            options.rounds = options.rounds.min(2);
        }
        Ok(options)
    }
}

/// What can be asked for.
pub(crate) fn usage() -> String {
    format!("compare [AXIS...]: {USAGE}, and axes are {}\n", names())
}

const USAGE: &str = "options are --rounds N, --seed N, --quick, --beyond and --write[=FOLDER]";

fn names() -> String {
    Axis::ALL.map(Axis::name).join(", ")
}
