//! Who notices that nothing goes on: a thread that ends the process with an error.

use crate::failure::Failure;
use crate::ycsb::plan::Wrong;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// What the vigil knows.
struct State {
    last: Instant,
    repeat: String,
}

/// Holds a vigil until it is dropped.
pub(super) struct Vigil {
    state: Arc<Mutex<State>>,
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Vigil {
    /// Begins; if for that long nobody says that there is progress, the process exits.
    pub(super) fn begin(patience: Duration) -> Self {
        let state = Arc::new(Mutex::new(State { last: Instant::now(), repeat: String::new() }));
        let (end, ended) = mpsc::channel();
        let seen = state.clone();
        let look = Duration::from_millis(500).min(patience);
        let body = move || {
            while ended.recv_timeout(look) == Err(RecvTimeoutError::Timeout) {
                let state = seen.lock().unwrap_or_else(PoisonError::into_inner);
                if state.last.elapsed() > patience {
                    let context = format!("soak (again with: {})", state.repeat);
                    let wrong = Wrong::new(format!("nothing has happened for {patience:?}: it hangs"));
                    eprintln!("error: {}", Failure::Wrong { context, wrong });
                    // The exit code of a wrong result; nobody else will ever return.
                    std::process::exit(1);
                }
            }
        };
        Self { state, end: Some(end), thread: Some(thread::spawn(body)) }
    }

    /// A round begins, which this command repeats.
    pub(super) fn expect(&self, repeat: &str) {
        *self.lock() = State { last: Instant::now(), repeat: repeat.to_owned() };
    }

    /// Something has happened.
    pub(super) fn alive(&self) {
        self.lock().last = Instant::now();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Vigil {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // It has nothing to tell.
            let _ = thread.join();
        }
    }
}
