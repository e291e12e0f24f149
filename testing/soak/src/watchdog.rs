//! Ends the process with an error when there is no progress for too long.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use xtasking_harness::failure::{Failure, Wrong, report_line};

/// The state shared with the watching thread.
struct State {
    last: Instant,
    repeat: String,
}

/// Runs the watchdog until it is dropped.
pub(super) struct Watchdog {
    state: Arc<Mutex<State>>,
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Watchdog {
    /// Starts the watchdog: if no progress is reported for `patience`, the process exits.
    pub(super) fn begin(patience: Duration) -> Self {
        let state = Arc::new(Mutex::new(State { last: Instant::now(), repeat: String::new() }));
        let (end, ended) = mpsc::channel();
        let shared = state.clone();
        let interval = Duration::from_millis(500).min(patience);
        let body = move || {
            while ended.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                let state = shared.lock().unwrap_or_else(PoisonError::into_inner);
                if state.last.elapsed() > patience {
                    let context = format!("soak (repeat with: {})", state.repeat);
                    let wrong = Wrong::new(format!("no progress for {patience:?}: the test hangs"));
                    report_line(&format_args!("error: {}", Failure::Wrong { context, wrong }));
                    // The exit code of a wrong result; the hanging threads never return.
                    std::process::exit(1);
                }
            }
        };
        Self { state, end: Some(end), thread: Some(thread::spawn(body)) }
    }

    /// Notes that a round begins, which this command repeats.
    pub(super) fn expect(&self, repeat: &str) {
        *self.lock() = State { last: Instant::now(), repeat: repeat.to_owned() };
    }

    /// Reports progress.
    pub(super) fn alive(&self) {
        self.lock().last = Instant::now();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // The thread returns no value.
            let _ = thread.join();
        }
    }
}
