//! A counting semaphore with a FIFO queue of waiters.
//!
//! ```text
//! bit  0     WAITED   the queue has waiters; changed under its lock
//! bit  1     CLOSED   no permit is given any more; set under the lock
//! bits 2..   the number of permits that are out
//! ```
//!
//! Without waiters, to take or return a permit is one read-modify-write of the word. WAITED keeps
//! newcomers from overtaking, and tells a thread that returns a permit to serve the queue:
//!
//! ```text
//! waiter:   finds no permit, is about to enter the queue
//! returner: returns a permit, finds no waiter     -> the waiter is never woken
//! ```
//!
//! So a waiter sets WAITED by a read-modify-write that also reads the count. Either that comes
//! first, and the returner finds WAITED; or the return does, and the waiter finds the permit. With
//! WAITED set only the lock's holder takes permits. So all that a served waiter needs is to be
//! absent from the queue: its permit is counted already. Model: `model/limit.rs`.

use super::LimitError;
use crate::sync::{Acquire, AtomicUsize, Guard, Relaxed, Release, SpinMutex};
use crate::task::quietly;
use alloc::collections::BTreeMap;
use core::task::{Poll, Waker};

const WAITED: usize = 1;
const CLOSED: usize = 2;
const PERMIT_SHIFT: u32 = 2;
const PERMIT: usize = 1 << PERMIT_SHIFT;

/// The largest number of permits.
const MAX_PERMITS: usize = usize::MAX >> (PERMIT_SHIFT + 1);

/// The place of a waiter in the queue.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ticket(u64);

#[derive(Default)]
struct Queue {
    /// The ticket of the next waiter.
    next: u64,
    /// Waiters that were not served, in order. A waker is taken when the semaphore is closed.
    waiters: BTreeMap<Ticket, Option<Waker>>,
}

pub(crate) struct Semaphore {
    most: usize,
    word: AtomicUsize,
    queue: SpinMutex<Queue>,
}

impl Semaphore {
    /// Creates a semaphore with this number of permits, at least one.
    pub fn new(permits: usize) -> Self {
        let most = permits.clamp(1, MAX_PERMITS);
        Self { most, word: AtomicUsize::new(0), queue: SpinMutex::default() }
    }

    pub fn most(&self) -> usize {
        self.most
    }

    /// Returns the number of permits that are out.
    pub fn used(&self) -> usize {
        self.word.load(Relaxed) >> PERMIT_SHIFT
    }

    /// Returns the number of waiters.
    pub fn waiting(&self) -> usize {
        self.queue.lock().waiters.len()
    }

    /// Takes a permit if one is there and no waiter is before the caller.
    pub fn try_take(&self) -> Result<(), LimitError> {
        let mut word = self.word.load(Relaxed);
        loop {
            if word & CLOSED != 0 {
                return Err(LimitError::ShutDown);
            }
            if word & WAITED != 0 || word >> PERMIT_SHIFT >= self.most {
                return Err(LimitError::Full);
            }
            // Acquire pairs with the Release of `give_back`: what the previous holder of the permit
            // did comes before.
            match self.word.compare_exchange_weak(word, word + PERMIT, Acquire, Relaxed) {
                Ok(_) => return Ok(()),
                Err(current) => word = current,
            }
        }
    }

    /// Returns a permit, and serves the waiters.
    pub fn give_back(&self) {
        // Release pairs with the Acquire of `try_take`, `enter` and `serve`.
        let order = if planted!("permit-returned-unordered") { Relaxed } else { Release };
        let before = self.word.fetch_sub(PERMIT, order);
        debug_assert!(before >= PERMIT, "more permits are returned than were given");
        if before & WAITED != 0 {
            self.serve();
        }
    }

    /// Gives the permits that are there to the first waiters, and wakes those.
    #[cold]
    fn serve(&self) {
        loop {
            let mut queue = self.queue.lock();
            // Acquire pairs with the Release of `give_back`; the waiter gets it with the lock. An
            // old value has more permits out, never fewer: see the head of this file. A thread that
            // has returned one of those serves the queue after this one.
            let word = self.word.load(Acquire);
            if word & CLOSED != 0 || word >> PERMIT_SHIFT >= self.most {
                return;
            }
            let Some((_, waker)) = queue.waiters.pop_first() else { return };
            self.word.fetch_add(PERMIT, Relaxed);
            self.note_empty(&queue);
            drop(queue);
            // The waker is user code, and so is its destructor.
            quietly(|| waker.into_iter().for_each(Waker::wake));
        }
    }

    /// Clears WAITED if the queue, which the caller has locked, is empty.
    fn note_empty(&self, queue: &Queue) {
        if queue.waiters.is_empty() {
            self.word.fetch_and(!WAITED, Relaxed);
        }
    }

    /// Takes a permit, or enters the queue. The waker is woken when [`poll`](Self::poll) is ready.
    pub fn enter(&self, waker: &Waker) -> Result<Option<Ticket>, LimitError> {
        let waker = waker.clone();
        let mut queue = self.queue.lock();
        // The read-modify-write of the head of this file. Acquire as in `try_take`.
        let word = if planted!("waiter-enters-unseen") {
            let word = self.word.load(Acquire);
            self.word.fetch_or(WAITED, Relaxed);
            word
        } else {
            self.word.fetch_or(WAITED, Acquire)
        };
        let outcome = if word & CLOSED != 0 {
            Err(LimitError::ShutDown)
        } else if queue.waiters.is_empty() && word >> PERMIT_SHIFT < self.most {
            self.word.fetch_add(PERMIT, Relaxed);
            Ok(None)
        } else {
            let ticket = Ticket(queue.next);
            queue.next += 1;
            queue.waiters.insert(ticket, Some(waker));
            return Ok(Some(ticket));
        };
        self.note_empty(&queue);
        drop(queue);
        outcome
    }

    /// Looks whether a waiter was served. Its ticket is used up unless this returns `Pending`.
    pub fn poll(&self, ticket: Ticket, waker: &Waker) -> Poll<Result<(), LimitError>> {
        let waker = waker.clone();
        let mut queue = self.queue.lock();
        if !queue.waiters.contains_key(&ticket) {
            return Poll::Ready(Ok(()));
        }
        if self.word.load(Relaxed) & CLOSED != 0 {
            self.remove(ticket, queue);
            return Poll::Ready(Err(LimitError::ShutDown));
        }
        let known = queue.waiters.insert(ticket, Some(waker));
        drop(queue);
        // Dropped without the lock: its destructor is user code.
        drop(known);
        Poll::Pending
    }

    /// Removes a waiter that has gone. If it was served, its permit is returned.
    pub fn cancel(&self, ticket: Ticket) {
        let is_served = !self.remove(ticket, self.queue.lock());
        if is_served && !planted!("served-waiter-keeps-permit") {
            self.give_back();
        }
    }

    /// Removes a waiter. Returns true if it was in the queue.
    fn remove(&self, ticket: Ticket, mut queue: Guard<'_, Queue>) -> bool {
        let waiter = queue.waiters.remove(&ticket);
        if !planted!("last-waiter-leaves-flag") {
            self.note_empty(&queue);
        }
        drop(queue);
        waiter.is_some()
    }

    /// Ends all waits, and gives no permit from now on.
    pub fn close(&self) {
        let mut queue = self.queue.lock();
        self.word.fetch_or(CLOSED, Relaxed);
        let mut next = Ticket(0);
        // One at a time: the wakers are user code, which must not run under the lock.
        while let Some((&ticket, waker)) = queue.waiters.range_mut(next..).next() {
            let waker = waker.take();
            next = Ticket(ticket.0 + 1);
            drop(queue);
            quietly(|| waker.into_iter().for_each(Waker::wake));
            queue = self.queue.lock();
        }
    }
}
