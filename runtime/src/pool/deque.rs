//! A worker's tasks that others may take over.

use crate::sync::Hatch;
use crate::task::Task;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ptr::NonNull;

/// So many tasks are taken at once at most: enough to be worth the way, few enough to share again.
pub(crate) const PARCEL: usize = 32;

/// So many tasks a worker keeps to itself, one after the other, until others may have one of them: a long chain of tasks is
/// everybody's load.
const MOST_KEPT: u32 = 8;

/// Some tasks, the oldest first, on their way to somebody else.
pub(crate) struct Parcel(Vec<NonNull<Task>>);

/// A worker's own tasks, of which it runs the youngest first; and a parcel of the oldest ones that lies in a hatch, where
/// others may take it, and so may the worker itself, when it has no others left.
pub(crate) struct Deque {
    tasks: VecDeque<NonNull<Task>>,
    /// Comes before all of them, and is not for others.
    next: Option<NonNull<Task>>,
    /// So many came before all others, one after the other.
    kept: u32,
    /// An empty parcel, to be filled again.
    spare: Option<Box<Parcel>>,
}

impl Deque {
    pub fn new() -> Self {
        Self { tasks: VecDeque::new(), next: None, kept: 0, spare: None }
    }

    /// How many tasks others may have.
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Whether the worker keeps one to itself.
    pub fn keeps(&self) -> bool {
        self.next.is_some()
    }

    /// Takes a task that the worker keeps to itself; it has one such task at most, and has not had too many of them lately:
    /// otherwise, and then it is not taken, `false`.
    pub fn keep(&mut self, task: NonNull<Task>) -> bool {
        self.kept += 1;
        if self.kept > MOST_KEPT {
            self.kept = 0;
            return false;
        }
        self.tasks.extend(self.next.replace(task));
        true
    }

    #[inline]
    pub fn push(&mut self, task: NonNull<Task>) {
        self.tasks.push_back(task);
    }

    /// Takes the youngest task of its own.
    #[inline]
    pub fn pop(&mut self) -> Option<NonNull<Task>> {
        if self.next.is_some() {
            return self.next.take();
        }
        self.kept = 0;
        self.tasks.pop_back()
    }

    /// Takes the oldest task of its own.
    pub fn pop_oldest(&mut self) -> Option<NonNull<Task>> {
        self.tasks.pop_front().or_else(|| self.next.take())
    }

    /// Puts the oldest tasks, up to half of them but one at least, into a hatch. There are some, the hatch is empty, and
    /// nobody else puts anything in.
    pub fn share(&mut self, hatch: &Hatch<Parcel>) {
        let mut parcel = self.spare.take().unwrap_or_else(|| Box::new(Parcel(Vec::with_capacity(PARCEL))));
        let count = (self.tasks.len() / 2).clamp(1, PARCEL);
        parcel.0.extend(self.tasks.drain(..count));
        hatch.put(NonNull::from(Box::leak(parcel)));
    }

    /// Takes over what is in a hatch, its own or another one's: as the oldest tasks that it has. Returns how many.
    pub fn take_from(&mut self, hatch: &Hatch<Parcel>) -> usize {
        let Some(parcel) = hatch.take() else { return 0 };
        // SAFETY: put there by `share`, which gave it up, and taken by one alone.
        let mut parcel = unsafe { Box::from_raw(parcel.as_ptr()) };
        let count = parcel.0.len();
        for task in parcel.0.drain(..).rev() {
            self.tasks.push_front(task);
        }
        self.spare = Some(parcel);
        count
    }
}
