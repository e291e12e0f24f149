//! Hash tables whose entries also have indices, so that a random one costs O(1) and a scan's cursor
//! can be an index.
//!
//! Removing an entry moves the last one into its place. A scan therefore runs from the last index
//! down to the first: what is moved was returned already, or stays below the cursor. So an entry
//! that stays from the scan's first call to its last is returned, as Redis promises. The order is
//! that of the changes, whatever the hashes' seed: a simulation repeats it.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

use indexmap::{IndexMap, IndexSet};

/// A hash table with indices.
pub type IndexedTable<K, V> = IndexMap<K, V, KeyedHasher>;

/// A set of members with indices.
pub type Members = IndexSet<Box<[u8]>, KeyedHasher>;

/// Hashes with a key of this process, so that a client cannot choose fields that collide.
#[derive(Clone, Copy, Debug, Default)]
pub struct KeyedHasher;

/// One for all tables: a table holds no key of its own.
static KEYS: LazyLock<ahash::RandomState> = LazyLock::new(|| {
    let random = RandomState::new();
    let [a, b, c, d] = [0u64, 1, 2, 3].map(|number| random.hash_one(number));
    ahash::RandomState::with_seeds(a, b, c, d)
});

impl BuildHasher for KeyedHasher {
    type Hasher = ahash::AHasher;

    fn build_hasher(&self) -> ahash::AHasher {
        KEYS.build_hasher()
    }
}

/// Returns the range of indices that a scan's next call returns, from its last to its first, and
/// with it the scan's next cursor: the range's start.
pub fn scan_range(len: usize, cursor: u64, count: usize) -> std::ops::Range<usize> {
    let end = match usize::try_from(cursor) {
        Ok(0) | Err(_) => len,
        Ok(cursor) => cursor.min(len),
    };
    end.saturating_sub(count.max(1))..end
}
