//! Which of a worker's threads drives it.
//!
//! Most workers have one thread. One whose task [blocks in place](super::block_in_place) has more:
//! the thread inside the task, and a *stand-in* that drives the worker meanwhile. At any time at
//! most one of them drives it. The others are inside the function that blocks, or wait in line.
//!
//! ```text
//!          give_up, none waits                    queue_up, or take_free by a stand-in
//!  driven ─────────────────────> free ──────────────────────────────────────────────> driven
//!    │  ^
//!    └──┘ give_up, others wait: the first of them drives
//! ```

use crate::sync::{AtomicBool, Relaxed, SpinMutex};
use alloc::collections::VecDeque;
use core::task::Waker;

/// The right to drive one worker, and the threads that wait for it.
#[derive(Default)]
pub(super) struct Relay {
    state: SpinMutex<RelayState>,
    /// Some thread waits. Written under the lock.
    has_waiting: AtomicBool,
}

#[derive(Default)]
struct RelayState {
    /// No thread drives the worker. Then none waits, either.
    is_free: bool,
    /// Tasks of the worker that block in place, or wait to go on.
    blocked: usize,
    /// The threads that wait, in order.
    waiting: VecDeque<Waiting>,
    /// The ticket of the thread that was chosen to drive, and has not noticed it yet.
    chosen: Option<u64>,
    next_ticket: u64,
}

struct Waiting {
    ticket: u64,
    waker: Option<Waker>,
}

impl Relay {
    /// Counts a task that blocks in place.
    pub fn begin_block(&self) {
        self.state.lock().blocked += 1;
    }

    /// Counts a task that no longer blocks.
    pub fn end_block(&self) {
        self.state.lock().blocked -= 1;
    }

    /// Returns true if a thread of this worker is inside a task that blocks.
    pub fn has_blocked(&self) -> bool {
        self.state.lock().blocked != 0
    }

    /// Returns true if a thread waits to drive. It goes on waiting until the driving one gives up.
    pub fn has_waiting(&self) -> bool {
        // Relaxed: a driving thread that has seen the generation that a waiting one has counted up
        // sees this, too, by the lock of the worker set.
        self.has_waiting.load(Relaxed)
    }

    /// Ends the calling thread's right to drive. Returns true if another thread drives now.
    pub fn give_up(&self) -> bool {
        let mut state = self.state.lock();
        let Some(Waiting { ticket, waker }) = state.waiting.pop_front() else {
            state.is_free = true;
            return false;
        };
        state.chosen = Some(ticket);
        self.has_waiting.store(!state.waiting.is_empty(), Relaxed);
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
        true
    }

    /// Makes the calling thread drive if no other does. Returns false otherwise.
    pub fn take_free(&self) -> bool {
        core::mem::replace(&mut self.state.lock().is_free, false)
    }

    /// Makes the calling thread drive if no other does. Otherwise puts it into the line, and
    /// returns its ticket.
    pub fn queue_up(&self) -> Option<u64> {
        let mut state = self.state.lock();
        if core::mem::replace(&mut state.is_free, false) {
            return None;
        }
        let ticket = state.next_ticket;
        state.next_ticket += 1;
        state.waiting.push_back(Waiting { ticket, waker: None });
        self.has_waiting.store(true, Relaxed);
        Some(ticket)
    }

    /// Returns true, once, if the thread with that ticket was chosen to drive. Otherwise keeps the
    /// waker for that moment.
    pub fn is_chosen(&self, ticket: u64, waker: &Waker) -> bool {
        let mut state = self.state.lock();
        if state.chosen == Some(ticket) {
            state.chosen = None;
            return true;
        }
        if let Some(waiting) = state.waiting.iter_mut().find(|waiting| waiting.ticket == ticket) {
            waiting.waker = Some(waker.clone());
        }
        false
    }
}
