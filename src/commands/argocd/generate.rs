//! `argocd generate`: an application rendered, and its objects as the policies leave them.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use crate::argocd::{Application, Chart, Network, Parameters, Renderer};
use crate::render::{counted, listed};
use crate::source::{Manifests, SourceError, Walk};
use crate::value::Value;
use crate::yaml::{Source, print_document};

use super::parameters::found;
use super::program::{Program, ProgramError, Rendered};
use super::tree::Tree;
use super::watch::{ENDED, Watch};
use crate::commands::argument_values::{ArgumentError, limit, limits, request_timeout};
use crate::commands::arguments::{DialectArguments, ValueArguments};
use crate::commands::evaluate::Evaluated;
use crate::commands::exit::Exit;
use crate::commands::options::RunOptions;
use crate::commands::pipeline::{chunks, evaluate_all};
use crate::commands::reporter::{Reporter, Verbosity};
use crate::commands::session::{Session, with_pool};
use crate::commands::spool::Spool;
use crate::commands::summary::{Closing, RunSummary, SummaryStyle};

/// The default time limit of kustomize and helm: Argo CD's own.
const TIME_LIMIT: Duration = Duration::from_secs(90);

const EXAMPLES: &str = "\
Examples:
  # In the configuration of a plugin, with the policies mounted into its sidecar
  generate:
    command: [kubectl-kyv, argocd, generate, -p, /etc/kyv/policies]

  # By hand, in the folder of an application
  kubectl kyv argocd generate -p ~/policies";

/// Render the application in the current folder, mutated by policies.
///
/// A chart is rendered by helm, a kustomization by kustomize; else the manifests are taken as they are. The
/// parameters of the application say more; Argo CD hands them over in the environment.
///
/// The flags are the plugin's own: paths are absolute and lead out of the application, which so cannot change
/// what they hold. Standard output is the whole answer or empty, and never empty with exit code 0.
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, help_template = crate::commands::HELP)]
#[command(mut_arg("set", |set| set.value_delimiter(None::<char>)))]
#[command(mut_arg("legacy", |legacy| legacy.help("What the early `overlay` and `patches` of rules mean")))]
pub(super) struct Arguments {
    /// Policies: a file, a directory with all below it, or a glob.
    #[arg(short, long = "policy", value_name = "PATH", required = true, help_heading = "Input")]
    policy: Vec<PathBuf>,
    /// Let applications name further policies of their own, by the parameter `policies`. They run before the
    /// others.
    #[arg(long, help_heading = "Input")]
    app_policies: bool,
    /// Let kustomize and helm fetch what applications name: remote bases, and the dependencies of charts.
    #[arg(long, help_heading = "Input")]
    remote: bool,

    #[arg(
        long,
        value_name = "PATH",
        help = "PolicyExceptions (kyverno.io/v2): a file, a directory with all below it, or a glob",
        help_heading = "Request"
    )]
    exceptions: Vec<PathBuf>,
    /// What context entries are answered from: files, directories or globs.
    #[arg(long, value_name = "PATH", help_heading = "Request")]
    context_from: Vec<PathBuf>,
    #[arg(
        long,
        value_name = "FILE",
        help = "What imageRegistry entries are answered from: documents of kind Context (cli.kyverno.io) with `images`",
        help_heading = "Request"
    )]
    images: Vec<PathBuf>,
    #[command(flatten)]
    values: ValueArguments,
    #[arg(
        long,
        value_name = "PATH",
        help = "CustomResourceDefinitions: how lists of custom resources merge, and which kinds have namespaces",
        help_heading = "Request"
    )]
    crds: Vec<PathBuf>,

    #[command(flatten)]
    dialect: DialectArguments,
    /// Another limit on the size of inputs or on the work of a rule, such as yaml-depth=512 or steps=5000000.
    #[arg(long, value_name = "NAME=N", value_parser = limit, help_heading = "Evaluation")]
    limit: Vec<(String, usize)>,
    /// How long kustomize and helm may take, such as 45s; they are ended then. 0 for as long as it takes.
    #[arg(
        long,
        env = "ARGOCD_EXEC_TIMEOUT",
        value_name = "TIME",
        value_parser = time_limit,
        default_value = "90s",
        help_heading = "Evaluation"
    )]
    timeout: Duration,

    /// Take an application without a single object for what it is. Argo CD deletes what it had where it prunes.
    #[arg(long, help_heading = "Output")]
    allow_empty: bool,
    /// Print errors only on standard error, no notes and no summary.
    #[arg(short, long, help_heading = "Output")]
    quiet: bool,
}

/// Reads a time limit; an empty variable sets none of its own.
fn time_limit(text: &str) -> Result<Duration, ArgumentError> {
    if text.is_empty() { Ok(TIME_LIMIT) } else { request_timeout(text) }
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Exit {
    let verbosity = Verbosity { quiet: arguments.quiet, strict: false };
    with_pool(0, verbosity, |reporter| {
        // Standard output is empty unless this is reached without an error.
        if let Some(mut run) = Run::prepare(arguments, reporter) {
            run.answer(reporter);
        }
    })
}

/// A run that knows what to do.
struct Run<'a> {
    arguments: &'a Arguments,
    watch: Watch,
    application: Application,
    parameters: Parameters,
    tree: Tree,
    options: RunOptions,
    /// Notes on the rendering.
    notes: Vec<String>,
}

impl<'a> Run<'a> {
    /// Reads the parameters of the application. All errors are reported; `None` if there are any.
    fn prepare(arguments: &'a Arguments, reporter: &mut Reporter) -> Option<Self> {
        let mut fail = |message: &str| reporter.error(Exit::Input, message);
        let watch = Watch::start(arguments.timeout)
            .map_err(|error| fail(&format!("signals cannot be waited for: {error}")))
            .ok()?;
        let variables = super::variables();
        let value = |name: &str| variables.iter().find(|(known, _)| known == name).map(|(_, value)| value);
        let application = Application::read(|name| value(name).cloned());
        let application = application.map_err(|error| fail(&error.to_string())).ok();
        let parameters = Parameters::read(variables.iter().map(|(name, value)| (&**name, &**value)));
        let parameters =
            parameters.map_err(|errors| errors.iter().for_each(|error| fail(&error.to_string()))).ok();
        let (application, parameters) = (application?, parameters?);
        let tree = Tree::around(&application.source_path)
            .map_err(|error| fail(&format!("the application's folder cannot be read: {error}")))
            .ok()?;
        tree.check().map_err(|error| fail(&error.to_string())).ok()?;
        let options = options(arguments, &application, &parameters, &tree);
        let options = options.map_err(|errors| errors.iter().for_each(|error| fail(error))).ok()?;
        Some(Self { arguments, watch, application, parameters, tree, options, notes: Vec::new() })
    }

    fn answer(&mut self, reporter: &mut Reporter) {
        let Some(session) = Session::open(&self.options, reporter) else { return };
        let manifests = match self.render() {
            Ok(manifests) => manifests,
            Err(RenderError::Ended) => return reporter.error(Exit::Interrupted, ENDED),
            Err(RenderError::Failed(message)) => return reporter.error(Exit::Input, &message),
        };
        let mut summary = RunSummary::without_impact();
        match self.evaluate(&session, &manifests, &mut summary, reporter) {
            Ok(spool) if reporter.exit() == Exit::Done => {
                for note in &self.notes {
                    reporter.note(note);
                }
                summary.close(&session, Closing::ALL, SummaryStyle::Line, reporter);
                // A note is never an error here, but refused dry runs are.
                if reporter.exit() == Exit::Done {
                    self.print(spool, reporter);
                }
            }
            // The errors were reported. Notes would come before them in the user interface.
            Ok(_) => {}
            Err(error) => reporter.error(Exit::Input, format_args!("the result cannot be kept: {error}")),
        }
    }

    fn print(&self, spool: Spool, reporter: &mut Reporter) {
        let Ok(_occupied) = self.watch.print() else { return reporter.error(Exit::Interrupted, ENDED) };
        if let Err(error) = spool.print_all_strictly() {
            reporter.error(Exit::Input, format_args!("the result cannot be written: {error}"));
        }
    }

    /// The manifests of the application.
    fn render(&mut self) -> Result<Manifests, RenderError> {
        let limits = self.options.input_limits;
        let mut manifests = Manifests::new(limits);
        let renderer = match self.parameters.renderer {
            Some(renderer) => renderer,
            None => found().map_err(|error| {
                RenderError::Failed(format!("the application's folder cannot be read: {error}"))
            })?,
        };
        let Parameters { value_files, values, set, .. } = &self.parameters;
        let is_for_helm = !value_files.is_empty()
            || values.as_ref().is_some_and(|text| !text.is_empty())
            || !set.is_empty();
        if is_for_helm && renderer != Renderer::Helm {
            return Err(RenderError::Failed(format!(
                "parameters for helm were given, and the application is rendered as {}",
                renderer.word()
            )));
        }
        let text = match renderer {
            Renderer::Kustomize => self.program("kustomize", vec!["build".into(), ".".into()], None)?,
            Renderer::Helm => self.helm()?,
            Renderer::Plain => {
                let walk = if self.parameters.recurse { Walk::DeepWithoutDots } else { Walk::Flat };
                return match manifests.add(Path::new("."), walk) {
                    Ok(()) => Ok(manifests),
                    Err(SourceError::EmptyDirectory { .. }) if self.arguments.allow_empty => Ok(manifests),
                    Err(SourceError::EmptyDirectory { .. }) => {
                        let below = " (those below are read with the parameter `recurse`)";
                        let below = if self.parameters.recurse { "" } else { below };
                        Err(RenderError::Failed(format!(
                            "no kustomization, no chart, and no file ending in .json, .yaml or .yml in the \
                             application's folder{below}"
                        )))
                    }
                    Err(error) => Err(RenderError::Failed(error.to_string())),
                };
            }
        };
        manifests.add_text(text);
        Ok(manifests)
    }

    fn helm(&mut self) -> Result<Arc<Source>, RenderError> {
        let Parameters { value_files, values, set, .. } = &self.parameters;
        let files = value_files.iter().map(|path| self.tree.find(path)).collect::<Result<Vec<_>, _>>();
        let files =
            files.map_err(|fault| RenderError::Failed(format!("parameter helm-value-files: {fault}")))?;
        let chart = Chart {
            application: &self.application,
            value_files: &files,
            values_on_stdin: values.is_some(),
            set,
        };
        let arguments = chart.arguments().map_err(|error| RenderError::Failed(error.to_string()))?;
        let input = values.as_ref().map(|values| unlinked(values)).transpose();
        let input = input
            .map_err(|error| RenderError::Failed(format!("a temporary file cannot be made: {error}")))?;
        if self.arguments.remote {
            if let Some(address) = self.tree.chart_out_of_reach() {
                let fault = "a chart out of what was unpacked for the application";
                return Err(RenderError::Failed(format!("dependency {address}: {fault}")));
            }
            self.program("helm", ["dependency", "build", "."].map(OsString::from).into(), None)?;
        }
        self.program("helm", arguments, input)
    }

    /// What a program prints on standard output. What it prints on standard error are notes.
    fn program(
        &mut self,
        name: &'static str,
        arguments: Vec<OsString>,
        input: Option<File>,
    ) -> Result<Arc<Source>, RenderError> {
        let network = if self.arguments.remote { Network::Open } else { Network::Closed };
        let environment = Renderer::environment(std::env::vars_os(), network);
        let program = Program { name, arguments, environment, folder: &self.tree.folder, input };
        let title = program.title();
        let Rendered { output, stderr } =
            program.run(self.options.input_limits.bytes, &self.watch).map_err(|error| match error {
                ProgramError::Ended => RenderError::Ended,
                error => {
                    let text = error.to_string();
                    let is_cut_off = ["proxyconnect", "' not allowed", "missing in charts"]
                        .iter()
                        .any(|sign| text.contains(sign));
                    let hint =
                        "\nnothing is fetched for an application unless the plugin is started with --remote";
                    let hint = if is_cut_off && network == Network::Closed { hint } else { "" };
                    RenderError::Failed(format!("{text}{hint}"))
                }
            })?;
        self.notes.extend(stderr.lines().map(|line| format!("{name}: {line}")));
        Source::from_bytes(title, output)
            .map(Arc::new)
            .map_err(|error| RenderError::Failed(error.to_string()))
    }

    /// Evaluates the manifests; gives the answer, which is not printed yet. Errors are reported.
    fn evaluate(
        &mut self,
        session: &Session,
        manifests: &Manifests,
        summary: &mut RunSummary,
        reporter: &mut Reporter,
    ) -> io::Result<Spool> {
        let world = &session.world(&self.options, manifests);
        let mut spool = Spool::new();
        let mut errors = Vec::new();
        let mut left_out = Vec::new();
        let mut objects = 0;
        let take = |evaluated: Evaluated, printed: Printed| {
            match printed {
                Printed::Objects(text) => {
                    summary.add(&evaluated, reporter);
                    summary.report_errors(&evaluated, reporter);
                    objects += evaluated.objects.len();
                    return spool.write_all(text.as_bytes());
                }
                Printed::NoObject if !manifests.is_rendered() => left_out.push(place(&evaluated)),
                Printed::NoObject => {
                    let text = "neither apiVersion nor kind: this is no object";
                    reporter.error(Exit::Input, format_args!("{}: {text}", place(&evaluated)));
                }
                Printed::Incomplete => {
                    let text = "an object needs both apiVersion and kind";
                    reporter.error(Exit::Input, format_args!("{}: {text}", place(&evaluated)));
                }
                Printed::Empty => {}
            }
            Ok(())
        };
        let evaluator = session.evaluator(world);
        evaluate_all(chunks(manifests.pieces()), &evaluator, printed, take, |error| errors.push(error))?;
        for error in &errors {
            // Without the line itself, which may be a Secret's: whoever may see the application sees the message.
            let text = error.to_string();
            reporter.error(Exit::of(error), text.lines().next().unwrap_or_default());
        }
        session.report_cluster_errors(world, reporter);
        if !left_out.is_empty() {
            let documents = counted(left_out.len(), "document");
            let names = listed(left_out.into_iter());
            self.notes.push(format!("{documents} without apiVersion and kind left out: {names}"));
        }
        if objects == 0 && reporter.exit() == Exit::Done && !self.arguments.allow_empty {
            let text = "no object was rendered; taken for an answer, that would empty the application (--allow-empty)";
            reporter.error(Exit::Input, text);
        }
        Ok(spool)
    }
}

/// Why there are no manifests.
enum RenderError {
    /// The run was ended by a signal.
    Ended,
    /// The message about what failed.
    Failed(String),
}

/// A document of the answer.
enum Printed {
    /// One or several objects, as text.
    Objects(String),
    /// A document without apiVersion and kind.
    NoObject,
    /// A document with one of the two.
    Incomplete,
    /// An empty document.
    Empty,
}

/// Prints an evaluated document, in one form that no parser takes for JSON or for two documents.
fn printed(evaluated: &mut Evaluated) -> Printed {
    let Some(value) = evaluated.after.as_ref().or_else(|| evaluated.source.value()) else {
        return Printed::Empty;
    };
    let has = |field| value.get(field).and_then(Value::as_str).is_some_and(|text| !text.is_empty());
    match (value, has("apiVersion"), has("kind")) {
        (Value::Null, ..) => Printed::Empty,
        (_, true, true) => {
            let mut text = String::new();
            print_document(value, &mut text);
            Printed::Objects(text)
        }
        (_, false, false) => Printed::NoObject,
        _ => Printed::Incomplete,
    }
}

/// The place of a document, as messages have it.
fn place(evaluated: &Evaluated) -> String {
    let line =
        evaluated.document().map_or_else(String::new, |document| format!(":{}", document.start().line));
    format!("{}{line}", evaluated.input_name())
}

/// A file without a name that holds a text, to be read from its start.
fn unlinked(text: &str) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(file)
}

/// The options of the run: the plugin's own, and what it lets the application add.
fn options(
    arguments: &Arguments,
    application: &Application,
    parameters: &Parameters,
    tree: &Tree,
) -> Result<RunOptions, Vec<String>> {
    let mut faults = Vec::new();
    let own = [
        ("--policy", &*arguments.policy),
        ("--exceptions", &arguments.exceptions),
        ("--context-from", &arguments.context_from),
        ("--images", &arguments.images),
        ("--values", arguments.values.values.as_slice()),
        ("--userinfo", arguments.values.userinfo.as_slice()),
        ("--crds", &arguments.crds),
    ];
    for (flag, path) in own.iter().flat_map(|(flag, paths)| paths.iter().map(move |path| (flag, path))) {
        let shown = path.display();
        if !path.is_absolute() {
            faults.push(format!("{flag} {shown}: not absolute, so that it would lead into the application"));
        } else if tree.holds(path) {
            faults.push(format!("{flag} {shown}: leads into the application, which could change it"));
        }
    }
    let mut policies = Vec::new();
    if !parameters.policies.is_empty() && !arguments.app_policies {
        faults.push(
            "parameter policies: this plugin takes no policies of applications (it would with --app-policies)"
                .into(),
        );
    } else {
        for path in &parameters.policies {
            match tree.find(path) {
                Ok(path) => policies.push(path),
                Err(fault) => faults.push(format!("parameter policies: {fault}")),
            }
        }
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    policies.extend(arguments.policy.iter().cloned());
    let (input_limits, evaluation_limits) = limits(&arguments.limit);
    Ok(RunOptions {
        policies,
        manifests: vec![".".into()],
        namespace: Some(application.namespace.clone()),
        exceptions: arguments.exceptions.clone(),
        context_from: arguments.context_from.clone(),
        images: arguments.images.clone(),
        values: arguments.values.values.clone(),
        set: arguments.values.set.clone(),
        user_info: arguments.values.userinfo.clone(),
        crds: arguments.crds.clone(),
        dialect: arguments.dialect.dialect(),
        input_limits,
        evaluation_limits,
        quiet: arguments.quiet,
        ..RunOptions::default()
    })
}
