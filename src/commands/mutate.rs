//! `mutate`: the objects as the policies leave them.

use std::io;

use clap::{Args, ValueEnum};

use crate::engine::World;
use crate::render::DiffStyle;
use crate::source::{Faults, InputBatch};

use super::arguments::{DiffOptions, RunArguments};
use super::driver::{Show, Work, drive, show};
use super::evaluate::{Evaluated, Evaluator};
use super::exit::Exit;
use super::in_place::Edits;
use super::manifests::{complain, manifests};
use super::options::RunOptions;
use super::output::{Format, Layout, Printer, Ready};
use super::reporter::{NoteKind, Reporter};
use super::server_dry_run::{DryRuns, NO_CLUSTER};
use super::session::{RunWorld, Session, counted, on_threads};
use super::summary::{RunSummary, SumUp};

const EXAMPLES: &str = "\
Examples:
  # Print the manifests of a directory as the policies leave them
  kubectl kyv mutate -p policies/ -f manifests/

  # Apply rendered manifests mutated, without an admission controller
  helm template web ./chart | kubectl kyv mutate -p policies/ -f - | kubectl apply -f -

  # Show what would change, as a diff
  kubectl kyv mutate -p policies/ -f manifests/ -R -o diff

  # Print live objects changed, and say what of it the API server would refuse
  kubectl kyv mutate deployments -n web -p policies/ --server-dry-run > changed.yaml

  # Edit the manifests themselves
  kubectl kyv mutate -p policies/ -f manifests/ -R -i

  # Build a kustomization first
  kubectl kyv mutate -p policies/ -k overlays/prod

  # Evaluate as updates made by a certain user
  kubectl kyv mutate -p policy.yaml -f pod.yaml --operation UPDATE --userinfo user.yaml";

/// Print objects as Kyverno mutate policies leave them.
///
/// The same documents come out in the same order. A document that no rule changes comes out byte for byte.
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, help_template = super::HELP)]
pub(super) struct Arguments {
    #[command(flatten)]
    inputs: RunArguments,
    /// What to print: the objects, or what changes.
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t = Output::Yaml, help_heading = "Output")]
    output: Output,
    /// Edit the files given with -f instead of printing; nothing is written if a rule fails, a file
    /// cannot be read or the cluster does not tell all that it is asked.
    #[arg(short, long, requires = "filename", conflicts_with_all = ["output", "kustomize", "objects"], help_heading = "Output")]
    in_place: bool,
    /// With -i: write what the other policies changed even if a rule fails, the other files even if one cannot
    /// be read, and what may be wrong for want of an answer of the cluster.
    #[arg(long, requires = "in_place", help_heading = "Output")]
    keep_going: bool,
    /// With -i: write nothing, and end with exit code 1 if anything would change.
    #[arg(long, requires = "in_place", help_heading = "Output")]
    check: bool,
    /// Send each changed object through the API server's own validation and webhooks, as a dry run that
    /// stores nothing: what it refuses is told and ends in exit code 3. What is printed stays what the policies
    /// leave.
    #[arg(long, conflicts_with = "in_place", help_heading = "Cluster")]
    server_dry_run: bool,
    /// Print changed documents canonically instead of keeping their comments, order, quotes and layout.
    #[arg(long, help_heading = "Output")]
    canonical: bool,
    #[command(flatten)]
    style: DiffOptions,
}

/// What is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// The objects, as a stream of documents.
    Yaml,
    /// The objects, as one object or a List.
    Json,
    /// What changes, as a unified diff.
    Diff,
    /// What changes: a JSON patch for each object, one per line.
    Patch,
    /// The names of objects that change.
    Name,
}

impl From<Output> for Format {
    fn from(output: Output) -> Self {
        match output {
            Output::Yaml => Self::Yaml,
            Output::Json => Self::Json,
            Output::Diff => Self::Diff,
            Output::Patch => Self::Patch,
            Output::Name => Self::Name,
        }
    }
}

/// Runs the command.
pub(super) fn run(arguments: Arguments) -> Exit {
    let Arguments { inputs, output, in_place, keep_going, check, server_dry_run, canonical, style } =
        arguments;
    let options = &RunOptions::from(inputs);
    let layout = if canonical { Layout::Canonical } else { Layout::Kept };
    on_threads(options, |reporter| {
        if in_place && options.manifests.iter().any(|path| path.as_os_str() == "-") {
            return reporter.error(Exit::Input, "-i edits files, and standard input (-) is none");
        }
        if server_dry_run && !options.uses_cluster_state() {
            return reporter.error(Exit::Input, NO_CLUSTER);
        }
        let session = Session::open(options, reporter);
        let format = Format::from(output);
        let tries = server_dry_run;
        let style = style.style(format.shows_diff() && !in_place, reporter);
        let print = Print { format, layout, style, sum_up: SumUp::Line, tries };
        if !in_place {
            show(options, session.as_ref(), &print, reporter);
            return;
        }
        let Some(manifests) = manifests(options, session.as_ref(), reporter) else { return };
        let Some(session) = session else { return complain(manifests.pieces(), reporter) };
        let world = session.world(options, &manifests);
        Edits::new(&manifests, layout, check).run(&session, &world, keep_going, reporter);
    })
}

/// How results are printed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Print {
    pub(super) format: Format,
    pub(super) layout: Layout,
    pub(super) style: DiffStyle,
    pub(super) sum_up: SumUp,
    /// Whether the API server is asked what it would store.
    pub(super) tries: bool,
}

impl Show for Print {
    fn needs_whole_files(&self) -> bool {
        self.format.shows_diff()
    }

    fn tells_flags(&self) -> bool {
        self.sum_up == SumUp::Table
            || matches!(self.format, Format::Summary | Format::Report | Format::Markdown)
    }

    fn print(
        &self,
        session: &Session,
        world: &RunWorld,
        batches: impl Iterator<Item = InputBatch>,
        ledger: &mut RunSummary,
        reporter: &mut Reporter,
    ) -> io::Result<()> {
        let mut evaluator = session.evaluator(world);
        evaluator.keeps_whole = self.tries;
        let cluster = session.cluster.as_deref().filter(|_| self.tries);
        let server_dry_runs = cluster.map(|cluster| DryRuns::new(cluster, &evaluator));
        let work = Printing { evaluator, print: *self, server_dry_runs };
        let mut printer = Printer::new(self.format, self.style, session.is_live());
        let mut spool = session.spool(reporter);
        let mut faults = Faults::default();
        let mut secrets = 0;
        let take = |(evaluated, ready): (Evaluated, Ready)| {
            ledger.take(&evaluated, reporter);
            session.schemaless.note(&evaluated);
            if let Ready::Edited(edited) | Ready::Part { edited: Some(edited), .. } = &ready {
                ledger.edited(&evaluated, edited);
            }
            secrets += self.format.secrets_in(&evaluated);
            printer.print(&evaluated, ready, &mut spool)?;
            if spool.is_due() { reporter.aside(|| spool.pass()) } else { Ok(()) }
        };
        drive(batches, &work, take, |error| faults.push(error))?;
        for error in faults {
            reporter.fault(&error);
        }
        session.tell_faults(world, reporter);
        reporter.finish_progress();
        if reporter.exit() == Exit::Input {
            return Ok(());
        }
        reporter.tell_gaps();
        if secrets > 0 && !session.shows_secrets {
            let secrets = counted(secrets, "Secret");
            // Only a recording tells its own time.
            let is_replayed = session.cluster.as_ref().is_some_and(|cluster| cluster.now().is_some());
            let text = if is_replayed {
                format!(
                    "the values of {secrets} are printed as the recording has them: stand-ins, not fit to be applied, \
                     unless it was made with --show-secrets"
                )
            } else {
                format!("the values of {secrets} are printed as they are")
            };
            reporter.note(NoteKind::Other, &text);
        }
        printer.close_file(&mut spool)?;
        for note in printer.remarks() {
            reporter.note(NoteKind::Other, &note);
        }
        ledger.find_installed(session);
        printer.finish(&ledger.tally, reporter.gaps(), &mut spool)?;
        spool.pass()?;
        ledger.close(session, self.sum_up, reporter);
        spool.release()
    }
}

/// Evaluates and prepares pieces for printing.
struct Printing<'a, W> {
    evaluator: Evaluator<'a, W>,
    print: Print,
    server_dry_runs: Option<DryRuns<'a>>,
}

impl<W: World> Work for Printing<'_, W> {
    type Made = (Evaluated, Ready);
    type World = W;

    fn evaluator(&self) -> &Evaluator<'_, W> {
        &self.evaluator
    }

    fn make(&self, mut evaluated: Evaluated) -> Self::Made {
        if self.evaluator.shows_secrets {
            evaluated.show_secrets();
        }
        if let Some(server_dry_runs) = self.server_dry_runs {
            server_dry_runs.run(&mut evaluated);
        }
        let ready = self.print.format.prepare(&evaluated, self.print.layout, &self.print.style);
        (evaluated, ready)
    }
}
