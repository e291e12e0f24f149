//! Steal requests: how work gets from a busy worker to an idle one.
//!
//! A *searching* worker sends a steal request to all others: a word that each worker's next join
//! reads. That join puts its worker's oldest job into the hand-off cell of its `WorkerSlot`. An
//! idle worker takes what it finds in any cell, and repeats the request for other searching
//! workers.
//!
//! A worker that waits for a job that was taken asks the thief for a part of that job (`WANTED`).
//! The thief's next join puts one into the cell of the job itself.
//!
//! A waiting worker has nothing to give: its youngest job is offered or taken, hence all of them
//! are. It answers requests when it has jobs again. After a while it *sleeps*, until the job is
//! done or a part is there. It does not count as asleep for lack of work: it may only run what it
//! waits for, and only that job's thief wakes it.
//!
//! The fences in `offer` and `Worker::fall_asleep` rule out this schedule:
//!
//! ```text
//! idle worker: sees no offer
//! busy worker: offers a job, sees no worker asleep, wakes none
//! idle worker: falls asleep                        -> the offer waits for the owner
//! ```
//!
//! Each side first writes (the offer; that it is asleep), then fences, then reads what the other
//! side writes. At least one of the two sees the other's write. Models: `model/fork.rs`.

use super::job::{Handover, Job, JobState};
use super::{Fork, Top};
use crate::scheduler::{Worker, WorkerSlot};
use crate::sync::{Backoff, SeqCst, fence};
use core::ptr::NonNull;

impl Worker {
    /// Serves pending steal requests, in the midst of a task.
    ///
    /// # Safety
    ///
    /// The caller is at `top`.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn serve_requests(&mut self, top: Top) {
        if !self.forks.requested() {
            return;
        }
        // SAFETY: the caller is at `top`, by this function's contract.
        unsafe {
            self.answer(top);
            self.offer(top);
        }
        self.shared().yield_to_others(false);
    }

    /// Offers a job to all workers, unless one is offered already.
    ///
    /// # Safety
    ///
    /// The caller is at `top`.
    unsafe fn offer(&mut self, top: Top) {
        if !self.slot().offer.is_empty() {
            return;
        }
        // SAFETY: the caller is at `top`, by this function's contract.
        if let Some((job, meta)) = unsafe { self.forks.offer(top, None, self.current) } {
            // SAFETY: the job was this worker's own, and in no hand-off cell.
            unsafe { Job::offer(job, meta, self.groups.current(), None) };
            self.slot().offer.put(job);
            // Pairs with the fence in `Worker::fall_asleep`: either this worker sees that the
            // other one sleeps, or the other one sees the offer before it does.
            fence(SeqCst);
            self.shared().wake_for_work(self.index());
        } else if self.shared().is_any_searching() {
            self.slot().forks.ask();
        }
    }

    /// Gives a part of a taken job to its owner, which waits for the job and has asked for a part.
    ///
    /// # Safety
    ///
    /// The caller is at `top`.
    unsafe fn answer(&mut self, top: Top) {
        let Some(asked) = self.forks.wanted() else { return };
        // SAFETY: this worker took the job, and has not finished it.
        let handover = unsafe { Job::handover(asked) };
        let mut has_part = !handover.part.is_empty();
        if !has_part
            // SAFETY: the caller is at `top`, by this function's contract.
            && let Some((part, meta)) = unsafe { self.forks.offer(top, Some(asked), self.current) }
        {
            // SAFETY: the part was this worker's own, and in no hand-off cell.
            unsafe { Job::offer(part, meta, self.groups.current(), Some(asked)) };
            handover.part.put(part);
            has_part = true;
        }
        if has_part {
            self.wake_waiting(handover.clear_request());
        }
        if self.forks.wanted().is_some() {
            // The next join has a part for that owner.
            self.slot().forks.ask();
        }
    }

    /// Wakes a worker that sleeps in a join.
    fn wake_waiting(&self, worker: Option<usize>) {
        if let Some(worker) = worker
            && !planted!("join-wakes-none")
        {
            self.shared().platform.wake(worker);
        }
    }

    /// Takes back an offered job that was popped. Returns false if a thief has taken and run it;
    /// this worker has then waited for that, and has helped if it may.
    ///
    /// # Safety
    ///
    /// The job was in the slot at `at`, where the caller is now.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn take_back(&mut self, job: NonNull<Job>, at: Top, may_help: bool) -> bool {
        self.forks.set_base(at);
        // SAFETY: the job was offered, and its slot is not reused before this function returns.
        let handover = unsafe { Job::handover(job) };
        let back = match handover.part_of {
            None => {
                let back = self.slot().offer.take_back(job);
                if back && self.shared().is_any_searching() {
                    // Searching workers still wait for an offer.
                    self.slot().forks.ask();
                }
                back
            }
            // SAFETY: this worker is running the job of which this one is a part.
            Some(whole) => unsafe { Job::handover(whole) }.part.take_back(job),
        };
        if back {
            // SAFETY: this worker offered the job and took it out of the cell, so no thief has it.
            unsafe { Job::take_back(job) };
        } else {
            // SAFETY: the caller is at `at`, and the job's slot is in use until the job is done.
            unsafe {
                let top = at.next();
                self.forks.set_base(top);
                self.wait_for(handover, top, may_help);
            }
            self.forks.set_base(at);
        }
        if let Some(time) = self.shared().virtual_time() {
            time.record_join(job.as_ptr().addr());
        }
        back
    }

    /// Waits until a thief has done a job, and runs parts of it meanwhile.
    ///
    /// # Safety
    ///
    /// The caller is at `top`.
    unsafe fn wait_for(&mut self, handover: &Handover, top: Top, may_help: bool) {
        let mut backoff = Backoff::new();
        debug_assert!(self.forks.is_all_offered(top), "older jobs are offered before the youngest");
        loop {
            let seen = handover.state();
            if seen.is_done() {
                return;
            }
            if may_help {
                if let Some(part) = handover.part.take() {
                    // SAFETY: this worker took the part out of its cell, and is at `top`.
                    self.observe_job(false, |cx| unsafe { cx.run_taken(part, top) });
                    backoff = Backoff::new();
                    continue;
                }
                if !seen.is_wanted()
                    && let Some(thief) = handover.thief()
                {
                    handover.request_part();
                    self.shared().slots[thief].forks.ask();
                }
            }
            if self.shared().yield_to_others(true) {
                continue;
            }
            // Sleep only if a part was requested before the cell was read: a thief that fills the
            // cell later changes the state.
            if backoff.is_long() && seen.is_wanted() == may_help {
                self.sleep_until_changed(handover, seen);
                backoff = Backoff::new();
            } else {
                backoff.wait();
            }
        }
    }

    /// Sleeps until the thief of a job has done it or offered a part, unless that has happened
    /// since `seen`. May return early.
    #[cold]
    fn sleep_until_changed(&self, handover: &Handover, seen: JobState) {
        if handover.fall_asleep(seen, self.holder) {
            self.shared().platform.park(self.holder);
            handover.wake_up();
        }
    }

    /// Takes an offered job and runs it. Returns true if there was one.
    pub(crate) fn run_offered_job(&mut self) -> bool {
        let offered = |slot: &WorkerSlot| {
            let job = slot.offer.take();
            if job.is_some() && self.shared().is_another_searching() {
                slot.forks.ask();
            }
            job
        };
        let Some(job) = self.others().find_map(offered) else { return false };
        self.begin_work();
        self.counters().steals.add(1);
        let bottom = self.forks.bottom();
        // SAFETY: this worker took the job out of its cell, and is in no join.
        self.observe_job(true, |cx| unsafe { cx.run_taken(job, bottom) });
        // Where there was work there may be more.
        self.probe_others_next();
        true
    }

    /// Sends a steal request to all other workers.
    pub(crate) fn request_from_all(&self) {
        self.others().for_each(|slot| slot.forks.ask());
    }

    /// Returns true if a job is offered.
    pub(crate) fn sees_offer(&self) -> bool {
        self.others().any(|other| !other.offer.is_empty())
    }

    /// Returns the slots of the other workers, from the next one on.
    fn others(&self) -> impl Iterator<Item = &WorkerSlot> {
        let (before, from) = self.shared().slots.split_at(self.index());
        from[1..].iter().chain(before)
    }

    /// Runs a taken job.
    ///
    /// # Safety
    ///
    /// This worker has taken the job, and the caller is at `top`.
    unsafe fn run_taken(&mut self, job: NonNull<Job>, top: Top) {
        let (forks, meta) = (self.forks, self.current);
        self.nested |= Self::IN_JOIN;
        // SAFETY: the job was offered before it was put into the cell.
        let handover = unsafe { Job::handover(job) };
        self.current = handover.meta;
        let group = self.groups.set_current(handover.group);
        // Last: from here on the context is reached by way of the stack.
        forks.open(top, job, meta, self);
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
