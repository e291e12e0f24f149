//! What the owner of a stolen job and its thief share until the job is done.
//!
//! The word of `JobState` rules out a lost wake-up:
//!
//! ```text
//! owner: reads the state, DONE is not set
//! thief: sets DONE, sees no sleeper, wakes nothing
//! owner: falls asleep until DONE is set            -> sleeps for ever
//! ```
//!
//! The owner enters its number by a compare-exchange on the state that it has read. If the thief
//! was faster, that fails, and the owner reads again. Model: `model/fork.rs`.

use super::job::RunFn;
use crate::sync::{Acquire, AtomicU32, Relaxed, Release};
use crate::task::{GroupState, Meta};
use core::ptr::NonNull;

/// Written by the thief before it takes the job.
pub(crate) struct Handover {
    pub(super) run: RunFn,
    /// The progress of thief and owner: a [`JobState`]. In one word, so that neither misses a
    /// concurrent change of the other.
    state: AtomicU32,
    /// The worker that has taken the job.
    thief: u32,
    /// What tasks that are spawned in the job inherit.
    pub meta: Meta,
    /// The group of the task that this is a part of. The task's ticket keeps it alive.
    pub group: Option<NonNull<GroupState>>,
}

/// The progress of a stolen job.
///
/// ```text
/// bit 0   DONE    the job has run; the thief sets this last and does not touch the job afterwards
/// bit 1   WANTED  the waiting owner has asked for parts; cleared by the thief that publishes some
/// bits 2..        1 + the number of the worker that sleeps until DONE or a part; 0: none sleeps
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct JobState(u32);

const DONE: u32 = 1;
const WANTED: u32 = 2;
const SLEEPER: u32 = 4;

impl JobState {
    /// Returns true if the job has run: it is its owner's again.
    pub fn is_done(self) -> bool {
        self.0 & DONE != 0
    }

    /// Returns true if the owner has asked for parts and none have been published since.
    pub fn is_wanted(self) -> bool {
        self.0 & WANTED != 0
    }

    fn sleeper(self) -> Option<usize> {
        (self.0 / SLEEPER).checked_sub(1).map(|worker| worker as usize)
    }
}

impl Handover {
    pub fn new(run: RunFn, thief: usize, meta: Meta, group: Option<NonNull<GroupState>>) -> Self {
        Self { run, state: AtomicU32::new(0), thief: thief as u32, meta, group }
    }

    /// Returns the worker that has taken the job.
    pub fn thief(&self) -> usize {
        self.thief as usize
    }

    /// Returns the progress of thief and owner.
    pub fn state(&self) -> JobState {
        // Acquire pairs with the Release of `finish`: the owner sees the result.
        JobState(self.state.load(Acquire))
    }

    /// For the thief: reports that the job has run. Returns the worker that sleeps until then, if
    /// any: the caller wakes it.
    ///
    /// # Safety
    ///
    /// The thief has run the job. It does not touch the job afterwards, as the owner may reuse the
    /// slot.
    #[must_use]
    pub unsafe fn finish(handover: NonNull<Self>) -> Option<usize> {
        // Release pairs with the Acquire of `state`: the owner sees the result.
        let order = if planted!("job-done-early") { Relaxed } else { Release };
        // SAFETY: the slot is in use until the state is DONE. No reference to the whole is made: it
        // would last until this function returned, and the owner goes on at once.
        JobState(unsafe { (*handover.as_ptr()).state.swap(DONE, order) }).sleeper()
    }

    /// For the owner: asks the thief for parts of the job.
    pub fn request_part(&self) {
        // Relaxed: a request publishes nothing.
        self.state.fetch_or(WANTED, Relaxed);
    }

    /// For the thief, after it has published a part: clears the request. Returns the worker that
    /// sleeps until then, if any: the caller wakes it.
    #[must_use]
    pub fn clear_request(&self) -> Option<usize> {
        // Release pairs with the Acquire of `state`: the owner sees the part. The job is not done,
        // so the swap clears no other bit.
        JobState(self.state.swap(0, Release)).sleeper()
    }

    /// Returns true if `worker` is now registered as asleep, and false if the state has changed
    /// since it was `seen`. The next thread to change the state then wakes the worker. Called by
    /// the owner.
    #[must_use]
    pub fn fall_asleep(&self, seen: JobState, worker: usize) -> bool {
        let asleep = seen.0 + (worker as u32 + 1) * SLEEPER;
        // Relaxed: the owner acquires what it sleeps for when it next reads the state.
        self.state.compare_exchange(seen.0, asleep, Relaxed, Relaxed).is_ok()
            || planted!("join-sleeps-without-recheck")
    }

    /// For the owner: registers that it does not sleep any more.
    pub fn wake_up(&self) {
        // A read-modify-write continues the thief's release sequence, so that the next read of the
        // state still pairs with it.
        self.state.fetch_and(DONE | WANTED, Relaxed);
    }
}
