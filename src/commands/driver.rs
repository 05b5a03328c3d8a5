//! The one driver: portions of the input come in order, are evaluated in parallel, and go out in order.

use std::io;

use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

use crate::engine::World;
use crate::source::{InputBatch, InputDocument, SourceError};

use super::evaluate::{Evaluated, Evaluator};
use super::exit::Exit;
use super::live;
use super::manifests::{complain, manifests};
use super::mutate_existing::run_targets;
use super::options::RunOptions;
use super::pipeline::Pipeline;
use super::reporter::Reporter;
use super::session::{RunWorld, Session};
use super::summary::RunSummary;

/// So many pieces, or so many bytes of them, are evaluated together.
const CHUNK_PIECES: usize = 1024;
pub(super) const CHUNK_BYTES: usize = 8 << 20;

/// What becomes of pieces.
pub(super) trait Work: Sync {
    /// What a piece is made into.
    type Made: Send;
    /// The outside of the evaluation.
    type World: World;

    /// What evaluates pieces.
    fn evaluator(&self) -> &Evaluator<'_, Self::World>;

    /// Prepares an evaluated piece; called on many threads.
    fn make(&self, evaluated: Evaluated) -> Self::Made;
}

/// A way to show what becomes of objects.
pub(super) trait Show {
    /// Whether files have to be in memory as a whole.
    fn needs_whole_files(&self) -> bool;

    /// Whether it tells what changes mean for a cluster.
    fn tells_flags(&self) -> bool;

    /// Evaluates all pieces in a world, counts them, says what the world did not tell, and prints the result,
    /// unless some input could not be read.
    ///
    /// # Errors
    ///
    /// What cannot be written.
    fn print(
        &self,
        session: &Session,
        world: &RunWorld,
        batches: impl Iterator<Item = InputBatch>,
        ledger: &mut RunSummary,
        reporter: &mut Reporter,
    ) -> io::Result<()>;

    /// The same; gives what was counted, and says what could not be written.
    fn run(
        &self,
        session: &Session,
        world: &RunWorld,
        batches: impl Iterator<Item = InputBatch>,
        reporter: &mut Reporter,
    ) -> RunSummary {
        let mut ledger = if self.tells_flags() { RunSummary::default() } else { RunSummary::flagless() };
        if let Err(error) = self.print(session, world, batches, &mut ledger, reporter) {
            reporter.error(Exit::Input, &format!("the result cannot be written: {error}"));
        }
        ledger
    }
}

/// Shows what becomes of the objects that the arguments name, in manifests or on a cluster. Everything that
/// is wrong is said; `None` if nothing was evaluated. Without a session the objects are read for what is
/// wrong with them alone.
pub(super) fn show(
    options: &RunOptions,
    session: Option<&Session>,
    show: &impl Show,
    reporter: &mut Reporter,
) -> Option<RunSummary> {
    if options.is_live() {
        return live::run(options, session, show, reporter);
    }
    let manifests = manifests(options, session, reporter)?;
    let Some(session) = session else {
        complain(manifests.pieces(), reporter);
        return None;
    };
    let world = session.world(options, &manifests);
    let batches = manifests.batches(show.needs_whole_files());
    Some(show.run(session, &world, batches, reporter))
}

/// Pieces in chunks, each as large as may be.
pub(super) fn chunks(
    mut pieces: impl Iterator<Item = Result<InputDocument, SourceError>>,
) -> impl Iterator<Item = InputBatch> {
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let mut chunk = Vec::new();
        while chunk.len() < CHUNK_PIECES && bytes < CHUNK_BYTES {
            let Some(piece) = pieces.next() else { break };
            bytes += piece.as_ref().map_or(0, InputDocument::weight);
            chunk.push(piece);
        }
        (!chunk.is_empty()).then_some(InputBatch::Pieces(chunk))
    })
}

/// Drives all portions through the work. `take` gets what was made of their pieces in the order they came in;
/// `fail` gets the errors of the input. After one that spoils the rest nothing is taken any more: what is left of the
/// input is read for its errors alone.
///
/// With rules that have targets all pieces are held until the last one was evaluated, because any may be
/// changed for another.
///
/// # Errors
///
/// What `take` cannot write.
pub(super) fn drive<W: Work>(
    batches: impl Iterator<Item = InputBatch>,
    work: &W,
    mut take: impl FnMut(W::Made) -> io::Result<()>,
    fail: impl FnMut(SourceError),
) -> io::Result<()> {
    if !work.evaluator().engine.has_targets() {
        return Pipeline::new(work, take, fail).run(batches);
    }
    let mut held = hold(batches, work, fail)?;
    run_targets(work.evaluator(), &mut held);
    let mut held = held.into_iter();
    loop {
        let chunk: Vec<_> = held.by_ref().take(CHUNK_PIECES).collect();
        if chunk.is_empty() {
            return Ok(());
        }
        let made: Vec<_> = chunk.into_par_iter().map(|evaluated| work.make(evaluated)).collect();
        made.into_iter().try_for_each(&mut take)?;
    }
}

/// Evaluates all pieces; none if something spoils the input.
fn hold<W: Work>(
    batches: impl Iterator<Item = InputBatch>,
    work: &W,
    mut fail: impl FnMut(SourceError),
) -> io::Result<Vec<Evaluated>> {
    let mut held = Vec::new();
    let mut failed = false;
    let take = |evaluated| {
        held.push(evaluated);
        Ok(())
    };
    let note = |error: SourceError| {
        failed |= error.spoils_the_rest();
        fail(error);
    };
    Pipeline::new(&Evaluating(work), take, note).run(batches)?;
    Ok(if failed { Vec::new() } else { held })
}

/// The work without what is made of the result.
struct Evaluating<'a, W>(&'a W);

impl<W: Work> Work for Evaluating<'_, W> {
    type Made = Evaluated;
    type World = W::World;

    fn evaluator(&self) -> &Evaluator<'_, W::World> {
        self.0.evaluator()
    }

    fn make(&self, evaluated: Evaluated) -> Evaluated {
        evaluated
    }
}
