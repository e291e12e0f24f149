//! How jobs get from a busy worker to one without work.
//!
//! A worker *steals* the oldest job of another one. A job has to be *published* first, so that its
//! owner pops it by a compare-exchange. There are two ways:
//!
//! - **By its owner.** A *searching* worker sends a steal request: a word that the owner's next
//!   join reads. That join publishes some of the oldest jobs. This costs no barrier, and is the way
//!   where pieces are small.
//! - **By the thief.** If the owner has not answered after [`PATIENCE`] probes, it runs a long
//!   piece. Then the thief publishes its jobs and passes a barrier, which takes some microseconds.
//!
//! `wait.rs` has what a worker does that waits for a stolen job.
//!
//! This schedule must not happen:
//!
//! ```text
//! idle worker: sends a request, sees no job
//! busy worker: pushes a job, still sees no request, goes on
//! idle worker: falls asleep                        -> the job waits for its owner
//! ```
//!
//! So a worker that falls asleep sends a request, passes a barrier, and then looks for jobs; a join
//! pushes its job, passes a light fence, and then reads the request. At least one of the two sees
//! what the other wrote. A join that sees the request publishes jobs, passes a full fence, and
//! wakes a worker that it sees asleep. In an eager stack each join does that. Models:
//! `model/fork.rs`, `model/fork_stack.rs`.

use super::job::{RunFn, Sight};
use super::{Fork, Handover, Job, Thief, Top};
use crate::scheduler::{OfferKinds, Worker, WorkerSlot};
use crate::sync::{SeqCst, fence, under_model};
use core::ptr::NonNull;

/// Probes that find private jobs only, before the thief publishes some.
const PATIENCE: u32 = under_model(128, 1) as u32;
/// The same, for jobs of a worker that did not answer the last time.
const PATIENCE_WITH_SILENT: u32 = under_model(8, 1) as u32;

impl Worker {
    /// Serves pending steal requests after a push, and keeps the stack large enough.
    ///
    /// # Safety
    ///
    /// The caller is at `top`.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn serve_requests(&mut self, top: Top) {
        self.forks.make_room(top);
        if !self.forks.take_request() {
            return;
        }
        // SAFETY: the caller is at `top`, by this function's contract.
        let is_published = unsafe { self.forks.publish(top) };
        // Pairs with the barriers in `Worker::fall_asleep` and `Worker::sleep_until_changed`:
        // either this worker sees that the other one sleeps, or the other one sees what this one
        // has pushed and taken.
        fence(SeqCst);
        if is_published {
            self.shared().wake_for_offer(self.index(), OfferKinds::JOBS);
            self.wanted().for_each(|handover| self.wake_waiting(handover.clear_request()));
        } else if self.shared().is_any_searching()
            || !planted!("request-for-part-dropped") && self.shared().is_any_asleep_in_join()
        {
            // There is nothing to publish yet, and the worker that has asked may sleep.
            self.slot().forks.ask_once();
        }
        if let Some(time) = self.shared().virtual_time() {
            time.record_fork(self.forks.youngest_address(top));
            time.yield_to_others(false);
        }
    }

    /// Serves pending steal requests before the job at `top` is popped. (In an eager stack all jobs
    /// are public already.)
    ///
    /// # Safety
    ///
    /// The caller is about to pop the job at `top`, so that `top` is the stack's top then.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn serve_requests_before_pop(&mut self, top: Top) {
        if self.shared().has_barrier {
            // SAFETY: forwarded; the job at `top` is not published here.
            unsafe { self.serve_requests(top) };
        }
    }

    /// Returns the handovers of jobs that a job which this worker pushes is a part of, and whose
    /// owners wait and have asked for parts. As long as no owner sleeps these are only the jobs
    /// that this worker runs: there can be very many others, and an owner that is awake looks by
    /// itself.
    fn wanted(&self) -> impl Iterator<Item = &Handover> {
        let all = self.shared().is_any_asleep_in_join();
        // SAFETY: this worker runs a part of each job, so none of them is done.
        let handovers = self.forks.wholes(all).map(|job| unsafe { Job::handover(job) });
        handovers.filter(|handover| handover.state().is_wanted())
    }

    /// Wakes a worker that sleeps in a join.
    fn wake_waiting(&self, worker: Option<usize>) {
        if let Some(worker) = worker
            && !planted!("join-wakes-none")
        {
            self.shared().platform.wake(worker);
        }
    }

    /// Settles a popped job that thieves may have. Returns true if it is this worker's; otherwise a
    /// thief has taken and run it, and this worker has waited for that, and helped if it may.
    ///
    /// # Safety
    ///
    /// The job was popped from the slot at `at`, where the caller is now; it was not private. `run`
    /// is its function.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn take_back(&mut self, at: Top, run: RunFn, may_help: bool) -> bool {
        let job = at.slot();
        if let Some(time) = self.shared().virtual_time() {
            // Workers that are behind may have stolen the job before it was popped: now they can.
            // SAFETY: the job is still in its slot, with its body unless a thief has taken it.
            unsafe {
                Job::push(job, run);
                time.yield_to_others(false);
                Job::pop(job);
            }
        }
        // SAFETY: the job was popped, by this function's contract.
        let is_back = unsafe { Job::pop_public(job) };
        if is_back {
            self.forks.came_back();
        } else {
            // SAFETY: the job was taken, and its slot is in use until the job is done. The slot is
            // not the last one, which thieves leave alone.
            unsafe { self.wait_for(Job::handover(job), at.next(), may_help) };
            self.forks.settle(at);
        }
        if let Some(time) = self.shared().virtual_time() {
            time.record_join(job.as_ptr().addr());
        }
        is_back
    }

    /// Steals a job from a worker that does not answer requests.
    #[cold]
    pub(super) fn force(
        &self,
        victim: usize,
        at: Top,
        may_take: impl FnOnce() -> bool,
    ) -> Option<NonNull<Job>> {
        let shared = self.shared();
        let barrier = || shared.platform.barrier();
        let forks = &shared.slots[victim].forks;
        shared.has_barrier.then(|| forks.steal(self.thief(at), may_take, Some(&barrier))).flatten()
    }

    /// Steals a job and runs it. Returns true if there was one.
    pub(crate) fn run_stolen_job(&mut self) -> bool {
        let bottom = self.forks.bottom();
        let Some((job, victim)) = self.steal_job(bottom) else { return false };
        // First: this worker still counts as idle, and so wakes one other worker in `begin_work`.
        self.note_theft(victim);
        self.begin_work();
        self.wake_for_injected();
        // SAFETY: this worker took the job, and is in no join.
        self.observe_job(true, |cx| unsafe { cx.run_taken(job, bottom) });
        // Where there was work there may be more.
        self.probe_others_next();
        true
    }

    /// Counts a stolen job, and sends other workers to its victim.
    pub(super) fn note_theft(&self, victim: usize) {
        self.counters().steals.add(1);
        if self.is_another_searching() {
            // Others may need work, too: of the victim, now and at its next join.
            let forks = &self.shared().slots[victim].forks;
            if forks.sight() != Sight::Nothing {
                // Pairs with the fence in `Worker::fall_asleep`.
                fence(SeqCst);
                self.shared().wake_for_offer(self.index(), OfferKinds::JOBS);
            }
            forks.ask_once();
        }
    }

    /// Returns this worker as a thief, whose place is `at`.
    pub(super) fn thief(&self, at: Top) -> Thief {
        Thief { worker: self.index(), at }
    }

    /// Steals a job of any worker, for the place `at` in this worker's stack. Returns the victim,
    /// too.
    pub(super) fn steal_job(&mut self, at: Top) -> Option<(NonNull<Job>, usize)> {
        let (unanswered, mut has_private) = (self.unanswered, false);
        let is_patient = |slot: &WorkerSlot| {
            unanswered < if slot.forks.is_silent() { PATIENCE_WITH_SILENT } else { PATIENCE }
        };
        let found = self.others().find_map(|(victim, slot)| {
            let job = match slot.forks.sight() {
                Sight::Nothing => None,
                Sight::Private if is_patient(slot) => {
                    has_private = true;
                    slot.forks.ask_once();
                    None
                }
                Sight::Private => self.force(victim, at, || true),
                Sight::Public if self.shared().may_steal_from(victim) => {
                    slot.forks.steal(self.thief(at), || true, None)
                }
                Sight::Public => None,
            };
            job.map(|job| (job, victim))
        });
        self.unanswered = if has_private { self.unanswered + 1 } else { 0 };
        found
    }

    /// Sends a steal request to all other workers.
    pub(crate) fn request_from_all(&self) {
        self.others().for_each(|(_, slot)| slot.forks.ask());
    }

    /// Returns true if another worker has a job that can be stolen, or may have one behind a job
    /// that a thief is taking.
    pub(crate) fn sees_job(&self) -> bool {
        self.others().any(|(_, other)| self.can_steal_from(other) || other.forks.is_theft_in_transit())
    }

    pub(super) fn can_steal_from(&self, victim: &WorkerSlot) -> bool {
        match victim.forks.sight() {
            Sight::Nothing => false,
            // Without a barrier its owner is about to publish it, and then looks for sleepers.
            Sight::Private => self.shared().has_barrier,
            Sight::Public => true,
        }
    }

    /// Returns the other workers with their slots, from the next one on.
    fn others(&self) -> impl Iterator<Item = (usize, &WorkerSlot)> {
        self.shared().others(self.index()).map(|other| (other, &self.shared().slots[other]))
    }

    /// Runs a stolen job.
    ///
    /// # Safety
    ///
    /// This worker has taken the job, and the caller is at `top`.
    pub(super) unsafe fn run_taken(&mut self, job: NonNull<Job>, top: Top) {
        let (forks, meta) = (self.forks, self.current);
        self.nested |= Self::IN_JOIN;
        // SAFETY: this worker has taken the job.
        let handover = unsafe { Job::handover(job) };
        self.current = handover.inherited.meta;
        let group = self.groups.set_current(handover.inherited.group);
        // The first join publishes its job: the owner of this one soon waits for it, or other
        // workers search.
        self.slot().forks.ask_once();
        // Last: from here on the context is reached by way of the stack.
        forks.open(job, handover, meta, self);
        // SAFETY: this worker has taken the job, and is at `top`.
        let waiting = unsafe { Job::run(job, Fork::at(top)) };
        self.wake_waiting(waiting);
        self.groups.set_current(group);
        if let Some(time) = self.shared().virtual_time() {
            time.record_steal(job.as_ptr().addr());
        }
        self.current = forks.close();
    }
}
