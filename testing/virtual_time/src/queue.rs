//! Implements queues in which tasks and submitters wait until they are called.

use super::participant::{Number, State};
use super::run_token::RunToken;
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A FIFO queue in virtual time, to build locks and other synchronization. Created by
/// [`Clocks::queue`](super::Clocks::queue).
///
/// As one thread runs at a time, nothing happens between a check and a [`wait`](Self::wait):
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
/// use xtasking::Runtime;
/// use xtasking_virtual_time::{Costs, VirtualTime};
///
/// let (platform, clocks) = VirtualTime::new(2, 1, Costs::default());
/// let rt = Runtime::builder().platform(platform).build()?;
/// let (held, queue) = (Arc::new(AtomicBool::new(false)), Arc::new(clocks.queue()));
/// for core in 0..2 {
///     let (held, queue, clocks) = (held.clone(), queue.clone(), clocks.clone());
///     rt.task(()).core(core).spawn(move |(), _| {
///         while held.swap(true, Relaxed) {
///             queue.wait();
///         }
///         clocks.spend(1000);
///         held.store(false, Relaxed);
///         queue.call_one();
///     });
/// }
/// drop(rt);
/// assert!((2000..2100).contains(&clocks.makespan()));
/// # Ok::<(), xtasking::BuildError>(())
/// ```
pub struct Queue {
    token: Arc<RunToken>,
    waiting: Mutex<VecDeque<Number>>,
}

impl Queue {
    pub(super) fn new(token: Arc<RunToken>) -> Self {
        Self { token, waiting: Mutex::default() }
    }

    /// Waits until the caller is called. A task is blocked meanwhile, and so is its core.
    ///
    /// # Panics
    ///
    /// If the calling thread is no participant, or in a deadlock.
    pub fn wait(&self) {
        let participant = self.token.own_participant();
        self.waiting().push_back(participant);
        if let Err(deadlock) = self.token.wait_as(participant, State::Queued) {
            self.waiting().retain(|&waiting| waiting != participant);
            deadlock.report();
        }
    }

    /// Calls the longest waiter, which continues at the caller's time. Returns true if there is
    /// one.
    pub fn call_one(&self) -> bool {
        loop {
            let first = self.waiting().pop_front();
            let Some(first) = first else { return false };
            if self.token.call(first) {
                return true;
            }
        }
    }

    /// Calls all waiters.
    pub fn call_all(&self) {
        while self.call_one() {}
    }

    /// Returns the number of waiters.
    pub fn len(&self) -> usize {
        self.waiting().len()
    }

    /// Returns true if the queue is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<Number>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").field("len", &self.len()).finish_non_exhaustive()
    }
}
