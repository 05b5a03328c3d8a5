//! The driver of all commands that print what policies do: documents are evaluated in parallel and printed in order,
//! then come the notes, the summary and the exit code.

use std::io;

use crate::diagnostics::Code;
use crate::engine::Engine;
use crate::render::{DocumentView, Format, ObjectView, Prepared, RunTotals, counted, first_names};
use crate::report::ObjectReport;
use crate::source::{InputBatch, InputErrors};

use super::evaluate::Evaluated;
use super::exit::Exit;
use super::external_diff::ExternalDiff;
use super::options::{PolicyCheck, RunOptions};
use super::pager::Pager;
use super::pipeline::evaluate_all;
use super::policy_places::CachedPlaces;
use super::reporter::Reporter;
use super::selection::Selection;
use super::server_dry_run::DryRuns;
use super::session::{RunWorld, Session};
use super::summary::{Closing, RunSummary, SummaryStyle};

/// What is said when `check --generated` has made fewer objects than planned.
const STOPPED_EARLY: &str =
    "fewer objects than planned were made from the conditions of the policies: the limit of work was reached";

/// How many policies a note names; the rest is counted.
const NAMED_POLICIES: usize = 3;

/// The part of a result that is shown, and its format.
pub(super) struct Presentation<'a> {
    pub(super) format: &'a dyn Format,
    pub(super) summary: SummaryStyle,
    /// The rules and objects that are shown; `None` for all.
    pub(super) selection: Option<&'a Selection>,
    pub(super) closing: Closing,
    /// Whether each changed object is sent to the API server as a dry run.
    pub(super) server_dry_run: bool,
    /// What shows a result that is longer than the screen.
    pub(super) pager: Option<Pager>,
    /// The program that shows the differences.
    pub(super) external_diff: Option<&'a ExternalDiff>,
    /// The seed of generated objects, if findings are looked for on such, too.
    pub(super) generated: Option<u64>,
}

impl<'a> Presentation<'a> {
    /// All results in one of the formats.
    pub(super) fn new(format: &'a dyn Format, summary: SummaryStyle, options: &RunOptions) -> Self {
        Self {
            format,
            summary: if options.summary_tables { summary.with_tables() } else { summary },
            selection: None,
            closing: Closing { unmatched_rules: !options.has_generated_objects_alone(), ..Closing::ALL },
            server_dry_run: false,
            pager: if options.pager { Pager::of_stdout() } else { None },
            external_diff: None,
            generated: options.generated.then_some(options.seed),
        }
    }

    fn counts_impact(&self) -> bool {
        self.format.shows_impact() || self.summary.shows_impact()
    }

    /// Evaluates all documents of a run and prints the result, unless some input could not be read. Errors are reported.
    pub(super) fn run(
        &self,
        session: &Session,
        world: &RunWorld,
        batches: impl Iterator<Item = InputBatch>,
        reporter: &mut Reporter,
    ) -> RunSummary {
        let mut summary =
            if self.counts_impact() { RunSummary::default() } else { RunSummary::without_impact() };
        let printed = self.print(session, world, batches, &mut summary, reporter);
        reporter.release();
        if let Err(error) = printed {
            reporter.unwritten(&error);
        }
        summary
    }

    fn print(
        &self,
        session: &Session,
        world: &RunWorld,
        batches: impl Iterator<Item = InputBatch>,
        summary: &mut RunSummary,
        reporter: &mut Reporter,
    ) -> io::Result<()> {
        let generated = self.generated.map(|seed| session.check_generated(seed, world, reporter));
        summary.has_findings |= generated.as_ref().is_some_and(|generated| !generated.findings.is_empty());
        let mut evaluator = session.evaluator(world);
        evaluator.keeps_whole = self.server_dry_run;
        let cluster = session.cluster.as_deref().filter(|_| self.server_dry_run);
        let dry_runs = cluster.map(|cluster| DryRuns::new(cluster, &evaluator));
        let mut writer = self.format.writer();
        let mut spool = session.spool(self.pager.clone(), reporter);
        let mut errors = InputErrors::default();
        let mut secrets = 0;
        let places = CachedPlaces::new(session.policy_places());
        let keeps_changes = self.format.keeps_changes() || self.counts_impact();
        let prepare = |evaluated: &mut Evaluated| {
            let prepared = self.prepare(evaluated, evaluator.shows_secrets, dry_runs, &places);
            session.missing_schemas.add(evaluated);
            if !keeps_changes {
                // The memory serves the next object of the thread.
                evaluated.objects.iter_mut().for_each(|object| object.report.drop_changes());
            }
            prepared
        };
        let consume = |evaluated: Evaluated, prepared: Prepared| {
            summary.add(&evaluated, reporter);
            if !self.format.shows_errors() {
                summary.failed.add(&evaluated, session.policy_places(), reporter);
            }
            if let Some(edited) = &prepared.edited {
                summary.add_edit(&evaluated, edited);
            }
            let is_printed = |report: &&ObjectReport| self.format.prints_secret_values_of(report);
            secrets += evaluated.objects.iter().map(|object| &object.report).filter(is_printed).count();
            if !evaluated.is_unchanged_target() || self.format.shows_unchanged_targets() {
                writer.write(&view(&evaluated, &places), prepared, &mut spool)?;
            }
            if spool.is_due() { reporter.suspend_progress(|| spool.print_pending()) } else { Ok(()) }
        };
        let evaluated = evaluate_all(batches, &evaluator, prepare, consume, |error| errors.push(error));
        // The result comes first.
        reporter.hold();
        summary.failed.report(reporter);
        evaluated?;
        reporter.unread_files(&errors.into_iter().collect::<Vec<_>>());
        session.report_cluster_errors(world, reporter);
        reporter.finish_progress();
        if reporter.exit() == Exit::Input && !session.keep_going {
            return Ok(());
        }
        reporter.report_gaps();
        if let Some(note) = targets_left_out(evaluator.check, evaluator.engine) {
            reporter.note(Code::LeftOut, &note);
        }
        if generated.as_ref().is_some_and(|generated| generated.stopped_early) {
            reporter.note(Code::StoppedEarly, STOPPED_EARLY);
        }
        if secrets > 0 && !session.shows_secrets {
            reporter.note(Code::SecretsPrinted, printed_secrets(secrets, session));
        }
        for note in writer.end_documents(&mut spool)? {
            reporter.note(Code::LeftOut, &note);
        }
        summary.find_installed(session);
        if let Some(error) = self.selection.and_then(|selection| selection.unmatched(&summary.tally)) {
            reporter.error(Exit::Input, Code::NameWithoutMatch, &error);
        }
        summary.close(&session.context(), self.closing, reporter);
        let totals = RunTotals {
            tally: &summary.tally,
            gaps: reporter.gaps(),
            is_live: session.is_live(),
            diagnostics: reporter.diagnostics(),
            generated: generated.as_ref(),
            places: Some(&places),
        };
        writer.finish(&totals, &mut spool)?;
        let printed = spool.print_all();
        if let Some(program) = self.external_diff {
            program.run(reporter);
        }
        reporter.release();
        summary.complete();
        printed
    }

    /// Formats a document; called on many threads.
    fn prepare(
        &self,
        evaluated: &mut Evaluated,
        shows_secrets: bool,
        dry_runs: Option<DryRuns<'_>>,
        places: &CachedPlaces<'_>,
    ) -> Prepared {
        if shows_secrets {
            evaluated.show_secrets();
        }
        if let Some(dry_runs) = dry_runs {
            dry_runs.run(evaluated);
        }
        if let Some(selection) = self.selection {
            selection.narrow(evaluated);
        }
        self.format.prepare(&view(evaluated, places))
    }
}

/// A document as output formats see it.
fn view<'a>(evaluated: &'a Evaluated, places: &'a CachedPlaces<'_>) -> DocumentView<'a> {
    let input = &evaluated.source;
    let objects = evaluated.objects.iter().map(|object| ObjectView {
        pointer: &object.pointer,
        report: &object.report,
        is_update: object.is_update,
        findings: &object.findings,
        drift: object.drift.as_ref(),
    });
    DocumentView {
        document: evaluated.document(),
        before: input.value(),
        after: evaluated.after.as_ref(),
        file: input.file.as_deref(),
        input: input.input,
        is_target: input.further,
        places: Some(places),
        objects: objects.collect(),
    }
}

/// A note on policies with rules that change other objects, if there are any: no check looks at those.
fn targets_left_out(check: PolicyCheck, engine: &Engine) -> Option<String> {
    if matches!(check, PolicyCheck::None) {
        return None;
    }
    let names: Vec<String> =
        engine.policies_with_targets().map(|policy| policy.full_name().to_string()).collect();
    (!names.is_empty()).then(|| {
        let names = first_names(NAMED_POLICIES, names.into_iter());
        format!("rules with targets change other objects, which are not looked at here: {names}")
    })
}

/// A note on Secrets that are printed with their values.
fn printed_secrets(secrets: usize, session: &Session) -> String {
    let secrets = counted(secrets, "Secret");
    if session.engine.settings().is_replay {
        format!(
            "the values of {secrets} are printed as the recording has them: redacted, not fit to be applied \
             (--record with --show-secrets keeps the values)"
        )
    } else {
        format!("the values of {secrets} are printed as they are")
    }
}
