//! The progress bar.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// Work that takes no longer shows no bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// Counts objects on a terminal, once the work has taken a while.
#[derive(Debug)]
pub(super) struct Progress {
    started: Instant,
    wanted: bool,
    objects: u64,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Starts the clock.
    pub(super) fn new(wanted: bool) -> Self {
        Self { started: Instant::now(), wanted, objects: 0, bar: None }
    }

    /// Counts further objects.
    pub(super) fn advance(&mut self, objects: usize) {
        self.objects += objects as u64;
        if self.wanted && self.bar.is_none() && self.started.elapsed() > PATIENCE {
            let bar = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("{spinner} {human_pos} objects, {per_sec}") {
                bar.set_style(style);
            }
            self.bar = Some(bar);
        }
        if let Some(bar) = &self.bar {
            bar.set_position(self.objects);
        }
    }

    /// Does something on standard error that the bar must not stand in the way of.
    pub(super) fn aside(&self, act: impl FnOnce()) {
        match &self.bar {
            Some(bar) => bar.suspend(act),
            None => act(),
        }
    }

    /// Takes the bar away.
    pub(super) fn finish(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
        self.wanted = false;
    }
}
