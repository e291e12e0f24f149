//! A clock that is read several times a task: the processor's own counter where it runs evenly, else the platform's.
//!
//! Nobody waits for the counter to be measured. Times are kept in its ticks; how long a tick is follows from what both
//! clocks have counted since the runtime began, and is asked for when somebody wants to see nanoseconds: the later, the
//! more exactly.

use super::Platform;
use alloc::sync::Arc;

/// See the module's documentation.
pub(crate) struct Clock {
    platform: Arc<dyn Platform>,
    /// The counter stands in for the platform's clock.
    counts: bool,
    /// What both said in the beginning.
    began: Moment,
}

/// One moment, by both clocks.
#[derive(Clone, Copy)]
struct Moment {
    ticks: u64,
    nanoseconds: u64,
}

impl Clock {
    pub fn new(platform: Arc<dyn Platform>) -> Self {
        let counts = platform.is_real_time() && counter::runs_evenly();
        let mut clock = Self { platform, counts, began: Moment { ticks: 0, nanoseconds: 0 } };
        clock.began = clock.moment();
        clock
    }

    /// The time, in ticks. On another core it may be a few ticks behind.
    #[inline]
    pub fn now(&self) -> u64 {
        if self.counts { counter::read() } else { self.look() }
    }

    #[cold]
    #[inline(never)]
    fn look(&self) -> u64 {
        self.platform.now()
    }

    /// The time at which this clock was made, in ticks.
    pub fn began(&self) -> u64 {
        self.began.ticks
    }

    /// How many nanoseconds a tick takes.
    pub fn scale(&self) -> f64 {
        if !self.counts {
            return 1.0;
        }
        let now = self.moment();
        let ticks = now.ticks.saturating_sub(self.began.ticks).max(1);
        now.nanoseconds.saturating_sub(self.began.nanoseconds) as f64 / ticks as f64
    }

    /// Both clocks, read as close to each other as it comes in a few attempts.
    fn moment(&self) -> Moment {
        let attempt = |_| {
            let before = self.now();
            let nanoseconds = self.platform.now();
            let apart = self.now().saturating_sub(before);
            (apart, Moment { ticks: before + apart / 2, nanoseconds })
        };
        let (apart, moment) = attempt(0);
        let closest =
            (1..4).map(attempt).fold((apart, moment), |best, next| if next.0 < best.0 { next } else { best });
        closest.1
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod counter {
    use core::arch::x86_64::{__cpuid, _rdtsc};

    /// The leaf that says of the counter that it runs at one rate, whatever the core does, and the bit that says so.
    const POWER: u32 = 0x8000_0007;
    const INVARIANT: u32 = 1 << 8;

    pub fn runs_evenly() -> bool {
        __cpuid(0x8000_0000).eax >= POWER && __cpuid(POWER).edx & INVARIANT != 0
    }

    #[inline(always)]
    pub fn read() -> u64 {
        // SAFETY: every processor of this architecture has the counter, and reading it changes nothing.
        unsafe { _rdtsc() }
    }
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
mod counter {
    pub fn runs_evenly() -> bool {
        false
    }

    pub fn read() -> u64 {
        unreachable!("there is no counter")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::Simulation;

    #[test]
    fn virtual_time_is_taken_as_it_is() {
        let clock = Clock::new(Arc::new(Simulation::new(1, 0)));
        assert_eq!((clock.now(), clock.began(), clock.scale()), (0, 0, 1.0));
    }

    #[cfg(feature = "std")]
    #[test]
    fn the_counter_agrees_with_the_clock() {
        let platform = Arc::new(crate::platform::Threads::new(1));
        let clock = Clock::new(platform.clone());
        // One clock is read within the time that the other sees.
        let (began, from) = (platform.now(), clock.now());
        std::thread::sleep(core::time::Duration::from_millis(20));
        let ticks = clock.now() - from;
        let outer = (platform.now() - began) as f64;
        let inner = ticks as f64 * clock.scale();
        assert!(inner > 20e6 * 0.99 && inner < outer * 1.01, "{inner} of {outer} ns");
    }
}
