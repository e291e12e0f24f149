//! Records and inspects the runtime while it is asked for, and not otherwise.

use crate::history::{History, INTERVAL};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use xtasking::metrics::{Inspector, Recording};

/// How long a page counts as open after its last request. Browsers slow pages in the background
/// down to a request a second.
const PAGE_OPEN: Duration = Duration::from_secs(3);

/// A runtime and what was seen of it. While a page is open a thread looks at the runtime at equal
/// intervals, however many pages there are.
pub(crate) struct Sampler {
    sampling: Arc<Sampling>,
}

/// What the thread and the requests share.
struct Sampling {
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
    /// Whether the server has ended: nothing is recorded any more.
    is_stopped: bool,
}

impl Sampler {
    pub fn new(name: String, keep_recording: Duration) -> Self {
        Self { sampling: Arc::new(Sampling { name, keep_recording, state: Mutex::default() }) }
    }

    /// Looks at another runtime from now on.
    pub fn show(&self, inspector: Inspector) {
        let mut state = self.sampling.lock();
        if state.recording.is_some() {
            state.recording = Some(inspector.record());
        }
        state.inspector = Some(inspector);
        (state.history, state.data) = (History::default(), None);
        if is_before(Instant::now(), state.page_until) {
            self.sampling.sample(&mut state);
        }
    }

    /// Returns what looks at the runtime.
    pub fn inspector(&self) -> Option<Inspector> {
        self.sampling.lock().inspector.clone()
    }

    /// Returns what the page draws, as JSON, and keeps the runtime recorded for a while. `None` if
    /// the runtime has ended.
    pub fn data(&self) -> Option<Arc<str>> {
        let mut state = self.sampling.lock();
        let now = Instant::now();
        let is_first = !is_before(now, state.page_until);
        state.page_until = Some(now + PAGE_OPEN);
        state.record_until = state.record_until.max(state.page_until);
        if is_first {
            (state.history, state.data) = (History::default(), None);
        }
        self.record(&mut state);
        if is_first {
            self.sampling.sample(&mut state);
        }
        state.data.clone()
    }

    /// Keeps the runtime recorded for the time that is set for a request for metrics.
    pub fn keep_recorded(&self) {
        if self.sampling.keep_recording.is_zero() {
            return;
        }
        let mut state = self.sampling.lock();
        let until = Instant::now() + self.sampling.keep_recording;
        state.record_until = state.record_until.max(Some(until));
        self.record(&mut state);
    }

    /// Begins to record the runtime, and starts a thread that ends this when nothing asks any more.
    /// Where no thread can be started, what is recorded stands still.
    fn record(&self, state: &mut State) {
        if state.is_stopped {
            return;
        }
        if let Some(thread) = state.thread.take() {
            // It may wait for a later moment.
            thread.thread().unpark();
            if state.recording.is_some() && !thread.is_finished() {
                state.thread = Some(thread);
                return;
            }
            // It takes the lock no more. A panic there has been printed.
            let _ = thread.join();
        }
        let Some(inspector) = &state.inspector else { return };
        let sampling = self.sampling.clone();
        let thread = thread::Builder::new().name("inspect recording".to_owned());
        let Ok(thread) = thread.spawn(move || sampling.sample_while_asked()) else { return };
        state.recording = Some(inspector.record());
        state.thread = Some(thread);
    }

    /// Ends the recording and its thread, for good.
    pub fn stop(&self) {
        let mut state = self.sampling.lock();
        (state.page_until, state.record_until) = (None, None);
        state.is_stopped = true;
        let thread = state.thread.take();
        drop(state);
        if let Some(thread) = thread {
            thread.thread().unpark();
            // A panic there has been printed, and is no reason to end the program.
            let _ = thread.join();
        }
    }
}

/// Ends the recording if the thread that would do so panics.
struct EndOnPanic<'a>(&'a Sampling);

impl Drop for EndOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.lock().recording = None;
        }
    }
}

/// Returns when the inspection after the one of `due` is due. After a delay it goes on from now,
/// and does not hurry: the figures of a very short span mean little.
fn due_after(due: Instant, now: Instant) -> Instant {
    let next = due + INTERVAL;
    if next <= now { now + INTERVAL } else { next }
}

fn is_before(now: Instant, end: Option<Instant>) -> bool {
    end.is_some_and(|end| now < end)
}

impl Sampling {
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
        let _end = EndOnPanic(self);
        let mut next = Instant::now() + INTERVAL;
        loop {
            let mut state = self.lock();
            let now = Instant::now();
            let is_open = is_before(now, state.page_until);
            if is_open && now >= next {
                self.sample(&mut state);
                next = due_after(next, Instant::now());
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
            let due = if is_open { next } else { end };
            thread::park_timeout(due.saturating_duration_since(Instant::now()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use xtasking::Runtime;

    fn sampler() -> (Runtime, Sampler) {
        let rt = Runtime::builder().workers(1).inspection(true).build().unwrap();
        let sampler = Sampler::new("test".to_owned(), Duration::ZERO);
        sampler.show(rt.inspector().unwrap());
        (rt, sampler)
    }

    /// A thread that has ended by a panic does not leave the page without figures.
    #[test]
    fn another_thread_follows_one_that_has_panicked() {
        let (_rt, sampler) = sampler();
        let ended = thread::spawn(|| ());
        let id = ended.thread().id();
        while !ended.is_finished() {
            thread::yield_now();
        }
        {
            let mut state = sampler.sampling.lock();
            state.recording = state.inspector.as_ref().map(Inspector::record);
            state.thread = Some(ended);
        }
        assert!(sampler.data().is_some());
        let state = sampler.sampling.lock();
        assert!(
            state.recording.is_some() && state.thread.as_ref().is_some_and(|now| now.thread().id() != id)
        );
        drop(state);
        sampler.stop();
    }

    #[test]
    fn a_panic_ends_the_recording() {
        let (rt, sampler) = sampler();
        let is_recording = || rt.inspector().unwrap().snapshot().unwrap().is_recording;
        sampler.sampling.lock().recording = Some(rt.inspector().unwrap().record());
        drop(EndOnPanic(&sampler.sampling));
        assert!(is_recording());
        let panics = || {
            let _end = EndOnPanic(&sampler.sampling);
            let _state = sampler.sampling.lock();
            std::panic::resume_unwind(Box::new(()));
        };
        assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
        assert!(!is_recording());
    }

    #[test]
    fn nothing_is_recorded_after_the_end() {
        let (rt, sampler) = sampler();
        assert!(sampler.data().is_some());
        sampler.stop();
        let _ = sampler.data();
        assert!(!rt.inspector().unwrap().snapshot().unwrap().is_recording);
        assert!(sampler.sampling.lock().thread.is_none());
    }

    #[test]
    fn inspections_keep_their_distance() {
        let due = Instant::now();
        let after = |delay| due_after(due, due + delay) - due;
        let short = Duration::from_millis(20);
        assert_eq!((after(Duration::ZERO), after(short)), (INTERVAL, INTERVAL));
        assert_eq!((after(INTERVAL), after(2 * INTERVAL)), (2 * INTERVAL, 3 * INTERVAL));
    }
}
