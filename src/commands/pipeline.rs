//! The assembly line: portions are parsed, evaluated and prepared on all threads, and taken in their order.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};

use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};
use rayon::{ScopeFifo, Yield, current_num_threads, in_place_scope_fifo, yield_now};

use crate::source::{InputBatch, InputDocument, SourceError};

use super::driver::Work;

/// So many portions for each thread are begun before the first of them is taken.
const AHEAD: usize = 4;

/// What was made of a portion, and what is wrong with it.
type Made<M> = Vec<Result<M, SourceError>>;

/// Portions on their way.
pub(super) struct Pipeline<'a, W: Work, T, F> {
    work: &'a W,
    take: T,
    fail: F,
    /// Something spoils the input: nothing has to be evaluated or taken any more.
    failed: AtomicBool,
}

impl<'a, W, T, F> Pipeline<'a, W, T, F>
where
    W: Work,
    T: FnMut(W::Made) -> io::Result<()>,
    F: FnMut(SourceError),
{
    pub(super) const fn new(work: &'a W, take: T, fail: F) -> Self {
        Self { work, take, fail, failed: AtomicBool::new(false) }
    }

    /// Drives all portions.
    ///
    /// # Errors
    ///
    /// What cannot be taken.
    pub(super) fn run(self, batches: impl Iterator<Item = InputBatch>) -> io::Result<()> {
        let Self { work, mut take, mut fail, failed } = self;
        let failed = &failed;
        let mut take_all = |made: Made<W::Made>| -> io::Result<()> {
            for one in made {
                match one {
                    Ok(made) if !failed.load(Ordering::Relaxed) => take(made)?,
                    Ok(_) => {}
                    Err(error) => {
                        failed.fetch_or(error.spoils_the_rest(), Ordering::Relaxed);
                        fail(error);
                    }
                }
            }
            Ok(())
        };
        let ahead = if current_num_threads() > 1 { AHEAD * current_num_threads() } else { 1 };
        let done = in_place_scope_fifo(|scope| {
            let mut begun: VecDeque<Receiver<Made<W::Made>>> = VecDeque::with_capacity(ahead);
            for batch in batches {
                match batch {
                    InputBatch::Texts(_) => begun.push_back(begin(scope, batch, work, failed)),
                    // What arrives bit by bit is taken before anybody waits for more.
                    InputBatch::Pieces(pieces) => {
                        while let Some(first) = begun.pop_front() {
                            take_all(finished(&first))?;
                        }
                        take_all(together(pieces, work, failed))?;
                    }
                }
                if begun.len() >= ahead
                    && let Some(first) = begun.pop_front()
                {
                    take_all(finished(&first))?;
                }
            }
            begun.iter().try_for_each(|first| take_all(finished(first)))
        });
        // Whatever is still under way is of no use.
        failed.fetch_or(done.is_err(), Ordering::Relaxed);
        done
    }
}

/// Begins with a portion on whichever thread has time for it.
fn begin<'scope, W: Work>(
    scope: &ScopeFifo<'scope>,
    batch: InputBatch,
    work: &'scope W,
    failed: &'scope AtomicBool,
) -> Receiver<Made<W::Made>>
where
    W::Made: 'scope,
{
    let (sender, receiver) = sync_channel(1);
    scope.spawn_fifo(move |_| {
        let made = batch.pieces().into_iter().filter_map(|piece| one(piece, work, failed)).collect();
        // Nobody waits for it if something could not be written.
        drop(sender.send(made));
    });
    receiver
}

/// Makes something of pieces, on all threads at once.
fn together<W: Work>(
    pieces: Vec<Result<InputDocument, SourceError>>,
    work: &W,
    failed: &AtomicBool,
) -> Made<W::Made> {
    pieces.into_par_iter().filter_map(|piece| one(piece, work, failed)).collect()
}

fn one<W: Work>(
    piece: Result<InputDocument, SourceError>,
    work: &W,
    failed: &AtomicBool,
) -> Option<Result<W::Made, SourceError>> {
    match piece {
        Ok(_) if failed.load(Ordering::Relaxed) => None,
        Ok(piece) => Some(Ok(work.make(work.evaluator().evaluate(piece)))),
        Err(error) => Some(Err(error)),
    }
}

/// Waits for what was begun, and does other work meanwhile.
fn finished<M>(begun: &Receiver<M>) -> M
where
    M: Default,
{
    loop {
        match begun.try_recv() {
            Ok(made) => return made,
            // The thread that made it panicked, which goes on where the scope ends.
            Err(TryRecvError::Disconnected) => return M::default(),
            Err(TryRecvError::Empty) => {}
        }
        // Nothing else waits, so another thread is at it.
        if yield_now() != Some(Yield::Executed) {
            return begun.recv().unwrap_or_default();
        }
    }
}
