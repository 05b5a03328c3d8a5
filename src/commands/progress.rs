//! The progress bar.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use indicatif::{HumanCount, ProgressBar, ProgressStyle};

/// Shorter runs show no bar.
const DELAY: Duration = Duration::from_secs(1);

/// The number of kinds of live objects that were read, of all.
#[derive(Debug)]
pub(super) struct KindProgress {
    all: usize,
    done: AtomicUsize,
}

impl KindProgress {
    pub(super) const fn new(all: usize) -> Self {
        Self { all, done: AtomicUsize::new(0) }
    }

    pub(super) fn advance(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }
}

impl std::fmt::Display for KindProgress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {} kinds, ", self.done.load(Ordering::Relaxed), self.all)
    }
}

/// A progress bar on a terminal.
#[derive(Debug)]
pub(super) struct Progress {
    started: Instant,
    is_enabled: bool,
    objects: u64,
    kinds: Option<Arc<KindProgress>>,
    bar: Option<ProgressBar>,
}

impl Progress {
    pub(super) fn new(is_enabled: bool) -> Self {
        Self { started: Instant::now(), is_enabled, objects: 0, kinds: None, bar: None }
    }

    /// Shows how many kinds were read, too.
    pub(super) fn count_kinds(&mut self, kinds: Arc<KindProgress>) {
        self.kinds = Some(kinds);
    }

    pub(super) fn advance(&mut self, objects: usize) {
        self.objects += objects as u64;
        if self.is_enabled && self.bar.is_none() && self.started.elapsed() > DELAY {
            let bar = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
                bar.set_style(style);
            }
            self.bar = Some(bar);
        }
        if let Some(bar) = &self.bar {
            let kinds = self.kinds.as_ref().map_or_else(String::new, ToString::to_string);
            let rate = HumanCount(rate(self.objects, self.started.elapsed()));
            bar.set_message(format!("{kinds}{} objects, {rate}/s", HumanCount(self.objects)));
            bar.set_position(self.objects);
        }
    }

    /// Prints something while the bar is hidden.
    pub(super) fn suspend<T>(&self, act: impl FnOnce() -> T) -> T {
        match &self.bar {
            Some(bar) => bar.suspend(act),
            None => act(),
        }
    }

    pub(super) fn finish(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
        self.is_enabled = false;
    }
}

/// The objects per second since the start of the run.
fn rate(objects: u64, elapsed: Duration) -> u64 {
    let rate = u128::from(objects) * 1000 / elapsed.as_millis().max(1);
    u64::try_from(rate).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_that_of_the_whole_run() {
        for (objects, milliseconds, expected) in
            [(0, 1000, 0), (1000, 2000, 500), (7, 3000, 2), (5, 0, 5000), (u64::MAX, 1, u64::MAX)]
        {
            assert_eq!(rate(objects, Duration::from_millis(milliseconds)), expected);
        }
    }
}
