//! Which sessions have read which keys, since those were last changed.

use ahash::RandomState;
use indexmap::IndexMap;
use smallvec::SmallVec;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The parts of the table, each with a lock of its own.
const STRIPES: usize = 64;

/// The numbers of sessions, in ascending order.
pub(super) type Readers = SmallVec<[u64; 2]>;

/// The keys of a stripe. Keys of all databases are one, as in Redis.
type Stripe = IndexMap<Box<[u8]>, Readers, RandomState>;

/// The readers of each key.
#[derive(Debug)]
pub(super) struct ReaderTable {
    stripes: Vec<Mutex<Stripe>>,
    hasher: RandomState,
    keys: AtomicUsize,
    readers: AtomicUsize,
    /// Chooses the key to drop.
    next: AtomicUsize,
}

fn lock(stripe: &Mutex<Stripe>) -> MutexGuard<'_, Stripe> {
    // Nothing panics inside.
    stripe.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Default for ReaderTable {
    fn default() -> Self {
        let hasher = RandomState::new();
        let stripe = || Mutex::new(Stripe::with_hasher(hasher.clone()));
        let stripes = (0..STRIPES).map(|_| stripe()).collect();
        let (keys, readers, next) = Default::default();
        Self { stripes, hasher, keys, readers, next }
    }
}

impl ReaderTable {
    fn stripe(&self, key: &[u8]) -> MutexGuard<'_, Stripe> {
        // The low bits choose the place within the stripe.
        let number = (self.hasher.hash_one(key) >> 32) as usize % STRIPES;
        lock(&self.stripes[number])
    }

    /// Notes that a session has read a key.
    pub(super) fn note(&self, key: &[u8], session: u64) {
        let mut stripe = self.stripe(key);
        // Relaxed, as all accesses: the numbers order nothing.
        let readers = match stripe.get_mut(key) {
            Some(readers) => readers,
            None => {
                self.keys.fetch_add(1, Ordering::Relaxed);
                stripe.entry(key.into()).or_default()
            }
        };
        if let Err(at) = readers.binary_search(&session) {
            readers.insert(at, session);
            self.readers.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Takes the sessions that have read a key.
    pub(super) fn take(&self, key: &[u8]) -> Readers {
        let mut stripe = self.stripe(key);
        let taken = stripe.swap_remove(key).unwrap_or_default();
        self.note_taken(&taken);
        taken
    }

    fn note_taken(&self, readers: &Readers) {
        if !readers.is_empty() {
            self.keys.fetch_sub(1, Ordering::Relaxed);
            self.readers.fetch_sub(readers.len(), Ordering::Relaxed);
        }
    }

    /// Takes some key with its readers, unless there are at most `most` keys.
    pub(super) fn take_above(&self, most: usize) -> Option<(Box<[u8]>, Readers)> {
        while self.keys() > most {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let mut stripe = lock(&self.stripes[number % STRIPES]);
            // A step of the golden ratio: far from the last one, whatever the number of keys.
            let mixed = (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
            let at = mixed as usize % stripe.len().max(1);
            if let Some((key, readers)) = stripe.swap_remove_index(at) {
                self.note_taken(&readers);
                return Some((key, readers));
            }
        }
        None
    }

    /// Forgets all keys.
    pub(super) fn clear(&self) {
        for stripe in &self.stripes {
            let empty = Stripe::with_hasher(self.hasher.clone());
            let taken = std::mem::replace(&mut *lock(stripe), empty);
            taken.values().for_each(|readers| self.note_taken(readers));
        }
    }

    /// Returns the number of keys.
    pub(super) fn keys(&self) -> usize {
        self.keys.load(Ordering::Relaxed)
    }

    /// Returns the number of pairs of a key and a session.
    pub(super) fn readers(&self) -> usize {
        self.readers.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::ReaderTable;

    #[test]
    fn readers_are_noted_once_and_taken_together() {
        let table = ReaderTable::default();
        for session in [7, 3, 7] {
            table.note(b"a", session);
        }
        table.note(b"b", 3);
        assert_eq!((table.keys(), table.readers()), (2, 3));
        assert_eq!(table.take(b"a").as_slice(), [3, 7]);
        assert!(table.take(b"a").is_empty());
        assert_eq!((table.keys(), table.readers()), (1, 1));
        table.clear();
        assert_eq!((table.keys(), table.readers(), table.take(b"b").len()), (0, 0, 0));
    }

    #[test]
    fn keys_above_the_limit_are_taken() {
        let table = ReaderTable::default();
        for number in 0..1000_u32 {
            table.note(&number.to_be_bytes(), 1);
        }
        let mut taken: Vec<_> = std::iter::from_fn(|| table.take_above(300)).map(|(key, _)| key).collect();
        taken.sort_unstable();
        taken.dedup();
        assert_eq!((taken.len(), table.keys(), table.readers()), (700, 300, 300));
    }
}
