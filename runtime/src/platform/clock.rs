//! A clock that is cheap enough to be read several times a task.
//!
//! Reads the processor's own counter where that runs at a constant rate, and the platform's clock
//! elsewhere. No start-up time is spent on calibrating the counter. Times are kept in ticks; the
//! length of a tick is the ratio of what both clocks have counted since the runtime began. It is
//! computed only when a time in nanoseconds is needed, and becomes more exact the later that is.

use super::Platform;
use alloc::sync::Arc;

/// Reads the time in ticks of the processor's counter, or else in the platform's nanoseconds.
pub(crate) struct Clock {
    platform: Arc<dyn Platform>,
    /// Whether the processor's counter stands in for the platform's clock.
    has_counter: bool,
    /// The reading of both clocks when this clock was made.
    began: Moment,
}

/// The readings of both clocks at one moment.
#[derive(Clone, Copy)]
struct Moment {
    ticks: u64,
    nanoseconds: u64,
}

impl Clock {
    pub fn new(platform: Arc<dyn Platform>) -> Self {
        let is_steady = || counter::EXISTS && (platform.has_steady_counter() || counter::runs_evenly());
        let has_counter = platform.virtual_time().is_none() && is_steady();
        let mut clock = Self { platform, has_counter, began: Moment { ticks: 0, nanoseconds: 0 } };
        clock.began = clock.moment();
        clock
    }

    /// Returns the time in ticks. The counters of two cores may differ by a few ticks.
    #[inline]
    pub fn now(&self) -> u64 {
        if self.has_counter { counter::read() } else { self.platform_now() }
    }

    #[cold]
    #[inline(never)]
    fn platform_now(&self) -> u64 {
        self.platform.now()
    }

    /// Returns the time in ticks at which this clock was made.
    pub fn began(&self) -> u64 {
        self.began.ticks
    }

    /// Returns the length of a tick in nanoseconds.
    pub fn scale(&self) -> f64 {
        if !self.has_counter {
            return 1.0;
        }
        let now = self.moment();
        let ticks = now.ticks.saturating_sub(self.began.ticks).max(1);
        now.nanoseconds.saturating_sub(self.began.nanoseconds) as f64 / ticks as f64
    }

    /// Reads both clocks at nearly the same moment: the closest of four attempts.
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

    /// The CPUID leaf with the invariant bit: the counter runs at one rate in every power state of
    /// the core.
    const POWER_LEAF: u32 = 0x8000_0007;
    const INVARIANT_BIT: u32 = 1 << 8;

    pub const EXISTS: bool = true;

    pub fn runs_evenly() -> bool {
        __cpuid(0x8000_0000).eax >= POWER_LEAF && __cpuid(POWER_LEAF).edx & INVARIANT_BIT != 0
    }

    #[inline(always)]
    pub fn read() -> u64 {
        // SAFETY: every processor of this architecture has the counter, and reading it changes
        // nothing.
        unsafe { _rdtsc() }
    }
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
mod counter {
    pub const EXISTS: bool = false;

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
    fn virtual_time_is_not_scaled() {
        let clock = Clock::new(Arc::new(Simulation::new(1, 0)));
        assert_eq!((clock.now(), clock.began(), clock.scale()), (0, 0, 1.0));
    }

    #[cfg(feature = "std")]
    #[test]
    fn the_counter_agrees_with_the_clock() {
        let platform = Arc::new(crate::platform::Threads::new(1));
        let clock = Clock::new(platform.clone());
        // The inner clock is read within the time that the outer clock measures.
        let (began, from) = (platform.now(), clock.now());
        std::thread::sleep(core::time::Duration::from_millis(20));
        let ticks = clock.now() - from;
        let outer = (platform.now() - began) as f64;
        let inner = ticks as f64 * clock.scale();
        assert!(inner > 20e6 * 0.99 && inner < outer * 1.01, "{inner} of {outer} ns");
    }
}
