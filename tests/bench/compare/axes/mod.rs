//! What is varied, and what is measured at each point.

mod apply;
mod drawn;
mod hosts;
mod live;
mod own;

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::compare::agreement;
use crate::compare::contestant::Contestant;
use crate::compare::goals::{mebibytes, seconds, thousands};
use crate::compare::limit::{self, Reading};
use crate::compare::machine;
use crate::compare::manifests;
use crate::compare::options::Options;
use crate::compare::policies;
use crate::compare::programs::Programs;
use crate::compare::results::{Figure, Results};
use crate::compare::rounds::interleaved;
use crate::compare::say;

pub(crate) use apply::{CLASSIC, FEW, KYVERNO_SMALL, MANY, NOTHING, SMALL};
pub(crate) use hosts::KUSTOMIZE;
pub(crate) use own::{
    ADMITTED, AT_ONCE, CANONICAL, CANONICAL_TWO, FOLDER, ONE_FILE, ONE_THREAD, TWO_THREADS, WRITTEN,
};

/// Names of contestants that several axes have.
pub(crate) const KYV: &str = "kyv";
pub(crate) const KYVERNO: &str = "Kyverno CLI";
pub(crate) const LIMIT: &str = "limit";
/// The limit with kyv's own reader.
pub(crate) const OWN_LIMIT: &str = "limit, kyv's own reader";

/// Something that is varied. Their order is that of measuring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Axis {
    Startup,
    Objects,
    Drawn,
    Cel,
    Matching,
    Idle,
    Foreach,
    Threads,
    View,
    Canonical,
    Stream,
    Kustomize,
    Function,
    Live,
}

impl Axis {
    pub(crate) const ALL: [Self; 14] = [
        Self::Startup,
        Self::Objects,
        Self::Drawn,
        Self::Cel,
        Self::Matching,
        Self::Idle,
        Self::Foreach,
        Self::Threads,
        Self::View,
        Self::Canonical,
        Self::Stream,
        Self::Kustomize,
        Self::Function,
        Self::Live,
    ];

    /// What it is called on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Startup => "startup",
            Self::Objects => "objects",
            Self::Drawn => "drawn",
            Self::Cel => "cel",
            Self::Matching => "matching",
            Self::Idle => "idle",
            Self::Foreach => "foreach",
            Self::Threads => "threads",
            Self::View => "view",
            Self::Canonical => "canonical",
            Self::Stream => "stream",
            Self::Kustomize => "kustomize",
            Self::Function => "function",
            Self::Live => "live",
        }
    }

    /// What it is called in the report.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Startup => "Start-up: one policy, one Pod",
            Self::Objects => "Objects, with 30 policies",
            Self::Drawn => {
                "Sets of 30 of Kyverno's own policies, and objects of many shapes, drawn by a seed"
            }
            Self::Cel => "MutatingPolicies: 30, and the classic ones that do the same",
            Self::Matching => "Policies that match",
            Self::Idle => "Policies that do not match, beside 10 that do",
            Self::Foreach => "Elements of a foreach, 20 Pods",
            Self::Threads => "Threads, 30 policies",
            Self::View => "Objects as the API server admits them and as they are written, 30 policies",
            Self::Canonical => "Faithful and canonical printing beside the limit, 30 policies",
            Self::Stream => "Streams, with 30 policies",
            Self::Kustomize => "Strategic-merge patches by kind: 30 of them",
            Self::Function => "A function inside kustomize build, 30 policies",
            Self::Live => "Live objects of an API server, 30 policies",
        }
    }

    /// What the points count.
    pub(crate) fn counts(self) -> &'static str {
        match self {
            Self::Startup | Self::Objects | Self::Cel | Self::Threads | Self::View | Self::Canonical => {
                "objects"
            }
            Self::Drawn => "draw",
            Self::Matching | Self::Idle => "policies",
            Self::Foreach => "elements",
            Self::Stream | Self::Kustomize | Self::Function | Self::Live => "objects",
        }
    }
}

/// How large everything is.
#[derive(Clone, Debug)]
pub(crate) struct Sizes {
    pub(crate) objects: Vec<usize>,
    /// Up to so many objects the Kyverno CLI takes part.
    pub(crate) with_kyverno: usize,
    /// What both can be asked for.
    pub(crate) yardstick: usize,
    /// What takes kyv long enough to be told from its start.
    pub(crate) large: usize,
    pub(crate) stream: [usize; 2],
    pub(crate) matching: Vec<usize>,
    pub(crate) idle: Vec<usize>,
    pub(crate) elements: Vec<usize>,
    /// Up to so many elements the Kyverno CLI takes part.
    pub(crate) elements_with_kyverno: usize,
    pub(crate) items: usize,
    pub(crate) starts: usize,
    /// How many sets are drawn.
    pub(crate) draws: usize,
}

impl Sizes {
    fn of(options: &Options) -> Self {
        let without_end = |usual| if options.beyond { usize::MAX } else { usual };
        if options.quick {
            return Self {
                objects: vec![20, 40],
                with_kyverno: 40,
                yardstick: 40,
                large: 80,
                stream: [40, 400],
                matching: vec![1, 10, 30],
                idle: vec![0, 8],
                elements: vec![1, 3],
                elements_with_kyverno: 3,
                items: 20,
                starts: 3,
                draws: 2,
            };
        }
        Self {
            objects: vec![100, 1_000, 10_000, 100_000],
            with_kyverno: without_end(1_000),
            yardstick: 1_000,
            large: 10_000,
            stream: [10_000, 100_000],
            matching: vec![1, 10, 30],
            idle: vec![0, 1, 10, 100, 1_000],
            elements: vec![1, 10, 100, 1_000],
            elements_with_kyverno: without_end(100),
            // kustomize takes many minutes for 4,000, with any function.
            items: if options.beyond { 4_000 } else { 1_000 },
            starts: 50,
            draws: 10,
        }
    }
}

/// A run of the benchmark: what it works with, and what it has found.
pub(crate) struct Bench {
    pub(crate) options: Options,
    pub(crate) sizes: Sizes,
    pub(crate) programs: Programs,
    pub(crate) results: Results,
    /// What was found to be the same.
    pub(crate) agreements: Vec<String>,
    pub(crate) machine: String,
    /// What is checked out.
    pub(crate) commit: Option<String>,
    pub(crate) load: Option<f64>,
    folder: TempDir,
}

impl Bench {
    /// Finds the programs.
    ///
    /// # Errors
    ///
    /// Where there is none.
    pub(crate) fn new(options: &Options) -> Result<Self, String> {
        Ok(Self {
            options: options.clone(),
            sizes: Sizes::of(options),
            programs: Programs::find()?,
            results: Results::default(),
            agreements: Vec::new(),
            machine: machine::machine(),
            commit: machine::commit(),
            load: machine::load(),
            folder: tempfile::tempdir().map_err(|error| error.to_string())?,
        })
    }

    /// A stream of so many objects.
    fn objects(&self, number: usize) -> PathBuf {
        self.made(&format!("objects-{number}.yaml"), |path| manifests::write_stream(path, number))
    }

    /// A folder of so many policies that match, and so many that do not.
    fn policies(&self, matching: usize, idle: usize) -> PathBuf {
        self.made(&format!("policies-{matching}-{idle}"), |path| {
            policies::write_matching(path, matching);
            policies::write_idle(path, idle);
        })
    }

    /// What a name stands for, made when it is first asked for.
    fn made(&self, name: &str, make: impl FnOnce(&Path)) -> PathBuf {
        let path = self.folder.path().join(name);
        if !path.exists() {
            make(&path);
        }
        path
    }

    /// kyv in the view that the others have, too.
    fn kyv(&self, policies: &Path, objects: &Path) -> Contestant {
        self.kyv_with_view("written", policies, objects)
    }

    fn kyv_with_view(&self, view: &str, policies: &Path, objects: &Path) -> Contestant {
        Contestant::new(KYV, &self.programs.kyv)
            .args(&["mutate", "--view", view, "-p"])
            .arg(policies)
            .arg("-f")
            .arg(objects)
    }

    /// The Kyverno CLI as it is quickest: with its report and everything else on stdout.
    fn kyverno(&self, policies: &Path, objects: &Path) -> Contestant {
        let kyverno = Contestant::new(KYVERNO, self.programs.kyverno());
        kyverno.arg("apply").arg(policies).arg("--resource").arg(objects).arg("--remove-color")
    }

    fn limit(&self, reading: Reading, objects: &Path) -> Contestant {
        let name = if reading == Reading::Own { OWN_LIMIT } else { LIMIT };
        let limit = Contestant::new(name, &self.programs.this).arg(limit::SUBCOMMAND).arg(reading.name());
        limit.arg(objects).arg(self.printed_by_limit())
    }

    fn printed_by_limit(&self) -> PathBuf {
        self.folder.path().join("limit.yaml")
    }

    /// Sees to it that kyv and the Kyverno CLI do the same.
    fn agree(&mut self, what: String, policies: &Path, objects: &Path) -> Result<(), String> {
        if !self.agreements.contains(&what) {
            say(&format!("comparing what kyv and the Kyverno CLI print: {what}"));
            agreement::with_kyverno(&self.programs, policies, objects)?;
            self.agreements.push(what);
        }
        Ok(())
    }

    /// Measures contestants in turn, each at its point.
    fn take(&mut self, axis: Axis, points: Vec<(usize, Contestant)>) -> Result<(), String> {
        self.take_rounds(axis, points, self.options.rounds)
    }

    fn take_rounds(
        &mut self,
        axis: Axis,
        points: Vec<(usize, Contestant)>,
        rounds: usize,
    ) -> Result<(), String> {
        say(&format!("measuring {}", axis.name()));
        let (counts, contestants): (Vec<usize>, Vec<Contestant>) = points.into_iter().unzip();
        let all = interleaved(&contestants, rounds, self.folder.path())?;
        for (point, (contestant, measured)) in counts.into_iter().zip(contestants.iter().zip(all)) {
            let [wall, cpu] = [measured.wall(), measured.cpu()].map(|spread| seconds(spread.median));
            let peak = mebibytes(measured.peak().median);
            say(&format!("  {} {}: {wall}, CPU {cpu}, {peak}", thousands(point), contestant.name));
            self.results.add(Figure { axis, point, name: contestant.name, measured });
        }
        Ok(())
    }
}

/// Measures one axis.
///
/// # Errors
///
/// Where two programs do not do the same, and where one fails.
pub(crate) fn measure(axis: Axis, bench: &mut Bench) -> Result<(), String> {
    match axis {
        Axis::Startup => apply::startup(bench),
        Axis::Objects => apply::objects(bench),
        Axis::Drawn => drawn::drawn(bench),
        Axis::Cel => apply::cel(bench),
        Axis::Matching => apply::matching(bench),
        Axis::Idle => apply::idle(bench),
        Axis::Foreach => apply::foreach(bench),
        Axis::Threads => own::threads(bench),
        Axis::View => own::view(bench),
        Axis::Canonical => own::canonical(bench),
        Axis::Stream => own::stream(bench),
        Axis::Kustomize => hosts::patches(bench),
        Axis::Function => hosts::function(bench),
        Axis::Live => live::live(bench),
    }
}
