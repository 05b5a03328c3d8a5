//! Parallel evaluation: batches of documents are parsed, evaluated and formatted on all threads, and consumed in order.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};

use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};
use rayon::{ScopeFifo, Yield, current_num_threads, in_place_scope_fifo, yield_now};

use crate::engine::World;
use crate::source::{InputBatch, InputDocument, SourceError};

use super::evaluate::{Evaluated, Evaluator};
use super::mutate_existing::run_targets;

/// How many batches for each thread are started before the first of them is consumed.
const BATCHES_AHEAD: usize = 4;

/// How many documents, or bytes of them, are evaluated together.
const CHUNK_DOCUMENTS: usize = 1024;
pub(super) const CHUNK_BYTES: usize = 8 << 20;

/// The results of a batch.
type Results<R> = Vec<Result<R, SourceError>>;

/// Documents in chunks of a bounded size.
pub(super) fn chunks(
    mut documents: impl Iterator<Item = Result<InputDocument, SourceError>>,
) -> impl Iterator<Item = InputBatch> {
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let mut chunk = Vec::new();
        while chunk.len() < CHUNK_DOCUMENTS && bytes < CHUNK_BYTES {
            let Some(document) = documents.next() else { break };
            bytes += document.as_ref().map_or(0, InputDocument::weight);
            chunk.push(document);
        }
        (!chunk.is_empty()).then_some(InputBatch::Documents(chunk))
    })
}

/// Evaluates all documents. `prepare` is called for each of them on many threads, `consume` with the results in the order of
/// the input, and `fail` with the errors of the input. After an error that voids the result `consume` is not called any
/// more, and the rest of the input is read for its errors only, unless the evaluator keeps going.
///
/// With rules that have targets all documents are kept until the last one was evaluated, because each may still be
/// changed for another. The first error of `consume` ends it.
pub(super) fn evaluate_all<W: World, R: Send>(
    batches: impl Iterator<Item = InputBatch>,
    evaluator: &Evaluator<'_, W>,
    prepare: impl Fn(&mut Evaluated) -> R + Sync,
    mut consume: impl FnMut(Evaluated, R) -> io::Result<()>,
    mut fail: impl FnMut(SourceError),
) -> io::Result<()> {
    let prepared = |mut evaluated| {
        let prepared = prepare(&mut evaluated);
        (evaluated, prepared)
    };
    let voids = |error: &SourceError| !evaluator.keep_going && error.spoils_the_rest();
    let mut consume = |(evaluated, prepared)| consume(evaluated, prepared);
    if !evaluator.engine.has_targets() {
        let evaluate = |document| prepared(evaluator.evaluate(document));
        return Pipeline { evaluate, consume, fail, voids, failed: AtomicBool::new(false) }.run(batches);
    }
    let mut kept = Vec::new();
    let mut failed = false;
    let keep = |evaluated| {
        kept.push(evaluated);
        Ok(())
    };
    let note = |error: SourceError| {
        failed |= voids(&error);
        fail(error);
    };
    let evaluate = |document| evaluator.evaluate(document);
    Pipeline { evaluate, consume: keep, fail: note, voids, failed: AtomicBool::new(false) }.run(batches)?;
    if failed {
        return Ok(());
    }
    run_targets(evaluator, &mut kept);
    let mut kept = kept.into_iter();
    loop {
        let chunk: Vec<_> = kept.by_ref().take(CHUNK_DOCUMENTS).collect();
        if chunk.is_empty() {
            return Ok(());
        }
        let results: Vec<_> = chunk.into_par_iter().map(prepared).collect();
        results.into_iter().try_for_each(&mut consume)?;
    }
}

struct Pipeline<E, T, F, V> {
    evaluate: E,
    consume: T,
    fail: F,
    /// Whether an error voids the result.
    voids: V,
    /// Whether an error voids the result, so that nothing has to be evaluated any more.
    failed: AtomicBool,
}

impl<E, T, F, V> Pipeline<E, T, F, V> {
    fn run<R: Send>(self, batches: impl Iterator<Item = InputBatch>) -> io::Result<()>
    where
        E: Fn(InputDocument) -> R + Sync,
        T: FnMut(R) -> io::Result<()>,
        F: FnMut(SourceError),
        V: Fn(&SourceError) -> bool,
    {
        let Self { evaluate, mut consume, mut fail, voids, failed } = self;
        let (evaluate, failed) = (&evaluate, &failed);
        let mut consume_all = |results: Results<R>| -> io::Result<()> {
            for result in results {
                match result {
                    Ok(result) if !failed.load(Ordering::Relaxed) => consume(result)?,
                    Ok(_) => {}
                    Err(error) => {
                        failed.fetch_or(voids(&error), Ordering::Relaxed);
                        fail(error);
                    }
                }
            }
            Ok(())
        };
        let ahead = if current_num_threads() > 1 { BATCHES_AHEAD * current_num_threads() } else { 1 };
        let done = in_place_scope_fifo(|scope| {
            let mut started: VecDeque<Receiver<Results<R>>> = VecDeque::with_capacity(ahead);
            for batch in batches {
                match batch {
                    InputBatch::Texts(_) => started.push_back(start(scope, batch, evaluate, failed)),
                    // Live objects are consumed before the next page is awaited.
                    InputBatch::Documents(documents) => {
                        while let Some(first) = started.pop_front() {
                            consume_all(wait(&first))?;
                        }
                        let documents = documents.into_par_iter();
                        consume_all(documents.filter_map(|one| result(one, evaluate, failed)).collect())?;
                    }
                }
                if started.len() >= ahead
                    && let Some(first) = started.pop_front()
                {
                    consume_all(wait(&first))?;
                }
            }
            started.iter().try_for_each(|first| consume_all(wait(first)))
        });
        // Batches that are still running are not needed.
        failed.fetch_or(done.is_err(), Ordering::Relaxed);
        done
    }
}

/// Starts a batch on the next free thread.
fn start<'scope, R: Send + 'scope>(
    scope: &ScopeFifo<'scope>,
    batch: InputBatch,
    evaluate: &'scope (impl Fn(InputDocument) -> R + Sync),
    failed: &'scope AtomicBool,
) -> Receiver<Results<R>> {
    let (sender, receiver) = sync_channel(1);
    scope.spawn_fifo(move |_| {
        let documents = batch.documents().into_iter();
        let results = documents.filter_map(|document| result(document, evaluate, failed)).collect();
        // The receiver is gone if something could not be written.
        drop(sender.send(results));
    });
    receiver
}

fn result<R>(
    document: Result<InputDocument, SourceError>,
    evaluate: &impl Fn(InputDocument) -> R,
    failed: &AtomicBool,
) -> Option<Result<R, SourceError>> {
    match document {
        Ok(_) if failed.load(Ordering::Relaxed) => None,
        document => Some(document.map(evaluate)),
    }
}

/// Waits for a batch, and does other work meanwhile.
fn wait<M: Default>(started: &Receiver<M>) -> M {
    loop {
        match started.try_recv() {
            Ok(results) => return results,
            // Its thread panicked; the scope resumes the panic.
            Err(TryRecvError::Disconnected) => return M::default(),
            Err(TryRecvError::Empty) => {}
        }
        // No work is left: another thread evaluates the batch.
        if yield_now() != Some(Yield::Executed) {
            return started.recv().unwrap_or_default();
        }
    }
}
