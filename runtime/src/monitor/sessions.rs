//! Sessions: the times during which a runtime is recorded on demand.
//!
//! A session begins with the first of several recordings that overlap, and ends with the last.

use crate::sync::{AtomicU32, Relaxed, SpinMutex};

/// Sessions that are told apart by their number; see [`Sessions::current`].
pub(crate) const SESSION_NUMBERS: u32 = 7;

/// The recordings that are active, and how long they were.
#[derive(Default)]
pub(crate) struct Sessions {
    /// The number of the session, from 1 to [`SESSION_NUMBERS`]; 0 between two. Relaxed: a thread
    /// that sees it late records a little less, or a little more.
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
    pub is_active: bool,
    /// When the last session began.
    pub began: u64,
    /// The time of the last session.
    pub session: u64,
    /// The time of all.
    pub total: u64,
}

impl Sessions {
    /// Returns the number of the session; 0 if nothing is recorded.
    #[inline]
    pub fn current(&self) -> u8 {
        self.current.load(Relaxed) as u8
    }

    /// Begins one more recording. If it is the first, `begin` is called under the lock.
    pub fn begin(&self, now: u64, begin: impl FnOnce()) {
        let mut state = self.state.lock();
        state.active += 1;
        if state.active == 1 {
            state.before += state.last;
            (state.began, state.last) = (now, 0);
            state.number = state.number % SESSION_NUMBERS + 1;
            self.current.store(state.number, Relaxed);
            begin();
        }
    }

    /// Ends a recording. If it was the last, `end` is called under the lock.
    pub fn end(&self, now: u64, end: impl FnOnce()) {
        let mut state = self.state.lock();
        state.active -= 1;
        if state.active == 0 {
            state.last = now.saturating_sub(state.began);
            self.current.store(0, Relaxed);
            end();
        }
    }

    /// Returns how long recordings were active.
    pub fn time(&self, now: u64) -> RecordedTime {
        let state = self.state.lock();
        let is_active = state.active != 0;
        let session = if is_active { now.saturating_sub(state.began) } else { state.last };
        RecordedTime { is_active, began: state.began, session, total: state.before + session }
    }
}
