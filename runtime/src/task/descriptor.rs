//! The task descriptor: one cache line for a task with a small body.
//!
//! ```text
//!  0  vtable   the functions for this kind of body
//!  8  next     link of the task's list: an inbox's backlog, an object's deferred tasks
//! 16  fetch    the cache lines that the annotation names
//! 24  meta     epoch, priority, flags, attempts, rank, cost: see [`Meta`]
//! 32  body     the closure, object references, and the sink for the result
//! ```
//!
//! # Phases
//!
//! A descriptor has one owner at a time. Every hand-over between threads is a release by the old
//! owner and an acquire by the new one.
//!
//! | phase | begins when | owner |
//! |---|---|---|
//! | built | `Origin::allocate` returns the block | the spawner |
//! | stored | `Spawn::deliver`, if the task must wait (*) | what it waits for, then its sender |
//! | inbox | it is pushed to a worker | the inbox; its worker takes it out |
//! | queued | it enters a run queue | the worker that holds the run queue, or the thief |
//! | deferred | its turn came while the object was held | the home of the object |
//! | running | the worker calls `run` | that worker |
//! | cancelled | the worker calls `cancel` instead | that worker |
//! | finished | the body is moved out | none: the block goes back to a heap |
//!
//! (*) A stored task waits for a group, for granules or for its placeholders.
//!
//! An optimistic read goes from running back to queued, inbox or deferred until its walk ends. A
//! placeholder of a task with several objects ends its `run` without being freed: it then belongs
//! to its task, which sends it home when it is done.
//!
//! # Fields
//!
//! The owner of the phase is the only thread that touches a field, but for the cells in bold. The
//! token is the grant token.
//!
//! | field | built | stored | inbox | queued | deferred | running, cancelled |
//! |---|---|---|---|---|---|---|
//! | `vtable` | written | | | read to `locate` | | read; replaced in a placeholder that goes home |
//! | `next` | null | | **pushers and worker, atomically** | | links the deferred tasks | |
//! | `fetch` | written | read | | read to prefetch | | a walk writes it for its next node |
//! | `meta` | written | epoch, unbound | stamped | stamped; priority | token | attempts, token |
//! | body | written | | | read by `locate` | | moved out, or changed in place by a walk |
//!
//! A task with several objects has a second exception: until its last placeholder has arrived, the
//! **workers of the homes** decrement `GrantControl::pending` in its body and read the options
//! beside it.
//!
//! # Bits of the meta word
//!
//! | bits | written |
//! |---|---|
//! | epoch | built; again when a task that was stored without an epoch is sent |
//! | priority | built; set to normal when the task enters the ranked queue |
//! | grant token | set when the home hands a held object to the task; cleared when a walk leaves |
//! | protocol | built |
//! | stamped | at the first push, if tasks are observed |
//! | session, queued | at a push and a run, if tasks are recorded on demand; a run clears queued |
//! | attempts | running, by an optimistic read |
//! | in sequenced, confined | running, in the worker's copy of the word |
//! | rank, cost | built |
//! | unbound | when the task is sent to an inbox whose worker may offer it to other workers |

use crate::annotation::Priority;
use crate::memory::SizeClass;
use crate::monitor::Description;
use crate::object::{Fetch, FreeWord};
use crate::pool::RankOrder;
use crate::scheduler::Worker;
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

/// The functions for one kind of body. Each but `locate` and `describe` consumes the task.
pub struct VTable {
    /// Runs the body, frees the descriptor and counts the task as finished; or puts the task back
    /// into a queue.
    pub(crate) run: unsafe fn(NonNull<Task>, &mut Worker),
    /// Returns the lines that the task will touch beyond those of its annotation, which have
    /// arrived. The free word is that of the runtime.
    pub(crate) locate: unsafe fn(NonNull<Task>, FreeWord) -> Fetch,
    /// Drops the body, completes the sink, frees the descriptor and counts the task as finished.
    pub(crate) cancel: unsafe fn(NonNull<Task>, &mut Worker),
    /// Names the task and the objects it was spawned with, for the watchdog.
    pub(crate) describe: unsafe fn(NonNull<Task>) -> Description,
}

/// Properties of a task, packed into one word that is read, inherited from and written as a whole.
///
/// ```text
/// bits  0..8   slot of the epoch that the task belongs to
/// bits  8..16  priority
/// bits 16..24  flags: grant token, protocol, stamped, in sequenced, confined; session; queued
/// bits 24..32  failed optimistic attempts
/// bits 32..47  rank XOR the middle rank
/// bit  47      unbound
/// bits 48..64  units of cost beyond one
/// ```
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Meta(u64);

/// The task was deferred at a held object, which was then handed to it. It hands the object on.
const GRANT_TOKEN: u64 = 1 << 16;
/// The task is a message of the runtime: it runs even while other tasks are cancelled.
const PROTOCOL: u64 = 1 << 17;
/// The lead of the task's block says when it was spawned: see `monitor::observer`.
const STAMPED: u64 = 1 << 18;
/// The current task is inside a sequenced object, which is not marked as held. In a worker's copy
/// of the word only.
const IN_SEQUENCED: u64 = 1 << 19;
/// Other tasks rely on the current one not to be suspended. In a worker's copy of the word only.
const CONFINED: u64 = 1 << 20;
/// The session in which the task was last queued or run while recorded on demand: see
/// [`session_bits`]; 0 if none.
const SESSION_SHIFT: u32 = 21;
const SESSION: u64 = 3 << SESSION_SHIFT;
/// The task waits in a queue since it was recorded there.
const QUEUED: u64 = 1 << 23;
const INHERITED: u64 = 0xffff;
const ONE_ATTEMPT: u64 = 1 << 24;
const COST_SHIFT: u32 = 48;
const RANK_SHIFT: u32 = 32;
/// The task is unbound: the worker of its inbox puts it where other workers may steal it.
const UNBOUND: u64 = 1 << (COST_SHIFT - 1);

/// Returns the bits of a session: 0 if there is none, else one of three values in turn.
fn session_bits(session: u32) -> u64 {
    match session {
        0 => 0,
        _ => u64::from((session - 1) % 3 + 1) << SESSION_SHIFT,
    }
}

impl Meta {
    /// Returns the word that [`bits`](Self::bits) was called on.
    pub(crate) fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    #[inline(always)]
    pub(crate) fn bits(self) -> u64 {
        self.0
    }

    #[inline(always)]
    pub(crate) fn new(epoch: u8, priority: Priority, cost: u16) -> Self {
        Self(u64::from(epoch) | (priority as u64) << 8 | u64::from(cost) << COST_SHIFT)
    }

    /// Returns the meta word of a follow-up in the same epoch.
    #[inline(always)]
    pub(crate) fn inherited(self, priority: Option<Priority>, cost: u16) -> Self {
        let inherited = match priority {
            None => self.0 & INHERITED,
            Some(priority) => self.0 & 0xff | (priority as u64) << 8,
        };
        Self(inherited | u64::from(cost) << COST_SHIFT)
    }

    /// Returns this word with another epoch.
    #[inline(always)]
    pub(crate) fn in_epoch(self, epoch: u8) -> Self {
        Self(self.0 & !0xff | u64::from(epoch))
    }

    /// Returns the slot of the epoch.
    #[inline(always)]
    pub(crate) fn epoch(self) -> u8 {
        self.0 as u8
    }

    /// Returns the index of the priority ring that the task goes into.
    #[inline(always)]
    pub(crate) fn level(self) -> usize {
        usize::from((self.0 >> 8) as u8)
    }

    pub(crate) fn priority(self) -> Priority {
        [Priority::High, Priority::Normal, Priority::Low][self.level()]
    }

    /// Returns this word with a rank, and with the priority that stands for the rank where the
    /// queues are not ranked.
    #[inline(always)]
    pub(crate) fn with_rank(self, rank: u16) -> Self {
        let priority = match rank.cmp(&RankOrder::MIDDLE) {
            Ordering::Less => Priority::High,
            Ordering::Equal => Priority::Normal,
            Ordering::Greater => Priority::Low,
        };
        let rank = u64::from(rank.min(RankOrder::LAST) ^ RankOrder::MIDDLE);
        Self(self.with_priority(priority).0 | rank << RANK_SHIFT)
    }

    /// Returns this word with another priority.
    #[inline(always)]
    pub(crate) fn with_priority(self, priority: Priority) -> Self {
        Self(self.0 & !0xff00 | (priority as u64) << 8)
    }

    /// Returns true if the rank, own or middle, says how urgent the task is, and not its priority.
    pub(crate) fn is_ordered_by_rank(self) -> bool {
        self.level() == Priority::Normal as usize || self.rank() != RankOrder::MIDDLE
    }

    /// Returns the rank; the middle one unless the task has an own.
    pub(crate) fn rank(self) -> u16 {
        (self.0 >> RANK_SHIFT) as u16 & RankOrder::LAST ^ RankOrder::MIDDLE
    }

    /// Returns the units of cost beyond one.
    #[inline(always)]
    pub(crate) fn cost(self) -> u64 {
        self.0 >> COST_SHIFT
    }

    /// Returns this word for an unbound task.
    pub(crate) fn unbound(self) -> Self {
        Self(self.0 | UNBOUND)
    }

    /// Returns this word without the unbound flag.
    pub(crate) fn bound(self) -> Self {
        Self(self.0 & !UNBOUND)
    }

    pub(crate) fn is_unbound(self) -> bool {
        self.0 & UNBOUND != 0
    }

    /// Returns true if the task costs more than one unit, or is unbound.
    #[inline(always)]
    pub(crate) fn is_heavy_or_unbound(self) -> bool {
        self.0 >> (COST_SHIFT - 1) != 0
    }

    #[inline(always)]
    pub(crate) fn has_grant_token(self) -> bool {
        self.0 & GRANT_TOKEN != 0
    }

    pub(crate) fn take_grant_token(&mut self) {
        self.0 |= GRANT_TOKEN;
    }

    pub(crate) fn drop_grant_token(&mut self) {
        self.0 &= !GRANT_TOKEN;
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

    /// Returns true if the task was queued in this session, and has not run since.
    pub(crate) fn is_queued_in(self, session: u32) -> bool {
        self.0 & QUEUED != 0 && self.was_in(session)
    }

    /// Returns true if the task was queued in this session, or has run in it; or if it last was or
    /// did in one with the same bits.
    pub(crate) fn was_in(self, session: u32) -> bool {
        self.0 & SESSION == session_bits(session)
    }

    /// Records that the task is queued in a session.
    pub(crate) fn queue_in(&mut self, session: u32) {
        self.0 = self.0 & !SESSION | session_bits(session) | QUEUED;
    }

    /// Records that the task runs, in a session or none.
    pub(crate) fn run_in(&mut self, session: u32) {
        if planted!("run-in-no-session") {
            self.0 &= !QUEUED;
            return;
        }
        self.0 = self.0 & !(SESSION | QUEUED) | session_bits(session);
    }

    #[inline(always)]
    pub(crate) fn enter_sequenced(&mut self) {
        self.0 |= IN_SEQUENCED;
    }

    pub(crate) fn leave_sequenced(&mut self) {
        self.0 &= !IN_SEQUENCED;
    }

    pub(crate) fn is_in_sequenced(self) -> bool {
        self.0 & IN_SEQUENCED != 0
    }

    #[inline(always)]
    pub(crate) fn confine(&mut self) {
        self.0 |= CONFINED;
    }

    pub(crate) fn is_confined(self) -> bool {
        self.0 & CONFINED != 0
    }

    /// Returns the number of failed optimistic attempts.
    pub(crate) fn attempts(self) -> u8 {
        (self.0 >> 24) as u8
    }

    /// Counts a failed attempt. `OPTIMISTIC_ATTEMPTS` bounds them, so the byte does not overflow.
    pub(crate) fn count_attempt(&mut self) {
        self.0 += ONE_ATTEMPT;
    }

    /// Counts as many attempts as may fail: the next read enters its object.
    pub(crate) fn exhaust_attempts(&mut self) {
        self.forget_attempts();
        self.0 += u64::from(Worker::OPTIMISTIC_ATTEMPTS) * ONE_ATTEMPT;
    }

    #[inline(always)]
    pub(crate) fn forget_attempts(&mut self) {
        self.0 &= !(0xff * ONE_ATTEMPT);
    }
}

/// Offset of the body in the descriptor, in bytes.
pub(crate) const BODY: usize = 32;
const _: () = assert!(size_of::<Task>() == BODY);

/// Returns true if a body of type `B` has to be boxed.
pub(crate) const fn is_too_large<B>() -> bool {
    SizeClass::for_size(BODY + size_of::<B>()).is_none() || align_of::<B>() > BODY
}

/// Returns the size class of a descriptor with a body of type `B`, which is not too large.
pub(crate) const fn class_of<B>() -> SizeClass {
    match SizeClass::for_size(BODY + size_of::<B>()) {
        Some(class) => class,
        None => SizeClass::B512,
    }
}

impl Task {
    /// Returns the address of the body.
    #[inline(always)]
    pub(crate) fn body<B>(task: NonNull<Self>) -> *mut B {
        task.as_ptr().cast::<u8>().wrapping_add(BODY).cast()
    }
}
