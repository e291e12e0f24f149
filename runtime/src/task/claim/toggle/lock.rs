//! The lock of an outer bucket: whoever waits gets it in the order in which he came.

use crate::sync::{Acquire, AtomicU32, Backoff, Relaxed, Release};

/// See the module's documentation. (In order, since a host that locks its own bucket for each task would else keep others out
/// who come now and then.)
#[derive(Default)]
pub(crate) struct Lock {
    /// The number that the next one draws.
    next: AtomicU32,
    /// The number of who has it, or is to have it.
    served: AtomicU32,
}

impl Lock {
    /// Waits by `wait` as long as others have it.
    pub fn lock(&self, mut wait: impl FnMut()) {
        // Relaxed: a number is all that is drawn.
        let own = self.next.fetch_add(1, Relaxed);
        let mut backoff = Backoff::new();
        // Acquire pairs with the Release of `unlock`: what is not locked any more was left before.
        while self.served.load(Acquire) != own {
            backoff.wait();
            wait();
        }
    }

    /// Whether nobody had it; now the caller has.
    pub fn try_lock(&self) -> bool {
        // Acquire as above.
        let served = self.served.load(Acquire);
        // Relaxed: that nobody has drawn this number shows that it is the one being served, as none is before it is drawn.
        self.next.compare_exchange(served, served.wrapping_add(1), Relaxed, Relaxed).is_ok()
    }

    /// The caller has it no more.
    pub fn unlock(&self) {
        // Relaxed: nobody else changes it.
        let own = self.served.load(Relaxed);
        // Release pairs with the Acquire of the next one.
        let order = if planted!("toggle-unlocked-early") { Relaxed } else { Release };
        self.served.store(own.wrapping_add(1), order);
    }
}
