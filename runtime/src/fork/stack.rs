//! The fork stack: the jobs of a worker, and whose parts they are.
//!
//! A join is a few instructions long, so each word that is kept alive over a call matters. Only a
//! place in the stack is passed on: the stack is aligned to its size, so that the address of any
//! place leads to its head.
//!
//! ```text
//!  head: limit        slots: job | job | job | (free) ...
//!        │                                     ^ top: the next job goes here
//!        └─ the last slot's address, or 0 while a steal request is pending
//! ```
//!
//! A join compares the address of its slot with `limit`, and leaves the fast path if that is not
//! below it: the stack is full, or a request is pending. One comparison serves both.

use super::Job;
use crate::scheduler::Worker;
use crate::sync::{Acquire, AtomicUsize, Relaxed, Release, UnsafeCell, under_model};
use crate::task::Meta;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::mem::{MaybeUninit, replace};
use core::num::NonZero;
use core::ptr::{NonNull, null_mut};

/// The number of nested joins of which all second halves can be offered. Deeper joins run without
/// offering.
pub(crate) const DEEPEST: usize = under_model(2046, 14) as usize;
/// The last slot is free between joins: a join writes its second half first and then checks its
/// place.
const SLOTS: usize = DEEPEST + 1;

/// The fork stack of a worker, as other workers see it: they can send steal requests.
pub(crate) struct ForkStack(NonNull<StackMemory>);

// SAFETY: other threads only access `limit`, which is atomic; the rest is the owner's.
unsafe impl Send for ForkStack {}
// SAFETY: other threads only access `limit`, which is atomic; the rest is the owner's.
unsafe impl Sync for ForkStack {}

#[cfg_attr(not(any(model = "loom", model = "shuttle")), repr(C, align(262144)))]
#[cfg_attr(any(model = "loom", model = "shuttle"), repr(C, align(16384)))]
struct StackMemory {
    head: Head,
    slots: [MaybeUninit<Job>; SLOTS],
}

const _: () =
    assert!(size_of::<StackMemory>() == align_of::<StackMemory>(), "the head of a place is found by masking");

/// What every join reads, on a cache line of its own.
#[repr(C, align(128))]
struct Head {
    /// The place from which on a join leaves the fast path: the last slot, or 0 while a steal
    /// request is pending.
    limit: AtomicUsize,
    own: UnsafeCell<OwnerState>,
}

/// What only the owner accesses.
///
/// The stack consists of *segments*: one for the task that the worker runs, and one for each job
/// that it took while it waited in the segment below.
///
/// ```text
///            outer base       start     base             top
///  | offered |  its own       | offered |  its own       |
///  | the task's segment       | segment of a taken job   |
/// ```
///
/// In each segment the oldest jobs are offered first, so a base separates them from the others. The
/// top is passed from function to function: storing it would cost more than the rest of a join.
struct OwnerState {
    /// The first job of the topmost segment that is the worker's own; those below are offered or
    /// taken.
    base: Top,
    /// The worker's context, while it is in a join.
    cx: *mut Worker,
    segments: Vec<Segment>,
}

/// The segment of a job that the worker has taken.
struct Segment {
    job: NonNull<Job>,
    start: Top,
    /// The base of the segment below, what tasks inherit there, and the way to the context.
    outer_base: Top,
    outer_meta: Meta,
    outer_cx: *mut Worker,
}

/// A place in the stack: the slot of the next job.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Top(NonNull<Job>);

impl Top {
    /// Returns the slot at this place.
    #[inline(always)]
    pub fn slot(self) -> NonNull<Job> {
        self.0
    }

    /// Returns the stack that the place is in. Not for the end, which is behind the stack.
    #[inline(always)]
    pub fn forks(self) -> Forks {
        // SAFETY: the stack is aligned to its size, so the masked address is its beginning, which
        // is not null.
        let begin = |place: NonZero<usize>| unsafe {
            NonZero::new_unchecked(place.get() & !(size_of::<StackMemory>() - 1))
        };
        Forks(self.0.map_addr(begin).cast())
    }

    /// Returns true if a join that has written its job here has to leave the fast path.
    #[inline(always)]
    pub fn leaves_fast_path(self) -> bool {
        self.0.addr().get() >= self.forks().head().limit.load(Relaxed)
    }

    /// Returns true if this is the last slot.
    pub fn is_last(self) -> bool {
        self.0.addr().get() == self.forks().last()
    }

    /// Returns the same place, hidden from the optimizer.
    ///
    /// A function that ends with a join may become a loop whose next turn is the second half, at
    /// the same place. The compiler would then compute before the loop what follows from the place.
    /// It would keep that over the calls, in registers that each call has to save. Computing it
    /// anew is cheaper.
    #[inline(always)]
    pub fn opaque(self) -> Self {
        #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
        {
            let mut place = self.0.as_ptr();
            // SAFETY: it emits no instruction, and leaves the register unchanged.
            unsafe {
                core::arch::asm!("/* {0} */", inout(reg) place, options(readonly, nostack, preserves_flags));
                Self(NonNull::new_unchecked(place))
            }
        }
        #[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
        self
    }

    /// Returns the place of the job below.
    ///
    /// # Safety
    ///
    /// There is one: this is not the lowest place.
    pub unsafe fn previous(self) -> Self {
        // SAFETY: by the contract the slot is inside the array.
        Self(unsafe { self.0.sub(1) })
    }

    /// Returns the place of the next job, after one at this place.
    ///
    /// # Safety
    ///
    /// This is not the end, and the stack exists.
    #[inline(always)]
    pub unsafe fn next(self) -> Self {
        // SAFETY: by the contract the slot is inside the array, or its end.
        Self(unsafe { self.0.add(1) })
    }
}

impl ForkStack {
    pub fn new() -> Self {
        let memory = NonNull::from(Box::leak(Box::<StackMemory>::new_uninit())).cast::<StackMemory>();
        let stack = Forks(memory);
        let own = OwnerState { base: stack.bottom(), cx: null_mut(), segments: Vec::new() };
        let head = Head { limit: AtomicUsize::new(stack.last()), own: UnsafeCell::new(own) };
        // SAFETY: no other thread has a pointer to the stack yet.
        unsafe { memory.cast::<Head>().write(head) };
        Self(memory)
    }

    /// Sends a steal request to the worker: its next join will see which worker needs work.
    pub fn ask(&self) {
        // Release pairs with the Acquire of `requested`: it sees what this thread has written about
        // its need before. A read-modify-write, so that it also sees that of earlier requests.
        // SAFETY: the head lives as long as `self`.
        unsafe { self.0.cast::<Head>().as_ref() }.limit.swap(0, Release);
    }

    /// Returns the owner's view of the stack.
    pub fn own(&self) -> Forks {
        Forks(self.0)
    }
}

impl Drop for ForkStack {
    fn drop(&mut self) {
        // SAFETY: allocated in `new`, and no worker is in a join any more. Slots have no
        // destructors.
        unsafe {
            self.0.cast::<Head>().drop_in_place();
            drop(Box::from_raw(self.0.cast::<MaybeUninit<StackMemory>>().as_ptr()));
        }
    }
}

/// A fork stack, as its owner sees it.
///
/// Its methods are for the owner alone, one at a time: no reference to what they access is held in
/// between.
#[derive(Clone, Copy)]
pub(crate) struct Forks(NonNull<StackMemory>);

impl Forks {
    #[inline(always)]
    fn head(&self) -> &Head {
        // SAFETY: a copy exists only while the runtime's shared part, which holds the `ForkStack`,
        // does.
        unsafe { self.0.cast::<Head>().as_ref() }
    }

    #[inline(always)]
    fn with<R>(&self, act: impl FnOnce(&mut OwnerState) -> R) -> R {
        // SAFETY: called by the owner only, and no `act` calls other methods.
        self.head().own.with_mut(|own| act(unsafe { &mut *own }))
    }

    /// Returns the lowest place.
    pub fn bottom(&self) -> Top {
        // SAFETY: inside the allocation.
        Top(unsafe { self.0.cast::<Head>().add(1).cast() })
    }

    /// Returns the address of the last slot.
    fn last(&self) -> usize {
        self.bottom().0.addr().get() + (SLOTS - 1) * size_of::<Job>()
    }

    /// Returns true if a steal request is pending, and clears it.
    pub fn requested(&self) -> bool {
        let limit = &self.head().limit;
        // A request sent after this is seen by a later call. Acquire pairs with the Release of
        // `ask`.
        limit.load(Relaxed) == 0 && limit.swap(self.last(), Acquire) == 0
    }

    /// Begins the joins of a task of the worker with that context. The task has no jobs yet.
    #[inline(always)]
    pub fn begin(&self, cx: *mut Worker) -> Top {
        self.with(|own| {
            own.cx = cx;
            own.base
        })
    }

    /// Returns the worker's context while it is in a join.
    #[inline(always)]
    pub fn context(&self) -> *mut Worker {
        self.with(|own| own.cx)
    }

    /// Records that in the topmost segment exactly the jobs below `top` are offered or taken.
    pub fn set_base(&self, top: Top) {
        self.with(|own| own.base = top);
    }

    /// Begins a segment at `top` for a job that was taken. `meta` is what tasks in the segment
    /// below inherit. Until the segment ends, the context is reached through `cx`.
    pub fn open(&self, top: Top, job: NonNull<Job>, meta: Meta, cx: *mut Worker) {
        self.with(|own| {
            let (outer_base, outer_cx) = (replace(&mut own.base, top), replace(&mut own.cx, cx));
            own.segments.push(Segment { job, start: top, outer_base, outer_meta: meta, outer_cx });
        });
    }

    /// Ends the topmost segment, which is empty again. Returns what tasks inherit from now on.
    pub fn close(&self) -> Meta {
        self.with(|own| {
            let Some(segment) = own.segments.pop() else { unreachable!("each close follows an open") };
            (own.base, own.cx) = (segment.outer_base, segment.outer_cx);
            segment.outer_meta
        })
    }

    /// Returns true if the worker has no job of its own; the stack ends at `top`.
    pub fn is_all_offered(&self, top: Top) -> bool {
        self.with(|own| {
            own.base == top && own.segments.iter().all(|segment| segment.outer_base == segment.start)
        })
    }

    /// Returns a taken job whose owner has asked for a part of it.
    pub fn wanted(&self) -> Option<NonNull<Job>> {
        // SAFETY: the worker is running these jobs, so that none of them is done, let alone gone.
        let is_wanted = |job: &NonNull<Job>| unsafe { Job::handover(*job) }.state().is_wanted();
        self.with(|own| own.segments.iter().map(|segment| segment.job).find(is_wanted))
    }

    /// Marks the oldest job of the worker as offered, and returns it with what tasks in it inherit.
    /// Considers all jobs, or only parts of `part_of`, which the worker has taken. `meta` is what
    /// tasks in the topmost segment inherit; that segment ends at `top`.
    ///
    /// # Safety
    ///
    /// The caller is at `top`.
    pub unsafe fn offer(
        &self,
        top: Top,
        part_of: Option<NonNull<Job>>,
        meta: Meta,
    ) -> Option<(NonNull<Job>, Meta)> {
        self.with(|own| {
            let first = match part_of {
                None => 0,
                Some(job) => 1 + own.segments.iter().position(|segment| segment.job == job)?,
            };
            for number in first..=own.segments.len() {
                let (base, end, meta) = match own.segments.get_mut(number) {
                    Some(above) => (&mut above.outer_base, above.start, above.outer_meta),
                    None => (&mut own.base, top, meta),
                };
                if *base < end {
                    let job = base.slot();
                    // SAFETY: below the top, and so not the end of the stack.
                    *base = unsafe { base.next() };
                    return Some((job, meta));
                }
            }
            None
        })
    }
}
