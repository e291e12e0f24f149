//! What a worker does while it waits, in the midst of a task.
//!
//! **In a join**, for a stolen job: it steals parts of that job from its thief, and nothing else.
//! So no unrelated work delays the join. If there are none, it calls the [`WaitHook`]. After a
//! while it *sleeps*, until the job is done or parts of it were published. It does not count as
//! asleep for lack of work: only workers that run that job or parts of it wake it, or
//! [`Runtime::interrupt_waits`].
//!
//! **For anything else** the task calls [`Fork::help`], which steals a job of any worker.
//!
//! [`Runtime::interrupt_waits`]: crate::Runtime::interrupt_waits

use super::handover::JobState;
use super::{Fork, Handover, Top};
use crate::scheduler::Worker;
use crate::sync::{Backoff, Relaxed, Release, SeqCst, fence};
use crate::task::{catch, discard};
use alloc::sync::Arc;

/// The function of [`Builder::while_waiting`](crate::Builder::while_waiting).
pub(crate) type WaitHook = Arc<dyn Fn(Fork<'_>) -> bool + Send + Sync>;

impl Fork<'_> {
    /// Runs a half of a join or a piece of a scope that another worker has not begun. Returns true
    /// if there was one.
    ///
    /// This is for a task that has to wait until other tasks have done something, and has nothing
    /// else to do. What it runs may be a part of any task, and may take long.
    ///
    /// It returns false as well if this task itself has work on this worker that has not begun: if
    /// it is called in the first half of a join, or in the function of a scope, while the rest can
    /// still be stolen.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
    ///
    /// let rt = xtasking::Runtime::builder().workers(2).build()?;
    /// let is_sorted = Arc::new(AtomicBool::new(false));
    /// let sorted = is_sorted.clone();
    /// rt.task(()).spawn(move |(), cx| {
    ///     let (mut left, mut right) = ([3, 1, 2], [6, 5, 4]);
    ///     cx.fork().join(|_| left.sort(), |_| right.sort());
    ///     sorted.store(true, SeqCst);
    /// });
    /// // Another task waits, and meanwhile sorts the right half, if it comes to that.
    /// rt.run(|mut cx| {
    ///     while !is_sorted.load(SeqCst) {
    ///         cx.help();
    ///     }
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn help(&mut self) -> bool {
        let top = self.place();
        // SAFETY: a task has one usable fork at a time, which borrows the worker mutably, and is at
        // `top`.
        unsafe { (*top.forks().context()).help_at(top) }
    }
}

impl Worker {
    /// Steals a job of any worker and runs it, unless jobs of this worker are below it that are not
    /// taken: what their tasks inherit is known for the topmost segment only.
    ///
    /// # Safety
    ///
    /// The caller is at `top`.
    unsafe fn help_at(&mut self, top: Top) -> bool {
        let may_help = self.forks.are_all_taken(top) || planted!("helps-beside-untaken-jobs");
        let stolen = if may_help { self.steal_job(top) } else { None };
        let Some((job, victim)) = stolen else {
            self.prepare_to_wait();
            self.shared().yield_to_others(true);
            return false;
        };
        self.note_theft(victim);
        // SAFETY: this worker took the job, and is at `top`.
        self.observe_job(false, |cx| unsafe { cx.run_taken(job, top) });
        true
    }

    /// Calls the program's function for workers that wait. Returns true if it has done something.
    ///
    /// # Safety
    ///
    /// The caller is at `top`.
    unsafe fn call_wait_hook(&mut self, top: Top) -> bool {
        let Some(hook) = self.shared().wait_hook.clone() else { return false };
        if planted!("wait-hook-forgotten") {
            return false;
        }
        let forks = self.forks;
        // From here on the context is reached by way of the stack.
        let outer = forks.replace_context(self);
        // SAFETY: the caller is at `top`.
        let outcome = catch(|| hook(unsafe { Fork::at(top) }));
        forks.replace_context(outer);
        outcome.unwrap_or_else(|payload| {
            discard(payload);
            true
        })
    }

    /// Waits until a thief has done a job, and runs parts of it meanwhile.
    ///
    /// # Safety
    ///
    /// The caller is at `top`.
    pub(super) unsafe fn wait_for(&mut self, handover: &Handover, top: Top, may_help: bool) {
        let mut backoff = Backoff::new();
        loop {
            let seen = handover.state();
            if seen.is_done() {
                return;
            }
            if may_help {
                if let Some(part) = self.steal_part(handover, top, &backoff) {
                    // SAFETY: this worker took the part, and is at `top`.
                    self.observe_job(false, |cx| unsafe { cx.run_taken(part, top) });
                    // The next ones are asked for anew: the last request may be used up.
                    handover.withdraw_request();
                    backoff = Backoff::new();
                    continue;
                }
                if !seen.is_wanted() {
                    handover.request_part();
                    self.request_parts(handover, false);
                }
            }
            // SAFETY: the caller is at `top`.
            if unsafe { self.call_wait_hook(top) } {
                backoff = Backoff::new();
                continue;
            }
            if self.shared().yield_to_others(true) {
                continue;
            }
            if backoff.is_long() && seen.is_wanted() == may_help {
                self.sleep_until_changed(handover, seen);
                backoff = Backoff::new();
            } else {
                backoff.wait();
            }
        }
    }

    /// Sleeps until the thief of a job has done it, or a part of it was published, unless that has
    /// happened since `seen`, or there is a part already. May return early.
    #[cold]
    fn sleep_until_changed(&self, handover: &Handover, seen: JobState) {
        if !seen.is_wanted() {
            return self.park_in_join(handover, seen);
        }
        let sleepers = &self.shared().asleep_in_join.0;
        // Release pairs with the Acquire of `is_any_asleep_in_join`: what is wanted is seen, too.
        sleepers.fetch_add(1, Release);
        // Pairs with the fence of a join that serves requests: a worker that has taken a part
        // either sees this sleeper, or is on a way of this worker, and is asked.
        fence(SeqCst);
        self.request_parts(handover, true);
        // Pairs with the light fence of a join: either that sees the request, or this worker sees
        // its job.
        _ = self.shared().barrier();
        if !self.sees_part(handover) {
            self.park_in_join(handover, seen);
        }
        // Relaxed: a worker that still counts this one only looks farther.
        sleepers.fetch_sub(1, Relaxed);
    }

    /// Sleeps until the state of a job is another one than was `seen`. May return early.
    fn park_in_join(&self, handover: &Handover, seen: JobState) {
        if handover.fall_asleep(seen, self.holder) {
            self.shared().platform.park(self.holder);
            handover.wake_up();
        }
    }
}
