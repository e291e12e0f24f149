//! The records, the keys that are looked up, and the checks of results.

use std::sync::Arc;
use xtasking_harness::failure::Wrong;
use xtasking_harness::random::{Random, mix};

/// The keys of the records, and the lookups.
pub(super) struct Workload {
    /// The keys of the records, all different and none of them 0. The value of a key is its index.
    pub(super) keys: Arc<[u64]>,
    /// The sets of lookups, one for each case.
    pub(super) lookups: Vec<Lookups>,
}

/// Keys that are looked up.
pub(super) struct Lookups {
    pub(super) keys: Arc<[u64]>,
    /// The number of each key; from the number of records on, there is no record.
    numbers: Vec<u64>,
    records: u64,
}

/// Returns the key of a number: the numbers are mixed, so that the keys are in no order.
fn key(number: u64) -> u64 {
    mix(number + 1)
}

impl Workload {
    /// Creates `records` records, and for each share of misses, in percent, `count` lookups of keys
    /// that are drawn uniformly.
    pub(super) fn new(records: usize, count: usize, misses: &[u64], seed: u64) -> Self {
        let keys = (0..records as u64).map(key).collect();
        let lookups = misses.iter().map(|&percent| {
            let mut random = Random::new(seed, &[percent]);
            Lookups::draw(records as u64, count, percent, &mut random)
        });
        Self { keys, lookups: lookups.collect() }
    }

    /// Checks the number of keys that were new to an empty map.
    ///
    /// # Errors
    ///
    /// If it is not that of the records.
    pub(super) fn check_new(&self, new: usize) -> Result<(), Wrong> {
        let records = self.keys.len();
        if new == records {
            return Ok(());
        }
        Err(Wrong::new(format!("{new} of {records} different keys were new to an empty map")))
    }
}

impl Lookups {
    fn draw(records: u64, count: usize, misses: u64, random: &mut Random) -> Self {
        let mut number = || {
            let is_missing = random.below(100) < misses;
            random.below(records) + if is_missing { records } else { 0 }
        };
        let numbers: Vec<_> = (0..count).map(|_| number()).collect();
        let keys = numbers.iter().map(|&number| key(number)).collect();
        Self { keys, numbers, records }
    }

    /// Checks what was found.
    ///
    /// # Errors
    ///
    /// The first wrong value.
    pub(super) fn check(&self, found: &[Option<u64>]) -> Result<(), Wrong> {
        if found.len() != self.keys.len() {
            let (count, expected) = (found.len(), self.keys.len());
            return Err(Wrong::new(format!("{count} results of {expected} lookups")));
        }
        for (index, (&number, &found)) in self.numbers.iter().zip(found).enumerate() {
            let expected = (number < self.records).then_some(number);
            if found != expected {
                let key = self.keys[index];
                let text = format!("lookup {index}, of key {key}: {found:?} instead of {expected:?}");
                return Err(Wrong::new(text));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn keys_are_different_and_lookups_have_the_share_of_misses() {
        let workload = Workload::new(1000, 10_000, &[0, 25], 42);
        let keys: HashSet<_> = workload.keys.iter().copied().collect();
        assert!(keys.len() == 1000 && !keys.contains(&0));
        let misses = |lookups: &Lookups| lookups.keys.iter().filter(|key| !keys.contains(key)).count();
        assert_eq!(misses(&workload.lookups[0]), 0);
        assert!((2200..2800).contains(&misses(&workload.lookups[1])));
        assert_ne!(workload.lookups[0].numbers, Workload::new(1000, 10_000, &[0], 43).lookups[0].numbers);
    }

    #[test]
    fn a_wrong_result_is_found() {
        let workload = Workload::new(10, 100, &[50], 1);
        assert!(workload.check_new(10).is_ok() && workload.check_new(9).is_err());
        let lookups = &workload.lookups[0];
        let right: Vec<_> = lookups.numbers.iter().map(|&number| (number < 10).then_some(number)).collect();
        assert!(right.contains(&None) && lookups.check(&right).is_ok());
        assert!(lookups.check(&right[1..]).is_err());
        for index in 0..100 {
            let mut wrong = right.clone();
            wrong[index] = wrong[index].map_or(Some(3), |_| None);
            let text = lookups.check(&wrong).unwrap_err().to_string();
            assert!(text.starts_with(&format!("lookup {index}, of key ")), "{text}");
        }
    }
}
