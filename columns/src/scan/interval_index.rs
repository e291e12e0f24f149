//! An index of queries by ranges of keys.

use super::slot_rows::SlotRows;
use std::ops::Range;

/// The ends of all ranges divide the keys into elementary intervals, each of which the same queries
/// cover. An interval that some query covers has a *slot*, numbered in order of keys. The keys of a
/// query are those of consecutive slots.
#[derive(Debug, Default)]
pub(super) struct IntervalIndex {
    /// The first key of each interval, without the first interval, which begins at 0.
    begins: Box<[u64]>,
    /// The slot of each interval, or [`NO_SLOT`].
    slots: Box<[u32]>,
    slot_count: u32,
    /// Divides the keys between the first and the last of `begins` into parts of equal width, and
    /// counts the begins before each part.
    directory: Box<[u32]>,
    /// The shift from a key's distance above the first begin to its part.
    shift: u32,
    queries: Box<[QuerySlots]>,
}

/// A query, and the first and last slot of its range.
#[derive(Clone, Copy, Debug)]
struct QuerySlots {
    query: u32,
    first: u32,
    last: u32,
}

/// The slot of an interval that no query covers.
pub(super) const NO_SLOT: u32 = u32::MAX;
/// Parts of the directory for each interval. More parts shorten the search if keys are spread
/// evenly.
const DIRECTORY_PARTS_PER_INTERVAL: usize = 4;
/// Up to this mean number of queries a slot, each row is paired with its queries.
const MAX_PAIRED_QUERIES: usize = 3;
/// From this number of intervals on, a part of the directory is searched by bisection.
const BINARY_SEARCH_INTERVALS: u32 = 8;

/// The first and last key of a range, and its query.
pub(super) type KeyInterval = (u64, u64, u32);

impl IntervalIndex {
    /// Builds the index of these ranges, none of which is empty.
    pub fn new(ranges: &[KeyInterval]) -> Self {
        let ends = ranges.iter().flat_map(|&(low, high, _)| {
            [Some(low), high.checked_add(if planted!("interval-ends-early") { 0 } else { 1 })]
        });
        let mut begins: Vec<u64> = ends.flatten().filter(|&begin| begin != 0).collect();
        begins.sort_unstable();
        begins.dedup();
        let mut index = Self { begins: begins.into(), ..Self::default() };
        index.build_directory();
        // The ranges that begin and end at each interval tell which intervals are covered.
        let intervals: Vec<(usize, usize)> =
            ranges.iter().map(|&(low, high, _)| (index.interval(low), index.interval(high))).collect();
        let mut changes = vec![0i64; index.begins.len() + 2];
        for &(first, last) in &intervals {
            changes[first] += 1;
            changes[last + 1] -= 1;
        }
        let mut covering = 0;
        index.slots = changes[..=index.begins.len()]
            .iter()
            .map(|change| {
                covering += change;
                let slot = index.slot_count;
                index.slot_count += u32::from(covering > 0);
                if covering > 0 { slot } else { NO_SLOT }
            })
            .collect();
        let query_slots = |(&(first, last), span): (&(usize, usize), &KeyInterval)| QuerySlots {
            query: span.2,
            first: index.slots[first],
            last: index.slots[last],
        };
        index.queries = intervals.iter().zip(ranges).map(query_slots).collect();
        index
    }

    /// Returns the pairs of a slot and a query that covers it, in order, if few ranges overlap.
    pub fn pairs(&self) -> Option<Vec<(u32, u32)>> {
        let all: usize =
            self.queries.iter().map(|query_slots| (query_slots.last - query_slots.first) as usize + 1).sum();
        if all > MAX_PAIRED_QUERIES * self.slots() {
            return None;
        }
        let mut pairs = Vec::with_capacity(all);
        for query_slots in &self.queries {
            pairs.extend((query_slots.first..=query_slots.last).map(|slot| (slot, query_slots.query)));
        }
        pairs.sort_unstable();
        Some(pairs)
    }

    /// Returns the begin of each interval but the first, and the slots of all of them, or
    /// [`NO_SLOT`].
    pub fn intervals(&self) -> (&[u64], &[u32]) {
        (&self.begins, &self.slots)
    }

    /// Iterates over all queries with their slots.
    pub fn queries(&self) -> impl Iterator<Item = (u32, Range<u32>)> {
        self.queries.iter().map(|query_slots| (query_slots.query, query_slots.first..query_slots.last + 1))
    }

    /// Returns the number of slots.
    pub fn slots(&self) -> usize {
        self.slot_count as usize
    }

    /// Returns the slot of a key, if some query covers it.
    #[inline(always)]
    pub fn slot(&self, key: u64) -> Option<u32> {
        let slot = self.slots[self.interval(key)];
        (slot != NO_SLOT).then_some(slot)
    }

    /// Reports the rows of each query that has any.
    #[inline(always)]
    pub fn report(&self, slot_rows: &mut SlotRows, mut report: impl FnMut(u32, &[u16])) {
        if slot_rows.is_empty() {
            return;
        }
        slot_rows.group(self.slots());
        for query_slots in &self.queries {
            let rows = slot_rows.between(query_slots.first, query_slots.last);
            if !rows.is_empty() {
                report(query_slots.query, rows);
            }
        }
    }

    fn build_directory(&mut self) {
        let (Some(&first), Some(&last)) = (self.begins.first(), self.begins.last()) else { return };
        let max_parts = (self.begins.len() * DIRECTORY_PARTS_PER_INTERVAL).next_power_of_two() as u64;
        self.shift = (0..64)
            .find(|&shift| (last - first) >> shift < max_parts)
            .expect("a shift by 63 leaves at most two parts");
        let parts = ((last - first) >> self.shift) + 1;
        let mut directory = Vec::with_capacity(parts as usize + 1);
        let mut before = 0;
        for part in 0..parts {
            directory.push(before as u32);
            while self.begins.get(before).is_some_and(|begin| (begin - first) >> self.shift == part) {
                before += 1;
            }
        }
        directory.push(before as u32);
        self.directory = directory.into();
    }

    /// Finds the interval of a key.
    #[inline(always)]
    fn interval(&self, key: u64) -> usize {
        let above = self.begins.first().and_then(|&first| key.checked_sub(first));
        let Some(above) = above else { return 0 };
        let part = ((above >> self.shift) as usize).min(self.directory.len() - 2);
        let (mut from, to) = (self.directory[part], self.directory[part + 1]);
        if to - from >= BINARY_SEARCH_INTERVALS {
            let candidates = &self.begins[from as usize..to as usize];
            let last = if planted!("interval-begin-left-out") { key.saturating_sub(1) } else { key };
            return from as usize + candidates.partition_point(|&begin| begin <= last);
        }
        while from < to && self.begins[from as usize] <= key {
            from += 1;
        }
        from as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn queries_of(intervals: &IntervalIndex, key: u64) -> BTreeSet<u32> {
        let slot = intervals.slot(key);
        let covers = |query_slots: &&QuerySlots| {
            slot.is_some_and(|slot| (query_slots.first..=query_slots.last).contains(&slot))
        };
        intervals.queries.iter().filter(covers).map(|query_slots| query_slots.query).collect()
    }

    proptest! {
        #[test]
        fn a_lookup_finds_the_ranges_that_contain_the_key(ends: Vec<(u8, u8, u8)>, keys: Vec<u64>) {
            let span = |(query, &(a, b, how)): (usize, &(u8, u8, u8))| {
                // Close together, at either end, and far apart.
                let key = |end: u8| match how % 4 {
                    0 => u64::from(end),
                    1 => u64::MAX - u64::from(end),
                    2 => u64::from(end) << 56,
                    _ => 1 << (end % 64),
                };
                (key(a).min(key(b)), key(a).max(key(b)), query as u32)
            };
            let all: Vec<KeyInterval> = ends.iter().enumerate().map(span).collect();
            let intervals = IntervalIndex::new(&all);
            let ends = all
                .iter()
                .flat_map(|&(low, high, _)| [low, high, low.wrapping_sub(1), high.wrapping_add(1)]);
            let keys: Vec<u64> = keys.into_iter().chain(ends).chain([0, u64::MAX]).collect();
            let pairs = intervals.pairs();
            for &key in &keys {
                let expected = all.iter().filter(|&&(low, high, _)| (low..=high).contains(&key));
                let expected: BTreeSet<_> = expected.map(|span| span.2).collect();
                if let Some(pairs) = &pairs {
                    let of_slot = pairs.iter().filter(|pair| Some(pair.0) == intervals.slot(key));
                    prop_assert_eq!(&of_slot.map(|pair| pair.1).collect::<BTreeSet<_>>(), &expected);
                }
                prop_assert_eq!(queries_of(&intervals, key), expected);
            }
        }
    }

    #[test]
    fn ranges_in_one_part_of_the_directory_are_distinguished() {
        // All but the last lie in one part of the directory.
        let all: Vec<KeyInterval> =
            (0..100).map(|query| (u64::from(query), u64::from(query), query)).collect();
        let intervals = IntervalIndex::new(&[&all[..], &[(1 << 60, 1 << 61, 100)]].concat());
        for query in 0..100 {
            assert_eq!(queries_of(&intervals, u64::from(query)), [query].into());
        }
        assert_eq!(queries_of(&intervals, 1 << 60), [100].into());
        assert!(queries_of(&intervals, 100).is_empty());
    }
}
