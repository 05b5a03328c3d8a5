//! Signals to end, which wait for a write.

#[cfg(all(unix, feature = "cli"))]
pub(super) use handled::uninterrupted;

/// Other systems end the program at once.
#[cfg(not(all(unix, feature = "cli")))]
pub(super) fn uninterrupted<T>(write: impl FnOnce() -> T) -> T {
    write()
}

#[cfg(all(unix, feature = "cli"))]
mod handled {
    use std::fs;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::sync::{Arc, LazyLock, Mutex, PoisonError};

    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::{flag, low_level};

    #[derive(Default)]
    struct Signals {
        /// Whether a signal ends the program at once.
        is_idle: Arc<AtomicBool>,
        /// The last signal; 0 is none.
        last: Arc<AtomicUsize>,
        /// One write at a time.
        writing: Mutex<()>,
    }

    static SIGNALS: LazyLock<Signals> = LazyLock::new(|| {
        let signals = Signals::default();
        for signal in [SIGHUP, SIGINT, SIGTERM].into_iter().filter(|signal| !is_ignored(*signal)) {
            let number = usize::try_from(signal).unwrap_or_default();
            // The signal is stored before it may end the program: a write that finds none stored is waited for. Where the
            // system takes no handler, the signal ends the program as ever.
            let _registered = flag::register_usize(signal, Arc::clone(&signals.last), number)
                .and_then(|_| flag::register_conditional_default(signal, Arc::clone(&signals.is_idle)));
        }
        signals
    });

    /// Whether the parent had the signal ignored, as `nohup` does.
    fn is_ignored(signal: i32) -> bool {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
    }

    /// Signals wait until this is dropped.
    struct Waiting;

    impl Waiting {
        fn start() -> Self {
            SIGNALS.is_idle.store(false, Ordering::SeqCst);
            // Another thread may be about to end the program for it.
            end_for_last_signal();
            Self
        }
    }

    /// Ends the program if there was a signal.
    fn end_for_last_signal() {
        let signal = i32::try_from(SIGNALS.last.load(Ordering::SeqCst)).unwrap_or_default();
        if signal != 0 {
            let _unknown = low_level::emulate_default_handler(signal);
        }
    }

    impl Drop for Waiting {
        fn drop(&mut self) {
            SIGNALS.is_idle.store(true, Ordering::SeqCst);
            end_for_last_signal();
        }
    }

    /// Does what is not left half-done: a signal to end takes effect after it.
    pub(in crate::source) fn uninterrupted<T>(write: impl FnOnce() -> T) -> T {
        let _one = SIGNALS.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let _waiting = Waiting::start();
        write()
    }
}
