//! `argocd generate`: an application rendered, and its objects as the policies leave them.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::{ArgAction, Args, ValueEnum};

use crate::argocd::{Application, Chart, Kustomization, Network, Parameters, Renderer};
use crate::diagnostics::{Code, Coded as _};
use crate::engine::InputNames;
use crate::render::{counted, listed};
use crate::source::{Manifests, SourceError, Walk};
use crate::value::Value;
use crate::yaml::{Source, print_document};

use super::error::GenerateError;
use super::parameters::found;
use super::policy_sets::policy_sets;
use super::program::{Program, Rendered};
use super::tree::Tree;
use super::watch::{ENDED, Watch};
use crate::commands::argument_values::{ArgumentError, limit, limits, request_timeout};
use crate::commands::arguments::{DialectArguments, ValueArguments};
use crate::commands::evaluate::Evaluated;
use crate::commands::exit::Exit;
use crate::commands::options::RunOptions;
use crate::commands::pipeline::{chunks, evaluate_all};
use crate::commands::reporter::Reporter;
use crate::commands::run_context::RunContext;
use crate::commands::session::{Session, on_threads};
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

/// Render the application in the current folder, and mutate the objects by policies.
///
/// A chart is rendered by helm, a kustomization by kustomize. Other manifests are taken as they are. Argo CD
/// passes the parameters of the application in the environment.
///
/// The flags are those of the plugin. Their paths are absolute and outside of the application, which cannot
/// change these files. Standard output is the whole result or empty, and never empty with exit code 0.
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, help_template = crate::commands::HELP)]
#[command(mut_arg("set", |set| set.value_delimiter(None::<char>)))]
#[command(mut_arg("legacy", |legacy| legacy.help("How to interpret `overlay` and `patches`, the legacy fields of mutate rules")))]
pub(super) struct Arguments {
    /// Policies: a file, a directory with everything below it, or a glob.
    #[arg(
        short,
        long = "policy",
        value_name = "PATH",
        required_unless_present = "project_set",
        help_heading = "Input"
    )]
    policy: Vec<PathBuf>,
    /// Let applications name policies in their repository, with the parameter `policies`. They run before the
    /// others.
    #[arg(long, help_heading = "Input")]
    app_policies: bool,
    /// Policy sets, one for each folder below this one. Applications choose some with the parameter
    /// `policy-sets`. They run before the others.
    #[arg(long, value_name = "DIR", help_heading = "Input")]
    policy_sets: Option<PathBuf>,
    /// Always apply the policy set with the name of the application's project.
    #[arg(long, requires = "policy_sets", help_heading = "Input")]
    project_set: bool,
    /// Options of `kustomize build`, such as `--enable-helm --load-restrictor LoadRestrictionsNone`, as in
    /// kustomize.buildOptions of Argo CD's configuration.
    #[arg(
        long,
        value_name = "OPTIONS",
        default_value = "",
        hide_default_value = true,
        allow_hyphen_values = true,
        help_heading = "Input"
    )]
    kustomize_options: String,
    /// Let kustomize and helm fetch remote bases and dependencies of charts.
    #[arg(long, help_heading = "Input")]
    remote: bool,

    #[arg(
        long,
        value_name = "PATH",
        help = "PolicyExceptions of kyverno.io and policies.kyverno.io: a file, a directory with everything below it, or a glob",
        help_heading = "Request"
    )]
    exceptions: Vec<PathBuf>,
    /// Objects that context entries read: files, directories or globs.
    #[arg(long, value_name = "PATH", help_heading = "Request")]
    context_from: Vec<PathBuf>,
    #[arg(
        long,
        value_name = "FILE",
        help = "Image data for imageRegistry entries: documents of kind Context (cli.kyverno.io) with `images`",
        help_heading = "Request"
    )]
    images: Vec<PathBuf>,
    #[command(flatten)]
    values: ValueArguments,
    #[arg(
        long,
        value_name = "PATH",
        help = "CustomResourceDefinitions: schemas, defaults and scopes of custom resources",
        help_heading = "Request"
    )]
    crds: Vec<PathBuf>,

    #[command(flatten)]
    dialect: DialectArguments,
    /// Fail (exit code 3, nothing printed) on warnings, and if anything was not evaluated, depends on the order of
    /// policies, or is a divergence (KYV-Dnn). Applications can set it with the parameter `strict`.
    #[arg(long, help_heading = "Evaluation")]
    strict: bool,
    /// Render without policies that are refused and without the changes of policies with a failed rule. Their
    /// errors are on stderr, which Argo CD shows only in the log of the sidecar, and the exit code is 0.
    #[arg(long, conflicts_with = "strict", help_heading = "Evaluation")]
    keep_going: bool,
    /// Note policies and rules of kinds that this version does not evaluate, instead of failing (exit code 3).
    #[arg(long, help_heading = "Evaluation")]
    skip_unsupported: bool,
    /// What a failed rule does: the rendering fails, or its policy changes nothing and the error is on stderr.
    #[arg(long, value_name = "WHAT", value_enum, default_value = "fail", help_heading = "Evaluation")]
    on_error: OnError,
    /// Evaluate every changed object a second time, and report what a second run would change.
    #[arg(
        long,
        value_name = "BOOL",
        default_value_t = true,
        default_missing_value = "true",
        num_args = 0..=1,
        require_equals = true,
        action = ArgAction::Set,
        help_heading = "Evaluation"
    )]
    check_idempotent: bool,
    /// Set a limit on the size of inputs or on the work of a rule, such as yaml-depth=512 or steps=5000000.
    #[arg(long, value_name = "NAME=N", value_parser = limit, help_heading = "Evaluation")]
    limit: Vec<(String, usize)>,
    /// The time limit of kustomize and helm, such as 45s; 0 for none. They are ended when it is over.
    #[arg(
        long,
        env = "ARGOCD_EXEC_TIMEOUT",
        value_name = "TIME",
        value_parser = time_limit,
        default_value = "90s",
        help_heading = "Evaluation"
    )]
    timeout: Duration,

    /// Accept an application without objects. With pruning, Argo CD deletes the objects that it had.
    #[arg(long, help_heading = "Output")]
    allow_empty: bool,
    /// Print only errors on stderr, no notes and no summary.
    #[arg(short, long, help_heading = "Output")]
    quiet: bool,
}

/// What a failed rule does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OnError {
    /// The rendering fails.
    Fail,
    /// The changes of its policy are discarded.
    Warn,
}

/// Reads a time limit; an empty variable sets none of its own.
fn time_limit(text: &str) -> Result<Duration, ArgumentError> {
    if text.is_empty() { Ok(TIME_LIMIT) } else { request_timeout(text) }
}

pub(super) fn run(arguments: &Arguments) -> Exit {
    let options = RunOptions { quiet: arguments.quiet, ..RunOptions::default() };
    on_threads(&options, |reporter| match Run::prepare(arguments) {
        // Standard output is empty unless this is reached without an error.
        Ok(mut run) => {
            reporter.set_verbosity(run.options.verbosity());
            run.generate(reporter);
        }
        Err(errors) => errors.iter().for_each(|error| reporter.coded(error.exit(), error)),
    })
}

/// A run whose parameters are valid.
struct Run<'a> {
    arguments: &'a Arguments,
    watch: Watch,
    application: Application,
    parameters: Parameters,
    tree: Tree,
    options: RunOptions,
    /// Notes on the rendering.
    notes: Vec<(Code, String)>,
    /// Whether a policy looked at the time.
    varies_with_time: bool,
}

impl<'a> Run<'a> {
    /// Reads the parameters of the application.
    fn prepare(arguments: &'a Arguments) -> Result<Self, Vec<GenerateError>> {
        let watch = Watch::start(arguments.timeout).map_err(|cause| vec![GenerateError::Signals(cause)])?;
        let variables = super::variables();
        let value = |name: &str| variables.iter().find(|(known, _)| known == name).map(|(_, value)| value);
        let application = Application::read(|name| value(name).cloned());
        let parameters = Parameters::read(variables.iter().map(|(name, value)| (&**name, &**value)));
        let (application, parameters) = match (application, parameters) {
            (Ok(application), Ok(parameters)) => (application, parameters),
            (application, parameters) => {
                let errors = application.err().into_iter().chain(parameters.err().into_iter().flatten());
                return Err(errors.map(GenerateError::Application).collect());
            }
        };
        let tree =
            Tree::around(&application.source_path).map_err(|cause| vec![GenerateError::Folder(cause)])?;
        tree.check().map_err(|error| vec![error.into()])?;
        let options = options(arguments, &application, &parameters, &tree)?;
        Ok(Self {
            arguments,
            watch,
            application,
            parameters,
            tree,
            options,
            notes: Vec::new(),
            varies_with_time: false,
        })
    }

    fn generate(&mut self, reporter: &mut Reporter) {
        let Some(session) = Session::open(&self.options, reporter) else { return };
        self.forgive(reporter);
        let manifests = match self.render() {
            Ok(manifests) => manifests,
            Err(error) => return reporter.coded(error.exit(), &error),
        };
        let mut summary = RunSummary::without_impact();
        let is_loaded = reporter.exit() == Exit::Done;
        let evaluated = self.evaluate(&session, &manifests, &mut summary, reporter);
        let forgives = self.options.keep_going || self.forgives_rules() && is_loaded;
        if forgives && reporter.exit() == Exit::Evaluation {
            reporter.forgive();
        }
        match evaluated {
            Ok(spool) if reporter.exit() == Exit::Done => {
                for note in &self.notes {
                    reporter.note(note.0, &note.1);
                }
                let context = RunContext { varies_with_time: self.varies_with_time, ..session.context() };
                summary.close(&context, Closing::ALL, reporter);
                summary.complete();
                summary.report_totals(SummaryStyle::Line, reporter);
                // Notes are errors of a strict run.
                if reporter.exit() == Exit::Done {
                    self.print(spool, reporter);
                }
            }
            // The errors were reported. Notes would come before them in the user interface.
            Ok(_) => {}
            Err(error) => reporter.error(
                Exit::Input,
                Code::OutputFailed,
                format_args!("the result cannot be kept: {error}"),
            ),
        }
    }

    /// Makes errors that were reported until now harmless, if the run keeps going.
    const fn forgive(&self, reporter: &mut Reporter) {
        if self.options.keep_going {
            reporter.forgive();
        }
    }

    /// Whether a failed rule is no error of the run.
    fn forgives_rules(&self) -> bool {
        self.arguments.on_error == OnError::Warn && !self.options.strict
    }

    fn print(&self, spool: Spool, reporter: &mut Reporter) {
        let Ok(_occupied) = self.watch.print() else {
            return reporter.error(Exit::Interrupted, Code::Interrupted, ENDED);
        };
        if let Err(error) = spool.print_all_strictly() {
            reporter.error(
                Exit::Input,
                Code::OutputFailed,
                format_args!("the result cannot be written: {error}"),
            );
        }
    }

    fn render(&mut self) -> Result<Manifests, GenerateError> {
        let mut manifests = Manifests::new(self.options.input_limits);
        let renderer = match self.parameters.renderer {
            Some(renderer) => renderer,
            None => found().map_err(GenerateError::Folder)?,
        };
        let Parameters { value_files, values, set, recurse, images, .. } = &self.parameters;
        let is_for_helm = !value_files.is_empty()
            || values.as_ref().is_some_and(|text| !text.is_empty())
            || !set.is_empty();
        if is_for_helm && renderer != Renderer::Helm {
            return Err(GenerateError::OtherRenderer("helm", renderer.word()));
        }
        if !images.is_empty() && renderer != Renderer::Kustomize {
            return Err(GenerateError::OtherRenderer("kustomize", renderer.word()));
        }
        let text = match renderer {
            Renderer::Kustomize => self.kustomize()?,
            Renderer::Helm => self.helm()?,
            Renderer::Plain => {
                let walk = if *recurse { Walk::DeepWithoutDots } else { Walk::Flat };
                return match manifests.add(Path::new("."), walk) {
                    Err(SourceError::EmptyDirectory { .. }) if !self.arguments.allow_empty => {
                        let hint = " (those below are read with the parameter `recurse`)";
                        Err(GenerateError::NoManifests(if *recurse { "" } else { hint }))
                    }
                    Ok(()) | Err(SourceError::EmptyDirectory { .. }) => Ok(manifests),
                    Err(error) => Err(error.into()),
                };
            }
        };
        manifests.add_text(text);
        Ok(manifests)
    }

    fn kustomize(&mut self) -> Result<Arc<Source>, GenerateError> {
        let kustomization = Kustomization {
            application: &self.application,
            options: &self.arguments.kustomize_options,
            images: &self.parameters.images,
        };
        let build = kustomization.build();
        let Some(set_images) = kustomization.set_images()? else {
            return self.program("kustomize", build, None);
        };
        // kustomize writes them into the kustomization, which is not ours to change.
        let (_copy, folder) = self.tree.copy().map_err(GenerateError::Copy)?;
        self.program_in(&folder, "kustomize", set_images, None)?;
        self.program_in(&folder, "kustomize", build, None)
    }

    fn helm(&mut self) -> Result<Arc<Source>, GenerateError> {
        let Parameters { value_files, values, set, .. } = &self.parameters;
        let files = value_files.iter().map(|path| self.tree.find(path)).collect::<Result<Vec<_>, _>>();
        let files = files.map_err(|cause| GenerateError::Path { parameter: "helm-value-files", cause })?;
        let chart = Chart {
            application: &self.application,
            value_files: &files,
            values_on_stdin: values.is_some(),
            set,
        };
        let arguments = chart.arguments()?;
        let input = values.as_ref().map(|values| unlinked(values)).transpose();
        let input = input.map_err(GenerateError::TemporaryFile)?;
        if self.arguments.remote {
            if let Some(address) = self.tree.chart_out_of_reach() {
                return Err(GenerateError::Dependency(address));
            }
            self.program("helm", ["dependency", "build", "."].map(OsString::from).into(), None)?;
        }
        self.program("helm", arguments, input)
    }

    /// The standard output of a program in the folder of the application. Its standard error becomes notes.
    fn program(
        &mut self,
        name: &'static str,
        arguments: Vec<OsString>,
        input: Option<File>,
    ) -> Result<Arc<Source>, GenerateError> {
        let folder = self.tree.folder.clone();
        self.program_in(&folder, name, arguments, input)
    }

    fn program_in(
        &mut self,
        folder: &Path,
        name: &'static str,
        arguments: Vec<OsString>,
        input: Option<File>,
    ) -> Result<Arc<Source>, GenerateError> {
        const NOT_FETCHED: &str =
            "\nnothing is fetched for an application unless the plugin is started with --remote";
        const SIGNS_OF_FETCHING: [&str; 3] = ["proxyconnect", "' not allowed", "missing in charts"];
        let network = if self.arguments.remote { Network::Open } else { Network::Closed };
        let environment = Renderer::environment(std::env::vars_os(), network);
        let program = Program { name, arguments, environment, folder, input };
        let title = program.title();
        let run = program.run(self.options.input_limits.bytes, &self.watch);
        let Rendered { output, stderr } = run.map_err(|cause| {
            let text = cause.to_string();
            let is_cut_off = SIGNS_OF_FETCHING.iter().any(|sign| text.contains(sign));
            let hint = if is_cut_off && network == Network::Closed { NOT_FETCHED } else { "" };
            GenerateError::Program { cause, hint }
        })?;
        self.notes.extend(stderr.lines().map(|line| (Code::ProgramNote, format!("{name}: {line}"))));
        Ok(Source::from_bytes(title, output).map(Arc::new)?)
    }

    /// Evaluates the manifests. Errors are reported; the result is not printed yet.
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
        let collect = |evaluated: Evaluated, printed: Printed| {
            match printed {
                Printed::Objects(text) => {
                    summary.add(&evaluated, reporter);
                    summary.failed.add(&evaluated, session.policy_places(), reporter);
                    objects += evaluated.objects.len();
                    return spool.write_all(text.as_bytes());
                }
                Printed::NoObject if !manifests.is_rendered() => left_out.push(place(&evaluated)),
                Printed::NoObject => {
                    let text = "neither apiVersion nor kind: this is no object";
                    reporter.error(
                        Exit::Input,
                        Code::NoObject,
                        format_args!("{}: {text}", place(&evaluated)),
                    );
                }
                Printed::Incomplete => {
                    let text = "an object needs both apiVersion and kind";
                    reporter.error(
                        Exit::Input,
                        Code::NoObject,
                        format_args!("{}: {text}", place(&evaluated)),
                    );
                }
                Printed::Empty => {}
            }
            Ok(())
        };
        let evaluator = session.evaluator(world);
        evaluate_all(chunks(manifests.documents()), &evaluator, printed, collect, |error| {
            errors.push(error);
        })?;
        for error in &errors {
            // Without the excerpt, which may be of a Secret: all users of the application see the message.
            let text = error.to_string();
            reporter.error(Exit::of(error), error.code(), text.lines().next().unwrap_or_default());
        }
        session.report_cluster_errors(world, reporter);
        self.varies_with_time = world.inner().uses_time();
        if !left_out.is_empty() {
            let documents = counted(left_out.len(), "document");
            let names = listed(left_out.into_iter());
            let text = format!("{documents} without apiVersion and kind left out: {names}");
            self.notes.push((Code::PassedThrough, text));
        }
        if objects == 0 && reporter.exit() == Exit::Done && !self.arguments.allow_empty {
            let text = "no object was rendered; Argo CD would delete all objects of the application (--allow-empty accepts it)";
            reporter.error(Exit::Input, Code::NoManifests, text);
        }
        Ok(spool)
    }
}

/// A document of the result.
enum Printed {
    /// One or several objects, as text.
    Objects(String),
    /// Neither apiVersion nor kind.
    NoObject,
    /// One of the two.
    Incomplete,
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
) -> Result<RunOptions, Vec<GenerateError>> {
    let mut errors = Vec::new();
    let own = [
        ("--policy", &*arguments.policy),
        ("--policy-sets", arguments.policy_sets.as_slice()),
        ("--exceptions", &arguments.exceptions),
        ("--context-from", &arguments.context_from),
        ("--images", &arguments.images),
        ("--values", arguments.values.values.as_slice()),
        ("--userinfo", arguments.values.userinfo.as_slice()),
        ("--crds", &arguments.crds),
    ];
    for (flag, path) in own.into_iter().flat_map(|(flag, paths)| paths.iter().map(move |path| (flag, path))) {
        if !path.is_absolute() {
            errors.push(GenerateError::Relative { flag, path: path.clone() });
        } else if tree.holds(path) {
            errors.push(GenerateError::InsideApplication { flag, path: path.clone() });
        }
    }
    let mut policies = Vec::new();
    if !parameters.policies.is_empty() && !arguments.app_policies {
        errors.push(GenerateError::AppPolicies);
    } else {
        for path in &parameters.policies {
            match tree.find(path) {
                Ok(path) => policies.push(path),
                Err(cause) => errors.push(GenerateError::Path { parameter: "policies", cause }),
            }
        }
    }
    let project = arguments.project_set.then_some(&*application.project);
    match policy_sets(arguments.policy_sets.as_deref(), &parameters.policy_sets, project) {
        Ok(sets) => policies.extend(sets),
        Err(error) => errors.push(error),
    }
    if !errors.is_empty() {
        return Err(errors);
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
        view: arguments.dialect.view,
        service_account_token: arguments.dialect.service_account_token,
        input_limits,
        evaluation_limits,
        strict: arguments.strict || parameters.strict,
        keep_going: arguments.keep_going && !parameters.strict,
        skip_unsupported: arguments.skip_unsupported,
        check_idempotent: arguments.check_idempotent,
        quiet: arguments.quiet,
        verbose: true,
        input_names: InputNames::PLUGIN,
        ..RunOptions::default()
    })
}
