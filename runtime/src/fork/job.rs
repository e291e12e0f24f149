//! A job: the second half of a join, or a piece of a scope, in a slot of its owner's fork stack.
//!
//! The job is outside the frame of the function that waits for it, so that a join keeps little
//! alive over its first half.
//!
//! # States of a slot
//!
//! ```text
//!              publish               take, step 1               take, step 2
//!  PRIVATE ─────────────────> PUBLIC ────────────────> STEALING ───────────────> TAKEN
//!     ^  ^                     │   ^                     │   │                     │
//!     │  └──── pop (owner) ────┘   └── thief gives up ───┘   │                     │
//!     ├────────────── pop (owner) ───────────────────────────┘                     │
//!     └────────────── settle (owner): the job has run ─────────────────────────────┘
//! ```
//!
//! | state | the body belongs to |
//! |---|---|
//! | PRIVATE | the owner, which pops it without an atomic read-modify-write |
//! | PUBLIC, STEALING | the thread whose compare-exchange of the state succeeds |
//! | TAKEN | the thief, until the [`Handover`] says DONE; then the owner has the result |
//!
//! Whether there *is* a job says `run`, which only the owner writes: null, if there is none. So a
//! slot may become PUBLIC without a job, and the next job there is public from the start. Only the
//! thread with the stack's lock steals, so one thread at a time is in STEALING.
//!
//! # Popping beside a thief that publishes
//!
//! A thief may publish a job without its owner's help. Then both must not have it:
//!
//! ```text
//! thief: publishes the job, sees `run`
//! owner: clears `run`, still sees PRIVATE, runs the job
//! thief: takes the job, runs it as well                    -> the job runs twice
//! ```
//!
//! The owner clears `run` and then reads the state, with a [light fence](light_fence) in between.
//! The thief publishes, passes a barrier, and then reads `run`. So at least one of them sees what
//! the other wrote: the owner sees PUBLIC and pops by a compare-exchange, or the thief sees that
//! there is no job. Models: `model/fork_stack.rs`.

use super::half::Room;
use super::handover::Inherited;
use super::{Fork, Handover, Thief};
use crate::sync::{Acquire, AtomicPtr, AtomicU32, Relaxed, Release, light_fence};
use crate::task::Payload;
use core::mem::{MaybeUninit, transmute};
use core::ptr::{NonNull, addr_of_mut, null_mut};

/// A slot of a fork stack, and the job in it, of any type.
#[repr(C, align(128))]
pub(crate) struct Job {
    /// The job's [`RunFn`]; null if there is no job. Written by the owner alone.
    run: AtomicPtr<()>,
    /// One of [`state`].
    state: AtomicU32,
    room: Room,
    /// Written by the thief in STEALING; most jobs are never stolen.
    handover: Handover,
}

/// Runs a body and leaves its result. Without a fork, drops the body.
pub(crate) type RunFn = unsafe fn(NonNull<Job>, Option<Fork<'_>>);

mod state {
    pub const PRIVATE: u32 = 0;
    pub const PUBLIC: u32 = 1;
    pub const STEALING: u32 = 2;
    pub const TAKEN: u32 = 3;
}
use state::{PRIVATE, PUBLIC, STEALING, TAKEN};

/// What a thief sees of a slot. Only a hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sight {
    /// No job, or one that a thief has.
    Nothing,
    /// A job that has to be published first.
    Private,
    /// A job that may be taken.
    Public,
}

impl Job {
    /// Returns a slot without a job.
    pub fn vacant() -> Self {
        Self {
            run: AtomicPtr::new(null_mut()),
            state: AtomicU32::new(PRIVATE),
            room: MaybeUninit::uninit(),
            handover: Handover::vacant(),
        }
    }

    /// # Safety
    ///
    /// `job` is a slot of a stack that exists for `'a`.
    #[inline(always)]
    unsafe fn run_word<'a>(job: NonNull<Self>) -> &'a AtomicPtr<()> {
        // SAFETY: the slot exists, and only the atomic word is borrowed.
        unsafe { &*addr_of_mut!((*job.as_ptr()).run) }
    }

    /// # Safety
    ///
    /// As for [`run_word`](Self::run_word).
    #[inline(always)]
    unsafe fn state_word<'a>(job: NonNull<Self>) -> &'a AtomicU32 {
        // SAFETY: the slot exists, and only the atomic word is borrowed.
        unsafe { &*addr_of_mut!((*job.as_ptr()).state) }
    }

    /// Returns the room for body and result.
    ///
    /// # Safety
    ///
    /// `job` is a slot of a stack that exists. The pointer is for the thread that the body or the
    /// result belongs to.
    #[inline(always)]
    pub(super) unsafe fn room(job: NonNull<Self>) -> *mut Room {
        // SAFETY: the slot exists.
        unsafe { addr_of_mut!((*job.as_ptr()).room) }
    }

    /// Pushes the job whose body the caller has written.
    ///
    /// # Safety
    ///
    /// The caller is the stack's owner, the slot is the stack's top, and `run` is for this body.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub unsafe fn push(job: NonNull<Self>, run: RunFn) {
        // Release pairs with the Acquire of `take`: the thief sees the body, and what the owner
        // wrote before.
        let order = if planted!("job-pushed-early") { Relaxed } else { Release };
        // SAFETY: the slot exists.
        unsafe { Self::run_word(job) }.store(run as *mut (), order);
    }

    /// Returns the function of a job that its owner has not popped.
    ///
    /// # Safety
    ///
    /// The caller is the owner, and there is a job.
    #[inline(always)]
    pub unsafe fn run_fn(job: NonNull<Self>) -> RunFn {
        // SAFETY: the word of a job holds a `RunFn`, as `push` wrote it.
        unsafe { transmute::<*mut (), RunFn>(Self::run_word(job).load(Relaxed)) }
    }

    /// Pops the job. Returns true if it is the caller's again; otherwise
    /// [`pop_public`](Self::pop_public) decides.
    ///
    /// # Safety
    ///
    /// The caller is the stack's owner, and this is the topmost job.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub unsafe fn pop(job: NonNull<Self>) -> bool {
        // SAFETY: the slot exists.
        unsafe {
            Self::run_word(job).store(null_mut(), Relaxed);
            // Pairs with the barrier in `ForkStack::steal`, see the head of this file.
            light_fence();
            Self::state_word(job).load(Relaxed) == PRIVATE
        }
    }

    /// Pops a job that thieves may take. Returns true if it is the caller's again, and false if a
    /// thief has taken it.
    ///
    /// # Safety
    ///
    /// [`pop`](Self::pop) has returned false.
    pub unsafe fn pop_public(job: NonNull<Self>) -> bool {
        // SAFETY: the slot exists.
        let state = unsafe { Self::state_word(job) };
        // Acquire pairs with the Release of `take`: the owner sees the handover.
        let mut seen = state.load(Acquire);
        loop {
            match seen {
                PRIVATE => return true,
                TAKEN => return planted!("job-taken-twice"),
                _ => match state.compare_exchange(seen, PRIVATE, Acquire, Acquire) {
                    Ok(_) => return true,
                    Err(now) => seen = now,
                },
            }
        }
    }

    /// Returns what a thief can do here.
    ///
    /// # Safety
    ///
    /// `job` is an initialised slot of a stack that exists.
    pub unsafe fn sight(job: NonNull<Self>) -> Sight {
        // SAFETY: the slot exists. Acquire pairs with the Release of `push`: if there is a job, the
        // owner has initialised the next slot, too.
        let (run, state) =
            unsafe { (Self::run_word(job).load(Acquire), Self::state_word(job).load(Relaxed)) };
        match state {
            _ if run.is_null() => Sight::Nothing,
            PRIVATE => Sight::Private,
            PUBLIC => Sight::Public,
            _ => Sight::Nothing,
        }
    }

    /// Returns true if a thief is about to take the job, or has just done so.
    ///
    /// # Safety
    ///
    /// As for [`sight`](Self::sight).
    pub unsafe fn is_in_transit(job: NonNull<Self>) -> bool {
        // SAFETY: the slot exists. Relaxed: a hint.
        let (run, state) =
            unsafe { (Self::run_word(job).load(Relaxed), Self::state_word(job).load(Relaxed)) };
        !run.is_null() && matches!(state, STEALING | TAKEN)
    }

    /// Publishes the slot. Returns true if it was private. A thief has to pass a barrier before it
    /// takes the job.
    ///
    /// # Safety
    ///
    /// As for [`sight`](Self::sight). The caller is the owner, or has the stack's lock.
    pub unsafe fn publish(job: NonNull<Self>) -> bool {
        // Release pairs with the Acquire of `take`: the thief sees the job that is there now, or a
        // later one.
        // SAFETY: the slot exists.
        unsafe { Self::state_word(job) }.compare_exchange(PRIVATE, PUBLIC, Release, Relaxed).is_ok()
    }

    /// Undoes [`publish`](Self::publish), for a thief that could not pass a barrier.
    ///
    /// # Safety
    ///
    /// As for [`sight`](Self::sight). The caller has the stack's lock.
    pub unsafe fn unpublish(job: NonNull<Self>) {
        // If the owner has popped the job meanwhile, there is nothing to undo.
        // SAFETY: the slot exists.
        _ = unsafe { Self::state_word(job) }.compare_exchange(PUBLIC, PRIVATE, Relaxed, Relaxed);
    }

    /// Takes a public job for this thief. Returns true if it is the thief's now. `inherited`
    /// returns what tasks in it inherit; the job is not taken unless `may_take` returns true.
    ///
    /// # Safety
    ///
    /// As for [`sight`](Self::sight). The caller has the stack's lock. The slot was published by
    /// its owner, or before a barrier that the caller has passed.
    pub unsafe fn take(
        job: NonNull<Self>,
        thief: Thief,
        inherited: impl FnOnce() -> Inherited,
        may_take: impl FnOnce() -> bool,
    ) -> bool {
        // SAFETY: the slot exists.
        let (state, run) = unsafe { (Self::state_word(job), Self::run_word(job)) };
        // Acquire pairs with the Release of `publish`. It also keeps the load of `run` behind it.
        if state.compare_exchange(PUBLIC, STEALING, Acquire, Relaxed).is_err() {
            return false;
        }
        // Acquire pairs with the Release of `push`: the thief sees the body, if it gets the job.
        let order = if planted!("job-taken-early") { Relaxed } else { Acquire };
        let run = run.load(order);
        if run.is_null() || !may_take() {
            // Fails if the owner has popped the job meanwhile.
            _ = state.compare_exchange(STEALING, PUBLIC, Relaxed, Relaxed);
            return false;
        }
        let inherited = inherited();
        // SAFETY: a word that is not null is a `RunFn`, as `push` wrote it. Until this thread has
        // taken the job, others only glance at the handover: the owner reads it in TAKEN, and other
        // thieves wait for the lock.
        unsafe {
            Handover::begin(Self::handover_of(job), transmute::<*mut (), RunFn>(run), thief, inherited);
        }
        // Release pairs with the Acquire of `pop_public`: the owner sees the handover. What
        // `inherited` read is not newer than the job: if the owner has popped it, this fails.
        let order = if planted!("handed-over-early") { Relaxed } else { Release };
        state.compare_exchange(STEALING, TAKEN, order, Relaxed).is_ok()
    }

    /// Makes the slot of a job that was taken and has run usable again.
    ///
    /// # Safety
    ///
    /// The caller is the owner and has the stack's lock, which publishes this to the next thief.
    pub unsafe fn settle(job: NonNull<Self>) {
        // SAFETY: the slot exists.
        unsafe { Self::state_word(job) }.store(PRIVATE, Relaxed);
    }

    /// Returns true if a thief has the job, or had it and its owner has not seen that it has run.
    ///
    /// # Safety
    ///
    /// As for [`sight`](Self::sight).
    pub unsafe fn is_taken(job: NonNull<Self>) -> bool {
        // SAFETY: the slot exists. Acquire pairs with the Release of `take`.
        unsafe { Self::state_word(job) }.load(Acquire) == TAKEN
    }

    /// Returns the place of what owner and thief share.
    ///
    /// # Safety
    ///
    /// `job` is an initialised slot of a stack that exists.
    pub unsafe fn handover_of(job: NonNull<Self>) -> NonNull<Handover> {
        // SAFETY: the slot exists, and nothing is borrowed.
        unsafe { NonNull::new_unchecked(addr_of_mut!((*job.as_ptr()).handover)) }
    }

    /// Returns what owner and thief share.
    ///
    /// # Safety
    ///
    /// The job was taken, and stays in its slot for `'a`.
    pub unsafe fn handover<'a>(job: NonNull<Self>) -> &'a Handover {
        // SAFETY: the thief has written the handover before it took the job; since then it only
        // changes by atomics. The other fields are not borrowed.
        unsafe { Self::handover_of(job).as_ref() }
    }

    /// Runs the body for its owner, and reports that. Returns the worker that sleeps until then, if
    /// any: the caller wakes it.
    ///
    /// # Safety
    ///
    /// The caller took the job. It does not touch the job afterwards, as the owner may reuse the
    /// slot.
    #[must_use]
    pub unsafe fn run(job: NonNull<Self>, cx: Fork<'_>) -> Option<usize> {
        // SAFETY: the caller took the job, so the body and then the result are this thread's until
        // the handover is finished.
        unsafe {
            (Self::handover(job).run)(job, Some(cx));
            Handover::finish(Self::handover_of(job))
        }
    }

    /// Returns the result of a body that returns nothing.
    ///
    /// # Safety
    ///
    /// The job is the caller's. It was written as one that [fits](super::half::Half::FITS) with a
    /// body that returns nothing, and has run.
    pub unsafe fn take_unit(job: NonNull<Self>) -> Result<(), Payload> {
        // SAFETY: a job that fits has its result in the room, and the body has left one of this
        // type.
        unsafe { Self::room(job).cast::<Result<(), Payload>>().read() }
    }
}
