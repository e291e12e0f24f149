//! The run queue of a worker: one ring for each priority, and which of them may have tasks.

use crate::annotation::Priority;
use crate::object::Fetch;
use crate::pool::Ring;
use crate::task::Task;
use core::ptr::NonNull;

/// Bit of `RunQueue::ready` for unbound tasks, which have a queue of their own.
pub(super) const UNBOUND: u8 = 1 << Priority::COUNT;
/// Bits of `RunQueue::ready` for the rings.
pub(super) const RINGS: u8 = UNBOUND - 1;
/// Bit of `RunQueue::ready`: other threads have run tasks in the midst of the current one, which
/// blocked in place. A burst that has counted its tasks before ends.
pub(super) const DISTURBED: u8 = 1 << 7;
pub(super) const HIGH: u8 = 1 << Priority::High as u8;
pub(super) const NORMAL: u8 = 1 << Priority::Normal as u8;
const LOW: u8 = 1 << Priority::Low as u8;

/// Bursts between two bursts in which a lower priority goes first (ageing). Garbage is reclaimed as
/// often.
pub(super) const AGEING_INTERVAL: u64 = 8;
/// Bursts between two bursts in which rings and unbound tasks swap turns, or the oldest unbound
/// task goes first. Coprime to `AGEING_INTERVAL`, so that the two seldom coincide.
const TURN_INTERVAL: u64 = 11;

/// The tasks that a worker runs next.
pub(super) struct RunQueue {
    /// One ring for each priority, the highest first.
    rings: [Ring; Priority::COUNT],
    /// One bit for each ring that may have tasks, the highest priority in the lowest bit; and
    /// [`UNBOUND`]; and [`DISTURBED`].
    pub ready: u8,
    /// Cost of the queued tasks beyond one unit a task.
    pub extra_load: u64,
    /// Number of bursts so far.
    pub bursts: u64,
    /// Tasks of the inbox that have arrived by the worker's virtual clock; `None` in real time.
    pub arrived: Option<usize>,
}

impl RunQueue {
    pub fn new(is_observed: bool) -> Self {
        Self {
            rings: core::array::from_fn(|_| Ring::new(is_observed)),
            ready: 0,
            extra_load: 0,
            bursts: 0,
            arrived: None,
        }
    }

    /// Sets whether each push is recorded.
    pub fn set_observed(&mut self, is_observed: bool) {
        self.rings.iter_mut().for_each(|ring| ring.set_observed(is_observed));
    }

    /// Returns true if there may be tasks, unbound ones included.
    #[inline(always)]
    pub fn has_tasks(&self) -> bool {
        self.ready != 0
    }

    #[inline(always)]
    pub fn ring(&mut self, level: usize) -> &mut Ring {
        &mut self.rings[level]
    }

    /// Returns the number of tasks in the rings.
    pub fn len(&self) -> usize {
        self.rings.iter().map(Ring::len).sum()
    }

    /// Returns the cost of the queued tasks, one unit a task at least.
    pub fn load(&self) -> u64 {
        self.len() as u64 + self.extra_load
    }

    /// Returns true if the ring takes one more task as it is.
    ///
    /// # Safety
    ///
    /// `level` is the level of a priority.
    #[inline(always)]
    pub unsafe fn has_room(&mut self, level: usize) -> bool {
        debug_assert!(level < Priority::COUNT);
        // SAFETY: each priority has a ring, by the contract of this function.
        unsafe { self.rings.get_unchecked_mut(level) }.has_room()
    }

    /// Pushes a task to the end of a ring that has room.
    ///
    /// # Safety
    ///
    /// `level` is the level of a priority.
    #[inline(always)]
    pub unsafe fn push(&mut self, task: NonNull<Task>, level: usize, fetch: Fetch) {
        // SAFETY: each priority has a ring, by the contract of this function.
        unsafe { self.rings.get_unchecked_mut(level) }.push(task, fetch);
        self.ready |= 1 << level;
    }

    /// Pushes a task before all others, into a ring that has room.
    pub fn push_first(&mut self, task: NonNull<Task>) {
        self.ring(Priority::High as usize).push_front(task);
        self.ready |= HIGH;
    }

    /// Records that other threads have run tasks in the midst of the current one.
    pub fn disturb(&mut self) {
        // A burst needs a ring that may have tasks, to begin with.
        self.ready |= DISTURBED | LOW;
    }

    /// Returns true if other threads have run tasks in the midst of the current one.
    pub fn is_disturbed(&self) -> bool {
        self.ready & DISTURBED != 0
    }

    /// Records that the task is over in the midst of which other threads have run tasks.
    pub fn end_disturbance(&mut self) {
        self.ready &= !DISTURBED;
    }

    /// Counts one more burst. Returns true if a lower priority goes first in it.
    #[inline(always)]
    pub fn begin_burst(&mut self) -> bool {
        self.bursts += 1;
        self.bursts.is_multiple_of(AGEING_INTERVAL)
    }

    /// Counts one more burst, of unbound tasks. Returns true if the oldest goes first in it.
    #[inline(always)]
    pub fn begin_unbound_burst(&mut self) -> bool {
        self.bursts += 1;
        self.bursts.is_multiple_of(TURN_INTERVAL)
    }

    /// Returns the level of the highest priority that may have tasks in a ring.
    #[inline(always)]
    pub fn highest_level(&self) -> usize {
        (self.ready & RINGS).trailing_zeros() as usize % Priority::COUNT
    }

    /// Returns the level that ageing chooses. The lower priorities take turns, so that none
    /// starves.
    pub fn aged_level(&self) -> usize {
        let lowest = 7 - (self.ready & RINGS).leading_zeros() as usize;
        let is_turn_of_lowest = self.bursts.is_multiple_of(2 * AGEING_INTERVAL);
        if is_turn_of_lowest || self.ready & NORMAL == 0 { lowest } else { Priority::Normal as usize }
    }

    /// Returns true if unbound tasks go before the rings in this burst.
    #[inline]
    pub fn is_turn_of_unbound(&self) -> bool {
        let rings = self.ready & RINGS;
        if rings == 0 {
            return true;
        }
        let is_first = rings & HIGH == 0 && (rings & NORMAL == 0 || self.bursts.is_multiple_of(2));
        is_first != self.bursts.is_multiple_of(TURN_INTERVAL)
    }
}
