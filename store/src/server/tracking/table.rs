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

/// The readers of a key from which on it is looked whether they still track.
const MANY_READERS: usize = 64;

/// A part of the table.
#[derive(Debug)]
pub(super) struct Stripe {
    /// Keys of all databases are one, as in Redis.
    keys: IndexMap<Box<[u8]>, Readers, RandomState>,
    /// The number of pairs of a key and a session.
    readers: usize,
}

impl Stripe {
    fn new(hasher: &RandomState) -> Self {
        Self { keys: IndexMap::with_hasher(hasher.clone()), readers: 0 }
    }
}

/// The readers of each key.
#[derive(Debug)]
pub(super) struct ReaderTable {
    stripes: Vec<Mutex<Stripe>>,
    hasher: RandomState,
    keys: AtomicUsize,
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
        let stripes = (0..STRIPES).map(|_| Mutex::new(Stripe::new(&hasher))).collect();
        let (keys, next) = Default::default();
        Self { stripes, hasher, keys, next }
    }
}

impl ReaderTable {
    fn stripe(&self, key: &[u8]) -> MutexGuard<'_, Stripe> {
        // The low bits choose the place within the stripe.
        let number = (self.hasher.hash_one(key) >> 32) as usize % STRIPES;
        lock(&self.stripes[number])
    }

    /// Notes that a session has read a key. Returns true if the key has many readers, whose memory
    /// is full: then those that do not track any more are to be removed by
    /// [`retain`](Self::retain).
    pub(super) fn note(&self, key: &[u8], session: u64) -> bool {
        let mut stripe = self.stripe(key);
        let Stripe { keys, readers: count } = &mut *stripe;
        let readers = match keys.get_mut(key) {
            Some(readers) => readers,
            None => {
                // Relaxed, as all accesses: the numbers order nothing.
                self.keys.fetch_add(1, Ordering::Relaxed);
                keys.entry(key.into()).or_default()
            }
        };
        let Err(at) = readers.binary_search(&session) else { return false };
        readers.insert(at, session);
        *count += 1;
        readers.len() >= MANY_READERS && readers.len() == readers.capacity()
    }

    /// Removes the readers of a key for which `is_kept` is false, and makes room for as many again
    /// as stay: so the cost is that of a few steps for each that comes.
    pub(super) fn retain(&self, key: &[u8], is_kept: impl Fn(u64) -> bool) {
        let mut stripe = self.stripe(key);
        let Stripe { keys, readers: count } = &mut *stripe;
        let Some(readers) = keys.get_mut(key) else { return };
        let before = readers.len();
        readers.retain(|session| is_kept(*session) || planted!("stale-readers-kept"));
        *count -= before - readers.len();
        readers.reserve(readers.len());
    }

    /// Takes the sessions that have read a key.
    pub(super) fn take(&self, key: &[u8]) -> Readers {
        let mut stripe = self.stripe(key);
        let Some(taken) = stripe.keys.swap_remove(key) else { return Readers::new() };
        self.note_taken(&mut stripe, &taken);
        taken
    }

    fn note_taken(&self, stripe: &mut Stripe, readers: &Readers) {
        self.keys.fetch_sub(1, Ordering::Relaxed);
        stripe.readers -= readers.len();
    }

    /// Takes some key with its readers, unless there are at most `most` keys.
    pub(super) fn take_above(&self, most: usize) -> Option<(Box<[u8]>, Readers)> {
        while self.keys() > most {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let mut stripe = lock(&self.stripes[number % STRIPES]);
            // A step of the golden ratio: far from the last one, whatever the number of keys.
            let mixed = (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
            let at = mixed as usize % stripe.keys.len().max(1);
            if let Some((key, readers)) = stripe.keys.swap_remove_index(at) {
                self.note_taken(&mut stripe, &readers);
                return Some((key, readers));
            }
        }
        None
    }

    /// Takes all keys. To drop them may take long.
    pub(super) fn clear(&self) -> Vec<Stripe> {
        let take = |stripe| {
            let mut stripe = lock(stripe);
            self.keys.fetch_sub(stripe.keys.len(), Ordering::Relaxed);
            std::mem::replace(&mut *stripe, Stripe::new(&self.hasher))
        };
        self.stripes.iter().map(take).collect()
    }

    /// Returns the number of keys.
    pub(super) fn keys(&self) -> usize {
        self.keys.load(Ordering::Relaxed)
    }

    /// Returns the number of pairs of a key and a session.
    pub(super) fn readers(&self) -> usize {
        self.stripes.iter().map(|stripe| lock(stripe).readers).sum()
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
    fn readers_that_stay_away_take_no_room() {
        let table = ReaderTable::default();
        // Only the last three sessions track at any time.
        for session in 0..10_000 {
            if table.note(b"a", session) {
                table.retain(b"a", |other| other + 3 > session);
            }
        }
        let readers = table.readers();
        assert!((3..=64).contains(&readers), "{readers}");
        assert_eq!(table.take(b"a").len(), readers);
        // Those that track are kept, and are rarely looked through.
        let looks = (0..10_000).filter(|session| {
            let is_due = table.note(b"a", *session);
            if is_due {
                table.retain(b"a", |_| true);
            }
            is_due
        });
        let looks = looks.count();
        assert!((1..20).contains(&looks), "{looks}");
        assert_eq!(table.take(b"a").len(), 10_000);
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
