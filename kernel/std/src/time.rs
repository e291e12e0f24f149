//! The clock of the kernel, and the date.

use core::convert::Infallible;
use core::ops::{Add, Sub};
pub use core::time::Duration;

/// The beginning of 1970 in Greenwich.
pub const UNIX_EPOCH: SystemTime = SystemTime(Duration::ZERO);

/// A moment by the date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SystemTime(Duration);

impl SystemTime {
    /// Returns this moment.
    pub fn now() -> Self {
        Self(xkernel::bare::since_1970())
    }

    /// Returns the time from another moment to this one; zero if that was later.
    pub fn duration_since(&self, earlier: Self) -> Result<Duration, Infallible> {
        Ok(self.0.saturating_sub(earlier.0))
    }
}

/// A moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant(Duration);

impl Instant {
    /// Returns this moment.
    pub fn now() -> Self {
        Self(xkernel::bare::now())
    }

    /// Returns the time since then.
    pub fn elapsed(&self) -> Duration {
        Self::now() - *self
    }

    /// Returns the time from another moment to this one; zero if that was later.
    pub fn duration_since(&self, earlier: Self) -> Duration {
        *self - earlier
    }

    /// Returns the time from another moment to this one; zero if that was later.
    pub fn saturating_duration_since(&self, earlier: Self) -> Duration {
        *self - earlier
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    fn add(self, time: Duration) -> Self {
        Self(self.0 + time)
    }
}

impl Sub for Instant {
    type Output = Duration;
    fn sub(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

/// Returns the time since the kernel began.
pub fn uptime() -> Duration {
    xkernel::bare::now()
}
