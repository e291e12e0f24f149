//! Records and inspects the runtime while it is asked for, and not otherwise.

use crate::history::{History, INTERVAL};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use xtasking::metrics::{Inspection, Inspector, Recording};

/// How long a page counts as open after its last request. Browsers slow pages in the background
/// down to a request a second.
const PAGE_OPEN: Duration = Duration::from_secs(3);

/// A runtime and what was seen of it. While a page is open a thread looks at the runtime at equal
/// intervals, however many pages there are.
pub(crate) struct Sampler {
    shared: Arc<Shared>,
}

struct Shared {
    name: String,
    /// How long a request for metrics keeps the runtime recording.
    keep_recording: Duration,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Looks at the runtime, if there is one already.
    inspector: Option<Inspector>,
    /// Until when a page is open.
    page_until: Option<Instant>,
    /// Until when the runtime is recorded, whether there is a page or not.
    record_until: Option<Instant>,
    history: History,
    /// The newest view as JSON.
    data: Option<Arc<str>>,
    /// While the runtime is recorded.
    recording: Option<Recording>,
    /// The thread that ends the recording, or has ended one.
    thread: Option<JoinHandle<()>>,
}

impl Sampler {
    pub fn new(name: String, keep_recording: Duration) -> Self {
        Self { shared: Arc::new(Shared { name, keep_recording, state: Mutex::default() }) }
    }

    /// Looks at another runtime from now on.
    pub fn show(&self, inspector: Inspector) {
        let mut state = self.shared.lock();
        if state.recording.is_some() {
            state.recording = Some(inspector.record());
        }
        state.inspector = Some(inspector);
        (state.history, state.data) = (History::default(), None);
        if is_before(Instant::now(), state.page_until) {
            self.shared.sample(&mut state);
        }
    }

    /// Returns what looks at the runtime.
    pub fn inspector(&self) -> Option<Inspector> {
        self.shared.lock().inspector.clone()
    }

    /// Returns what the page draws, as JSON, and keeps the runtime recorded for a while. `None` if
    /// the runtime has ended.
    pub fn data(&self) -> Option<Arc<str>> {
        let mut state = self.shared.lock();
        let now = Instant::now();
        let is_first = !is_before(now, state.page_until);
        state.page_until = Some(now + PAGE_OPEN);
        state.record_until = state.record_until.max(state.page_until);
        if is_first {
            (state.history, state.data) = (History::default(), None);
        }
        self.record(&mut state);
        if is_first {
            self.shared.sample(&mut state);
        }
        state.data.clone()
    }

    /// Inspects the runtime, and keeps it recorded for the time that is set. `None` if it has
    /// ended.
    pub fn inspect_for_metrics(&self) -> Option<Inspection> {
        let mut state = self.shared.lock();
        if !self.shared.keep_recording.is_zero() {
            let until = Instant::now() + self.shared.keep_recording;
            state.record_until = state.record_until.max(Some(until));
            self.record(&mut state);
        }
        let inspector = state.inspector.clone();
        drop(state);
        inspector?.snapshot()
    }

    /// Has the runtime recorded, and a thread end that when nothing asks any more. Where no thread
    /// can be started, what is recorded stands still.
    fn record(&self, state: &mut State) {
        if let Some(thread) = state.thread.take() {
            // It may wait for a later moment.
            thread.thread().unpark();
            if state.recording.is_some() {
                state.thread = Some(thread);
                return;
            }
            // It takes the lock no more.
            let _ = thread.join();
        }
        let Some(inspector) = &state.inspector else { return };
        let shared = self.shared.clone();
        let thread = thread::Builder::new().name("inspect recording".to_owned());
        let Ok(thread) = thread.spawn(move || shared.sample_while_asked()) else { return };
        state.recording = Some(inspector.record());
        state.thread = Some(thread);
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        (state.page_until, state.record_until) = (None, None);
        let thread = state.thread.take();
        drop(state);
        if let Some(thread) = thread {
            thread.thread().unpark();
            // A panic there has been printed, and is no reason to end the program.
            let _ = thread.join();
        }
    }
}

fn is_before(now: Instant, end: Option<Instant>) -> bool {
    end.is_some_and(|end| now < end)
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an inspection to the history.
    fn sample(&self, state: &mut State) {
        let inspection = state.inspector.as_ref().and_then(Inspector::snapshot);
        state.data = inspection.and_then(|inspection| {
            state.history.add(inspection);
            let view = state.history.view(&self.name)?;
            Some(serde_json::to_string(&view).expect("a view has string keys only").into())
        });
    }

    /// Takes an inspection in each interval while a page is open, until nothing is recorded any
    /// more.
    fn sample_while_asked(&self) {
        let mut next = Instant::now() + INTERVAL;
        loop {
            let mut state = self.lock();
            let now = Instant::now();
            let is_open = is_before(now, state.page_until);
            if is_open && now >= next {
                self.sample(&mut state);
                // After a delay it goes on from now, and does not hurry.
                next = (next + INTERVAL).max(now);
            } else if !is_open {
                // Memory is kept only while it is drawn.
                (state.history, state.data) = (History::default(), None);
                next = now + INTERVAL;
            }
            let Some(end) = state.record_until.filter(|&end| now < end) else {
                state.recording = None;
                return;
            };
            drop(state);
            thread::park_timeout(if is_open { next - now.min(next) } else { end - now });
        }
    }
}
