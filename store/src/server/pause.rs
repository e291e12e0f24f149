//! CLIENT PAUSE: up to when requests are held.

use super::{Reason, Server};
use std::sync::atomic::{AtomicU64, Ordering};

/// Up to when requests are held, in ms since 1970. Which ones are says the [`Reason`].
#[derive(Debug, Default)]
pub(crate) struct Pause(AtomicU64);

/// Which requests are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// Those that write.
    Writes,
    /// All.
    All,
}

impl Server {
    /// Holds requests up to a moment. A pause that holds more, or that ends later, goes on.
    pub(crate) fn pause(&self, held: Held, until: u64) {
        // Relaxed, as all accesses: the caller holds all shards, so each later request sees it.
        self.pause.0.fetch_max(until, Ordering::Relaxed);
        self.attention.set(Reason::WRITES_PAUSED, true);
        if held == Held::All {
            self.attention.set(Reason::ALL_PAUSED, true);
        }
    }

    /// Returns which requests are held now.
    pub(crate) fn held(&self, now: u64) -> Option<Held> {
        if !self.attention.has(Reason::WRITES_PAUSED) || now >= self.pause.0.load(Ordering::Relaxed) {
            return None;
        }
        Some(if self.attention.has(Reason::ALL_PAUSED) { Held::All } else { Held::Writes })
    }

    /// Returns true if a pause has begun, and was not ended.
    pub(crate) fn has_pause(&self) -> bool {
        self.attention.has(Reason::WRITES_PAUSED)
    }

    /// Ends the pause.
    pub(crate) fn end_pause(&self) {
        self.attention.set(Reason::WRITES_PAUSED, false);
        self.attention.set(Reason::ALL_PAUSED, false);
        self.pause.0.store(0, Ordering::Relaxed);
    }
}
