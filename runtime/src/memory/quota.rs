//! The limit of the bytes of pages that all heaps of a runtime may take together.
//!
//! It is checked only where pages are taken, which is rare, so that a limit costs nothing where
//! blocks are allocated. Bytes are reserved before pages are requested, and returned if there are
//! none. So heaps that grow concurrently never exceed the limit.

use crate::sync::{AtomicU64, Relaxed};

/// A number of bytes, some of them taken.
pub(crate) struct Quota {
    limit: Option<u64>,
    taken: AtomicU64,
    refused: AtomicU64,
}

impl Quota {
    /// Creates a quota of which nothing is taken; without a limit it is unbounded.
    pub fn new(limit: Option<u64>) -> Self {
        Self { limit, taken: AtomicU64::new(0), refused: AtomicU64::new(0) }
    }

    /// Returns the limit in bytes.
    pub fn limit(&self) -> Option<u64> {
        self.limit
    }

    /// Takes `wanted` bytes, or what is left in whole units of `unit` bytes. Returns `None` if less
    /// than one unit is left.
    pub fn take(&self, wanted: usize, unit: usize) -> Option<usize> {
        // Relaxed, here and below: the number orders nothing else.
        let mut taken = self.taken.load(Relaxed);
        loop {
            let left = self.limit.map_or(u64::MAX, |limit| limit.saturating_sub(taken));
            let bytes = usize::try_from(left).unwrap_or(usize::MAX).min(wanted) / unit * unit;
            if bytes == 0 {
                return None;
            }
            match self.taken.compare_exchange_weak(taken, taken + bytes as u64, Relaxed, Relaxed) {
                Ok(_) => return Some(bytes),
                Err(now) => taken = now,
            }
        }
    }

    /// Returns bytes that were taken.
    pub fn put(&self, bytes: usize) {
        self.taken.fetch_sub(bytes as u64, Relaxed);
    }

    /// Counts a request for a block that was refused.
    pub fn refuse(&self) {
        self.refused.fetch_add(1, Relaxed);
    }

    /// Returns the number of refused requests.
    #[inline]
    pub fn refused(&self) -> u64 {
        self.refused.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: usize = 64 << 10;

    #[test]
    fn a_quota_grants_what_is_left_in_whole_units() {
        let quota = Quota::new(Some(5 * UNIT as u64 - 1));
        assert_eq!(quota.take(3 * UNIT, UNIT), Some(3 * UNIT));
        assert_eq!(quota.take(3 * UNIT, UNIT), Some(UNIT));
        assert_eq!(quota.take(3 * UNIT, UNIT), None);
        quota.put(2 * UNIT);
        assert_eq!(quota.take(UNIT, UNIT), Some(UNIT));
    }

    #[test]
    fn without_a_limit_nothing_is_refused() {
        let quota = Quota::new(None);
        (0..10).for_each(|_| assert_eq!(quota.take(1 << 40, UNIT), Some(1 << 40)));
        assert_eq!((quota.limit(), quota.refused()), (None, 0));
    }

    #[cfg(feature = "std")]
    #[test]
    fn concurrent_takers_stay_within_the_limit() {
        const UNITS: usize = if cfg!(miri) { 200 } else { 5_000_000 };
        let quota = Quota::new(Some((UNITS * UNIT) as u64));
        let taken: usize = std::thread::scope(|scope| {
            let takers = [1, 2, 3, 5].map(|many| {
                let quota = &quota;
                scope.spawn(move || {
                    let (mut kept, mut tries) = (0, 0);
                    while let Some(bytes) = quota.take(many * UNIT, UNIT) {
                        tries += 1;
                        // In some cases there turn out to be no pages.
                        if tries % 3 == 0 { quota.put(bytes) } else { kept += bytes }
                    }
                    kept
                })
            });
            takers.map(|taker| taker.join().unwrap()).iter().sum()
        });
        assert_eq!(taken, UNITS * UNIT);
    }
}
