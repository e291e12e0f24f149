//! Which runners of a pool are at work.

use crate::sync::{Acquire, AtomicU64, Release, fence_after_exchange};
use alloc::boxed::Box;

/// A bit for each runner, set while it is idle. There are as many runners as run queues.
pub(super) struct Runners(Box<[AtomicU64]>);

const BITS: usize = u64::BITS as usize;

impl Runners {
    pub fn new(count: usize) -> Self {
        let word = |first: usize| AtomicU64::new(u64::MAX >> (BITS - (count - first).min(BITS)));
        Self((0..count).step_by(BITS).map(word).collect())
    }

    /// Returns true if a runner is idle.
    #[inline(always)]
    pub fn has_idle(&self) -> bool {
        // Acquire pairs with the Release of `release`.
        self.0.iter().any(|word| word.load(Acquire) != 0)
    }

    /// Returns true if every runner is idle.
    pub fn are_all_idle(&self, count: usize) -> bool {
        self.0.iter().map(|word| word.load(Acquire).count_ones() as usize).sum::<usize>() == count
    }

    /// Claims an idle runner: this one if possible.
    pub fn claim_any(&self, preferred: usize) -> Option<usize> {
        if self.claim(preferred) {
            return Some(preferred);
        }
        let idle = |(at, word): (usize, &AtomicU64)| {
            let idle = word.load(Acquire);
            (idle != 0).then(|| at * BITS + idle.trailing_zeros() as usize)
        };
        loop {
            let runner = self.0.iter().enumerate().find_map(idle)?;
            if self.claim(runner) {
                return Some(runner);
            }
        }
    }

    /// Claims this runner. Returns false if it is at work.
    pub fn claim(&self, runner: usize) -> bool {
        let (word, bit) = (&self.0[runner / BITS], 1 << (runner % BITS));
        // Acquire pairs with the Release of `release`.
        word.load(Acquire) & bit != 0 && word.fetch_and(!bit, Acquire) & bit != 0
    }

    /// Marks a runner as idle. Afterwards it looks for work once more.
    pub fn release(&self, runner: usize) {
        let (word, bit) = (&self.0[runner / BITS], 1 << (runner % BITS));
        // Release pairs with the Acquire of `claim`.
        word.fetch_or(bit, Release);
        // Pairs with the fence of `Lane::push`: either the enqueuer sees that this runner is idle,
        // or the runner sees the set.
        if !planted!("runner-misses-request") {
            fence_after_exchange();
        }
    }
}

#[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
mod tests {
    use super::*;

    #[test]
    fn each_runner_is_claimed_once_until_it_is_released() {
        for count in [1, 2, 64, 65, 256] {
            let runners = Runners::new(count);
            assert!(runners.are_all_idle(count) && runners.has_idle());
            assert_eq!(runners.claim_any(count - 1), Some(count - 1));
            let mut claimed: alloc::vec::Vec<_> = core::iter::from_fn(|| runners.claim_any(0)).collect();
            claimed.sort_unstable();
            assert!(claimed.into_iter().eq(0..count - 1));
            assert!(!runners.has_idle() && !runners.claim(0));
            runners.release(count / 2);
            assert!(runners.has_idle() && runners.claim(count / 2));
        }
    }
}
