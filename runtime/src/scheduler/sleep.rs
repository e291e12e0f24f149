//! How a worker falls asleep, so that no task is left to sleepers.
//!
//! # A push (`RuntimeState::push`)
//!
//! 1. Publish the task in the inbox. Sequentially consistent.
//! 2. Load `asleep`. Sequentially consistent. If it is false, the push is done.
//! 3. Swap `asleep` to false. The one thread that reads true calls `Platform::wake`.
//!
//! # Falling asleep ([`Driver::sleep`])
//!
//! 1. Free garbage or leave it to other workers, go offline in the epochs, count as searching.
//! 2. Store `asleep = true`. Sequentially consistent.
//! 3. Subtract one from `awake`. The last worker to do so takes care of garbage that was left.
//! 4. Probe the inbox. Sequentially consistent.
//! 5. Remove the note of offers (`offers.rs`), send steal requests, pass a barrier, and probe all
//!    other sources: rings, jobs, batches, the shared queue, parked run queues.
//! 6. If any probe found something, undo 2 and 3 and go on. Otherwise park for as long as `asleep`
//!    is true.
//!
//! # The schedule that this rules out
//!
//! ```text
//! worker: probes its inbox, which is empty
//! pusher: pushes a task, loads asleep = false, wakes none
//! worker: stores asleep = true, parks                     -> the task waits for the next push
//! ```
//!
//! Two checks decide: the pusher publishes (push 1), then loads `asleep` (push 2); the worker
//! stores `asleep` (sleep 2), then probes the inbox (sleep 4). All four are sequentially
//! consistent, so they have one order. If push 2 comes before sleep 2, then push 1 comes before
//! sleep 4, and the probe sees the task. Otherwise push 2 sees `asleep`, and the pusher wakes the
//! worker.
//!
//! Sources other than the inbox are published without a sequentially consistent instruction. There
//! both sides issue a fence between their write and their read, to the same effect; for joins see
//! `fork/steal.rs`. Models: `model/sleep.rs`, `model/lane.rs`, `model/ranked.rs`, `model/fork.rs`.
//! `docs/explanation/sleeping.md` has it all in more words; `worker_set.rs` has several run queues.

use super::runtime_state::phase;
use super::{Driver, Worker};
use crate::sync::{SeqCst, fence, yield_now};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// Nanoseconds from one look at the events of other workers to the next.
const LOOK_AT_OTHERS: u64 = 1_000_000;

impl Driver {
    /// Sleeps until a task is sent, work is offered, or the worker is needed otherwise.
    ///
    /// Meanwhile it [parks](crate::platform::Platform::park), several times if need be. It returns
    /// without parking if work has arrived already, or if other threads have to go on first.
    /// [`run`](Self::run) calls it after enough probes that found nothing.
    pub fn sleep(&mut self) {
        _ = self.sleep_until(&mut || false);
    }

    /// As [`sleep`](Self::sleep), but also until `is_over` returns true, which it asks before it
    /// parks and each time it is woken. Returns true in this case.
    pub(super) fn sleep_until(&mut self, is_over: &mut impl FnMut() -> bool) -> bool {
        let mut held = self.take_owned();
        // Each of them falls asleep, whatever the others have found.
        let mut found_something =
            held.iter_mut().map(|worker| worker.fall_asleep()).filter(|&found| found).count() > 0;
        let worker_set = &self.shared.worker_set;
        worker_set.set_asleep_without_queue(self.worker(), held.is_empty());
        // Pairs with the fences in `park_queue` and `wake_for_tasks`: either this worker sees the
        // parked run queue or its tasks, or that thread sees that this worker sleeps and wakes it.
        fence(SeqCst);
        found_something |= self.shared.find_neglected(self.worker()).is_some();
        let mut was_over = false;
        if found_something || self.is_needed_elsewhere(held.len()) {
            // With more workers than cores, other threads need this core to finish first.
            yield_now();
        } else {
            let was_woken = || match held[..] {
                [] => !worker_set.is_asleep_without_queue(self.worker()),
                _ => held.iter().any(|worker| !worker.is_asleep()),
            };
            while !was_woken() && !self.is_needed_elsewhere(held.len()) && !self.has_outside() {
                was_over = !planted!("wait-over-while-asleep") && is_over();
                if was_over {
                    break;
                }
                match self.next_look() {
                    None => self.shared.platform.park(self.worker()),
                    Some(until) => self.shared.platform.park_until(self.worker(), until),
                }
            }
        }
        worker_set.set_asleep_without_queue(self.worker(), false);
        for worker in &mut held {
            worker.wake_up();
        }
        // What has ended the sleep may be an event.
        self.look_next();
        self.keep_last(held);
        was_over
    }

    /// Takes this worker out of the runtime until it is driven again: its thread goes on with
    /// something else. It leaves the epochs, the search and the workers that count as awake, and
    /// passes on a wake-up that it may have been given.
    pub(super) fn stand_aside(&mut self) {
        let mut held = self.take_owned();
        held.iter_mut().for_each(|worker| worker.stand_aside());
        if !planted!("wait-over-keeps-wake-up") {
            self.pass_on_work(&held);
        }
        if self.shared.has_orphans.load(SeqCst) {
            self.shared.wake_for_garbage(self.worker());
        }
        if self.shared.phase() != phase::OPEN {
            // After the fence, as in `fall_asleep`.
            self.shared.notify_if_drained();
        }
        self.keep_last(held);
    }

    /// Takes all run queues that this worker owns and that no other thread holds.
    fn take_owned(&mut self) -> Vec<Box<Worker>> {
        let mut held: Vec<_> = self.held.take().into_iter().collect();
        for &queue in &self.owned {
            held.extend(self.shared.take_unclaimed(queue).map(|mut worker| {
                worker.holder = self.worker();
                worker
            }));
        }
        held
    }

    /// Holds the last of these run queues, and parks the others.
    fn keep_last(&mut self, mut held: Vec<Box<Worker>>) {
        let last = held.pop();
        held.into_iter().for_each(|worker| self.release(worker));
        self.held = last;
    }

    /// Returns true if a run queue that this worker owns has events or due timers.
    fn has_outside(&self) -> bool {
        self.owned.iter().any(|&queue| self.shared.has_outside(queue, queue != self.worker()))
    }

    /// Returns when this worker, which has published that it falls asleep, has to look at its
    /// timers and at the events of other workers that it stands for; `None` if it need not.
    fn next_look(&self) -> Option<u64> {
        let timers = self.owned.iter().filter_map(|&queue| self.shared.next_timer(queue));
        // It sleeps in its own queue of events, and none wakes it for those of others.
        let others = self.owned.iter().any(|&queue| queue != self.worker() && self.shared.has_sources(queue));
        let others = others.then(|| self.shared.platform.now() + LOOK_AT_OTHERS);
        timers.chain(others).min()
    }

    /// Returns true if this worker, which holds this many run queues, has to look at others, or at
    /// the assignment.
    fn is_needed_elsewhere(&self, holds: usize) -> bool {
        let has_parked = || self.owned.iter().any(|&queue| !self.shared.slots[queue].parked.is_empty());
        let is_stopped = || self.shared.phase() == phase::STOPPED;
        self.shared.worker_set.generation() != self.generation
            || holds < self.owned.len() && has_parked()
            || holds == 0 && is_stopped()
    }
}

impl Worker {
    /// Marks this run queue as asleep, and probes everywhere a second time. Returns true if there
    /// is something to do. The head of this file has the steps.
    fn fall_asleep(&mut self) -> bool {
        self.count_as_awake();
        self.epoch.leave_garbage(&self.shared, self.index, self.trace.counters());
        self.heap.flush_before_sleep();
        self.set_idle(false);
        self.set_searching(true);
        self.epoch.go_offline(&self.shared.epochs);
        // SeqCst, with `RuntimeState::push`: either the load of the flag there sees this store, or
        // the probe of the inbox below sees the task.
        self.slot().asleep.0.store(true, SeqCst);
        // The last worker to fall asleep takes care of what the others have left, and of objects
        // that other threads have dropped meanwhile. SeqCst, with `RuntimeState::wake_for_garbage`.
        let is_last = self.shared.awake.0.fetch_sub(1, SeqCst) == 1;
        let has_orphans = is_last && self.shared.has_orphans.load(SeqCst);
        // SAFETY: only the holder of a run queue probes its inbox so.
        let has_inbox = !planted!("sleep-without-recheck") && unsafe { self.inbox().may_have_tasks() };
        // Before the requests: an offer that uses up an earlier one is replaced, and one that uses
        // up this worker's is noted after this.
        let noted = self.take_offers();
        if !planted!("sleep-without-request") {
            self.request_from_all();
        }
        // Pairs with the fences of threads that publish work elsewhere: `Worker::serve_requests`,
        // `Unbound::share`, `RoundRobin::check_sleepers` and `RuntimeState::push_ranked`; and with
        // the light fence of `Top::leaves_fast_path`.
        if !planted!("sleep-without-barrier") {
            // If it fails, a half that is pushed now may wait for its owner's next join.
            _ = self.shared.barrier();
        }
        self.collect(true);
        let is_offered = self.sees_job() || self.sees_unbound_tasks() || self.shared.has_injected_tasks();
        if self.shared.phase() != phase::OPEN {
            // Each worker counts its tasks before its fence. So of the workers that finish last,
            // one sees all the counts.
            fence(SeqCst);
            self.shared.notify_if_drained();
        }
        // From rings between workers, or from an earlier holder that had not run all of them. Or
        // tickets of groups, which would stay open.
        let has_left = self.has_tasks() && !planted!("sleep-with-tasks-left") || self.groups.has_tickets();
        let found_something =
            has_orphans || has_inbox || has_left || is_offered || self.shared.phase() == phase::STOPPED;
        if found_something {
            // It may go on with something else.
            self.note_offers(noted);
        } else {
            self.counters().sleeps.add(1);
            self.trace.asleep();
        }
        found_something
    }

    /// Prepares this run queue for a time in which no thread drives it. Its inbox waits; other
    /// workers may steal its unbound tasks.
    fn stand_aside(&mut self) {
        self.epoch.leave_garbage(&self.shared, self.index, self.trace.counters());
        self.heap.flush_before_sleep();
        self.set_idle(false);
        self.set_searching(false);
        self.unbound.offer(&self.shared.slots[self.index]);
        if !planted!("wait-over-in-epoch") {
            self.epoch.go_offline(&self.shared.epochs);
        }
        if !self.is_aside && !planted!("wait-over-counts-as-awake") {
            self.is_aside = true;
            // SeqCst, with `RuntimeState::wake_for_garbage`: either that thread sees that none is
            // awake, or the caller sees its orphans.
            self.shared.awake.0.fetch_sub(1, SeqCst);
        }
    }

    /// Counts this run queue as awake again if it stood aside.
    pub(super) fn count_as_awake(&mut self) {
        if core::mem::take(&mut self.is_aside) {
            self.shared.awake.0.fetch_add(1, SeqCst);
        }
    }

    /// Returns true if no thread has woken this run queue since it fell asleep.
    fn is_asleep(&self) -> bool {
        self.slot().asleep.0.load(SeqCst)
    }

    fn wake_up(&mut self) {
        self.trace.awake();
        self.slot().asleep.0.store(false, SeqCst);
        self.shared.awake.0.fetch_add(1, SeqCst);
        // With several run queues, of which one was held: if the first task lies in another one,
        // the worker stops being idle all the same.
        self.search.count_first_probe();
    }
}
