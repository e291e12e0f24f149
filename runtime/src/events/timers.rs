//! The timers of a worker.

use super::wheel::{Key, Wheel};
use crate::scheduler::{Context, Runtime, RuntimeState};
use crate::sync::{AtomicU64, Relaxed, SeqCst, SpinMutex};
use crate::task::deadline::Deadline;
use alloc::boxed::Box;
use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;
use core::time::Duration;

/// Nanoseconds of a tick: about a millisecond.
const TICK: u64 = 1 << 20;
/// No timer is set.
pub(super) const NEVER: u64 = u64::MAX;

pub(super) type Action = Box<dyn FnOnce(&mut Context) + Send>;

/// The timers of one worker.
pub(super) struct Timers {
    state: SpinMutex<State>,
    /// When the worker has to look at its timers, in nanoseconds. Written under the lock.
    next: AtomicU64,
}

struct State {
    /// Made with the first timer.
    wheel: Option<Box<Wheel<Action>>>,
    /// A shutdown has begun: no timer is set any more.
    is_closed: bool,
}

impl Timers {
    pub fn new() -> Self {
        Self { state: SpinMutex::new(State { wheel: None, is_closed: false }), next: AtomicU64::new(NEVER) }
    }

    /// Returns when the worker has to look at its timers, in nanoseconds.
    #[inline]
    pub fn next(&self) -> u64 {
        self.next.load(Relaxed)
    }

    /// As [`next`](Self::next), for a worker that has published that it falls asleep.
    pub fn next_for_sleep(&self) -> u64 {
        // SeqCst, with `set_timer`: either this load sees the timer, or that thread sees that the
        // worker is asleep.
        self.next.load(SeqCst)
    }

    fn set(&self, now: u64, at: u64, action: Action) -> Result<Key, Action> {
        let state = &mut *self.state.lock();
        if state.is_closed {
            return Err(action);
        }
        let wheel = state.wheel.get_or_insert_with(|| Box::new(Wheel::new(now / TICK)));
        let key = wheel.insert(at.div_ceil(TICK), action);
        self.publish(wheel);
        Ok(key)
    }

    fn cancel(&self, key: Key) -> Option<Action> {
        // The next look may find that nothing is due.
        self.state.lock().wheel.as_mut()?.remove(key)
    }

    /// Returns the actions of the timers that are due.
    pub fn due(&self, now: u64) -> Vec<Action> {
        let mut due = Vec::new();
        if let Some(wheel) = &mut self.state.lock().wheel {
            wheel.advance(now / TICK, &mut due);
            self.publish(wheel);
        }
        due
    }

    /// Removes all timers, and refuses further ones. The caller drops them, without the lock.
    pub fn close(&self) -> Vec<Action> {
        let state = &mut *self.state.lock();
        state.is_closed = true;
        self.next.store(NEVER, SeqCst);
        state.wheel.take().into_iter().flat_map(|mut wheel| wheel.clear()).collect()
    }

    fn publish(&self, wheel: &Wheel<Action>) {
        let next = wheel.next_tick().map_or(NEVER, |tick| tick.saturating_mul(TICK));
        // SeqCst: see `next_for_sleep`.
        self.next.store(next, SeqCst);
    }
}

/// A timer that was set by [`Runtime::timer`] or [`Context::timer`]. Dropping it leaves the timer
/// as it is.
#[derive(Debug)]
pub struct Timer {
    shared: Weak<RuntimeState>,
    worker: usize,
    key: Option<Key>,
}

impl Timer {
    /// Cancels the timer. Returns false if its action has begun, or is about to, or if the runtime
    /// has begun to end.
    pub fn cancel(self) -> bool {
        let Some((shared, key)) = self.shared.upgrade().zip(self.key) else { return false };
        shared.outside.timers(self.worker).cancel(key).is_some()
    }
}

impl Runtime {
    /// Calls `action` in a task of its own once `delay` has passed, on one of the workers. It
    /// spawns what is to happen then.
    ///
    /// A timer is never early. An idle worker is late by up to two milliseconds. A busy one looks
    /// at its timers after some hundred tasks, and the action then waits for its turn. Setting and
    /// cancelling a timer takes constant time, however many there are. When a shutdown begins,
    /// they are dropped.
    ///
    /// ```
    /// use std::time::Duration;
    /// use xtasking::Runtime;
    ///
    /// let rt = Runtime::builder().workers(1).build()?;
    /// let count = rt.plain(0).build();
    /// let (promise, done) = rt.promise();
    /// let late = count.clone();
    /// rt.timer(Duration::from_millis(5), move |cx| {
    ///     cx.task(late.write()).spawn(|count, _cx| {
    ///         *count += 1;
    ///         promise.fulfil(*count);
    ///     });
    /// });
    /// assert_eq!(done.join()?, 1);
    ///
    /// let never = rt.timer(Duration::from_secs(3600), |_cx| unreachable!());
    /// assert!(never.cancel());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn timer(&self, delay: Duration, action: impl FnOnce(&mut Context) + Send + 'static) -> Timer {
        set_timer(self.shared(), self.shared().next_in_turn(), delay, Box::new(action))
    }
}

impl Context {
    /// Calls `action` in a task of its own on this worker, once `delay` has passed; see
    /// [`Runtime::timer`].
    pub fn timer(&self, delay: Duration, action: impl FnOnce(&mut Context) + Send + 'static) -> Timer {
        set_timer(self.worker.shared(), self.worker(), delay, Box::new(action))
    }
}

fn set_timer(shared: &Arc<RuntimeState>, worker: usize, delay: Duration, action: Action) -> Timer {
    let at = Deadline::after(shared, delay).nanoseconds();
    let set = shared.outside.timers(worker).set(shared.platform.now(), at, action);
    // SeqCst, with `Driver::sleep`: see `Timers::next_for_sleep`.
    if !planted!("timer-left-to-sleeper") && shared.slots[worker].asleep.0.load(SeqCst) {
        shared.wake(worker);
    }
    Timer { shared: Arc::downgrade(shared), worker, key: set.ok() }
}
