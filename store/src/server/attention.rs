//! What requests have to heed that mostly is not there: one word, so that they look once.

use std::sync::atomic::{AtomicU32, Ordering};

/// Conditions that concern each request.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Attention(AtomicU32);

/// One of these conditions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reason(u32);

impl Reason {
    /// Each request is measured by itself, as the slow log takes short times.
    pub(crate) const EXACT_TIMES: Self = Self(1);
    /// Sessions follow all requests by MONITOR.
    pub(crate) const MONITORED: Self = Self(1 << 1);
    /// CLIENT PAUSE holds requests.
    pub(crate) const PAUSED: Self = Self(1 << 2);
}

impl Attention {
    /// Returns true if nothing concerns a request.
    #[inline]
    pub(crate) fn is_calm(&self) -> bool {
        // Relaxed, as all accesses: what a condition is about has a lock of its own. A pause begins
        // inside of all shards, so a request that holds one sees it.
        self.0.load(Ordering::Relaxed) == 0
    }

    /// Returns true for this condition.
    #[inline]
    pub(crate) fn has(&self, reason: Reason) -> bool {
        self.0.load(Ordering::Relaxed) & reason.0 != 0
    }

    pub(crate) fn set(&self, reason: Reason, is_so: bool) {
        if is_so {
            self.0.fetch_or(reason.0, Ordering::Relaxed);
        } else {
            self.0.fetch_and(!reason.0, Ordering::Relaxed);
        }
    }
}
