//! Sessions: the times during which a runtime is recorded on demand.
//!
//! A session begins with the first of several recordings that overlap, and ends with the last.

use crate::sync::{Acquire, AtomicU32, Relaxed, Release, SpinMutex};

/// Sessions that are told apart by their number: 24 bits of the signals.
const SESSION_NUMBERS: u32 = (1 << 24) - 1;

/// The recordings that are active, and how long they were.
#[derive(Default)]
pub(crate) struct Sessions {
    /// The number of the session, from 1 to [`SESSION_NUMBERS`]; 0 between two. A thread that sees
    /// it late records a little less, or a little more.
    current: AtomicU32,
    state: SpinMutex<State>,
}

/// In ticks of the observer's clock.
#[derive(Default)]
struct State {
    /// Recordings that are active.
    active: usize,
    /// The number of the last session.
    number: u32,
    /// When the session has begun.
    began: u64,
    /// How long the last session was.
    last: u64,
    /// How long all sessions before were.
    before: u64,
}

/// How long recordings were active.
#[derive(Clone, Copy)]
pub(crate) struct RecordedTime {
    /// The number of the session; 0 if there is none.
    pub session_number: u32,
    /// The number of the last session, which may still go on.
    pub last_number: u32,
    /// The time of the last session.
    pub session: u64,
    /// The time of all.
    pub total: u64,
}

impl Sessions {
    /// Returns the number of the session; 0 if nothing is recorded.
    #[inline]
    pub fn current(&self) -> u32 {
        // Acquire pairs with the Release of `begin`: the caller sees what began the session.
        self.current.load(Acquire)
    }

    /// Begins one more recording. If it is the first, `begin` is called with the number of the new
    /// session, before any other thread sees it.
    pub fn begin(&self, now: u64, begin: impl FnOnce(u32)) {
        let mut state = self.state.lock();
        state.active += 1;
        if state.active == 1 {
            state.before += state.last;
            (state.began, state.last) = (now, 0);
            state.number = state.number % SESSION_NUMBERS + 1;
            if planted!("session-seen-early") {
                self.current.store(state.number, Release);
            }
            begin(state.number);
            // Release pairs with the Acquire of `current`.
            self.current.store(state.number, Release);
        }
    }

    /// Ends a recording. If it was the last, `end` is called under the lock, and its result
    /// returned.
    pub fn end<R>(&self, now: u64, end: impl FnOnce() -> R) -> Option<R> {
        let mut state = self.state.lock();
        state.active -= 1;
        (state.active == 0).then(|| {
            state.last = now.saturating_sub(state.began);
            self.current.store(0, Relaxed);
            end()
        })
    }

    /// Returns how long nothing was recorded until the last session began. A moment of that session
    /// less this is the moment on a clock that stands still between sessions.
    pub fn unrecorded(&self) -> u64 {
        let state = self.state.lock();
        state.began.saturating_sub(state.before)
    }

    /// Returns how long recordings were active.
    pub fn time(&self, now: u64) -> RecordedTime {
        let state = self.state.lock();
        let is_active = state.active != 0;
        let session = if is_active { now.saturating_sub(state.began) } else { state.last };
        let last_number = state.number;
        let session_number = if is_active { last_number } else { 0 };
        RecordedTime { session_number, last_number, session, total: state.before + session }
    }
}
