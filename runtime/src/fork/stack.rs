//! The fork stack: the jobs of a worker, and whose parts they are.
//!
//! A join is a few instructions long, so each word that is kept alive over a call matters. Only a
//! place in the stack is passed on: the stack is aligned to its size, so that the address of any
//! place leads to its head.
//!
//! ```text
//!  head: limit        slots: job | job | job | (vacant) ... | (not initialised) ...
//!        │                    ^ oldest        ^ top: the next job goes here
//!        └─ the last initialised slot but one, or 0 while a steal request is pending
//! ```
//!
//! The owner pushes and pops at the top; thieves take the oldest job, which has the most work in
//! it. A join compares the address of its slot with `limit`, and leaves the fast path if that is
//! not below it: the stack has to grow, or a request is pending. One comparison serves both.
//!
//! Where the platform has no barrier, the stack is *eager*: `limit` stays 0, and each job is
//! published as it is pushed. Every join pays for that, and no thief has to publish.

mod memory;
mod thief;
mod top;

pub(crate) use thief::Taken;
pub(crate) use top::Top;

use super::handover::Inherited;
use super::{Handover, Job};
use crate::scheduler::Worker;
use crate::sync::{
    Acquire, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Relaxed, Release, SpinMutex, UnsafeCell,
    under_model,
};
use crate::task::{GroupState, Meta};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::iter::successors;
use core::mem::{MaybeUninit, replace};
use core::ptr::{NonNull, null_mut};
use memory::{Head, OwnerState, Segment, StackMemory, ThiefState};

/// The number of nested joins of which all second halves can be stolen. Deeper joins run in line.
pub(crate) const DEEPEST: usize = under_model(8189, 13) as usize;
/// The last slot is vacant between joins: a join writes its second half first and then checks its
/// place. Thieves leave that slot alone.
const SLOTS: usize = DEEPEST + 1;
/// Slots that are initialised at once as the stack grows: most stacks use a small part of their
/// memory.
const GROWTH: usize = under_model(128, 4) as usize;
/// Jobs that their owner publishes at once.
const MAX_BATCH: usize = under_model(32, 2) as usize;
/// Jobs that a thief publishes at once. More, as each batch of a thief costs a barrier; up to that,
/// it is doubled for each batch since the owner has last answered.
const MAX_FORCED: usize = under_model(512, 2) as usize;

/// The fork stack of a worker, as other workers see it: they can steal from it.
pub(crate) struct ForkStack(NonNull<StackMemory>);

// SAFETY: other threads only access atomics and the lock; the rest is the owner's.
unsafe impl Send for ForkStack {}
// SAFETY: other threads only access atomics and the lock; the rest is the owner's.
unsafe impl Sync for ForkStack {}

impl ForkStack {
    /// Makes the stack of a worker; `is_eager` if the platform has no barrier.
    pub fn new(is_eager: bool) -> Self {
        let memory = NonNull::from(Box::leak(Box::<StackMemory>::new_uninit())).cast::<StackMemory>();
        let stack = Forks(memory);
        let bottom = stack.bottom().address();
        let own = OwnerState { cx: null_mut(), segments: Vec::new(), batch: 1, limit: 0 };
        let head = Head {
            limit: AtomicUsize::new(0),
            is_eager,
            own: UnsafeCell::new(own),
            meta: AtomicU64::new(0),
            group: AtomicPtr::new(null_mut()),
            part_of: AtomicPtr::new(null_mut()),
            thieves: ThiefState {
                oldest: AtomicUsize::new(bottom),
                lock: SpinMutex::new(()),
                settled: AtomicUsize::new(0),
                forced: AtomicU32::new(0),
            },
        };
        // SAFETY: no other thread has a pointer to the stack yet.
        unsafe { memory.cast::<Head>().write(head) };
        stack.initialise(bottom, GROWTH);
        _ = stack.take_request();
        Self(memory)
    }

    /// Sends a steal request to the worker: its next join will publish jobs. In an eager stack each
    /// does.
    pub fn ask(&self) {
        if self.head().is_eager {
            return;
        }
        // Release pairs with the Acquire of `take_request`: it sees what this thread has written
        // about its need before. A read-modify-write, so that it also sees that of earlier
        // requests.
        self.head().limit.swap(0, Release);
    }

    /// Sends a steal request unless one is pending.
    pub fn ask_once(&self) {
        if self.head().limit.load(Relaxed) != 0 {
            self.ask();
        }
    }

    /// Returns the owner's view of the stack.
    pub fn own(&self) -> Forks {
        Forks(self.0)
    }

    fn head(&self) -> &Head {
        // SAFETY: the head lives as long as `self`.
        unsafe { self.0.cast::<Head>().as_ref() }
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
        self.bottom().address() + (SLOTS - 1) * size_of::<Job>()
    }

    /// Initialises further slots, if a job that is pushed at `top` would need them.
    pub fn make_room(&self, top: Top) {
        let limit = self.with(|own| own.limit);
        if top.address() >= limit && limit != self.last() {
            self.initialise(limit + 2 * size_of::<Job>(), GROWTH);
            // Fails while a request is pending: `take_request` sets the limit then.
            let raised = self.with(|own| own.limit);
            _ = self.head().limit.compare_exchange(limit, raised, Relaxed, Relaxed);
        }
    }

    /// Initialises up to `count` slots from the address `first` on, up to the last slot.
    fn initialise(&self, first: usize, count: usize) {
        let (bottom, last) = (self.bottom(), self.last());
        let slots = (first..=last).step_by(size_of::<Job>()).take(count);
        for slot in slots.clone() {
            // SAFETY: the slot is in the allocation, and no thread has accessed it yet.
            unsafe { bottom.with_address(slot).slot().write(Job::vacant()) };
        }
        let end = slots.last().unwrap_or(last);
        self.with(|own| own.limit = if end == last { last } else { end - size_of::<Job>() });
    }

    /// Returns true if a steal request is pending, and clears it. In an eager stack always.
    pub fn take_request(&self) -> bool {
        let limit = &self.head().limit;
        // A request sent after this is seen by a later call. Acquire pairs with the Release of
        // `ask`.
        self.head().is_eager
            || limit.load(Relaxed) == 0 && limit.swap(self.with(|own| own.limit), Acquire) == 0
    }

    /// Begins the joins of a task of the worker with that context. The task has no jobs yet.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn begin(&self, cx: *mut Worker, meta: Meta, group: Option<NonNull<GroupState>>) -> Top {
        self.set_inherited(Inherited { meta, group, part_of: None });
        self.with(|own| own.cx = cx);
        self.bottom()
    }

    /// Records what jobs in the topmost segment inherit, before they are pushed there.
    #[inline(always)]
    fn set_inherited(&self, inherited: Inherited) {
        let Inherited { meta, group, part_of } = inherited;
        // Relaxed: the Release of `Job::push` publishes all three.
        self.head().meta.store(meta.bits(), Relaxed);
        self.head().group.store(group.map_or(null_mut(), NonNull::as_ptr), Relaxed);
        self.head().part_of.store(part_of.map_or(null_mut(), NonNull::as_ptr), Relaxed);
    }

    /// Returns the worker's context while it is in a join.
    #[inline(always)]
    pub fn context(&self) -> *mut Worker {
        self.with(|own| own.cx)
    }

    /// Replaces the worker's context, in the midst of a join. Returns the one so far.
    pub fn replace_context(&self, cx: *mut Worker) -> *mut Worker {
        self.with(|own| replace(&mut own.cx, cx))
    }

    /// Returns true if thieves have taken all jobs below `top`, or if there is none. The caller is
    /// there.
    pub fn are_all_taken(&self, top: Top) -> bool {
        // Relaxed: a job that was just taken counts as taken only later.
        self.head().thieves.oldest.load(Relaxed) == top.address()
    }

    /// Publishes jobs below `top`: in an eager stack the topmost; otherwise up to half of those
    /// that are not taken, from the oldest on. Returns false if there was none.
    ///
    /// # Safety
    ///
    /// The caller is at `top`.
    pub unsafe fn publish(&self, top: Top) -> bool {
        let thieves = &self.head().thieves;
        let oldest = thieves.oldest.load(Relaxed);
        // Most stacks have none, and their line stays the thieves'.
        if thieves.forced.load(Relaxed) > 0 {
            thieves.forced.store(0, Relaxed);
        }
        // Thieves may take some of them meanwhile: then these need not be published any more.
        let count = top.address().saturating_sub(oldest) / size_of::<Job>();
        let batch = if self.head().is_eager { 1 } else { self.next_batch().min(count.div_ceil(2)) };
        let first = if self.head().is_eager { count - batch.min(count) } else { 0 };
        for index in (first..count).take(batch) {
            // SAFETY: the slot is below the top, so it is initialised.
            unsafe { Job::publish(top.with_address(oldest + index * size_of::<Job>()).slot()) };
        }
        count > 0
    }

    /// Returns what identifies the youngest job of a stack that ends at `top`, or the head if there
    /// is none.
    pub fn youngest_address(&self, top: Top) -> usize {
        top.address() - size_of::<Job>()
    }

    /// Returns how many jobs to publish now, and doubles that for the next time.
    fn next_batch(&self) -> usize {
        self.with(|own| {
            let doubled = (2 * own.batch).min(MAX_BATCH);
            replace(&mut own.batch, doubled)
        })
    }

    /// Records that a public job was popped: no thief wanted it.
    pub fn came_back(&self) {
        self.with(|own| own.batch = 1);
    }

    /// Records that the job at `at`, which was taken, is over. The caller is there.
    pub fn settle(&self, at: Top) {
        let thieves = &self.head().thieves;
        let _guard = thieves.lock.lock();
        // SAFETY: the slot is the caller's, which has the lock.
        unsafe { Job::settle(at.slot()) };
        if !planted!("settled-uncounted") {
            thieves.count_settled();
        }
        // Release pairs with the Acquire of `ForkStack::oldest`.
        thieves.oldest.store(at.address(), Release);
    }

    /// Begins a segment for a job that the worker has taken. `meta` is what tasks in the segment
    /// below inherit. Until the segment ends, the context is reached through `cx`.
    pub fn open(&self, job: NonNull<Job>, handover: &Handover, meta: Meta, cx: *mut Worker) {
        let outer = Inherited { meta, ..self.head().inherited() };
        self.set_inherited(Inherited { part_of: Some(job), ..handover.inherited });
        self.with(|own| {
            let outer_cx = replace(&mut own.cx, cx);
            own.segments.push(Segment { job, outer, outer_cx });
        });
    }

    /// Ends the topmost segment, which is empty again. Returns what tasks inherit from now on.
    pub fn close(&self) -> Meta {
        let segment = self.with(|own| own.segments.pop());
        let Some(segment) = segment else { unreachable!("each close follows an open") };
        self.with(|own| own.cx = segment.outer_cx);
        self.set_inherited(segment.outer);
        segment.outer.meta
    }

    /// Returns the taken jobs that a job which the caller pushes now is a part of: those that this
    /// worker runs and, if `all`, those that these are parts of. None of them is done before the
    /// caller returns to its own.
    pub fn wholes(&self, all: bool) -> impl Iterator<Item = NonNull<Job>> {
        let forks = *self;
        (0..self.with(|own| own.segments.len())).rev().flat_map(move |index: usize| {
            let job_at = |index: usize| forks.with(|own| own.segments[index].job);
            let below = index.checked_sub(1).map(job_at);
            // SAFETY: the worker runs a part of each, so none of them is done, let alone gone. Each
            // was taken before its part was pushed.
            let part_of = |job: &NonNull<Job>| unsafe { Job::handover(*job) }.inherited.part_of;
            let part_of = move |job: &_| part_of(job).filter(|_| all && !planted!("part-wakes-owner-alone"));
            // What the job of the segment below is a part of is found from there.
            successors(Some(job_at(index)), part_of).take_while(move |&job| Some(job) != below)
        })
    }
}
