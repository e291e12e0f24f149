//! The second half of a join, in its owner's fork stack.
//!
//! The job is outside the frame of the function that waits for it, so that a join keeps little
//! alive over its first half.
//!
//! | phase | `run` | `room` | `handover` |
//! |---|---|---|---|
//! | owned: written, not offered | owner | owner: the body | not written |
//! | offered: in a hand-off cell | `None` | no thread | written; the owner may take the job back |
//! | running: taken by a thief | `None` | thief: the body, then the result | shared, by atomics |
//! | done: `DONE` is set | `None` | owner: the result | owner |
//!
//! The job is run once because it leaves its hand-off cell once: by the thief's `take` or by the
//! owner's `take_back`. The word of `JobState` rules out a lost wake-up:
//!
//! ```text
//! owner: reads the state, DONE is not set
//! thief: sets DONE, sees no sleeper, wakes nothing
//! owner: falls asleep until DONE is set            -> sleeps for ever
//! ```
//!
//! The owner enters its number by a compare-exchange on the state that it has read. If the thief
//! was faster, that fails, and the owner reads again. Models: `model/fork.rs`.

use super::Fork;
use crate::sync::{Acquire, AtomicU32, HandoffCell, Relaxed, Release};
use crate::task::{GroupState, Meta, Payload, catch};
use core::marker::PhantomData;
use core::mem::{ManuallyDrop, MaybeUninit, align_of, size_of};
use core::ptr::{NonNull, addr_of_mut};

/// A job of any type. It belongs to its owner, in whose fork stack it is; once taken, to the thief
/// until it is done.
#[repr(C, align(128))]
pub(crate) struct Job {
    /// Runs the body; `None` while the job is offered or taken.
    run: Option<RunFn>,
    room: Room,
    /// Written when the job is first offered; most jobs never are.
    handover: MaybeUninit<Handover>,
}

/// Runs a body and leaves its result. Without a fork, drops the body.
type RunFn = unsafe fn(NonNull<Job>, Option<Fork<'_>>);

/// Room for a body or its result, or for the address of both.
type Room = MaybeUninit<[u128; 4]>;

/// What owner and thief share.
pub(crate) struct Handover {
    run: RunFn,
    /// The progress of thief and owner: a [`JobState`]. In one word, so that neither misses a
    /// concurrent change of the other.
    state: AtomicU32,
    /// The worker that took the job, or [`NO_WORKER`].
    thief: AtomicU32,
    /// A part of this job that the thief has offered to the waiting owner.
    pub part: HandoffCell<Job>,
    /// What tasks that are spawned in the job inherit.
    pub meta: Meta,
    /// The group of the task that this is a part of. The task's ticket keeps it alive.
    pub group: Option<NonNull<GroupState>>,
    /// The job of which this is a [`part`](Self::part); `None` if the job was offered to all
    /// workers.
    pub part_of: Option<NonNull<Job>>,
}

const NO_WORKER: u32 = u32::MAX;

/// The progress of a job that was offered.
///
/// ```text
/// bit 0   DONE    the job has run; the thief sets this last and does not touch the job afterwards
/// bit 1   WANTED  the waiting owner has asked for a part; cleared by the thief that offers one
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

    /// Returns true if the owner has asked for a part and has not been given one since.
    pub fn is_wanted(self) -> bool {
        self.0 & WANTED != 0
    }

    fn sleeper(self) -> Option<usize> {
        (self.0 / SLEEPER).checked_sub(1).map(|worker| worker as usize)
    }
}

impl Job {
    /// Returns true if the job is not offered or taken.
    ///
    /// # Safety
    ///
    /// The caller is the worker that wrote the job into its stack, and has written nothing else
    /// there since.
    #[inline(always)]
    pub unsafe fn is_own(job: NonNull<Self>) -> bool {
        // SAFETY: the caller is the owner, and no other thread accesses this field.
        unsafe { (*addr_of_mut!((*job.as_ptr()).run)).is_some() }
    }

    /// Prepares the job to be offered to a thief.
    ///
    /// # Safety
    ///
    /// The job is the caller's own.
    pub unsafe fn offer(
        job: NonNull<Self>,
        meta: Meta,
        group: Option<NonNull<GroupState>>,
        part_of: Option<NonNull<Self>>,
    ) {
        // SAFETY: the job is the caller's own, so that no other thread accesses it yet.
        unsafe {
            let Some(run) = (*addr_of_mut!((*job.as_ptr()).run)).take() else {
                unreachable!("a job is offered once at a time")
            };
            let (state, thief) = (AtomicU32::new(0), AtomicU32::new(NO_WORKER));
            let handover = Handover { run, state, thief, part: HandoffCell::default(), meta, group, part_of };
            addr_of_mut!((*job.as_ptr()).handover).write(MaybeUninit::new(handover));
        }
    }

    /// Undoes [`offer`](Self::offer).
    ///
    /// # Safety
    ///
    /// The caller has offered the job and has taken it out of its hand-off cell; it was not run.
    pub unsafe fn take_back(job: NonNull<Self>) {
        // SAFETY: the job left the hand-off cell once, to the caller, so that no thief accesses it.
        unsafe { addr_of_mut!((*job.as_ptr()).run).write(Some(Self::handover(job).run)) };
    }

    /// Returns what owner and thief share.
    ///
    /// # Safety
    ///
    /// The job was offered, and stays in its slot for `'a`.
    pub unsafe fn handover<'a>(job: NonNull<Self>) -> &'a Handover {
        // SAFETY: the job was offered, so `handover` is initialised; since then it only changes by
        // atomics. The other fields are not borrowed.
        unsafe { (*addr_of_mut!((*job.as_ptr()).handover)).assume_init_ref() }
    }

    /// Runs the body, or drops it if there is no fork.
    ///
    /// # Safety
    ///
    /// The job is the caller's [own](Self::is_own), and has its body.
    pub unsafe fn run_body(job: NonNull<Self>, cx: Option<Fork<'_>>) {
        // SAFETY: the job is the caller's own, so `run` and the body belong to this thread.
        unsafe {
            let Some(run) = addr_of_mut!((*job.as_ptr()).run).read() else {
                unreachable!("an owned job has its function")
            };
            run(job, cx);
        }
    }

    /// Returns the result of a body that returns nothing.
    ///
    /// # Safety
    ///
    /// The job is the caller's. It was written as one that [fits](Half::FITS) with a body that
    /// returns nothing, and has run.
    pub unsafe fn take_unit(job: NonNull<Self>) -> Result<(), Payload> {
        // SAFETY: a job that fits has its result in `room`, and the body has left one of this type.
        unsafe { addr_of_mut!((*job.as_ptr()).room).cast::<Result<(), Payload>>().read() }
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
        // SAFETY: the caller took the job out of its hand-off cell, so the body is this thread's
        // until `DONE` is set.
        unsafe {
            Self::handover(job).thief.store(cx.worker() as u32, Relaxed);
            (Self::handover(job).run)(job, Some(cx));
            // Release pairs with the Acquire of `Handover::state`: the owner sees the result.
            let order = if planted!("job-done-early") { Relaxed } else { Release };
            // No method of `Handover`: its borrow would last until it returned, and the owner goes
            // on at once.
            JobState(Self::handover(job).state.swap(DONE, order)).sleeper()
        }
    }
}

impl Handover {
    /// Returns the progress of thief and owner.
    pub fn state(&self) -> JobState {
        // Acquire pairs with the Release of `Job::run` and `clear_request`: the owner sees the
        // result, or the part.
        JobState(self.state.load(Acquire))
    }

    /// For the owner: asks the thief for a part.
    pub fn request_part(&self) {
        // Relaxed: a request publishes nothing.
        self.state.fetch_or(WANTED, Relaxed);
    }

    /// For the thief, after it has put a part into the hand-off cell: clears the request. Returns
    /// the worker that sleeps until then, if any: the caller wakes it.
    #[must_use]
    pub fn clear_request(&self) -> Option<usize> {
        // Release pairs with the Acquire of `state`. The job is not done, so the swap clears no
        // other bit.
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

    /// Returns the worker that took the job, once that is known.
    pub fn thief(&self) -> Option<usize> {
        let thief = self.thief.load(Relaxed);
        (thief != NO_WORKER).then_some(thief as usize)
    }
}

/// A body, and after a thief has run it its result. Only accessed through pointers to the two.
#[allow(dead_code, reason = "the fields stand for their sizes")]
pub(crate) union Content<B, R> {
    body: ManuallyDrop<B>,
    result: ManuallyDrop<Result<R, Payload>>,
}

/// A job whose types are known: what the forking function holds.
pub(crate) struct Half<B, R> {
    job: NonNull<Job>,
    types: PhantomData<(B, R)>,
}

impl<B, R> Clone for Half<B, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B, R> Copy for Half<B, R> {}

impl<R, B: FnOnce(Fork<'_>) -> R> Half<B, R> {
    /// Whether body and result have room in a job.
    pub const FITS: bool =
        size_of::<Content<B, R>>() <= size_of::<Room>() && align_of::<Content<B, R>>() <= align_of::<Room>();

    /// Writes a job. A body without room in it goes into `frame`, which must stay in place until
    /// the job is over.
    ///
    /// # Safety
    ///
    /// `job` is a slot that the caller alone uses.
    #[inline(always)]
    pub unsafe fn write(job: NonNull<Job>, body: B, frame: &mut MaybeUninit<Content<B, R>>) -> Self {
        // SAFETY: the slot is the caller's alone. A union's fields begin where the union does.
        unsafe {
            addr_of_mut!((*job.as_ptr()).run).write(Some(Self::run));
            let room = addr_of_mut!((*job.as_ptr()).room);
            let content = if Self::FITS {
                room.cast::<Content<B, R>>()
            } else {
                room.cast::<*mut Content<B, R>>().write(frame.as_mut_ptr());
                frame.as_mut_ptr()
            };
            content.cast::<B>().write(body);
        }
        Self { job, types: PhantomData }
    }

    #[inline(always)]
    pub fn job(self) -> NonNull<Job> {
        self.job
    }

    /// # Safety
    ///
    /// `job` was written by [`write`](Self::write), with these types, and is not over.
    #[inline(always)]
    unsafe fn content(job: NonNull<Job>) -> *mut Content<B, R> {
        // SAFETY: `write` has put the content, or its address, there.
        unsafe {
            let room = addr_of_mut!((*job.as_ptr()).room);
            if Self::FITS { room.cast() } else { room.cast::<*mut Content<B, R>>().read() }
        }
    }

    /// Runs the body and leaves its result. Without a fork, drops the body.
    ///
    /// # Safety
    ///
    /// As for [`content`](Self::content); the job is the caller's, and was not run.
    unsafe fn run(job: NonNull<Job>, cx: Option<Fork<'_>>) {
        // SAFETY: the job is the caller's, and no other thread accesses it until it is done. (A
        // body that its owner runs may use the slot for other jobs; these are over before the
        // result is written.)
        unsafe {
            let content = Self::content(job);
            let body = content.cast::<B>().read();
            let Some(cx) = cx else { return drop(body) };
            let result = catch(|| body(cx));
            content.cast::<Result<R, Payload>>().write(result);
        }
    }

    /// Takes the body out.
    ///
    /// # Safety
    ///
    /// The job is the caller's, and the body was not taken before.
    #[inline(always)]
    pub unsafe fn take_body(self) -> B {
        // SAFETY: the job is the caller's, with its body.
        unsafe { Self::content(self.job).cast::<B>().read() }
    }

    /// Takes the result that a thief has left.
    ///
    /// # Safety
    ///
    /// The job is done, and the result was not taken before.
    pub unsafe fn take_result(self) -> Result<R, Payload> {
        // SAFETY: the job is done, so that the thief has left the result and does not access it any
        // more.
        unsafe { Self::content(self.job).cast::<Result<R, Payload>>().read() }
    }
}
