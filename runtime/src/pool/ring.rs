//! A worker's own FIFO queue of ready tasks, which prefetches what they will touch.
//!
//! ```text
//! head        located                fetched              tail
//!  |  ≤ d tasks  |      ≤ d tasks       |                   |
//!  all there     first parts on their   nothing done yet
//!                way, or there
//! ```
//!
//! At distance 2d the descriptor is fetched, and the part that its annotation names. At distance d
//! that part has arrived, and a task that can locate more by it is asked for the rest. Descriptor
//! first, object second: see MxTasks, section 5. A task that names everything at once is fetched at
//! distance d only, so that its lines are not evicted before it runs.

use crate::object::{Fetch, FreeWord, prefetch};
use crate::task::Task;
use alloc::boxed::Box;
use alloc::vec;
use core::mem::MaybeUninit;
use core::ptr::NonNull;

#[derive(Clone, Copy)]
struct Slot {
    task: NonNull<Task>,
    fetch: Fetch,
}

/// A growing ring buffer with two cursors ahead of its head. A slot is a position modulo the
/// capacity, a power of two. (The alignment makes the size a power of two as well: there is an
/// array of rings.)
#[repr(align(64))]
pub(crate) struct Ring {
    slots: Box<[MaybeUninit<Slot>]>,
    /// The tail may advance to here without a check, as far as is known; 0 in an observed ring.
    limit: u64,
    head: u64,
    tail: u64,
    fetched: u64,
    located: u64,
    /// From here on, no task names anything to fetch.
    plain_from: u64,
}

const FIRST_CAPACITY: usize = 256;
/// This many of the youngest descriptors are still in the cache from their spawn.
const CACHED_DESCRIPTORS: u64 = 256;
/// The first position. Positions only count up (and down for tasks pushed to the front), and never
/// wrap.
const FIRST_POSITION: u64 = 1 << 62;
/// The limit of a ring that is checked at every push.
const ALWAYS_CHECK: u64 = 0;

impl Ring {
    /// Creates an empty ring. One that is `observed` never has room, so that each push calls
    /// [`make_room`](Self::make_room) before.
    pub fn new(observed: bool) -> Self {
        let slots = vec![MaybeUninit::uninit(); FIRST_CAPACITY].into();
        let limit = if observed { ALWAYS_CHECK } else { FIRST_POSITION + FIRST_CAPACITY as u64 };
        Self {
            slots,
            limit,
            head: FIRST_POSITION,
            tail: FIRST_POSITION,
            fetched: FIRST_POSITION,
            located: FIRST_POSITION,
            plain_from: FIRST_POSITION,
        }
    }

    /// Sets whether each push calls [`make_room`](Self::make_room) before.
    pub fn set_observed(&mut self, observed: bool) {
        self.limit = if observed { ALWAYS_CHECK } else { self.head + self.slots.len() as u64 };
    }

    /// Returns true if a task can be pushed without a call of `make_room`.
    #[inline(always)]
    pub fn has_room(&self) -> bool {
        self.tail < self.limit
    }

    /// Makes a slot available for one more task.
    #[inline]
    pub fn make_room(&mut self) {
        if self.len() == self.slots.len() {
            self.grow();
        }
        if self.limit != ALWAYS_CHECK {
            self.limit = self.head + self.slots.len() as u64;
        }
    }

    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    #[inline(always)]
    pub fn len(&self) -> usize {
        (self.tail - self.head) as usize
    }

    #[inline(always)]
    fn slot_mut(&mut self, position: u64) -> &mut MaybeUninit<Slot> {
        let index = position as usize & (self.slots.len() - 1);
        // SAFETY: the length is a power of two, so the masked index is below it.
        unsafe { self.slots.get_unchecked_mut(index) }
    }

    /// Puts a task behind all others. There must be room.
    #[inline(always)]
    pub fn push(&mut self, task: NonNull<Task>, fetch: Fetch) {
        debug_assert!(self.len() < self.slots.len());
        *self.slot_mut(self.tail) = MaybeUninit::new(Slot { task, fetch });
        self.tail += 1;
        if !fetch.is_none() {
            self.plain_from = self.tail;
        }
    }

    /// Puts a task before all others, without prefetching. There must be room.
    pub fn push_front(&mut self, task: NonNull<Task>) {
        debug_assert!(self.len() < self.slots.len());
        self.head -= 1;
        // One slot less is left at the other end.
        self.limit = self.limit.min(self.head + self.slots.len() as u64);
        *self.slot_mut(self.head) = MaybeUninit::new(Slot { task, fetch: Fetch::NONE });
    }

    /// Takes the first task. The ring must not be empty.
    #[inline(always)]
    pub fn pop(&mut self) -> NonNull<Task> {
        debug_assert!(!self.is_empty());
        let slot = self.slot(self.head);
        self.head += 1;
        slot.task
    }

    #[inline(always)]
    fn slot(&self, position: u64) -> Slot {
        let index = position as usize & (self.slots.len() - 1);
        // SAFETY: masked, as in `slot_mut`. Callers stay between head and tail, where `push` and
        // `push_front` have filled every slot.
        unsafe { self.slots.get_unchecked(index).assume_init() }
    }

    /// Prefetches what the tasks ahead will touch, up to `distance` (first parts up to twice that).
    /// Returns the number of lines requested. Called before each `pop`, with the free word of the
    /// worker's runtime.
    #[inline(always)]
    pub fn look_ahead(&mut self, distance: u64, free_word: FreeWord) -> u64 {
        let (head, len) = (self.head, self.tail - self.head);
        if self.plain_from <= head && len <= CACHED_DESCRIPTORS {
            return 0;
        }
        let mut lines = 0;
        let mut fetched = self.fetched.max(head);
        let limit = head + len.min(2 * distance);
        while fetched < limit {
            let Slot { task, fetch } = self.slot(fetched);
            prefetch(task.as_ptr() as u64);
            if fetch.locates() {
                fetch.issue();
                lines += fetch.lines();
            }
            fetched += 1;
        }
        self.fetched = fetched;
        // In a short queue first parts need time to arrive, too.
        let limit = head + distance.min(len / 2);
        self.located = self.located.max(head);
        while self.located < limit {
            let Slot { task, fetch } = self.slot(self.located);
            // First, because a panic in a task's `locate` unwinds from here.
            self.located += 1;
            let fetch = if fetch.locates() {
                // SAFETY: a task in a ring is alive and belongs to this worker.
                unsafe { (task.as_ref().vtable.locate)(task, free_word) }
            } else {
                fetch
            };
            fetch.issue();
            lines += fetch.lines();
        }
        lines
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let mut slots = vec![MaybeUninit::uninit(); self.slots.len() * 2].into_boxed_slice();
        for position in self.head..self.tail {
            let index = position as usize & (slots.len() - 1);
            slots[index] = *self.slot_mut(position);
        }
        self.slots = slots;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::VecDeque;

    /// Compares with a reference queue: both ends, and sizes around each capacity.
    #[test]
    fn a_ring_that_grows_keeps_its_order() {
        // A ring of tasks that name nothing to fetch does not touch them.
        let task = |number: usize| NonNull::without_provenance(core::num::NonZero::new(number + 1).unwrap());
        for observed in [false, true] {
            let (mut ring, mut queue) = (Ring::new(observed), VecDeque::new());
            let (mut random, mut asked) = (1u64, 0);
            for number in 0..20_000 {
                random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
                // It fills and empties by turns, and more each time.
                let fills = number / 500 % 2 == 0 || number % 2 == 0;
                if fills && (random >> 33).is_multiple_of(8) {
                    ring.make_room();
                    ring.push_front(task(number));
                    queue.push_front(task(number));
                } else if fills {
                    if !ring.has_room() {
                        ring.make_room();
                        asked += 1;
                    }
                    ring.push(task(number), Fetch::NONE);
                    queue.push_back(task(number));
                } else if let Some(first) = queue.pop_front() {
                    assert_eq!(ring.pop(), first);
                }
                assert_eq!(ring.len(), queue.len());
            }
            assert!(if observed { asked > 10_000 } else { asked < 200 }, "asked {asked} times");
            queue.into_iter().for_each(|first| assert_eq!(ring.pop(), first));
            assert!(ring.is_empty());
        }
    }
}
