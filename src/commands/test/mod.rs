//! `test`: runs Kyverno's test suites.

mod init;
mod load;
mod mutants;
mod run;
mod selector;
mod update;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use jiff::Timestamp;

use crate::diagnostics::{Code, Coded as _};
use crate::engine::InputNames;
use crate::render::{
    FindingWriter, Github, Gitlab, Palette, RunEnd, Sarif, SuiteView, counted, coverage_json, coverage_lcov,
    coverage_text, mutants_json, mutants_text, printable_json, suite_findings, suite_totals, suites_json,
    suites_junit, suites_markdown, suites_text, unsupported_rows,
};
use crate::report::{Diagnostic, Severity, SuiteCounts, SuiteReport, UnloadedSuite};
use crate::semantics::DivergenceSet;
use crate::source::{PolicyWarning, SourceError, custom_kinds, find_suites};
use crate::suite::{Coverage, Mutants};

use super::arguments::{DialectArguments, EngineArguments};
use super::color::Color;
use super::exit::Exit;
use super::options::RunOptions;
use super::policy_notes::warnings;
use super::reporter::Reporter;
use super::session::{kind_schemas, on_threads, schemas};
use super::terminal;
use super::version::print;
use run::{Runner, SuiteResult};
use selector::Selector;

const EXAMPLES: &str = "\
Examples:
  # Run all suites below the current directory
  kubectl kyv test

  # Run the rows of one policy, and show only what fails
  kubectl kyv test policies/ -t policy=add-labels --fail-only

  # A report for a pipeline
  kubectl kyv test policies/ -o junit > report.xml

  # Write the current results to the files of expected objects
  kubectl kyv test policies/add-labels --update

  # Write a suite for a policy
  kubectl kyv test --init policies/add-labels.yaml";

const LEGACY_HELP: &str = "\
How to interpret `overlay` and `patches`, the legacy fields of mutate rules. Kyverno 1.19 refuses policies with them: \
with --semantics kyverno the rules run only with native or smp";

/// What a suite is called unless `--file-name` says otherwise.
const FILE_NAMES: [&str; 2] = ["kyverno-test.yaml", "kyverno-test.yml"];

/// Run Kyverno test suites.
///
/// Exits with 0 if all results are as expected, with 1 if not, and with 2 if a suite could not be loaded. The
/// other suites are run anyway. Rows about mutations that are not evaluated end in exit code 3. Other rows that
/// are not evaluated fail only with --strict.
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, help_template = super::HELP)]
#[command(mut_arg("legacy", |legacy| legacy.help(LEGACY_HELP)))]
#[command(mut_arg("view", |view| view.default_value("written")))]
pub(super) struct Arguments {
    /// Directories with suites in or below them, or suites; by default the current directory.
    #[arg(value_name = "DIR")]
    paths: Vec<PathBuf>,
    /// The file name of suites; by default kyverno-test.yaml and kyverno-test.yml.
    #[arg(short, long, value_name = "NAME", help_heading = "Input")]
    file_name: Option<String>,
    /// Run only rows with these policies, rules and resources; * and ? are wildcards.
    #[arg(
        short = 't',
        long,
        value_name = "policy=P,rule=R,resource=N",
        default_value = "",
        hide_default_value = true,
        value_parser = Selector::parse,
        help_heading = "Input"
    )]
    test_case_selector: Selector,
    /// Fail if there is no suite, or if -t selects no row.
    #[arg(long, help_heading = "Input")]
    require_tests: bool,
    #[arg(
        long,
        value_name = "PATH",
        value_delimiter = ',',
        help = "CustomResourceDefinitions: schemas, defaults and scopes of custom resources",
        help_heading = "Input"
    )]
    crds: Vec<PathBuf>,

    #[command(flatten)]
    dialect: DialectArguments,
    /// Fail for rows that compared nothing or were not evaluated, and for names that no object has.
    #[arg(long, help_heading = "Evaluation")]
    strict: bool,
    /// Note rows about policies and rules of kinds that this version does not evaluate, instead of failing (exit code
    /// 3).
    #[arg(long, help_heading = "Evaluation")]
    skip_unsupported: bool,
    #[command(flatten)]
    engine: EngineArguments,
    /// The number of suites that run at once; by default one for each processor.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), help_heading = "Evaluation")]
    workers: Option<u16>,

    /// The output format; by default tables.
    #[arg(short, long, alias = "output-format", value_name = "FORMAT", value_enum, help_heading = "Output")]
    output: Option<Output>,
    /// Print what the suites reach of the rules instead of the results: rules that change no object, and rules
    /// whose conditions are never false.
    #[arg(
        long,
        value_name = "FORMAT",
        value_enum,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "text",
        conflicts_with_all = ["output", "update", "init"],
        help_heading = "Output"
    )]
    coverage: Option<CoverageFormat>,
    /// Put small faults into the policies, one at a time, and print those that no suite notices instead of the
    /// results. A fault is a condition or an anchor removed, an operator turned, a value changed.
    #[arg(
        long,
        value_name = "FORMAT",
        value_enum,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "text",
        conflicts_with_all = ["output", "coverage", "update", "init"],
        help_heading = "Output"
    )]
    mutants: Option<MutantsFormat>,
    /// Show only what fails.
    #[arg(long, help_heading = "Output")]
    fail_only: bool,
    /// Also show the messages of the rules.
    #[arg(long, help_heading = "Output")]
    detailed_results: bool,
    /// Show differences, write the results to the files of expected objects, create files that do not exist,
    /// and run again.
    #[arg(long, help_heading = "Output")]
    update: bool,
    /// Write a suite for this policy, and run it: kyverno-test.yaml, objects that its rules change and objects
    /// that they do not select, and expected objects. The suite is written to DIR, by default to
    /// .kyverno-test beside the policy. Files that exist stay as they are.
    #[arg(long, value_name = "POLICY", conflicts_with_all = ["update", "file_name"], help_heading = "Output")]
    init: Option<PathBuf>,
    /// When to colour diffs.
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Color::Auto, help_heading = "Output")]
    color: Color,
    /// Print only errors on stderr, no notes.
    #[arg(short, long, help_heading = "Output")]
    quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// All suites with their rows, and the counts.
    Json,
    #[value(help = "One JUnit document: a suite for each file, a case for each row")]
    Junit,
    /// Tables, for a pull request.
    Markdown,
    /// A SARIF log, for code scanning: what fails.
    Sarif,
    /// Annotations, workflow commands of GitHub Actions: what fails.
    Github,
    /// A Code Quality report of GitLab: what fails.
    Gitlab,
}

/// How `--coverage` shows what suites reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum CoverageFormat {
    /// What is missing, a line each.
    Text,
    /// All rules as one JSON object.
    Json,
    /// A trace of LCOV, for programs that show coverage.
    Lcov,
}

/// How `--mutants` shows what suites notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum MutantsFormat {
    /// The faults that no suite notices, a line each.
    Text,
    /// All faults as one JSON object.
    Json,
}

pub(super) fn run(arguments: &Arguments) -> Exit {
    let options = arguments.engine.options();
    let options = RunOptions {
        dialect: arguments.dialect.dialect(),
        view: arguments.dialect.view,
        service_account_token: arguments.dialect.service_account_token,
        // `--strict` is about rows: a note about a suite does not make it fail.
        strict: false,
        quiet: arguments.quiet,
        workers: arguments.workers.map_or(0, usize::from),
        now: options.now.or_else(|| Some(Timestamp::now())),
        ..options
    };
    on_threads(&options, |reporter| {
        reporter.set_color(arguments.color);
        let files = match &arguments.init {
            Some(policy) => {
                let folder = arguments.paths.first().map(PathBuf::as_path);
                init::write(policy, folder, &options, reporter).map(|suite| vec![suite])
            }
            None => find(arguments, reporter),
        };
        let Some(files) = files else { return };
        let limits = &options.input_limits;
        let Some(kinds) = reporter.loaded(custom_kinds(&arguments.crds, limits)) else { return };
        let Some(schemas) = reporter.valid(schemas(&kinds)) else { return };
        let kind_schemas = kind_schemas(&kinds);
        let runner = Runner {
            options: &options,
            kinds: &kinds,
            schemas,
            admission: options.admission(&kind_schemas),
            kind_schemas,
            selector: &arguments.test_case_selector,
            covers: arguments.coverage.is_some(),
            mutates: arguments.mutants.is_some(),
        };
        let mut results = runner.run(&files);
        let rewrites = results.iter().flat_map(|result| &result.rewrites);
        let creations = results.iter().flat_map(|result| &result.creations);
        if arguments.update {
            for row in results.iter().flat_map(|result| &result.not_updated) {
                reporter.error(Exit::Changes, Code::NotUpdated, format_args!("{row}; not updated"));
            }
        }
        let is_written = if arguments.init.is_some() {
            update::create(creations, limits, reporter)
        } else if arguments.update {
            update::write(rewrites, limits, reporter) | update::create(creations, limits, reporter)
        } else {
            false
        };
        if is_written {
            results = runner.run(&files);
        }
        finish(arguments, results, reporter);
    })
}

fn find(arguments: &Arguments, reporter: &mut Reporter) -> Option<Vec<PathBuf>> {
    let here = [PathBuf::from(".")];
    let roots = if arguments.paths.is_empty() { &here[..] } else { &arguments.paths };
    let names: Vec<&OsStr> = match &arguments.file_name {
        Some(name) => vec![OsStr::new(name)],
        None => FILE_NAMES.iter().map(OsStr::new).collect(),
    };
    let mut files: Vec<PathBuf> = Vec::new();
    let mut seen = BTreeSet::new();
    let mut errors = Vec::new();
    for root in roots {
        match find_suites(root, &names) {
            Ok(found) => files.extend(found.into_iter().filter(|file| seen.insert(file.clone()))),
            Err(error) => errors.push(error),
        }
    }
    if !errors.is_empty() {
        reporter.source_errors(&errors);
        return None;
    }
    if files.is_empty() {
        let roots: Vec<_> = roots.iter().map(|root| root.display().to_string()).collect();
        let names: Vec<_> = names.iter().map(|name| name.to_string_lossy()).collect();
        let message = format!("no suite ({}) in {}", names.join(", "), roots.join(", "));
        failure_or_note(arguments.require_tests, &message, reporter);
    }
    Some(files)
}

/// Reports that nothing was run.
fn failure_or_note(is_failure: bool, message: &str, reporter: &mut Reporter) {
    if is_failure {
        reporter.error(Exit::Changes, Code::NoSuite, message);
    } else {
        reporter.note(Code::NoSuite, message);
    }
}

/// Reports notes and errors, and prints the results.
fn finish(arguments: &Arguments, results: Vec<SuiteResult>, reporter: &mut Reporter) {
    let palette = if arguments.output.is_none() { arguments.color.palette() } else { Palette::Plain };
    let view = SuiteView {
        fail_only: arguments.fail_only,
        detailed: arguments.detailed_results,
        strict: arguments.strict,
        skips_unsupported: arguments.skip_unsupported,
        palette,
        width: terminal::width(&io::stdout()),
    };
    let mut divergences = DivergenceSet::NONE;
    let mut unloaded = Vec::new();
    let is_idle = !results.is_empty() && results.iter().all(|result| matches!(result.report, Ok(None)));
    let mut reports: Vec<SuiteReport> = Vec::new();
    let mut policy_warnings: Vec<PolicyWarning> = Vec::new();
    let mut coverage = Coverage::default();
    let mut mutants = Mutants::default();
    for result in results {
        coverage.add(result.coverage);
        mutants.add(result.mutants);
        // Suites may share policies.
        for warning in result.warnings {
            if !policy_warnings.contains(&warning) {
                policy_warnings.push(warning);
            }
        }
        result.notes.iter().for_each(|note| reporter.note(Code::SuiteNote, note));
        result.unmatched_names.iter().for_each(|note| reporter.note(Code::RowWithoutObject, note));
        if arguments.strict && !result.unmatched_names.is_empty() {
            reporter.worsen(Exit::Changes);
        }
        divergences.extend(result.divergences);
        match result.report {
            Ok(report) => reports.extend(report),
            Err(errors) => {
                reporter.source_errors(&errors);
                let reason = |error: &SourceError| Diagnostic {
                    severity: Severity::Error,
                    code: error.code().to_string(),
                    // Without lines of files, which may be of a Secret.
                    message: format!("{error:#}"),
                };
                let reasons = errors.iter().map(reason).collect();
                unloaded.push(UnloadedSuite { file: result.file, reasons });
            }
        }
    }
    reporter.notes(&warnings(&policy_warnings, Some(InputNames::SUITE.user), reporter.is_verbose()));
    reporter.divergences(divergences, arguments.dialect.dialect().semantics);
    if !unloaded.is_empty() {
        let suites = counted(unloaded.len(), "suite");
        reporter.error(Exit::Input, Code::SuiteNotLoaded, format_args!("{suites} could not be loaded"));
    }
    if is_idle && arguments.test_case_selector != Selector::default() {
        let message = "--test-case-selector selects no row: nothing was run";
        failure_or_note(arguments.require_tests || arguments.strict, message, reporter);
    }
    if reports.iter().flat_map(|report| &report.rows).any(|row| view.fails(row)) {
        reporter.worsen(Exit::Changes);
    }
    for line in unsupported_rows(&reports) {
        if arguments.skip_unsupported {
            reporter.note(Code::RowNotEvaluated, &line);
        } else {
            reporter.error(Exit::Evaluation, Code::RowNotEvaluated, line);
        }
    }
    let text = match (arguments.coverage, arguments.mutants) {
        (Some(CoverageFormat::Text), _) => coverage_text(coverage.rules()),
        (Some(CoverageFormat::Json), _) => coverage_json(coverage.rules()),
        (Some(CoverageFormat::Lcov), _) => coverage_lcov(coverage.rules()),
        (None, Some(MutantsFormat::Text)) => mutants_text(mutants.all()),
        (None, Some(MutantsFormat::Json)) => mutants_json(mutants.all()),
        (None, None) => report(arguments.output, (&reports, &unloaded), &view, reporter),
    };
    reporter.worsen(print(&text));
    if arguments.output.is_some() || arguments.coverage.is_some() || arguments.mutants.is_some() {
        reporter.summary(&suite_totals(&SuiteCounts::of(&reports)));
    }
}

/// The results in a format; without one as tables.
fn report(
    format: Option<Output>,
    (reports, unloaded): (&[SuiteReport], &[UnloadedSuite]),
    view: &SuiteView,
    reporter: &Reporter,
) -> String {
    match format {
        None => suites_text(reports, view),
        Some(Output::Json) => {
            let report = suites_json(reports, unloaded, view, reporter.diagnostics());
            printable_json(report.to_pretty_json(2)) + "\n"
        }
        Some(Output::Junit) => suites_junit(reports, unloaded, view),
        Some(Output::Markdown) => suites_markdown(reports, unloaded, view),
        Some(Output::Sarif) => problems(Sarif::default(), reports, view, reporter),
        Some(Output::Github) => problems(Github, reports, view, reporter),
        Some(Output::Gitlab) => problems(Gitlab::default(), reports, view, reporter),
    }
}

/// What fails, in the format of another program.
fn problems(
    mut writer: impl FindingWriter,
    reports: &[SuiteReport],
    view: &SuiteView,
    reporter: &Reporter,
) -> String {
    let mut out = Vec::new();
    let end = RunEnd { diagnostics: reporter.diagnostics(), gaps: reporter.gaps() };
    let mut groups = reports.iter().map(|report| suite_findings(report, view));
    let written = groups.try_for_each(|group| writer.group(&group, &mut out));
    // Memory takes everything.
    let _written = written.and_then(|()| writer.finish(&end, &mut out));
    String::from_utf8(out).unwrap_or_default()
}
