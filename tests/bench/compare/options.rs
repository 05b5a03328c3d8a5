//! What a run is asked for.

use crate::compare::axes::Axis;

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
    /// Table, figures and charts are written into the repository.
    pub(crate) write: bool,
}

impl Options {
    /// Reads the command line.
    ///
    /// # Errors
    ///
    /// What is not understood.
    pub(crate) fn parse(arguments: Vec<String>) -> Result<Self, String> {
        let mut options = Self { axes: Vec::new(), rounds: 5, quick: false, beyond: false, write: false };
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            match &*argument {
                // cargo says so to every benchmark.
                "--bench" => {}
                "--quick" => options.quick = true,
                "--beyond" => options.beyond = true,
                "--write" => options.write = true,
                "--rounds" => {
                    let number = arguments.next().and_then(|number| number.parse().ok());
                    options.rounds =
                        number.filter(|number| *number > 0).ok_or("--rounds: a number is missing")?;
                }
                name => match Axis::ALL.iter().find(|axis| axis.name() == name) {
                    Some(axis) => options.axes.push(*axis),
                    None => return Err(format!("`{name}` is unknown; {USAGE}, and axes are {}", names())),
                },
            }
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

const USAGE: &str = "options are --rounds N, --quick, --beyond and --write";

fn names() -> String {
    Axis::ALL.map(Axis::name).join(", ")
}
