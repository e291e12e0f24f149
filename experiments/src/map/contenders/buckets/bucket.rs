//! A bucket: three entries in one cache line.

use crate::tables::bucket_search::{ENTRIES, Found, find};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A bucket. All its bytes may be zero: then it is empty.
#[repr(C, align(64))]
pub(super) struct Bucket {
    /// Room for the header that an object of the runtime has, so that all buckets are as large.
    _header: [AtomicU64; 2],
    /// The keys; 0 where there is none. They are claimed in order.
    keys: [AtomicU64; ENTRIES],
    values: [AtomicU64; ENTRIES],
}

impl Bucket {
    /// Looks for a key. No thread may insert meanwhile.
    #[inline(always)]
    pub(super) fn find(&self, key: u64) -> Found {
        // Relaxed, here and below: the end of the inserting threads orders inserts before lookups.
        let [a, b, c] = &self.keys;
        let keys = [a.load(Relaxed), b.load(Relaxed), c.load(Relaxed)];
        find(keys, key, |place| self.values[place].load(Relaxed))
    }

    /// Inserts a key, or overwrites its value. Returns true if the key is new; `None` if it is not
    /// here and the bucket is full.
    #[inline(always)]
    pub(super) fn insert(&self, key: u64, value: u64) -> Option<bool> {
        for (entry, stored) in self.keys.iter().zip(&self.values) {
            let mut present = entry.load(Relaxed);
            if present == 0 {
                let claimed = entry.compare_exchange(0, key, Relaxed, Relaxed);
                if claimed.is_ok() {
                    stored.store(value, Relaxed);
                    return Some(true);
                }
                present = claimed.unwrap_or_else(|other| other);
            }
            if present == key {
                stored.store(value, Relaxed);
                return Some(false);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_a_cache_line_and_takes_three_entries() {
        let empty = || [0; ENTRIES].map(AtomicU64::new);
        let bucket = Bucket { _header: [0; 2].map(AtomicU64::new), keys: empty(), values: empty() };
        assert_eq!(size_of::<Bucket>(), 64);
        assert!(matches!(bucket.find(7), Found::Missing));
        assert_eq!(
            [7, 8, 7, 9, 6].map(|key| bucket.insert(key, key + 1)),
            [Some(true), Some(true), Some(false), Some(true), None]
        );
        assert!(
            [7, 8, 9]
                .into_iter()
                .all(|key| matches!(bucket.find(key), Found::Value(value) if value == key + 1))
        );
        assert!(matches!(bucket.find(6), Found::Full));
    }
}
