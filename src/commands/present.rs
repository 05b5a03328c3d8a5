//! The objects of a run, from manifests or a cluster, through the driver.

use std::io::{self, Write as _};

use crate::render::Format;

use super::driver::Presentation;
use super::exit::Exit;
use super::live;
use super::manifests::{manifests, report_errors};
use super::options::RunOptions;
use super::reporter::Reporter;
use super::session::{Session, on_threads};
use super::summary::{RunSummary, SummaryStyle};

/// Evaluates the objects of a run and prints the result; `None` if nothing was evaluated. Without a session the objects
/// are read for their errors only.
pub(super) fn present(
    options: &RunOptions,
    session: Option<&Session>,
    presentation: &Presentation<'_>,
    reporter: &mut Reporter,
) -> Option<RunSummary> {
    let summary = evaluate(options, session, presentation, reporter)?;
    summary.report_totals(presentation.summary, reporter);
    Some(summary)
}

/// Prints the result of a run that evaluated nothing, in a format that has one.
pub(super) fn print_failure(format: &dyn Format, reporter: &mut Reporter) {
    let page = format.failure(reporter.diagnostics()).unwrap_or_default();
    if let Err(error) = io::stdout().write_all(page.as_bytes()) {
        reporter.unwritten(&error);
    }
}

/// Runs a command that prints what is found out about policies; it exits with 1 if that is anything.
pub(super) fn run_findings(options: &RunOptions, format: &dyn Format, summary: SummaryStyle) -> Exit {
    on_threads(options, |reporter| {
        let session = Session::open_for_findings(options, reporter);
        let presentation = Presentation::new(format, summary, options);
        match present(options, session.as_ref(), &presentation, reporter) {
            Some(summary) if summary.has_findings => reporter.worsen(Exit::Changes),
            Some(_) => {}
            None => print_failure(format, reporter),
        }
    })
}

fn evaluate(
    options: &RunOptions,
    session: Option<&Session>,
    presentation: &Presentation<'_>,
    reporter: &mut Reporter,
) -> Option<RunSummary> {
    if options.is_live() {
        return live::run(options, session, presentation, reporter);
    }
    let manifests = manifests(options, session, reporter)?;
    let Some(session) = session else {
        report_errors(manifests.documents(), reporter);
        return None;
    };
    let world = session.world(options, &manifests);
    let batches = manifests.batches(presentation.format.shows_diff());
    Some(presentation.run(session, &world, batches, reporter))
}
