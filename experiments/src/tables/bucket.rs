//! A bucket with a version.

use super::bucket_search::{ENTRIES, Found, find};
use xtasking::arena::WriteToken;
use xtasking::{Version, Word};

/// Three entries. With the header of an object they fill a cache line.
pub(crate) struct Bucket {
    /// The keys; 0 where there is none. They are set in order.
    keys: [Word; ENTRIES],
    values: [Word; ENTRIES],
}

impl Version for Bucket {}

impl Bucket {
    /// Creates an empty bucket.
    pub(crate) fn new() -> Self {
        let empty = || [0; ENTRIES].map(Word::new);
        Self { keys: empty(), values: empty() }
    }

    /// Looks for a key.
    #[inline(always)]
    pub(crate) fn find(&self, key: u64) -> Found {
        let [a, b, c] = &self.keys;
        let keys = [a.get(), b.get(), c.get()];
        find(keys, key, |place| self.values[place].get())
    }

    /// Inserts a key, or overwrites its value. Returns true if the key is new; `None` if it is not
    /// here and the bucket is full.
    #[inline(always)]
    pub(crate) fn insert(&self, key: u64, value: u64, token: &WriteToken<'_>) -> Option<bool> {
        for (entry, stored) in self.keys.iter().zip(&self.values) {
            let present = entry.get();
            if present == 0 {
                entry.set(key, token);
            }
            if present == 0 || present == key {
                stored.set(value, token);
                return Some(present == 0);
            }
        }
        None
    }
}
