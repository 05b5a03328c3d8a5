//! The arguments that `mutate` and `diff` share.

use std::io::{self, IsTerminal as _};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use jiff::Timestamp;

use crate::engine::{self, DottedName};
use crate::policy::Operation;
use crate::render::Palette;
use crate::semantics::{Dialect, Legacy, Semantics};
use crate::source::assignment;
use crate::value::Value;
use crate::yaml::{Limit, Limits};

/// Policies, objects, and what the policies may ask for.
#[derive(Debug, Args)]
pub(super) struct Inputs {
    /// Policies: a file, a directory with all below it, a glob, or - for standard input.
    #[arg(
        short,
        long = "policy",
        value_name = "PATH",
        required = true,
        value_delimiter = ',',
        help_heading = "Input"
    )]
    pub(super) policy: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) live: Live,
    /// Objects: a file, a directory, a glob, or - for standard input.
    #[arg(
        short = 'f',
        long = "filename",
        value_name = "PATH",
        value_delimiter = ',',
        required_unless_present_any = ["kustomize", "objects"],
        help_heading = "Input"
    )]
    pub(super) filename: Vec<PathBuf>,
    /// Look into the directories below those given with -f, too.
    #[arg(short = 'R', long, requires = "filename", help_heading = "Input")]
    pub(super) recursive: bool,
    /// Objects: a directory with a kustomization, built by kubectl or kustomize.
    #[arg(
        short,
        long,
        value_name = "DIR",
        conflicts_with_all = ["filename", "recursive"],
        help_heading = "Input"
    )]
    pub(super) kustomize: Option<PathBuf>,
    /// The namespace of live objects; that of the context by default. Manifests without a namespace are
    /// evaluated in it, else in default; it is never written out.
    #[arg(short, long, value_name = "NAME", help_heading = "Input")]
    pub(super) namespace: Option<String>,

    /// A document of kind Values (cli.kyverno.io) with values for variables.
    #[arg(long, value_name = "FILE", help_heading = "Request")]
    pub(super) values: Option<PathBuf>,
    /// A value for a variable, such as request.operation=UPDATE; wins over --values.
    #[arg(
        long,
        value_name = "NAME=VALUE",
        value_delimiter = ',',
        value_parser = assignment,
        help_heading = "Request"
    )]
    pub(super) set: Vec<(DottedName, Value)>,
    #[arg(
        long,
        value_name = "FILE",
        help = "A document of kind UserInfo (cli.kyverno.io): who sends the requests",
        help_heading = "Request"
    )]
    pub(super) userinfo: Option<PathBuf>,
    #[arg(
        long,
        alias = "exception",
        value_name = "PATH",
        value_delimiter = ',',
        help = "PolicyExceptions (kyverno.io/v2): a file, a directory with all below it, or a glob",
        help_heading = "Request"
    )]
    pub(super) exceptions: Vec<PathBuf>,
    /// What the requests do: CREATE, UPDATE, DELETE or CONNECT. CREATE by default; UPDATE for live objects,
    /// because whatever reaches a policy of what already runs is an update of it.
    #[arg(long, value_name = "NAME", value_parser = operation, help_heading = "Request")]
    pub(super) operation: Option<Operation>,
    /// Nobody sends a request: the policies have just been installed or changed. Rules with targets that have
    /// mutateExistingOnPolicyUpdate run for all objects, and no other rule does.
    #[arg(long, conflicts_with_all = ["operation", "old"], help_heading = "Request")]
    pub(super) on_policy_update: bool,
    /// The objects as they are stored before an update: a file, a directory or a glob.
    #[arg(long, value_name = "PATH", value_delimiter = ',', help_heading = "Request")]
    pub(super) old: Vec<PathBuf>,
    #[arg(
        long,
        value_name = "PATH",
        value_delimiter = ',',
        help = "CustomResourceDefinitions: how lists of custom resources merge, and which kinds have namespaces",
        help_heading = "Request"
    )]
    pub(super) crds: Vec<PathBuf>,

    /// Further objects that rules with targets may change: files, directories or globs. They trigger nothing,
    /// and are printed, after all others, if they change.
    #[arg(long, value_name = "PATH", value_delimiter = ',', help_heading = "Input")]
    pub(super) targets: Vec<PathBuf>,
    #[arg(
        long,
        value_name = "PATH",
        value_delimiter = ',',
        help = "What context entries are answered from: ConfigMaps, whatever an apiCall asks the API server for, GlobalContextEntries, and documents of kind Context or ClusterResource (cli.kyverno.io)",
        help_heading = "Request"
    )]
    pub(super) context_from: Vec<PathBuf>,

    #[arg(
        long,
        value_name = "FILE",
        value_delimiter = ',',
        help = "What imageRegistry entries are answered from: documents of kind Context (cli.kyverno.io) with `images` (image, digest, manifest, imageIndex, config)",
        help_heading = "Request"
    )]
    pub(super) images: Vec<PathBuf>,

    /// Which side is taken where Kyverno's documentation and its controllers differ.
    #[arg(long, value_name = "NAME", value_enum, default_value_t = Side::Documented, help_heading = "Evaluation")]
    pub(super) semantics: Side,
    /// What the early `overlay` and `patches` of rules mean. Kyverno 1.19 refuses a policy with them: with
    /// --semantics kyverno that stays an error, and the rules run only if native or smp is asked for.
    #[arg(long, value_name = "NAME", value_enum, default_value_t = Early::Doc, help_heading = "Evaluation")]
    pub(super) legacy: Early,
    /// Fail (exit code 3) for everything that was not evaluated, did not match, or differs between the
    /// semantics.
    #[arg(long, help_heading = "Evaluation")]
    pub(super) strict: bool,
    /// Evaluate every changed object a second time, at the same time and with the same chance, and report
    /// what that would change.
    #[arg(long, help_heading = "Evaluation")]
    pub(super) check_idempotent: bool,
    /// The time that policies see, such as 2026-01-31T12:00:00Z; the start of the run by default.
    #[arg(long, value_name = "TIME", help_heading = "Evaluation")]
    pub(super) now: Option<Timestamp>,
    /// Where random values start from.
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Evaluation")]
    pub(super) seed: u64,
    /// Another limit on the size of inputs or on the work of a rule, such as yaml-depth=512 or steps=5000000.
    #[arg(long, value_name = "NAME=N", value_delimiter = ',', value_parser = limit, help_heading = "Evaluation")]
    pub(super) limit: Vec<(String, usize)>,
    /// How many threads evaluate; as many as there are processors by default.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), help_heading = "Evaluation")]
    pub(super) workers: Option<u16>,
    /// Print errors only on standard error, no notes and no summary.
    #[arg(short, long, help_heading = "Output")]
    pub(super) quiet: bool,
}

/// The arguments that give objects without a cluster.
const OFFLINE: [&str; 2] = ["filename", "kustomize"];

/// Objects of a cluster.
#[derive(Debug, Args)]
pub(super) struct Live {
    /// Live objects, as kubectl names them: TYPE, TYPE NAME… or TYPE/NAME….
    #[arg(value_name = "TYPE", conflicts_with_all = OFFLINE)]
    pub(super) objects: Vec<String>,
    /// Live objects of all namespaces, whatever -n says.
    #[arg(short = 'A', long, conflicts_with_all = OFFLINE, help_heading = "Cluster")]
    pub(super) all_namespaces: bool,
    /// Live objects with these labels, such as app=web,tier!=db.
    #[arg(short = 'l', long, value_name = "LABELS", conflicts_with_all = OFFLINE, help_heading = "Cluster")]
    pub(super) selector: Option<String>,
    /// How many live objects are read at once; 0 for a whole list.
    #[arg(long, value_name = "N", default_value_t = 500, conflicts_with_all = OFFLINE, help_heading = "Cluster")]
    pub(super) chunk_size: u32,
    /// The kubeconfig; by default what KUBECONFIG or the home directory names, or the cluster around.
    #[arg(long, value_name = "FILE", conflicts_with_all = OFFLINE, help_heading = "Cluster")]
    pub(super) kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig; its current one by default.
    #[arg(long, value_name = "NAME", conflicts_with_all = OFFLINE, help_heading = "Cluster")]
    pub(super) context: Option<String>,
}

impl Inputs {
    /// The namespace in which objects without one are evaluated.
    pub(super) fn namespace(&self) -> &str {
        self.namespace.as_deref().filter(|name| !name.is_empty()).unwrap_or("default")
    }

    /// Whether the objects are those of a cluster.
    pub(super) const fn is_live(&self) -> bool {
        !self.live.objects.is_empty()
    }

    /// The limits on the evaluation of one rule.
    pub(super) fn evaluation_limits(&self) -> engine::Limits {
        let mut limits = engine::Limits::default();
        for (name, value) in &self.limit {
            let _is_of_the_input = limits.set(name, *value);
        }
        limits
    }

    /// The limits on the input.
    pub(super) fn limits(&self) -> Limits {
        let mut limits = Limits::default();
        for (name, value) in &self.limit {
            // The names were looked at when the arguments were.
            let _is_of_the_evaluation = limits.set(name, *value);
        }
        limits
    }

    /// How policies are read.
    pub(super) fn dialect(&self) -> Dialect {
        Dialect { semantics: self.semantics.into(), legacy: self.legacy.into() }
    }

    /// How many arguments stand for standard input.
    pub(super) fn stdin_count(&self) -> usize {
        let lists = [
            &self.policy,
            &self.filename,
            &self.targets,
            &self.exceptions,
            &self.old,
            &self.crds,
            &self.context_from,
            &self.images,
        ];
        let single = [&self.values, &self.userinfo];
        let all = lists.into_iter().flatten().chain(single.into_iter().flatten());
        all.filter(|path| path.as_os_str() == "-").count()
    }
}

/// The two semantics, as an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Side {
    /// What the documentation says.
    Documented,
    /// What the controllers of Kyverno do.
    Kyverno,
}

impl From<Side> for Semantics {
    fn from(side: Side) -> Self {
        match side {
            Side::Documented => Self::Documented,
            Side::Kyverno => Self::Kyverno,
        }
    }
}

/// The readings of the early syntax, as an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Early {
    /// What the documentation of the time says.
    Doc,
    /// What Kyverno 1.1.0 did.
    Native,
    /// What `patchStrategicMerge` and `patchesJson6902` make of it, as in Kyverno 1.2 to 1.5.
    Smp,
}

impl From<Early> for Legacy {
    fn from(early: Early) -> Self {
        match early {
            Early::Doc => Self::Documented,
            Early::Native => Self::Native,
            Early::Smp => Self::Later,
        }
    }
}

/// When diffs are coloured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Color {
    /// How a diff on standard output is coloured.
    pub(super) fn palette(self) -> Palette {
        let wanted = match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => {
                let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
                    || std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
                !plain && io::stdout().is_terminal()
            }
        };
        if wanted { Palette::Ansi } else { Palette::Plain }
    }
}

fn operation(text: &str) -> Result<Operation, String> {
    Operation::parse(&text.to_uppercase()).ok_or_else(|| {
        let names: Vec<_> = Operation::ALL.iter().map(|operation| operation.name()).collect();
        format!("expected one of {}", names.join(", "))
    })
}

/// Reads a limit of the input or the evaluation.
pub(super) fn limit(text: &str) -> Result<(String, usize), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=N")?;
    let value = value.parse().map_err(|_| format!("`{value}` is no number"))?;
    if !Limits::default().set(name, value) && !engine::Limits::default().set(name, value) {
        let names: Vec<_> =
            Limit::ALL.iter().map(|limit| limit.name()).chain(engine::Limits::NAMES).collect();
        return Err(format!("no limit is called `{name}`; there are {}", names.join(", ")));
    }
    Ok((name.to_owned(), value))
}
