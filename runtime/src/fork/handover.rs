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

use super::job::{Job, RunFn};
use super::{Fork, Top};
use crate::sync::{Acquire, AtomicU32, AtomicUsize, Relaxed, Release};
use crate::task::{GroupState, Meta};
use core::ptr::{NonNull, addr_of, addr_of_mut};

/// A worker that steals, and its place in its own stack.
#[derive(Clone, Copy)]
pub(crate) struct Thief {
    pub worker: usize,
    pub at: Top,
}

/// Written by the thief before it takes the job.
pub(crate) struct Handover {
    pub(super) run: RunFn,
    /// The progress of thief and owner: a [`JobState`]. In one word, so that neither misses a
    /// concurrent change of the other.
    state: AtomicU32,
    /// The worker that has taken the job.
    thief: AtomicU32,
    /// The address of the thief's place: its jobs from there on are parts of this one.
    base: AtomicUsize,
    pub inherited: Inherited,
}

/// What a job inherits from the task or the taken job that has pushed it.
#[derive(Clone, Copy)]
pub(crate) struct Inherited {
    /// What tasks that are spawned in the job inherit.
    pub meta: Meta,
    /// The group of the task that this is a part of. The task's ticket keeps it alive.
    pub group: Option<NonNull<GroupState>>,
    /// The taken job in whose segment this one was pushed, and which is not done before it.
    pub part_of: Option<NonNull<Job>>,
}

/// What a worker sees of a job that another worker has taken from a third one. Only a hint: the
/// slot may be in use for another job by now.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Glance {
    pub is_done: bool,
    pub thief: usize,
    pub base: usize,
}

/// The body of a slot that was never taken.
unsafe fn run_nothing(_: NonNull<Job>, _: Option<Fork<'_>>) {}

/// The progress of a stolen job.
///
/// ```text
/// bit 0   DONE    the job has run; the thief sets this last and does not touch the job afterwards
/// bit 1   WANTED  the waiting owner has asked for parts; cleared by a worker that publishes some
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
    /// Returns that of a slot whose jobs were never taken.
    pub fn vacant() -> Self {
        let (state, thief, base) = (AtomicU32::new(DONE), AtomicU32::new(0), AtomicUsize::new(0));
        let inherited = Inherited { meta: Meta::from_bits(0), group: None, part_of: None };
        Self { run: run_nothing, state, thief, base, inherited }
    }

    /// For the thief: hands a job over that it is about to take.
    ///
    /// # Safety
    ///
    /// The handover exists, and no other thread accesses more of it than [`glance`](Self::glance)
    /// does.
    pub unsafe fn begin(handover: NonNull<Self>, run: RunFn, by: Thief, inherited: Inherited) {
        let to = handover.as_ptr();
        // SAFETY: by this function's contract. Of the words that others read only those are
        // borrowed.
        unsafe {
            addr_of_mut!((*to).run).write(run);
            addr_of_mut!((*to).inherited).write(inherited);
            // Release, of all three, pairs with the Acquire of `glance`: a worker that reads one of
            // them sees that the slot's last job was settled.
            (*addr_of!((*to).thief)).store(by.worker as u32, Release);
            (*addr_of!((*to).base)).store(by.at.address(), Release);
            (*addr_of!((*to).state)).store(0, Release);
        }
    }

    /// Returns what there is to see for a worker that is neither owner nor thief.
    ///
    /// # Safety
    ///
    /// The handover exists.
    pub unsafe fn glance(handover: NonNull<Self>) -> Glance {
        let of = handover.as_ptr();
        // SAFETY: the handover exists, and only atomic words are borrowed. Acquire pairs with the
        // Release of `begin`, and with that of `finish`.
        unsafe {
            Glance {
                thief: (*addr_of!((*of).thief)).load(Acquire) as usize,
                base: (*addr_of!((*of).base)).load(Acquire),
                is_done: JobState((*addr_of!((*of).state)).load(Acquire)).is_done(),
            }
        }
    }

    /// Returns the worker that has taken the job.
    pub fn thief(&self) -> usize {
        // Relaxed, here and below: written before the job was taken, which the caller has seen.
        self.thief.load(Relaxed) as usize
    }

    /// Returns the address from which on jobs in the thief's stack are parts of this one.
    pub fn base(&self) -> usize {
        self.base.load(Relaxed)
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

    /// For the owner, which does not sleep: takes its request back.
    pub fn withdraw_request(&self) {
        // Relaxed, as `request_part`. It continues the release sequence of the thief.
        self.state.fetch_and(!WANTED, Relaxed);
    }

    /// For a worker that runs the job or a part of it, after it has published a part: clears the
    /// request. Returns the worker that sleeps until then, if any: the caller wakes it.
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
