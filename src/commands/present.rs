//! The objects of a run, from manifests or a cluster, through the driver.

use super::driver::Presentation;
use super::live;
use super::manifests::{manifests, report_errors};
use super::options::RunOptions;
use super::reporter::Reporter;
use super::session::Session;
use super::summary::RunSummary;

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
