//! What a fork stack consists of.

use super::SLOTS;
use crate::fork::Job;
use crate::fork::handover::Inherited;
use crate::scheduler::Worker;
use crate::sync::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Relaxed, Release, SpinMutex, UnsafeCell};
use crate::task::{GroupState, Meta};
use alloc::vec::Vec;
use core::mem::MaybeUninit;
use core::ptr::NonNull;

#[cfg_attr(not(any(model = "loom", model = "shuttle")), repr(C, align(1048576)))]
#[cfg_attr(any(model = "loom", model = "shuttle"), repr(C, align(16384)))]
pub(super) struct StackMemory {
    pub(super) head: Head,
    pub(super) slots: [MaybeUninit<Job>; SLOTS],
}

const _: () =
    assert!(size_of::<StackMemory>() == align_of::<StackMemory>(), "the head of a place is found by masking");

#[repr(C, align(128))]
pub(super) struct Head {
    /// The place from which on a join leaves the fast path: `OwnerState::limit`, or 0 while a steal
    /// request is pending.
    pub(super) limit: AtomicUsize,
    /// Each job is published as it is pushed.
    pub(super) is_eager: bool,
    pub(super) own: UnsafeCell<OwnerState>,
    /// What jobs of the topmost segment inherit: the bits of a [`Meta`], a group, and the segment's
    /// own job. Written by the owner, read by thieves.
    pub(super) meta: AtomicU64,
    pub(super) group: AtomicPtr<GroupState>,
    pub(super) part_of: AtomicPtr<Job>,
    pub(super) thieves: ThiefState,
}

impl Head {
    /// Returns what jobs of the topmost segment inherit.
    pub(super) fn inherited(&self) -> Inherited {
        // Relaxed: a thief has acquired the job, and so what was there before it.
        Inherited {
            meta: Meta::from_bits(self.meta.load(Relaxed)),
            group: NonNull::new(self.group.load(Relaxed)),
            part_of: NonNull::new(self.part_of.load(Relaxed)),
        }
    }
}

/// What thieves write, on a cache line of its own.
#[repr(align(128))]
pub(super) struct ThiefState {
    /// The slot of the oldest job that is not taken, or of the next one if all are. Written with
    /// the lock.
    pub(super) oldest: AtomicUsize,
    pub(super) lock: SpinMutex<()>,
    /// Counts jobs that were taken and are over. Written by the owner, with the lock.
    pub(super) settled: AtomicUsize,
    /// Batches that thieves have published since the owner has last answered. Only a hint.
    pub(super) forced: AtomicU32,
}

impl ThiefState {
    /// Counts a job that was settled. The caller has the lock.
    pub(super) fn count_settled(&self) {
        let settled = self.settled.load(Relaxed).wrapping_add(1);
        // Release pairs with the Acquire of `taken_from`: a worker that reads the new count finds
        // the slot settled. The lock orders it before the next `Handover::begin`, and a worker that
        // glances at that sees the new count.
        self.settled.store(settled, Release);
    }
}

/// What only the owner accesses.
///
/// The stack consists of *segments*: one for the task that the worker runs, and one for each job
/// that it took while it waited in the segment below.
///
/// ```text
///                          start                       top
///  | taken  | taken        | taken  |  not taken        |
///  | the task's segment    | segment of a stolen job    |
/// ```
///
/// A worker waits only for its youngest job, and the oldest jobs are taken first. So while it
/// waits, all jobs below are taken, and jobs that are not belong to the topmost segment. The top is
/// passed from function to function: storing it would cost more than the rest of a join.
pub(super) struct OwnerState {
    /// The worker's context, while it is in a join.
    pub(super) cx: *mut Worker,
    pub(super) segments: Vec<Segment>,
    /// Jobs that the owner publishes when it is asked next: more if all were taken, 1 if some came
    /// back.
    pub(super) batch: usize,
    /// The address of the last initialised slot but one, so that the slot after a job is
    /// initialised before the job is pushed. Once all are initialised, the last slot.
    pub(super) limit: usize,
}

/// The segment of a job that the worker has taken.
pub(super) struct Segment {
    pub(super) job: NonNull<Job>,
    /// What jobs inherit in the segment below, and the way to the context there.
    pub(super) outer: Inherited,
    pub(super) outer_cx: *mut Worker,
}
