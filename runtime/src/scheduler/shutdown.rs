//! How a runtime ends. The head of `runtime_state.rs` has the protocol.

use super::runtime_state::{phase, signals};
use super::shutdown_error::ShutdownTimedOut;
use super::{Runtime, RuntimeState};
use crate::platform::WouldBlock;
use crate::sync::SeqCst;
use crate::task::deadline::Deadline;
use core::task::Waker;
use core::time::Duration;

/// How a runtime ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shutdown {
    /// All tasks that were spawned run, follow-ups included.
    Drain,
    /// Tasks that have not started are dropped. Their handles return
    /// [`JoinError::Cancelled`](crate::JoinError::Cancelled).
    Cancel,
}

impl Runtime {
    /// Ends the runtime, and waits until all workers have returned. Every handle has a result then.
    /// Waits for [room](crate::limit) end with an error.
    ///
    /// In one of the runtime's own tasks it does not wait; the runtime ends when its tasks have
    /// run. In a process that was forked from the runtime's it does nothing.
    pub fn shutdown(mut self, how: Shutdown) {
        _ = self.stop(how, None);
    }

    /// Ends the runtime as [`shutdown`](Self::shutdown) does, but waits at most for `limit`,
    /// whatever the tasks do. At the limit, tasks that have not started are cancelled, also with
    /// [`Shutdown::Drain`].
    ///
    /// A task that runs cannot be stopped. After an error the workers go on by themselves, until
    /// the running tasks have ended and the others are cancelled. Then the runtime frees its
    /// memory. A handle behind a task that never ends has no result: use
    /// [`Handle::join_timeout`](crate::Handle::join_timeout) there.
    ///
    /// ```
    /// use std::sync::mpsc;
    /// use std::time::Duration;
    /// use xtasking::{Runtime, Shutdown};
    ///
    /// let rt = Runtime::builder().workers(1).name_running(true).build()?;
    /// let ((begin, begun), (open, gate)) = (mpsc::channel(), mpsc::channel::<()>());
    /// rt.task(()).spawn(move |(), _cx| {
    ///     begin.send(()).unwrap();
    ///     _ = gate.recv(); // until the gate is opened
    /// });
    /// begun.recv()?;
    /// let error = rt.shutdown_within(Shutdown::Drain, Duration::from_millis(10)).unwrap_err();
    /// assert_eq!(error.running.len(), 1);
    /// println!("{error}");
    /// drop(open);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If not all tasks were over at the limit: names those that were running. Also on one of the
    /// runtime's own workers, where it does not wait.
    pub fn shutdown_within(mut self, how: Shutdown, limit: Duration) -> Result<(), ShutdownTimedOut> {
        let deadline = self.deadline_in(limit);
        self.stop(how, Some(deadline))
    }

    fn stop(&mut self, how: Shutdown, limit: Option<Deadline>) -> Result<(), ShutdownTimedOut> {
        if !core::mem::replace(&mut self.is_owner, false) {
            return Ok(());
        }
        let shared = &self.shared;
        if shared.platform.has_lost_workers() {
            return Ok(());
        }
        let ending = if how == Shutdown::Drain { phase::DRAINING } else { phase::CANCELLING };
        if ending == phase::CANCELLING {
            // First: of what starts from now on, all is cancelled.
            shared.signals.0.fetch_or(signals::CANCELLING, SeqCst);
        }
        shared.phase.store(ending, SeqCst);
        if !planted!("waiters-for-room-forgotten") {
            shared.limits.close();
        }
        shared.outside.close();
        shared.wake_all();
        let waited = shared.wait_for_end(limit);
        if waited == Ok(true) {
            shared.phase.store(phase::STOPPED, SeqCst);
            shared.wake_all();
            shared.platform.join();
            shared.drop_parked();
            return Ok(());
        }
        if waited == Ok(false) {
            shared.signals.0.fetch_or(signals::CANCELLING, SeqCst);
            shared.phase.store(phase::CANCELLING, SeqCst);
        }
        let running = shared.running_tasks();
        shared.leave_to_workers();
        Err(ShutdownTimedOut { running })
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        _ = self.stop(Shutdown::Drain, None);
    }
}

impl RuntimeState {
    /// Waits until no task is left, at most until `limit`. Returns false if that came first.
    fn wait_for_end(&self, limit: Option<Deadline>) -> Result<bool, WouldBlock> {
        // A task that blocks in place would wait for its own end.
        if self.is_blocked_in_place() {
            return Err(WouldBlock);
        }
        let mut is_drained = |waker: &Waker| {
            *self.drained.lock() = Some(waker.clone());
            self.epochs.is_quiescent(self.ledgers()) || planted!("stopped-before-quiescent")
        };
        match limit {
            None => self.platform.block(&mut is_drained).map(|()| true),
            Some(limit) => self.platform.block_until(limit.nanoseconds(), &mut is_drained),
        }
    }

    /// Returns true if a task of this runtime blocks in place on the calling thread.
    fn is_blocked_in_place(&self) -> bool {
        #[cfg(feature = "std")]
        return super::worker_thread::is_blocked_in(self);
        #[cfg(not(feature = "std"))]
        false
    }

    /// Leaves the end of the runtime to its workers: the last one without tasks stops it.
    fn leave_to_workers(&self) {
        self.stop_when_drained.store(true, SeqCst);
        // All workers may have come to their ends meanwhile, and sleep.
        self.notify_if_drained();
        self.wake_all();
        self.platform.leave();
    }

    /// In a shutdown: wakes the thread that waits for its end if no task is left. If no thread
    /// waits, stops the runtime.
    pub(crate) fn notify_if_drained(&self) {
        // SeqCst, before the counters are read: a handle that has seen OPEN is counted there.
        if self.is_shutting_down() && self.epochs.is_quiescent(self.ledgers()) {
            if let Some(waker) = self.drained.lock().take() {
                waker.wake();
            }
            if self.stop_when_drained.load(SeqCst) {
                self.phase.store(phase::STOPPED, SeqCst);
                self.wake_all();
            }
        }
    }
}
