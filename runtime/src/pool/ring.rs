//! A worker's own queue of ready tasks, which looks ahead and fetches what they will touch.
//!
//! ```text
//! head        located                fetched              tail
//!  |  ≤ d tasks  |      ≤ d tasks       |                   |
//!  all there     first parts on their   nothing done yet
//!                way, or there
//! ```
//! At distance 2d the descriptor and the part that its annotation names are fetched; at distance d a task that knows
//! more once this part is there is asked for the rest. Descriptor first, object second: see MxTasks, section 5. A
//! task that names all it touches at once needs no second look and is fetched at distance d only, so that its lines
//! are not thrown out again before it runs.

use crate::object::{Fetch, prefetch};
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

/// A growing ring buffer with two cursors ahead of its head. A slot is a position modulo the capacity, a power of two.
/// (Its size is one, too: there is an array of rings.)
#[repr(align(64))]
pub(crate) struct Ring {
    slots: Box<[MaybeUninit<Slot>]>,
    /// The tail may go up to here before somebody has to look, as far as is known; in an observed ring, nowhere.
    limit: u64,
    head: u64,
    tail: u64,
    fetched: u64,
    located: u64,
    /// From here on no task names anything to fetch.
    plain: u64,
}

const FIRST_CAPACITY: usize = 256;
/// The descriptors of so many tasks are still in the cache from their spawning.
const CACHED: u64 = 256;
/// Positions count up from here for ever (and down, for tasks put before all others): they never wrap.
const MIDDLE: u64 = 1 << 62;
/// The limit of a ring that always wants to be asked.
const OBSERVED: u64 = 0;

impl Ring {
    /// An empty ring. One that is `observed` never has room, so that whoever pushes calls
    /// [`make_room`](Self::make_room) each time.
    pub fn new(observed: bool) -> Self {
        let slots = vec![MaybeUninit::uninit(); FIRST_CAPACITY].into();
        let limit = if observed { OBSERVED } else { MIDDLE + FIRST_CAPACITY as u64 };
        Self { slots, limit, head: MIDDLE, tail: MIDDLE, fetched: MIDDLE, located: MIDDLE, plain: MIDDLE }
    }

    /// Whether a task can be pushed, with nothing to be done before.
    #[inline(always)]
    pub fn has_room(&self) -> bool {
        self.tail < self.limit
    }

    /// Sees to it that there is a slot for one more task.
    #[inline]
    pub fn make_room(&mut self) {
        if self.len() == self.slots.len() {
            self.grow();
        }
        if self.limit != OBSERVED {
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
    fn place(&mut self, position: u64) -> &mut MaybeUninit<Slot> {
        let index = position as usize & (self.slots.len() - 1);
        // SAFETY: the length is a power of two, so the masked index is below it.
        unsafe { self.slots.get_unchecked_mut(index) }
    }

    /// Puts a task behind all others. There is room, or was made.
    #[inline(always)]
    pub fn push(&mut self, task: NonNull<Task>, fetch: Fetch) {
        debug_assert!(self.len() < self.slots.len());
        *self.place(self.tail) = MaybeUninit::new(Slot { task, fetch });
        self.tail += 1;
        if !fetch.is_none() {
            self.plain = self.tail;
        }
    }

    /// Puts a task before all others; it is not fetched. There is room, or was made.
    pub fn push_front(&mut self, task: NonNull<Task>) {
        debug_assert!(self.len() < self.slots.len());
        self.head -= 1;
        // There is one place less at the other end.
        self.limit = self.limit.min(self.head + self.slots.len() as u64);
        *self.place(self.head) = MaybeUninit::new(Slot { task, fetch: Fetch::NONE });
    }

    /// Takes the first task. The ring is not empty.
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
        // SAFETY: masked, as in `place`. Callers stay between head and tail, where `push` and `push_front` have filled
        // every slot.
        unsafe { self.slots.get_unchecked(index).assume_init() }
    }

    /// Fetches what the tasks ahead will touch, up to `distance` (and twice that for first parts); returns the number
    /// of lines asked for. Called before each `pop`.
    #[inline(always)]
    pub fn look_ahead(&mut self, distance: u64) -> u64 {
        let (head, len) = (self.head, self.tail - self.head);
        if self.plain <= head && len <= CACHED {
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
                unsafe { (task.as_ref().vtable.locate)(task) }
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
            slots[index] = *self.place(position);
        }
        self.slots = slots;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::VecDeque;

    /// Against a queue that is known to be right: both ends, and sizes around each capacity.
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
