//! `lint`: what policies say, without objects.

mod baseline;
mod collect;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::diagnostics::Code;
use crate::lint::Baseline;
use crate::render::{
    FindingWriter, Github, Gitlab, JunitFindings, LeftOut, LintFinding, RunEnd, Sarif, counted, lint_json,
    lint_text,
};
use crate::report::{FilePlace, Finding, FindingGroup, FindingResult};
use crate::source::{PolicyFile, SourceError, WrittenPolicy, read_baseline, replace_read_file};
use crate::value::{Pointer, Value};

use super::arguments::SemanticsArguments;
use super::exit::Exit;
use super::options::RunOptions;
use super::reporter::Reporter;
use super::session::on_threads;
use super::spool::Spool;

use baseline::KnownFindings;
use collect::{FileFindings, collect};

const EXAMPLES: &str = "\
Examples:
  # What is wrong with the policies of a directory
  kubectl kyv lint -p policies/

  # Also what may be written better, and what is good to know
  kubectl kyv lint -p policies/ --level note

  # Correct what has one correction
  kubectl kyv lint -p policies/ --fix

  # Accept today's findings, and report new ones from now on
  kubectl kyv lint -p policies/ --write-baseline lint-baseline.yaml
  kubectl kyv lint -p policies/ --baseline lint-baseline.yaml

  # For code scanning
  kubectl kyv lint -p policies/ -o sarif >kyv.sarif";

/// Find what policies do not do as they say, without objects.
///
/// Each finding has a code, a place and a cure. `kubectl kyv explain KYV903` prints the page on a code.
/// A comment `# kyv:ignore KYV903 REASON` suppresses a finding of its line, or of the node below it.
///
/// Exits with 1 if there are findings, with 0 if not, and with 2 if a policy is refused or cannot be read.
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, help_template = super::HELP)]
pub(super) struct Arguments {
    /// Policies: a file, a directory with everything below it, a glob, or - for standard input.
    #[arg(short, long, value_name = "PATH", required = true, value_delimiter = ',', help_heading = "Input")]
    policy: Vec<PathBuf>,
    /// A file with findings that are known and not reported.
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    baseline: Option<PathBuf>,
    #[command(flatten)]
    semantics: SemanticsArguments,
    /// The lowest level of findings that are reported.
    #[arg(long, value_name = "NAME", value_enum, default_value_t = Level::Warning, help_heading = "Evaluation")]
    level: Level,
    /// Correct the policies in their files where there is one correction. All else in them stays as it is.
    #[arg(long, help_heading = "Output")]
    fix: bool,
    /// Write the findings to a file for --baseline, instead of reporting them.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["baseline", "fix"], help_heading = "Output")]
    write_baseline: Option<PathBuf>,
    /// The output format.
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t = Output::Text, help_heading = "Output")]
    output: Output,
    /// Print only errors on stderr, no notes and no summary.
    #[arg(short, long, help_heading = "Output")]
    quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Level {
    /// Also what may be written better, and what is good to know.
    Note,
    /// What is not done as it is said.
    Warning,
    /// Policies that are refused.
    Error,
}

impl Level {
    const fn result(self) -> FindingResult {
        match self {
            Self::Note => FindingResult::Note,
            Self::Warning => FindingResult::Warning,
            Self::Error => FindingResult::Error,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// The findings, each with its line.
    Text,
    /// The findings as one JSON object.
    Json,
    /// A SARIF log, for code scanning.
    Sarif,
    /// Annotations, workflow commands of GitHub Actions.
    Github,
    /// A Code Quality report of GitLab.
    Gitlab,
    #[value(help = "One JUnit document: a suite for each file")]
    Junit,
}

impl Output {
    /// The format of another program.
    fn writer(self) -> Option<Box<dyn FindingWriter>> {
        Some(match self {
            Self::Text | Self::Json => return None,
            Self::Sarif => Box::new(Sarif::default()),
            Self::Github => Box::new(Github),
            Self::Gitlab => Box::new(Gitlab::default()),
            Self::Junit => Box::new(JunitFindings::default()),
        })
    }
}

/// How often files are corrected: each time more may be found.
const MAX_ROUNDS: usize = 5;

pub(super) fn run(arguments: &Arguments) -> Exit {
    let options = RunOptions {
        dialect: arguments.semantics.dialect(),
        quiet: arguments.quiet,
        ..RunOptions::default()
    };
    on_threads(&options, |reporter| arguments.lint(&options, reporter))
}

impl Arguments {
    fn lint(&self, options: &RunOptions, reporter: &mut Reporter) {
        let baseline = match &self.baseline {
            Some(path) => match reporter.loaded(read_baseline(path, &options.input_limits)) {
                Some(baseline) => Some(baseline),
                None => return,
            },
            None => None,
        };
        let read = || PolicyFile::read_all(&self.policy, options.dialect, &options.input_limits);
        let (files, errors) = read();
        reporter.source_errors(&errors);
        let Findings { mut found, known, left_out } = self.findings(&files, baseline.clone());
        if self.fix {
            let fixed = found.iter_mut().filter_map(|one| fix(one, reporter)).count();
            if fixed > 0 && !self.policy.iter().any(|path| path.as_os_str() == "-") {
                return self.fix_the_rest(&read, baseline.as_ref(), reporter);
            }
        }
        if let Some(path) = &self.write_baseline {
            baseline::write(path, &found, reporter);
            // A refused policy is no finding to live with.
            for one in &mut found {
                one.findings.retain(|finding| finding.shown.finding.result == FindingResult::Error);
            }
            if found.iter().all(|one| one.findings.is_empty()) {
                return;
            }
        }
        self.report(&files, (&found, &known, left_out), reporter);
    }

    /// Lints corrected files again, and corrects what is found then: a policy that was refused had no other findings.
    fn fix_the_rest(
        &self,
        read: &dyn Fn() -> (Vec<PolicyFile>, Vec<SourceError>),
        baseline: Option<&Baseline>,
        reporter: &mut Reporter,
    ) {
        for round in 1.. {
            let (files, _) = read();
            let Findings { mut found, known, left_out } = self.findings(&files, baseline.cloned());
            let fixed = match round {
                ..MAX_ROUNDS => found.iter_mut().filter_map(|one| fix(one, reporter)).count(),
                _ => 0,
            };
            if fixed == 0 {
                return self.report(&files, (&found, &known, left_out), reporter);
            }
        }
    }

    /// The findings of files, at this level and not in the baseline.
    fn findings<'f>(&self, files: &'f [PolicyFile], baseline: Option<Baseline>) -> Findings<'f> {
        let mut known = baseline.map_or_else(KnownFindings::default, KnownFindings::new);
        let mut left_out = LeftOut::default();
        let mut found: Vec<FileFindings<'_>> = files.iter().map(collect).collect();
        let level = self.level.result();
        for one in &mut found {
            left_out.suppressed += one.suppressed;
            // Findings below the level are known, too.
            one.findings.retain(|finding| {
                let is_shown = finding.shown.finding.result >= level;
                let is_known = self.baseline.as_ref().is_some_and(|path| known.take(&finding.shown, path));
                left_out.known += usize::from(is_shown && is_known);
                is_shown && !is_known
            });
        }
        Findings { found, known, left_out }
    }

    fn report(
        &self,
        files: &[PolicyFile],
        (found, known, left_out): (&[FileFindings<'_>], &KnownFindings, LeftOut),
        reporter: &mut Reporter,
    ) {
        if let Some(path) = &self.baseline {
            known.report_gone(path, files, reporter);
        }
        self.print(found, left_out, reporter);
        self.finish(files, found, left_out, reporter);
    }

    fn print(&self, found: &[FileFindings<'_>], left_out: LeftOut, reporter: &mut Reporter) {
        let shown = || found.iter().flat_map(|one| &one.findings).map(|finding| &finding.shown);
        let mut spool = Spool::new();
        let written = match self.output.writer() {
            Some(mut writer) => {
                let end = RunEnd { diagnostics: reporter.diagnostics(), gaps: reporter.gaps() };
                let mut groups = found.iter().map(group);
                groups
                    .try_for_each(|group| writer.group(&group, &mut spool))
                    .and_then(|()| writer.finish(&end, &mut spool))
            }
            None if self.output == Output::Json => {
                spool.write_all(lint_json(shown(), left_out, reporter.diagnostics()).as_bytes())
            }
            None => spool.write_all(lint_text(shown()).as_bytes()),
        };
        if let Err(error) = written.and_then(|()| spool.print_all()) {
            reporter.unwritten(&error);
        }
    }

    fn finish(
        &self,
        files: &[PolicyFile],
        found: &[FileFindings<'_>],
        left_out: LeftOut,
        reporter: &mut Reporter,
    ) {
        let shown: Vec<&Finding> =
            found.iter().flat_map(|one| &one.findings).map(|finding| &finding.shown.finding).collect();
        if !shown.is_empty() {
            reporter.worsen(Exit::Changes);
        }
        if shown.iter().any(|finding| finding.result == FindingResult::Error) {
            reporter.worsen(Exit::Input);
        }
        // A comment that suppresses nothing is of no policy.
        let named: BTreeSet<_> = shown
            .iter()
            .filter(|finding| !finding.policy.is_empty())
            .map(|finding| (finding.place.as_ref().map(|place| &place.file), &finding.policy))
            .collect();
        let policies = counted_policies(files.iter().map(|file| file.policies.len()).sum());
        let found = match shown.len() {
            0 => format!("no findings in {policies}"),
            count => format!("{} in {} of {policies}", counted(count, "finding"), named.len()),
        };
        let left_out = [(left_out.suppressed, "suppressed"), (left_out.known, "in the baseline")];
        let left_out = left_out.into_iter().filter(|(count, _)| *count > 0);
        let mut parts = vec![found];
        parts.extend(left_out.map(|(count, what)| format!("{count} {what}")));
        if !files.is_empty() {
            reporter.summary(&parts.join(", "));
        }
    }
}

fn counted_policies(count: usize) -> String {
    if count == 1 { "1 policy".to_owned() } else { format!("{count} policies") }
}

/// The findings of a file as those formats have them that are for other programs.
fn group(one: &FileFindings<'_>) -> FindingGroup {
    let place = FilePlace { file: one.file_name.clone(), line: 1, column: None };
    let findings = one.findings.iter().map(|finding| finding.shown.finding.clone()).collect();
    FindingGroup { object: None, place: Some(place), findings }
}

/// Corrects a file, and takes out the findings that are corrected. `None` if nothing was corrected.
fn fix(one: &mut FileFindings<'_>, reporter: &mut Reporter) -> Option<()> {
    let fixes: Vec<(_, _, &Value)> = one
        .findings
        .iter()
        .filter_map(|finding| Some((finding.policy?, &finding.shown.pointer, finding.fix.as_ref()?)))
        .collect();
    // What is below another correction comes first.
    let is_above = |(policy, pointer, _): &(&WrittenPolicy, &Pointer, &Value)| {
        fixes.iter().any(|(other, below, _)| {
            std::ptr::eq(*policy, *other) && pointer != below && pointer.contains(below)
        })
    };
    let fixes: Vec<_> = fixes.iter().filter(|fix| !is_above(fix)).copied().collect();
    if fixes.is_empty() {
        return None;
    }
    let Some(path) = &one.file.path else {
        let message = "--fix edits regular files only, and standard input is none";
        reporter.error(Exit::Input, Code::NotARegularFile, message);
        return None;
    };
    let Some(text) = one.file.with_values(&fixes) else {
        let message = format!("{}: not corrected: its layout is not understood", path.display());
        reporter.warning(Code::NothingWritten, message);
        return None;
    };
    let count = fixes.len();
    match replace_read_file(path, one.file.source.text().as_bytes(), text.as_bytes()) {
        Ok(()) => {
            reporter.summary(&format!("{}: {} corrected", path.display(), counted(count, "finding")));
            one.findings.retain(|finding| finding.fix.is_none());
            Some(())
        }
        Err(error) => {
            reporter.source_error(&error);
            None
        }
    }
}

/// The findings of all files.
struct Findings<'f> {
    found: Vec<FileFindings<'f>>,
    /// Those of the baseline that were not found.
    known: KnownFindings,
    left_out: LeftOut,
}

/// A finding of a file, with what corrects it.
#[derive(Debug)]
struct Found<'f> {
    shown: LintFinding,
    /// The policy; `None` for what is about the file.
    policy: Option<&'f WrittenPolicy>,
    fix: Option<Value>,
}
