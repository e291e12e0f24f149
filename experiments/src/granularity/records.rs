//! The records, and their division into tasks.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// A record.
#[derive(Clone, Copy)]
pub(super) struct Record {
    /// Stands for the rest of a record, which an aggregation skips.
    #[allow(dead_code, reason = "it only takes space")]
    key: u64,
    value: u64,
}

/// A slice of the records. They are never freed, so that tasks need no reference count.
pub(super) type Records = &'static [Record];

/// Generates records, with values from the seed.
pub(super) fn make(count: usize, seed: u64) -> Records {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let record = |key| Record { key: key as u64, value: random.next_u64() };
    Vec::leak((0..count).map(record).collect())
}

/// Returns the minimum of records: the body of every task, the same code for all contenders.
#[inline(never)]
pub(super) fn least(records: &[Record]) -> u64 {
    records.iter().fold(u64::MAX, |least, record| least.min(record.value))
}

/// Divides records as evenly as possible into parts that consist of whole tasks.
pub(super) fn parts(records: Records, grain: usize, parts: usize) -> impl Iterator<Item = Records> {
    let tasks = records.len().div_ceil(grain);
    let border = move |part: usize| (tasks * part / parts * grain).min(records.len());
    (0..parts).map(move |part| &records[border(part)..border(part + 1)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_all_records() {
        let records = make(1_005, 1);
        for (grain, count) in [(10, 1), (10, 4), (100, 3), (1_000, 4), (2_000, 2)] {
            let sizes: Vec<_> = parts(records, grain, count).map(<[_]>::len).collect();
            assert_eq!((sizes.len(), sizes.iter().sum::<usize>()), (count, 1_005));
            // Only the last task may be smaller than the rest.
            assert!(sizes[..count - 1].iter().all(|size| size % grain == 0 || *size == 0), "{sizes:?}");
            assert_eq!(parts(records, grain, count).map(least).min(), Some(least(records)));
        }
        assert_eq!(least(records), records.iter().map(|record| record.value).min().unwrap());
        assert_eq!(least(&[]), u64::MAX);
    }
}
