//! How work gets from those who have it to those who have none.
//!
//! Who is *hungry* asks all others: a word that each worker's next join looks at. That join puts its worker's oldest job
//! into the hatch of its seat; an idle worker takes what it finds in any hatch, and asks again for the others that are
//! hungry. Who waits for a job that was taken says in it that it wants a part, and asks the thief, who puts one into a hatch
//! of the job itself.
//!
//! Who waits has nothing to give: the youngest of its jobs is lent, so all of them are. It answers when it has something
//! again. So after a while it *sleeps*, until the job is done or a part of it is there. It does not count as one of those that
//! are asleep for lack of work: it may run only what it waits for, and is woken by the thief of that job alone.

use super::job::{Job, Lent, State};
use super::{Fork, Top};
use crate::scheduler::{Context, Seat};
use crate::sync::{Backoff, SeqCst, fence};
use core::ptr::NonNull;

impl Context {
    /// Gives to those who are hungry, as far as there is anything, in the midst of a task.
    ///
    /// # Safety
    ///
    /// The caller is at `top`.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn feed(&mut self, top: Top) {
        if !self.forks.was_asked() {
            return;
        }
        // SAFETY: by the caller's promise.
        unsafe {
            self.answer(top);
            self.offer(top);
        }
        self.shared().platform.interleave(false);
    }

    /// Offers a job to all, unless one is offered already.
    ///
    /// # Safety
    ///
    /// The caller is at `top`.
    unsafe fn offer(&mut self, top: Top) {
        if !self.seat().offer.is_empty() {
            return;
        }
        // SAFETY: by the caller's promise.
        if let Some((job, meta)) = unsafe { self.forks.lend(top, None, self.current) } {
            // SAFETY: the job was this worker's own, and in no hatch.
            unsafe { Job::lend(job, meta, self.groups.current(), None) };
            self.seat().offer.put(job);
            // With the one in `Driver::sleep`: either this worker sees that another one sleeps, or that one sees
            // the offer before it does.
            fence(SeqCst);
            self.shared().wake_for_work(self.worker());
        } else if self.shared().is_anybody_hungry() {
            self.seat().forks.ask();
        }
    }

    /// Gives a part of a job that was taken to its owner, who waits for it and has asked.
    ///
    /// # Safety
    ///
    /// The caller is at `top`.
    unsafe fn answer(&mut self, top: Top) {
        let Some(asked) = self.forks.wanted() else { return };
        // SAFETY: this worker took the job, and is not done with it.
        let lent = unsafe { Job::lent(asked) };
        let mut has_part = !lent.part.is_empty();
        if !has_part
            // SAFETY: by the caller's promise.
            && let Some((part, meta)) = unsafe { self.forks.lend(top, Some(asked), self.current) }
        {
            // SAFETY: the part was this worker's own, and in no hatch.
            unsafe { Job::lend(part, meta, self.groups.current(), Some(asked)) };
            lent.part.put(part);
            has_part = true;
        }
        if has_part {
            self.wake_waiting(lent.was_answered());
        }
        if self.forks.wanted().is_some() {
            // The next join has something for that one.
            self.seat().forks.ask();
        }
    }

    /// Wakes a worker that sleeps in a join.
    fn wake_waiting(&self, worker: Option<usize>) {
        if let Some(worker) = worker
            && !planted!("join-wakes-nobody")
        {
            self.shared().platform.wake(worker);
        }
    }

    /// Takes back a job of this worker's that was popped and found lent. `false`: somebody has taken and run it; this
    /// worker has waited for that, and helped with it if it may.
    ///
    /// # Safety
    ///
    /// The job stood at `at`, where the caller is now.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn take_back(&mut self, job: NonNull<Job>, at: Top, may_help: bool) -> bool {
        self.forks.settle(at);
        // SAFETY: the job was found lent, and is in a frame below this one.
        let lent = unsafe { Job::lent(job) };
        let back = match lent.part_of {
            None => {
                let back = self.seat().offer.take_back(job);
                if back && self.shared().is_anybody_hungry() {
                    // They are still waiting for an offer.
                    self.seat().forks.ask();
                }
                back
            }
            // SAFETY: this worker is at that job, of which this one is a part.
            Some(whole) => unsafe { Job::lent(whole) }.part.take_back(job),
        };
        if back {
            // SAFETY: it was lent by this worker, and nobody has taken it.
            unsafe { Job::take_back(job) };
        } else {
            // SAFETY: by the caller's promise; until the job is done its slot is in use.
            unsafe {
                let top = at.next();
                self.forks.settle(top);
                self.wait_for(lent, top, may_help);
            }
            self.forks.settle(at);
        }
        self.shared().platform.got_back(job.as_ptr().addr());
        back
    }

    /// Waits until a thief has done a job, and works on parts of it meanwhile.
    ///
    /// # Safety
    ///
    /// The caller is at `top`.
    unsafe fn wait_for(&mut self, lent: &Lent, top: Top, may_help: bool) {
        let mut backoff = Backoff::new();
        debug_assert!(self.forks.is_all_lent(top), "the job that was found lent was the youngest");
        loop {
            let seen = lent.state();
            if seen.is_done() {
                return;
            }
            if may_help {
                if let Some(part) = lent.part.take() {
                    // SAFETY: taken, and by the caller's promise.
                    self.observe_half(false, |cx| unsafe { cx.run_taken(part, top) });
                    backoff = Backoff::new();
                    continue;
                }
                if !seen.is_wanted()
                    && let Some(thief) = lent.thief()
                {
                    lent.want();
                    self.shared().seats[thief].forks.ask();
                }
            }
            if self.shared().platform.interleave(true) {
                continue;
            }
            // Only where a part was asked for before the look into the hatch: who fills it after that changes the state.
            if backoff.is_long() && seen.is_wanted() == may_help {
                self.sleep_until_changed(lent, seen);
                backoff = Backoff::new();
            } else {
                backoff.wait();
            }
        }
    }

    /// Sleeps until the thief of a job has done it or given a part, unless that has happened since `seen`. It may return
    /// early.
    #[cold]
    fn sleep_until_changed(&self, lent: &Lent, seen: State) {
        if lent.fall_asleep(seen, self.holder) {
            self.shared().platform.park(self.holder);
            lent.wake_up();
        }
    }

    /// Looks for an offered job, and runs it. Whether there was any.
    pub(crate) fn help_somebody(&mut self) -> bool {
        let offered = |seat: &Seat| {
            let job = seat.offer.take();
            if job.is_some() && self.shared().is_anybody_else_hungry() {
                seat.forks.ask();
            }
            job
        };
        let Some(job) = self.others().find_map(offered) else { return false };
        self.begin_work();
        self.counters().steals.add(1);
        let bottom = self.forks.bottom();
        // SAFETY: taken, and this worker is in no join.
        self.observe_half(true, |cx| unsafe { cx.run_taken(job, bottom) });
        // Where there was work there may be more.
        self.idle_looks = self.patience;
        true
    }

    /// Asks all others for work.
    pub(crate) fn ask_all(&self) {
        self.others().for_each(|seat| seat.forks.ask());
    }

    /// Whether there is an offered job.
    pub(crate) fn sees_offer(&self) -> bool {
        self.others().any(|other| !other.offer.is_empty())
    }

    /// The seats of the other workers, from the next one on.
    fn others(&self) -> impl Iterator<Item = &Seat> {
        let (before, from) = self.shared().seats.split_at(self.worker());
        from[1..].iter().chain(before)
    }

    /// Runs a job.
    ///
    /// # Safety
    ///
    /// This worker has taken the job, and the caller is at `top`.
    unsafe fn run_taken(&mut self, job: NonNull<Job>, top: Top) {
        let (forks, meta) = (self.forks, self.current);
        self.nested |= Self::IN_JOIN;
        // SAFETY: the job was lent before it was offered.
        let lent = unsafe { Job::lent(job) };
        self.current = lent.meta;
        let group = self.groups.set_current(lent.group);
        // Last: from here on the context is used by way of the stack.
        forks.open(top, job, meta, self);
        // SAFETY: by the caller's promise.
        let waiting = unsafe { Job::run(job, Fork::at(top)) };
        self.wake_waiting(waiting);
        self.groups.set_current(group);
        self.shared().platform.ran_for_another(job.as_ptr().addr());
        self.current = forks.close();
    }
}
