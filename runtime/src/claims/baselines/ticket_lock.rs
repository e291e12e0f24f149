//! A ticket lock, which is fair.
//!
//! It is fair, as a host that locks its own bucket for each task would otherwise starve workers
//! that need the bucket now and then.

use crate::sync::{Acquire, AtomicU32, Backoff, Relaxed, Release};

#[derive(Default)]
pub(crate) struct TicketLock {
    /// The next ticket to be drawn.
    next: AtomicU32,
    /// The ticket of the holder, or of the next one.
    served: AtomicU32,
}

impl TicketLock {
    /// Locks. Calls `wait` again and again while others have the lock.
    pub fn lock(&self, mut wait: impl FnMut()) {
        // Relaxed: only the number is drawn; the Acquire below orders the rest.
        let own = self.next.fetch_add(1, Relaxed);
        let mut backoff = Backoff::new();
        // Acquire pairs with the Release of `unlock`.
        while self.served.load(Acquire) != own {
            backoff.wait();
            wait();
        }
    }

    /// Returns true if the lock was free; now the caller has it.
    pub fn try_lock(&self) -> bool {
        // Acquire pairs with the Release of `unlock`.
        let served = self.served.load(Acquire);
        // Relaxed: if this ticket was not drawn yet it is still the one that is served, as a ticket
        // is served only after it was drawn.
        self.next.compare_exchange(served, served.wrapping_add(1), Relaxed, Relaxed).is_ok()
    }

    /// Unlocks. The caller has the lock.
    pub fn unlock(&self) {
        // Relaxed: only the holder changes it.
        let own = self.served.load(Relaxed);
        // Release pairs with the Acquire of the next holder.
        let order = if planted!("toggle-unlocked-early") { Relaxed } else { Release };
        self.served.store(own.wrapping_add(1), order);
    }
}
