//! Which keys go when there is too little memory: as in Redis, the best of some samples.
//!
//! A task looks at some entries of one shard after the other, and keeps the best candidates. Their
//! shards are left meanwhile, so a candidate may be gone, or in use again, when its turn comes.

use super::access::random;
use super::{AccessClock, Entry, Keys, Shard};

/// Candidates that are kept.
const MOST_CANDIDATES: usize = 16;

/// Which entries are evicted first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EvictionOrder {
    /// Those of which the last accesses are longest ago, or rarest.
    Stale {
        /// Only those that expire.
        is_volatile: bool,
    },
    /// Any.
    Random {
        /// Only those that expire.
        is_volatile: bool,
    },
    /// Those that expire soonest.
    TimeToLive,
}

/// An entry that may be evicted.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    rank: u64,
    pub(crate) shard: usize,
    pub(crate) database: usize,
    key: Box<[u8]>,
}

/// The best candidates so far.
#[derive(Debug, Default)]
pub(crate) struct CandidatePool {
    /// In ascending order of their ranks.
    candidates: Vec<Candidate>,
}

impl EvictionOrder {
    /// Returns true if only entries that expire are evicted.
    pub(crate) fn is_volatile(self) -> bool {
        match self {
            Self::Stale { is_volatile } | Self::Random { is_volatile } => is_volatile,
            Self::TimeToLive => true,
        }
    }

    /// Returns the rank of an entry: the highest is evicted first. `None` if it is not evicted.
    fn rank(self, entry: &Entry, clock: AccessClock, now: u64) -> Option<u64> {
        let expires_at = entry.expires_at();
        if self.is_volatile() && !planted!("lasting-key-evicted") {
            expires_at?;
        }
        Some(match self {
            Self::Stale { .. } => clock.staleness(entry.accessed(), now),
            Self::Random { .. } => random(),
            Self::TimeToLive => u64::MAX - expires_at.unwrap_or(u64::MAX),
        })
    }
}

impl CandidatePool {
    /// Takes the best candidate.
    pub(crate) fn pop(&mut self) -> Option<Candidate> {
        self.candidates.pop()
    }

    /// Returns a random number below another one.
    pub(crate) fn random_below(most: usize) -> usize {
        random() as usize % most
    }

    fn offer(&mut self, rank: u64, shard: usize, database: usize, entry: &Entry) {
        let at = self.candidates.partition_point(|candidate| candidate.rank < rank);
        let is_known =
            |candidate: &Candidate| candidate.database == database && *candidate.key == *entry.key();
        if at == 0 && self.candidates.len() == MOST_CANDIDATES || self.candidates.iter().any(is_known) {
            return;
        }
        self.candidates.insert(at, Candidate { rank, shard, database, key: entry.key().into() });
        if self.candidates.len() > MOST_CANDIDATES {
            self.candidates.remove(0);
        }
    }
}

impl Shard {
    /// Offers some entries of each database. Returns how many.
    pub(crate) fn offer_candidates(
        &self,
        number: usize,
        samples: usize,
        order: EvictionOrder,
        clock: AccessClock,
        now: u64,
        pool: &mut CandidatePool,
    ) -> usize {
        let mut offered = 0;
        for (database, part) in self.databases.iter().enumerate() {
            if part.table.len() == 0 || order.is_volatile() && part.table.expiring() == 0 {
                continue;
            }
            let entries = part.table.iter_from(random(), order.is_volatile());
            let ranked = entries.filter_map(|entry| Some((order.rank(entry, clock, now)?, entry)));
            for (rank, entry) in ranked.take(samples) {
                pool.offer(rank, number, database, entry);
                offered += 1;
            }
        }
        offered
    }
}

impl Keys<'_> {
    /// Evicts a candidate, in its database, unless it is gone or in use again. Returns its key.
    pub(crate) fn evict(&mut self, candidate: Candidate, order: EvictionOrder) -> Option<Box<[u8]>> {
        let key = candidate.key;
        let (hash, at) = self.locate(&key);
        let (clock, now) = (self.clock(), self.now());
        let entry = self.held()[at].databases[self.database()].table.find(hash, &key)?;
        let rank = order.rank(entry, clock, now)?;
        let is_stale = matches!(order, EvictionOrder::Random { .. }) || rank >= candidate.rank;
        if !is_stale && !planted!("used-key-evicted") {
            return None;
        }
        let entry = self.remove_entry(hash, at, &key)?;
        self.discard(entry);
        Some(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keyspace::{HeldShards, Layout, Versions};

    fn entry(number: u64, accessed: u32) -> Entry {
        Entry::of_text(format!("key:{number}").as_bytes(), b"value", None, accessed)
    }

    #[test]
    fn the_best_candidates_of_all_are_kept() {
        let order = EvictionOrder::Stale { is_volatile: false };
        let mut pool = CandidatePool::default();
        for number in 0..100u64 {
            // In an order of no pattern, and each twice.
            let second = (number * 37 % 100) as u32;
            let entry = entry(number, second);
            let rank = order.rank(&entry, AccessClock::TIME, 100_000).unwrap();
            pool.offer(rank, 0, 0, &entry);
            pool.offer(rank, 0, 0, &entry);
        }
        let ranks: Vec<_> = std::iter::from_fn(|| pool.pop()).map(|candidate| candidate.rank).collect();
        assert_eq!(ranks, (85..=100).rev().collect::<Vec<u64>>());
    }

    #[test]
    fn a_candidate_that_is_in_use_again_stays() {
        let (layout, versions, mut shard) = (Layout::new(1, 1), Versions::default(), Shard::new(1));
        let order = EvictionOrder::Stale { is_volatile: false };
        let mut keys = Keys::new(&layout, &versions, HeldShards::written(0, &mut shard));
        keys.put_text(b"key", b"value", None);
        let mut pool = CandidatePool::default();
        assert_eq!(shard.offer_candidates(0, 5, order, AccessClock::TIME, 100_000, &mut pool), 1);
        let candidate = pool.pop().unwrap();
        let mut keys = Keys::new(&layout, &versions, HeldShards::written(0, &mut shard));
        keys.begin(0, 100_000);
        assert!(keys.get(b"key").is_some());
        assert_eq!(keys.evict(candidate.clone(), order), None);
        keys.begin(0, 300_000);
        assert_eq!(keys.evict(candidate.clone(), order).as_deref(), Some(&b"key"[..]));
        assert_eq!(keys.evict(candidate, order), None);
    }

    #[test]
    fn the_order_says_which_entries_are_evicted() {
        let rank = |order: EvictionOrder, entry: &Entry| order.rank(entry, AccessClock::TIME, 0);
        let (lasting, mut soon, mut late) = (entry(1, 0), entry(2, 0), entry(3, 0));
        soon.set_expires_at(Some(10));
        late.set_expires_at(Some(20));
        let ttl = EvictionOrder::TimeToLive;
        assert!(rank(ttl, &soon) > rank(ttl, &late) && rank(ttl, &lasting).is_none());
        for is_volatile in [false, true] {
            for order in [EvictionOrder::Stale { is_volatile }, EvictionOrder::Random { is_volatile }] {
                assert_eq!(rank(order, &lasting).is_none(), is_volatile, "{order:?}");
            }
        }
    }
}
