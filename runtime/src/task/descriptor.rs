//! The task descriptor: one cache line for a task with a small body.
//!
//! ```text
//!  0  vtable   what to do with the body
//!  8  next     link of whatever list the task is in: backlog of an inbox, deferred tasks
//! 16  fetch    the lines its annotation names
//! 24  meta     epoch, priority, flags, attempts, cost
//! 32  body     closure, object references, completion
//! ```
//! A descriptor belongs to one party at a time: the spawner, then the pool it was pushed to, then the worker that
//! runs it, which gives the block back to its heap.

use crate::annotation::Priority;
use crate::memory::SizeClass;
use crate::monitor::Description;
use crate::object::Fetch;
use crate::pool::Ranking;
use crate::scheduler::Context;
use crate::sync::AtomicPtr;
use core::cmp::Ordering;
use core::mem::{align_of, size_of};
use core::ptr::NonNull;

#[repr(C)]
pub struct Task {
    pub(crate) vtable: &'static VTable,
    pub(crate) next: AtomicPtr<Task>,
    pub(crate) fetch: Fetch,
    pub(crate) meta: Meta,
}

/// What a task's body can do. Each function owns the task, but for `locate`.
pub struct VTable {
    /// Runs the body, gives back the descriptor and says that the task has finished; or puts the task back to be
    /// run again.
    pub(crate) run: unsafe fn(NonNull<Task>, &mut Context),
    /// What the task will touch beyond the lines of its annotation, which have arrived.
    pub(crate) locate: unsafe fn(NonNull<Task>) -> Fetch,
    /// Drops the body unrun, tells who waits, gives back the descriptor and says that the task has finished.
    pub(crate) cancel: unsafe fn(NonNull<Task>, &mut Context),
    /// What the task is called and which objects it was spawned with, for the watchdog.
    pub(crate) describe: unsafe fn(NonNull<Task>) -> Description,
}

/// Small facts about a task, in one word: it is read, inherited from and written as a whole.
///
/// ```text
/// bits  0..8   slot of the epoch that the task belongs to
/// bits  8..16  priority
/// bits 16..24  flags
/// bits 24..32  failed optimistic attempts
/// bits 32..47  rank, as its difference (exclusive or) from the middle one
/// bit  47      bound to nothing
/// bits 48..64  units of cost beyond one
/// ```
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Meta(u64);

/// The task was deferred at a held object, which is now handed to it; it hands the object on when it is done.
const BATON: u64 = 1 << 16;
/// The task belongs to the runtime's own protocol: it runs even while others are cancelled.
const PROTOCOL: u64 = 1 << 17;
/// The task's block says when it was spawned: see `monitor::observer`.
const STAMPED: u64 = 1 << 18;
const INHERITED: u64 = 0xffff;
const ONE_ATTEMPT: u64 = 1 << 24;
const COST_SHIFT: u32 = 48;
const RANK_SHIFT: u32 = 32;
/// The task is bound to nothing, and waits in an inbox of a pool where that matters.
const FREE: u64 = 1 << (COST_SHIFT - 1);

impl Meta {
    #[inline(always)]
    pub(crate) fn new(epoch: u8, priority: Priority, cost: u16) -> Self {
        Self(u64::from(epoch) | (priority as u64) << 8 | u64::from(cost) << COST_SHIFT)
    }

    /// Of a follow-up in the same epoch.
    #[inline(always)]
    pub(crate) fn inherited(self, priority: Option<Priority>, cost: u16) -> Self {
        let inherited = match priority {
            None => self.0 & INHERITED,
            Some(priority) => self.0 & 0xff | (priority as u64) << 8,
        };
        Self(inherited | u64::from(cost) << COST_SHIFT)
    }

    /// The same, of a task of another epoch.
    #[inline(always)]
    pub(crate) fn in_epoch(self, epoch: u8) -> Self {
        Self(self.0 & !0xff | u64::from(epoch))
    }

    /// Slot of the epoch.
    #[inline(always)]
    pub(crate) fn epoch(self) -> u8 {
        self.0 as u8
    }

    /// Which of the rings the task goes into.
    #[inline(always)]
    pub(crate) fn level(self) -> usize {
        usize::from((self.0 >> 8) as u8)
    }

    pub(crate) fn priority(self) -> Priority {
        [Priority::High, Priority::Normal, Priority::Low][self.level()]
    }

    /// The same, of a task of that rank: among tasks that are not ranked it is as urgent as tasks without a rank, or more
    /// or less so.
    #[inline(always)]
    pub(crate) fn ranked(self, rank: u16) -> Self {
        let priority = match rank.cmp(&Ranking::MIDDLE) {
            Ordering::Less => Priority::High,
            Ordering::Equal => Priority::Normal,
            Ordering::Greater => Priority::Low,
        };
        let rank = u64::from(rank.min(Ranking::LAST) ^ Ranking::MIDDLE);
        Self(self.at(priority).0 | rank << RANK_SHIFT)
    }

    /// The same, in the ring of that priority.
    #[inline(always)]
    pub(crate) fn at(self, priority: Priority) -> Self {
        Self(self.0 & !0xff00 | (priority as u64) << 8)
    }

    /// Whether a rank says how urgent the task is, its own or the middle one, and no priority.
    pub(crate) fn goes_by_rank(self) -> bool {
        self.level() == Priority::Normal as usize || self.rank() != Ranking::MIDDLE
    }

    /// The rank; the middle one unless the task was told of another.
    pub(crate) fn rank(self) -> u16 {
        (self.0 >> RANK_SHIFT) as u16 & Ranking::LAST ^ Ranking::MIDDLE
    }

    /// Units of cost beyond one.
    #[inline(always)]
    pub(crate) fn cost(self) -> u64 {
        self.0 >> COST_SHIFT
    }

    /// The same, of a task that is bound to nothing.
    pub(crate) fn free(self) -> Self {
        Self(self.0 | FREE)
    }

    /// The same without that.
    pub(crate) fn bound(self) -> Self {
        Self(self.0 & !FREE)
    }

    pub(crate) fn is_free(self) -> bool {
        self.0 & FREE != 0
    }

    /// Whether it costs more than others, or is bound to nothing.
    #[inline(always)]
    pub(crate) fn is_particular(self) -> bool {
        self.0 >> (COST_SHIFT - 1) != 0
    }

    #[inline(always)]
    pub(crate) fn has_baton(self) -> bool {
        self.0 & BATON != 0
    }

    pub(crate) fn take_baton(&mut self) {
        self.0 |= BATON;
    }

    pub(crate) fn drop_baton(&mut self) {
        self.0 &= !BATON;
    }

    pub(crate) fn is_protocol(self) -> bool {
        self.0 & PROTOCOL != 0
    }

    pub(crate) fn protocol(self) -> Self {
        Self(self.0 | PROTOCOL)
    }

    pub(crate) fn is_stamped(self) -> bool {
        self.0 & STAMPED != 0
    }

    pub(crate) fn stamp(&mut self) {
        self.0 |= STAMPED;
    }

    /// Failed optimistic attempts.
    pub(crate) fn attempts(self) -> u8 {
        (self.0 >> 24) as u8
    }

    /// One more; there are few, so that they do not overflow.
    pub(crate) fn count_attempt(&mut self) {
        self.0 += ONE_ATTEMPT;
    }

    #[inline(always)]
    pub(crate) fn forget_attempts(&mut self) {
        self.0 &= !(0xff * ONE_ATTEMPT);
    }
}

/// Where a task's body begins.
pub(crate) const BODY: usize = 32;
const _: () = assert!(size_of::<Task>() == BODY);

/// Whether a body of type `B` has to be boxed.
pub(crate) const fn is_too_large<B>() -> bool {
    SizeClass::for_size(BODY + size_of::<B>()).is_none() || align_of::<B>() > BODY
}

/// Size class of the descriptor for a body of type `B`, which is not too large.
pub(crate) const fn class_of<B>() -> SizeClass {
    match SizeClass::for_size(BODY + size_of::<B>()) {
        Some(class) => class,
        None => SizeClass::B512,
    }
}

impl Task {
    /// Where the body is.
    #[inline(always)]
    pub(crate) fn body<B>(task: NonNull<Self>) -> *mut B {
        task.as_ptr().cast::<u8>().wrapping_add(BODY).cast()
    }
}
