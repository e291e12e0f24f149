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

/// A growing ring buffer with two cursors ahead of its head. Positions count up for ever; a slot is a position
/// modulo the capacity, a power of two.
pub(crate) struct Ring {
    slots: Box<[MaybeUninit<Slot>]>,
    head: usize,
    tail: usize,
    fetched: usize,
    located: usize,
}

const FIRST_CAPACITY: usize = 256;

impl Ring {
    pub fn new() -> Self {
        Self {
            slots: vec![MaybeUninit::uninit(); FIRST_CAPACITY].into(),
            head: 0,
            tail: 0,
            fetched: 0,
            located: 0,
        }
    }

    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    #[inline(always)]
    pub fn len(&self) -> usize {
        self.tail.wrapping_sub(self.head)
    }

    #[inline(always)]
    fn index(&self, position: usize) -> usize {
        position & (self.slots.len() - 1)
    }

    #[inline(always)]
    pub fn push(&mut self, task: NonNull<Task>, fetch: Fetch) {
        if self.len() == self.slots.len() {
            self.grow();
        }
        let index = self.index(self.tail);
        self.slots[index] = MaybeUninit::new(Slot { task, fetch });
        self.tail = self.tail.wrapping_add(1);
    }

    /// Puts a task before all others; it is not fetched.
    pub fn push_front(&mut self, task: NonNull<Task>) {
        if self.len() == self.slots.len() {
            self.grow();
        }
        self.head = self.head.wrapping_sub(1);
        let index = self.index(self.head);
        self.slots[index] = MaybeUninit::new(Slot { task, fetch: Fetch::NONE });
    }

    #[inline(always)]
    pub fn pop(&mut self) -> Option<NonNull<Task>> {
        if self.is_empty() {
            return None;
        }
        let slot = self.slot(self.head);
        self.head = self.head.wrapping_add(1);
        Some(slot.task)
    }

    #[inline(always)]
    fn slot(&self, position: usize) -> Slot {
        // SAFETY: callers stay between head and tail, where `push` and `push_front` have filled every slot.
        unsafe { self.slots[self.index(position)].assume_init() }
    }

    /// Fetches what the tasks ahead will touch, up to `distance` (and twice that for first parts); returns the number
    /// of lines asked for. Called before each `pop`.
    #[inline(always)]
    pub fn look_ahead(&mut self, distance: usize) -> u64 {
        let mut lines = 0;
        let len = self.len();
        // Positions are compared by their distance from the head, because they may wrap.
        let mut fetched = self.ahead(self.fetched);
        while fetched < len.min(2 * distance) {
            let slot = self.slot(self.head.wrapping_add(fetched));
            prefetch(slot.task.as_ptr() as u64);
            if slot.fetch.locates() {
                slot.fetch.issue();
                lines += slot.fetch.lines();
            }
            fetched += 1;
        }
        self.fetched = self.head.wrapping_add(fetched);
        let mut located = self.ahead(self.located);
        // In a short queue first parts need time to arrive, too.
        while located < distance.min(len / 2) {
            let Slot { task, fetch } = self.slot(self.head.wrapping_add(located));
            let fetch = if fetch.locates() {
                // SAFETY: a task in a ring is alive and belongs to this worker.
                unsafe { (task.as_ref().vtable.locate)(task) }
            } else {
                fetch
            };
            fetch.issue();
            lines += fetch.lines();
            located += 1;
        }
        self.located = self.head.wrapping_add(located);
        lines
    }

    /// How far a cursor is ahead of the head; one that the head has passed stands at the head.
    #[inline(always)]
    fn ahead(&self, cursor: usize) -> usize {
        let ahead = cursor.wrapping_sub(self.head);
        if ahead > self.len() { 0 } else { ahead }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let mut slots = vec![MaybeUninit::uninit(); self.slots.len() * 2].into_boxed_slice();
        for position in 0..self.len() {
            let position = self.head.wrapping_add(position);
            slots[position & (slots.len() - 1)] = self.slots[self.index(position)];
        }
        self.slots = slots;
    }
}
