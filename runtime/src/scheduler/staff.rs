//! Which workers run, and who keeps which pool.

use super::{BuildError, Context, Driver, Runtime, Shared};
use crate::sync::{AtomicBool, AtomicU64, Relaxed, SeqCst, SpinMutex, fence};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec;
use core::ptr::NonNull;

/// The workers of a runtime.
pub(crate) struct Staff {
    /// Counts the changes of the plan: who keeps what. Written under the lock.
    plan: AtomicU64,
    /// There are more pools than workers; only a hint.
    is_short: AtomicBool,
    roster: SpinMutex<Roster>,
}

struct Roster {
    /// The workers below this number are to run.
    wanted: usize,
    /// Which do, or will as soon as they are started.
    present: Box<[bool]>,
}

impl Staff {
    pub fn new(wanted: usize, most: usize) -> Self {
        let roster = Roster { wanted, present: vec![false; most].into() };
        Self { plan: AtomicU64::new(0), is_short: AtomicBool::new(false), roster: SpinMutex::new(roster) }
    }

    /// The number of the plan.
    #[inline(always)]
    pub fn plan(&self) -> u64 {
        // Relaxed: what it stands for is looked up under the lock. A worker that is about to sleep has a fence before,
        // and is woken after the change.
        self.plan.load(Relaxed)
    }

    /// Whether there are more pools than workers.
    pub fn is_short(&self) -> bool {
        self.is_short.load(Relaxed)
    }

    /// How many workers are to run.
    pub fn wanted(&self) -> usize {
        self.roster.lock().wanted
    }

    /// The number of the plan, and whether it has any use for that worker.
    pub fn look(&self, worker: usize) -> (u64, bool) {
        let roster = self.roster.lock();
        (self.plan(), worker < roster.wanted)
    }

    /// A worker that keeps nothing goes, unless it is wanted again. Whether it goes.
    pub fn leave(&self, worker: usize) -> bool {
        let mut roster = self.roster.lock();
        let goes = worker >= roster.wanted;
        roster.present[worker] = !goes;
        goes
    }
}

impl Shared {
    /// Who looks after a pool.
    pub(super) fn keeper(&self, pool: usize) -> usize {
        self.seats[pool].keeper.load(SeqCst)
    }

    /// Takes a pool that is at rest: it is in the caller's hands.
    pub(super) fn take_from_rest(&self, pool: usize) -> Option<Box<Context>> {
        // SAFETY: put there by `put_to_rest`, and taken by one alone.
        let taken = self.seats[pool].rest.take().map(|cx| unsafe { Box::from_raw(cx.as_ptr()) });
        if taken.is_some() {
            self.seats[pool].asleep.0.store(false, Relaxed);
        }
        taken
    }

    /// A pool at rest that seems to have tasks, and whose keeper is not that worker.
    pub(super) fn find_waiting(&self, worker: usize) -> Option<usize> {
        let seems_to_wait = |pool: &usize| {
            let seat = &self.seats[*pool];
            !seat.rest.is_empty()
                && seat.keeper.load(Relaxed) != worker
                && (seat.load.load(Relaxed) > 0 || seat.inbox.seems_to_have_tasks())
        };
        (0..self.seats.len()).map(|distance| (worker + distance) % self.seats.len()).find(seems_to_wait)
    }

    /// Makes a worker the keeper of a pool that is at rest, and puts it into its hands.
    pub(super) fn become_keeper(&self, pool: usize, worker: usize) -> Option<Box<Context>> {
        // Whoever is to keep it by now has not looked yet, or will not find it at rest.
        let roster = self.staff.roster.lock();
        if worker >= roster.wanted {
            return None;
        }
        let taken = self.take_from_rest(pool)?;
        self.seats[pool].keeper.store(worker, SeqCst);
        self.staff.plan.fetch_add(1, SeqCst);
        Some(taken)
    }

    /// Puts a pool to rest, between two tasks. Its keeper has to hear of it.
    pub(super) fn put_to_rest(&self, cx: Box<Context>) {
        self.seats[cx.index].rest.put(NonNull::from(Box::leak(cx)));
        // Pairs with the one in `Driver::sleep`.
        fence(SeqCst);
    }

    /// Frees the pools that nobody will take any more: the runtime has stopped.
    pub(super) fn clear_rest(&self) {
        (0..self.seats.len()).for_each(|pool| drop(self.take_from_rest(pool)));
    }

    /// Plans with so many workers, and tells them. Returns those that have to be started, which count as present.
    fn plan_with(&self, workers: usize) -> Box<[usize]> {
        let mut roster = self.staff.roster.lock();
        roster.wanted = workers;
        self.staff.is_short.store(workers < self.seats.len(), Relaxed);
        for (pool, seat) in self.seats.iter().enumerate() {
            seat.keeper.store(if pool < workers { pool } else { pool % workers }, SeqCst);
        }
        let absent = (0..workers).filter(|&worker| !core::mem::replace(&mut roster.present[worker], true));
        let absent = absent.collect();
        self.staff.plan.fetch_add(1, SeqCst);
        drop(roster);
        self.wake_all();
        absent
    }

    /// Has so many workers run.
    pub(super) fn employ(self: &Arc<Self>, workers: usize) -> Result<(), BuildError> {
        let absent = self.plan_with(workers);
        for (position, &worker) in absent.iter().enumerate() {
            if let Err(why) = self.platform.start(Driver::new(worker, self.clone())) {
                absent[position..]
                    .iter()
                    .for_each(|&worker| self.staff.roster.lock().present[worker] = false);
                // The pools of those that are missing need other keepers, if there is any worker at all.
                self.plan_with(worker.max(1));
                return Err(BuildError::Platform(why));
            }
        }
        Ok(())
    }
}

impl Runtime {
    /// Changes the number of workers while they run.
    ///
    /// With fewer than before, those that are too many finish the task that they are at and end; the others look after
    /// their pools from then on, with all tasks and objects in them, so that nothing is lost and no order is changed.
    /// With more, those that have not ended yet stay, and only as many as are missing then are started. It returns
    /// before all of that has come about.
    ///
    /// # Errors
    ///
    /// If the number is 0 or larger than [`Builder::most_workers`](super::Builder::most_workers) allows, or the platform
    /// cannot start so many: then there are fewer, but one at least.
    pub fn resize(&self, workers: usize) -> Result<(), BuildError> {
        match workers {
            0 => Err(BuildError::NoWorkers),
            _ if workers > self.workers() => Err(BuildError::TooManyWorkers(workers)),
            _ => self.shared().employ(workers),
        }
    }

    /// Number of workers that run. For a moment after it was [resized](Self::resize) these may be more than were asked
    /// for, until they have come to the ends of their tasks.
    pub fn running_workers(&self) -> usize {
        self.shared().staff.roster.lock().present.iter().filter(|&&present| present).count()
    }
}
