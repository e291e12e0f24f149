//! A key with what belongs to it.

use crate::value::Value;
use std::sync::atomic::{AtomicU32, Ordering};

/// The expiry of an entry that never expires.
const NEVER: u64 = u64::MAX;

/// A key, its value, and when it expires.
#[derive(Debug)]
pub struct Entry {
    key: Box<[u8]>,
    pub(super) value: Value,
    /// In ms since 1970.
    expires_at: u64,
    /// When it was last accessed, in seconds since 1970. Readers that run side by side set it.
    accessed: AtomicU32,
}

impl Entry {
    pub(super) fn new(key: &[u8], value: Value, now: u64) -> Self {
        Self { key: key.into(), value, expires_at: NEVER, accessed: AtomicU32::new(seconds(now)) }
    }

    /// Returns the key.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// Returns the value.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Returns when the entry expires, in ms since 1970.
    pub fn expires_at(&self) -> Option<u64> {
        (self.expires_at != NEVER).then_some(self.expires_at)
    }

    pub(super) fn set_expires_at(&mut self, expires_at: Option<u64>) {
        self.expires_at = expires_at.unwrap_or(NEVER);
    }

    /// Returns true if the entry has expired, and only has not been removed yet.
    pub fn is_expired(&self, now: u64) -> bool {
        self.expires_at <= now
    }

    /// Notes an access.
    pub(super) fn touch(&self, now: u64) {
        let now = seconds(now);
        // Relaxed: a statistic that orders nothing. Most accesses find the second of the last one,
        // and leave the cache line shared.
        if self.accessed.load(Ordering::Relaxed) != now {
            self.accessed.store(now, Ordering::Relaxed);
        }
    }

    /// Sets for how many seconds there was no access.
    pub(super) fn set_idle_seconds(&self, idle: u64, now: u64) {
        let idle = u32::try_from(idle).unwrap_or(u32::MAX);
        // Relaxed: see `touch`.
        self.accessed.store(seconds(now).saturating_sub(idle), Ordering::Relaxed);
    }

    /// Returns for how many seconds there was no access.
    pub fn idle_seconds(&self, now: u64) -> u32 {
        // Relaxed: see `touch`.
        seconds(now).saturating_sub(self.accessed.load(Ordering::Relaxed))
    }

    /// Returns about how many bytes the entry takes; see [`Value::memory`].
    pub fn memory(&self, samples: usize) -> usize {
        size_of::<Self>() + self.key.len() + self.value.memory(samples)
    }

    pub(super) fn into_value(self) -> Value {
        self.value
    }
}

/// Seconds since 1970, which fit until 2106.
fn seconds(now: u64) -> u32 {
    (now / 1000) as u32
}
