//! The one driver: pieces come in order, are evaluated in parallel, and go out in order.

use std::io;

use rayon::iter::{IntoParallelIterator as _, ParallelExtend as _, ParallelIterator as _};

use crate::engine::World;
use crate::source::{Piece, SourceError};

use super::arguments::Inputs;
use super::evaluate::{Evaluated, Evaluator};
use super::exit::Exit;
use super::held::run_targets;
use super::ledger::Ledger;
use super::live;
use super::session::{RunWorld, Session, complain, manifests};
use super::talk::Talk;

/// So many pieces, or so many bytes of them, are in memory at once beside the text they come from.
const CHUNK_PIECES: usize = 1024;
pub(super) const CHUNK_BYTES: usize = 8 << 20;

/// Pieces that are evaluated together, and what is wrong with the input between them.
pub(super) type Chunk = Vec<Result<Piece, SourceError>>;

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
        chunks: impl Iterator<Item = Chunk>,
        ledger: &mut Ledger,
        talk: &mut Talk,
    ) -> io::Result<()>;

    /// The same; gives what was counted, and says what could not be written.
    fn run(
        &self,
        session: &Session,
        world: &RunWorld,
        chunks: impl Iterator<Item = Chunk>,
        talk: &mut Talk,
    ) -> Ledger {
        let mut ledger = Ledger::default();
        if let Err(error) = self.print(session, world, chunks, &mut ledger, talk) {
            talk.error(Exit::Input, &format!("the result cannot be written: {error}"));
        }
        ledger
    }
}

/// Shows what becomes of the objects that the arguments name, in manifests or on a cluster. Everything that
/// is wrong is said; `None` if nothing was evaluated. Without a session the objects are read for what is
/// wrong with them alone.
pub(super) fn show(
    inputs: &Inputs,
    session: Option<&Session>,
    show: &impl Show,
    talk: &mut Talk,
) -> Option<Ledger> {
    if inputs.is_live() {
        return live::run(inputs, session, show, talk);
    }
    let manifests = manifests(inputs, session, talk)?;
    let Some(session) = session else {
        complain(manifests.pieces(), talk);
        return None;
    };
    let world = session.world(inputs, &manifests);
    Some(show.run(session, &world, chunks(manifests.pieces()), talk))
}

/// Pieces in chunks, each as large as may be.
pub(super) fn chunks(
    mut pieces: impl Iterator<Item = Result<Piece, SourceError>>,
) -> impl Iterator<Item = Chunk> {
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let mut chunk = Vec::new();
        while chunk.len() < CHUNK_PIECES && bytes < CHUNK_BYTES {
            let Some(piece) = pieces.next() else { break };
            bytes += piece.as_ref().map_or(0, Piece::weight);
            chunk.push(piece);
        }
        (!chunk.is_empty()).then_some(chunk)
    })
}

/// Drives all pieces through the work, chunk by chunk. `take` gets what was made of them in the order they came
/// in; `fail` gets the errors of the input. After one that spoils the rest nothing is evaluated any more:
/// what is left of the input is read for its errors alone.
///
/// With rules that have targets all pieces are held until the last one was evaluated, because any may be
/// changed for another.
///
/// # Errors
///
/// What `take` cannot write.
pub(super) fn drive<W: Work>(
    chunks: impl Iterator<Item = Chunk>,
    work: &W,
    mut take: impl FnMut(W::Made) -> io::Result<()>,
    mut fail: impl FnMut(SourceError),
) -> io::Result<()> {
    let mut failed = false;
    let mut held = work.evaluator().engine.has_targets().then(Vec::new);
    for chunk in chunks {
        let mut pieces = Vec::with_capacity(chunk.len());
        for piece in chunk {
            match piece {
                Ok(piece) => pieces.push(piece),
                Err(error) => {
                    failed |= error.spoils_the_rest();
                    fail(error);
                }
            }
        }
        if !failed {
            turn(pieces, work, held.as_mut(), &mut take)?;
        }
    }
    let Some(mut held) = held.filter(|_| !failed) else { return Ok(()) };
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

fn turn<W: Work>(
    pieces: Vec<Piece>,
    work: &W,
    held: Option<&mut Vec<Evaluated>>,
    take: &mut impl FnMut(W::Made) -> io::Result<()>,
) -> io::Result<()> {
    let pieces = pieces.into_par_iter();
    let evaluate = |piece| work.evaluator().evaluate(piece);
    if let Some(held) = held {
        held.par_extend(pieces.map(evaluate));
        return Ok(());
    }
    let made: Vec<_> = pieces.map(|piece| work.make(evaluate(piece))).collect();
    made.into_iter().try_for_each(take)
}
