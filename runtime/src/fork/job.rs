//! The second half of a join: it lies on its owner's fork stack, and so out of the way of the function that waits for it.

use super::Fork;
use crate::sync::{Acquire, AtomicU32, Hatch, Relaxed, Release};
use crate::task::{Meta, Payload, Tally, catch};
use core::marker::PhantomData;
use core::mem::{ManuallyDrop, MaybeUninit, align_of, size_of};
use core::ptr::{NonNull, addr_of_mut};

/// A job, whatever it does. It belongs to its owner, on whose fork stack it is; then perhaps to a thief, until it is
/// done.
#[repr(C, align(128))]
pub(crate) struct Job {
    /// What to do with the body; none while the job is lent.
    run: Option<Run>,
    room: Room,
    /// Written when the job is lent; most never are.
    lent: MaybeUninit<Lent>,
}

/// Runs a body and leaves its result, or drops it.
type Run = unsafe fn(NonNull<Job>, Option<Fork<'_>>);

/// Room for a body, or for its result; or else for the address of both.
type Room = MaybeUninit<[u128; 4]>;

/// What owner and thief have to agree on.
pub(crate) struct Lent {
    run: Run,
    /// How far thief and owner are: a [`State`]. One word, so that neither misses what the other one says meanwhile.
    state: AtomicU32,
    /// The worker that took it, or [`NOBODY`].
    thief: AtomicU32,
    /// For the owner, who waits: a part of this job, which the thief has no time for yet.
    pub part: Hatch<Job>,
    /// What tasks that are spawned in the job inherit.
    pub meta: Meta,
    /// The group of which the task is a member whose work this is; its ticket keeps it.
    pub group: Option<NonNull<Tally>>,
    /// The job of whose `part` this is one, or none if it was offered to all.
    pub part_of: Option<NonNull<Job>>,
}

const NOBODY: u32 = u32::MAX;

/// What is known of a job that is lent.
///
/// ```text
/// bit 0   DONE    the job was run; whoever runs it sets this last, and does not touch it any more
/// bit 1   WANTED  the owner waits for a part of it; cleared by the thief, when it has given one
/// bits 2..        1 + the number of the worker that sleeps until either of these changes; 0: it does not
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct State(u32);

const DONE: u32 = 1;
const WANTED: u32 = 2;
const SLEEPER: u32 = 4;

impl State {
    /// The job was run: then it is its owner's alone.
    pub fn is_done(self) -> bool {
        self.0 & DONE != 0
    }

    /// The owner has asked for a part, and was not given any since.
    pub fn is_wanted(self) -> bool {
        self.0 & WANTED != 0
    }

    fn sleeper(self) -> Option<usize> {
        (self.0 / SLEEPER).checked_sub(1).map(|worker| worker as usize)
    }
}

impl Job {
    /// Whether the job is not lent.
    ///
    /// # Safety
    ///
    /// The caller is the worker on whose stack it was written, and has written nothing else there since.
    #[inline(always)]
    pub unsafe fn is_own(job: NonNull<Self>) -> bool {
        // SAFETY: by the caller's promise; nobody but that worker touches this field.
        unsafe { (*addr_of_mut!((*job.as_ptr()).run)).is_some() }
    }

    /// Makes the job one that is lent.
    ///
    /// # Safety
    ///
    /// It is the caller's own, and nobody else's.
    pub unsafe fn lend(
        job: NonNull<Self>,
        meta: Meta,
        group: Option<NonNull<Tally>>,
        part_of: Option<NonNull<Self>>,
    ) {
        // SAFETY: by the caller's promise.
        unsafe {
            let Some(run) = (*addr_of_mut!((*job.as_ptr()).run)).take() else {
                unreachable!("a job is lent once at a time")
            };
            let (state, thief) = (AtomicU32::new(0), AtomicU32::new(NOBODY));
            let lent = Lent { run, state, thief, part: Hatch::default(), meta, group, part_of };
            addr_of_mut!((*job.as_ptr()).lent).write(MaybeUninit::new(lent));
        }
    }

    /// Makes the job one that is not lent any more.
    ///
    /// # Safety
    ///
    /// The caller has lent it and has it back, and nobody has run it.
    pub unsafe fn take_back(job: NonNull<Self>) {
        // SAFETY: by the caller's promise.
        unsafe { addr_of_mut!((*job.as_ptr()).run).write(Some(Self::lent(job).run)) };
    }

    /// What was agreed on.
    ///
    /// # Safety
    ///
    /// The job was lent, and is not gone before `'a` is over.
    pub unsafe fn lent<'a>(job: NonNull<Self>) -> &'a Lent {
        // SAFETY: by the caller's promise; nobody writes to it any more, but by atomics. The other fields are left alone.
        unsafe { (*addr_of_mut!((*job.as_ptr()).lent)).assume_init_ref() }
    }

    /// Runs the body, or drops it.
    ///
    /// # Safety
    ///
    /// The job is the caller's [own](Self::is_own), with its body.
    pub unsafe fn run_body(job: NonNull<Self>, cx: Option<Fork<'_>>) {
        // SAFETY: by the caller's promise.
        unsafe {
            let Some(run) = addr_of_mut!((*job.as_ptr()).run).read() else { unreachable!("it is its own") };
            run(job, cx);
        }
    }

    /// The result of a body that returns nothing.
    ///
    /// # Safety
    ///
    /// The job is the caller's, was written as one that [fits](Half::FITS) and has such a body, which was run.
    pub unsafe fn take_unit(job: NonNull<Self>) -> Result<(), Payload> {
        // SAFETY: by the caller's promise.
        unsafe { addr_of_mut!((*job.as_ptr()).room).cast::<Result<(), Payload>>().read() }
    }

    /// Runs the body for its owner and says so. Returns the worker that sleeps until then, if one does: the caller wakes it.
    ///
    /// # Safety
    ///
    /// The caller took the job. It does not touch it afterwards: the owner goes on.
    #[must_use]
    pub unsafe fn run(job: NonNull<Self>, cx: Fork<'_>) -> Option<usize> {
        // SAFETY: by the caller's promise.
        unsafe {
            Self::lent(job).thief.store(cx.worker() as u32, Relaxed);
            (Self::lent(job).run)(job, Some(cx));
            // Release pairs with the Acquire of `Lent::state`: the owner sees the result.
            let order = if planted!("job-done-early") { Relaxed } else { Release };
            // No method of `Lent`: until it returned all of that would be in use, and the owner goes on at once.
            State(Self::lent(job).state.swap(DONE, order)).sleeper()
        }
    }
}

impl Lent {
    /// How far thief and owner are.
    pub fn state(&self) -> State {
        // Acquire pairs with the Releases of `Job::run` and `was_answered`: the owner sees the result, or the part.
        State(self.state.load(Acquire))
    }

    /// For the owner: wants a part.
    pub fn want(&self) {
        // Only a wish: there is nothing to be ordered after.
        self.state.fetch_or(WANTED, Relaxed);
    }

    /// For the thief, who has put a part into the hatch: it was not asked for more. Returns the worker that sleeps until
    /// then, if one does: the caller wakes it.
    #[must_use]
    pub fn was_answered(&self) -> Option<usize> {
        // Release pairs with the Acquire of `state`. The job is not done, so that nothing else is lost.
        State(self.state.swap(0, Release)).sleeper()
    }

    /// For the owner: says that this worker sleeps, unless something has changed since it saw that state. Whoever changes
    /// it from now on wakes the worker.
    #[must_use]
    pub fn fall_asleep(&self, seen: State, worker: usize) -> bool {
        let asleep = seen.0 + (worker as u32 + 1) * SLEEPER;
        // What it sleeps for comes with the next look at the state.
        self.state.compare_exchange(seen.0, asleep, Relaxed, Relaxed).is_ok()
            || planted!("join-sleeps-without-second-look")
    }

    /// For the owner: says that it sleeps no more.
    pub fn wake_up(&self) {
        // An RMW, so that the next look still pairs with what the thief has said.
        self.state.fetch_and(DONE | WANTED, Relaxed);
    }

    /// Who took the job, as soon as that is known.
    pub fn thief(&self) -> Option<usize> {
        let thief = self.thief.load(Relaxed);
        (thief != NOBODY).then_some(thief as usize)
    }
}

/// A body, and after it was run by a thief its result. It is written and read through pointers to these.
#[allow(dead_code, reason = "the fields stand for their sizes")]
pub(crate) union Content<B, R> {
    body: ManuallyDrop<B>,
    result: ManuallyDrop<Result<R, Payload>>,
}

/// What is known of a job where it was forked: the types.
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
    /// Whether all of it has room in a job.
    pub const FITS: bool =
        size_of::<Content<B, R>>() <= size_of::<Room>() && align_of::<Content<B, R>>() <= align_of::<Room>();

    /// Writes a job. What has no room in it is in `frame`, which stays where it is until the job is over.
    ///
    /// # Safety
    ///
    /// `job` is a slot that is the caller's alone.
    #[inline(always)]
    pub unsafe fn write(job: NonNull<Job>, body: B, frame: &mut MaybeUninit<Content<B, R>>) -> Self {
        // SAFETY: by the caller's promise. A union's fields begin where it does.
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
        // SAFETY: as written there.
        unsafe {
            let room = addr_of_mut!((*job.as_ptr()).room);
            if Self::FITS { room.cast() } else { room.cast::<*mut Content<B, R>>().read() }
        }
    }

    /// Runs the body and leaves its result, or drops it.
    ///
    /// # Safety
    ///
    /// As for [`content`](Self::content); the job is the caller's, and was not run.
    unsafe fn run(job: NonNull<Job>, cx: Option<Fork<'_>>) {
        // SAFETY: by the caller's promise; until the job is done nobody else touches it. (But where its owner runs it, its
        // body may use the slot for other jobs meanwhile.)
        unsafe {
            let content = Self::content(job);
            let body = content.cast::<B>().read();
            let Some(cx) = cx else { return drop(body) };
            let result = catch(|| body(cx));
            content.cast::<Result<R, Payload>>().write(result);
        }
    }

    /// The body.
    ///
    /// # Safety
    ///
    /// The job is the caller's, and the body was not taken before.
    #[inline(always)]
    pub unsafe fn take_body(self) -> B {
        // SAFETY: by the caller's promise.
        unsafe { Self::content(self.job).cast::<B>().read() }
    }

    /// What a thief has left.
    ///
    /// # Safety
    ///
    /// The job is done, and the result was not taken before.
    pub unsafe fn take_result(self) -> Result<R, Payload> {
        // SAFETY: by the caller's promise.
        unsafe { Self::content(self.job).cast::<Result<R, Payload>>().read() }
    }
}
