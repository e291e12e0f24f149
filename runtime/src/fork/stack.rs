//! The jobs of a worker that nobody else has, and whose parts they are.
//!
//! A join is a few instructions, so each word shows that has to be kept over a call. A place in the stack is all that is
//! handed on: the stack is aligned to its size, so that the address of any place in it leads to its head.

use super::Job;
use crate::scheduler::Context;
use crate::sync::{Acquire, AtomicUsize, Relaxed, Release, UnsafeCell, under_model};
use crate::task::Meta;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::mem::{MaybeUninit, replace};
use core::num::NonZero;
use core::ptr::{NonNull, null_mut};

/// So many joins may be nested for the second halves of all of them to be offered. What is nested deeper runs as if
/// nobody else were there.
pub(crate) const DEEPEST: usize = under_model(2046, 14) as usize;
/// The last slot is never in use for long: a join writes its second half first and then looks where it is.
const SLOTS: usize = DEEPEST + 1;

/// The fork stack of a worker, where others see it: they can ask for work.
pub(crate) struct ForkStack(NonNull<Whole>);

// SAFETY: others only use the limit, which is atomic; the rest is the worker's own.
unsafe impl Send for ForkStack {}
// SAFETY: as above.
unsafe impl Sync for ForkStack {}

#[cfg_attr(not(any(model = "loom", model = "shuttle")), repr(C, align(262144)))]
#[cfg_attr(any(model = "loom", model = "shuttle"), repr(C, align(16384)))]
struct Whole {
    head: Head,
    slots: [MaybeUninit<Job>; SLOTS],
}

const _: () = assert!(size_of::<Whole>() == align_of::<Whole>(), "the head of a place is found by masking");

/// What every join looks at: first of all.
#[repr(C, align(128))]
struct Head {
    /// The place from which on a join does something unusual: the last one, or 0 if somebody has asked for work.
    limit: AtomicUsize,
    own: UnsafeCell<Own>,
}

/// What only the worker itself looks at.
///
/// The stack consists of *segments*: one for the task that the worker runs, and one for each job that it took while it
/// waited in the one before.
///
/// ```text
///         outer base       start     base             top
///  | lent |  its own       | lent    |  its own       |
///  | the task's segment    | segment of a taken job   |
/// ```
/// In each segment the oldest are lent first, so a base tells all there is to know. The top is known to the function that
/// is at it; writing it down would cost more than the rest of a join.
struct Own {
    /// From here on the jobs of the topmost segment are the worker's own; what is below is lent.
    base: Top,
    /// The worker's context, while it is in a join.
    cx: *mut Context,
    taken: Vec<Segment>,
}

/// A job that the worker has taken.
struct Segment {
    job: NonNull<Job>,
    start: Top,
    /// The base of the segment below, what is inherited there, and the way to the context.
    outer_base: Top,
    outer_meta: Meta,
    outer_cx: *mut Context,
}

/// A place in the stack: where the next job goes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Top(NonNull<Job>);

impl Top {
    /// The slot here.
    #[inline(always)]
    pub fn slot(self) -> NonNull<Job> {
        self.0
    }

    /// The stack that the place is in. (Not of the end, which is behind it.)
    #[inline(always)]
    pub fn forks(self) -> Forks {
        // SAFETY: the stack is aligned to its size, so this is where it begins, which is not null.
        let begin = |place: NonZero<usize>| unsafe {
            NonZero::new_unchecked(place.get() & !(size_of::<Whole>() - 1))
        };
        Forks(self.0.map_addr(begin).cast())
    }

    /// Whether a join that has written its job here does something unusual.
    #[inline(always)]
    pub fn is_unusual(self) -> bool {
        self.0.addr().get() >= self.forks().head().limit.load(Relaxed)
    }

    /// Whether this is the last slot.
    pub fn is_last(self) -> bool {
        self.0.addr().get() == self.forks().last()
    }

    /// The same place, of which the compiler knows nothing.
    ///
    /// A function that ends with a join may become a loop, whose next turn is the second half, at the same place. What
    /// follows from the place would then be computed before the loop and kept over the calls in it, in registers that each
    /// call has to save: that is more than to compute it anew.
    #[inline(always)]
    pub fn anew(self) -> Self {
        #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
        {
            let mut place = self.0.as_ptr();
            // SAFETY: it is no instruction, and leaves the register as it is.
            unsafe {
                core::arch::asm!("/* {0} */", inout(reg) place, options(readonly, nostack, preserves_flags));
                Self(NonNull::new_unchecked(place))
            }
        }
        #[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
        self
    }

    /// Where the job below this place is.
    ///
    /// # Safety
    ///
    /// There is one: this is not the lowest place.
    pub unsafe fn previous(self) -> Self {
        // SAFETY: by the caller's promise the slot is inside of the array.
        Self(unsafe { self.0.sub(1) })
    }

    /// Where the next job goes when there is one here.
    ///
    /// # Safety
    ///
    /// This is not the end, and a place in a stack that is not gone.
    #[inline(always)]
    pub unsafe fn next(self) -> Self {
        // SAFETY: by the caller's promise the slot is inside of the array.
        Self(unsafe { self.0.add(1) })
    }
}

impl ForkStack {
    pub fn new() -> Self {
        let whole = NonNull::from(Box::leak(Box::<Whole>::new_uninit())).cast::<Whole>();
        let stack = Forks(whole);
        let own = Own { base: stack.bottom(), cx: null_mut(), taken: Vec::new() };
        let head = Head { limit: AtomicUsize::new(stack.last()), own: UnsafeCell::new(own) };
        // SAFETY: nobody else knows of it yet.
        unsafe { whole.cast::<Head>().write(head) };
        Self(whole)
    }

    /// Asks the worker for work: its next join will look who needs some.
    pub fn ask(&self) {
        // What is needed is said elsewhere. Release pairs with the Acquire of `was_asked`, which sees it then; an RMW, so that
        // it sees what those wanted as well who have asked before.
        // SAFETY: the head is there as long as this is.
        unsafe { self.0.cast::<Head>().as_ref() }.limit.swap(0, Release);
    }

    /// For the worker itself.
    pub fn own(&self) -> Forks {
        Forks(self.0)
    }
}

impl Drop for ForkStack {
    fn drop(&mut self) {
        // SAFETY: made in `new`, and nobody is in a join any more. Slots have no destructors.
        unsafe {
            self.0.cast::<Head>().drop_in_place();
            drop(Box::from_raw(self.0.cast::<MaybeUninit<Whole>>().as_ptr()));
        }
    }
}

/// A fork stack, as its worker sees it.
///
/// Its methods are for that worker alone, and one at a time. (There is no reference to what they touch in between.)
#[derive(Clone, Copy)]
pub(crate) struct Forks(NonNull<Whole>);

impl Forks {
    #[inline(always)]
    fn head(&self) -> &Head {
        // SAFETY: whoever has this has the stack as well, through the runtime's shared part.
        unsafe { self.0.cast::<Head>().as_ref() }
    }

    #[inline(always)]
    fn with<R>(&self, act: impl FnOnce(&mut Own) -> R) -> R {
        // SAFETY: called by the worker only, and no `act` calls others.
        self.head().own.with_mut(|own| act(unsafe { &mut *own }))
    }

    /// The lowest slot.
    pub fn bottom(&self) -> Top {
        // SAFETY: inside of the allocation.
        Top(unsafe { self.0.cast::<Head>().add(1).cast() })
    }

    /// The address of the last slot.
    fn last(&self) -> usize {
        self.bottom().0.addr().get() + (SLOTS - 1) * size_of::<Job>()
    }

    /// Whether somebody has asked for work; forgets it.
    pub fn was_asked(&self) -> bool {
        let limit = &self.head().limit;
        // Who asks after this asks again. Acquire pairs with the Release of `ask`.
        limit.load(Relaxed) == 0 && limit.swap(self.last(), Acquire) == 0
    }

    /// A task of the worker with that context begins to fork. There is no job.
    #[inline(always)]
    pub fn begin(&self, cx: *mut Context) -> Top {
        self.with(|own| {
            own.cx = cx;
            own.base
        })
    }

    /// The context of the worker, which is in a join.
    #[inline(always)]
    pub fn context(&self) -> *mut Context {
        self.with(|own| own.cx)
    }

    /// Says that what is below `top` is lent, and nothing else.
    pub fn settle(&self, top: Top) {
        self.with(|own| own.base = top);
    }

    /// Begins a segment at `top` for a job that was taken, while tasks spawned here inherit `meta`. Until it ends the
    /// context is used by way of `cx`.
    pub fn open(&self, top: Top, job: NonNull<Job>, meta: Meta, cx: *mut Context) {
        self.with(|own| {
            let (outer_base, outer_cx) = (replace(&mut own.base, top), replace(&mut own.cx, cx));
            own.taken.push(Segment { job, start: top, outer_base, outer_meta: meta, outer_cx });
        });
    }

    /// Ends the topmost segment, which is empty again. Returns what tasks inherit from now on.
    pub fn close(&self) -> Meta {
        self.with(|own| {
            let Some(segment) = own.taken.pop() else { unreachable!("what is closed was opened") };
            (own.base, own.cx) = (segment.outer_base, segment.outer_cx);
            segment.outer_meta
        })
    }

    /// Whether the worker has no job of its own, where the stack ends at `top`.
    pub fn is_all_lent(&self, top: Top) -> bool {
        self.with(|own| {
            own.base == top && own.taken.iter().all(|segment| segment.outer_base == segment.start)
        })
    }

    /// A job that the worker has taken and whose owner wants a part of it.
    pub fn wanted(&self) -> Option<NonNull<Job>> {
        // SAFETY: called in the midst of these jobs, so that none of them is done, let alone gone.
        let is_wanted = |job: &NonNull<Job>| unsafe { Job::lent(*job) }.state().is_wanted();
        self.with(|own| own.taken.iter().map(|segment| segment.job).find(is_wanted))
    }

    /// The oldest job that is the worker's own, of all or of those in `part_of`, which it has taken; and what tasks in it
    /// inherit. (That is `meta` in the topmost segment, which ends at `top`.) It is lent from now on.
    ///
    /// # Safety
    ///
    /// The caller is at `top`.
    pub unsafe fn lend(
        &self,
        top: Top,
        part_of: Option<NonNull<Job>>,
        meta: Meta,
    ) -> Option<(NonNull<Job>, Meta)> {
        self.with(|own| {
            let first = match part_of {
                None => 0,
                Some(job) => 1 + own.taken.iter().position(|segment| segment.job == job)?,
            };
            for number in first..=own.taken.len() {
                let (base, end, meta) = match own.taken.get_mut(number) {
                    Some(above) => (&mut above.outer_base, above.start, above.outer_meta),
                    None => (&mut own.base, top, meta),
                };
                if *base < end {
                    let job = base.slot();
                    // SAFETY: below the top, and so not the end.
                    *base = unsafe { base.next() };
                    return Some((job, meta));
                }
            }
            None
        })
    }
}
