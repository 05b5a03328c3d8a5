//! Ends a run early: at a signal, or when its time is over.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::commands::exit::Exit;
#[cfg(unix)]
use crate::commands::reporter::{Reporter, Verbosity};
#[cfg(unix)]
use crate::diagnostics::Code;

/// How long a program may take to end after SIGTERM.
#[cfg(unix)]
pub(super) const GRACE: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Reading and evaluating: it may end at any time.
    Working,
    /// A program runs, and must be ended first.
    Rendering,
    /// Printing the result, which must not be cut off.
    Printing,
    /// The result was printed: the run is ending by itself, and a signal comes too late.
    Printed,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    is_ended: bool,
}

type Shared = Arc<(Mutex<State>, Condvar)>;

#[derive(Debug)]
pub(super) struct Watch {
    shared: Shared,
    /// When its time is over, if it ever is.
    until: Option<Instant>,
    /// How long the run may take.
    pub(super) limit: Duration,
}

/// A signal has ended the run.
#[derive(Debug)]
pub(super) struct Ended;

/// A phase in which the run does not end at once, until this is dropped.
#[derive(Debug)]
pub(super) struct Occupied<'a>(&'a Watch);

impl Watch {
    /// Starts to watch over a run with a time limit; zero is none.
    pub(super) fn start(limit: Duration) -> io::Result<Self> {
        let shared = Arc::new((Mutex::new(State { phase: Phase::Working, is_ended: false }), Condvar::new()));
        attend(&shared)?;
        let until = if limit.is_zero() { None } else { Instant::now().checked_add(limit) };
        Ok(Self { shared, until, limit })
    }

    /// Enters the phase in which a program runs.
    pub(super) fn render(&self) -> Result<Occupied<'_>, Ended> {
        self.enter(Phase::Rendering)
    }

    /// Enters the phase in which the result is printed.
    pub(super) fn print(&self) -> Result<Occupied<'_>, Ended> {
        self.enter(Phase::Printing)
    }

    pub(super) fn is_late(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }

    pub(super) fn is_ended(&self) -> bool {
        lock(&self.shared).is_ended
    }

    /// Ends the run from within: a signal that comes now is its own.
    pub(super) fn end(&self) {
        lock(&self.shared).is_ended = true;
    }

    fn enter(&self, phase: Phase) -> Result<Occupied<'_>, Ended> {
        let mut state = lock(&self.shared);
        if state.is_ended {
            return Err(Ended);
        }
        state.phase = phase;
        Ok(Occupied(self))
    }
}

impl Drop for Occupied<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.0.shared);
        state.phase = if state.phase == Phase::Printing { Phase::Printed } else { Phase::Working };
        drop(state);
        self.0.shared.1.notify_all();
    }
}

fn lock(shared: &Shared) -> MutexGuard<'_, State> {
    // The state is valid at any time.
    shared.0.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends the run on a signal.
#[cfg(unix)]
fn attend(shared: &Shared) -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP])?;
    let shared = Arc::clone(shared);
    let watch = move || {
        for _signal in signals.forever() {
            let mut state = lock(&shared);
            if state.is_ended || state.phase == Phase::Printed {
                continue;
            }
            state.is_ended = true;
            let patience = match state.phase {
                Phase::Working | Phase::Printed => Duration::ZERO,
                Phase::Rendering => GRACE + GRACE,
                Phase::Printing => GRACE,
            };
            let phase = state.phase;
            let (state, _) = shared
                .1
                .wait_timeout_while(state, patience, |state| state.phase == phase && phase != Phase::Working)
                .unwrap_or_else(PoisonError::into_inner);
            if phase != Phase::Working && state.phase != phase {
                // The run is ending by itself: with an error, or with a result that was printed.
                continue;
            }
            leave();
        }
    };
    std::thread::Builder::new().name("signals".into()).spawn(watch).map(drop)
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "elsewhere it can fail")]
fn attend(_: &Shared) -> io::Result<()> {
    Ok(())
}

/// Ends the process at any point of the run.
#[cfg(unix)]
#[expect(clippy::exit, reason = "the run itself may be blocked")]
fn leave() -> ! {
    Reporter::new(Verbosity::default()).error(Exit::Interrupted, Code::Interrupted, ENDED);
    std::process::exit(Exit::Interrupted.code().into())
}

/// The message about a run that a signal ended.
pub(super) const ENDED: &str = "terminated before it was done";
