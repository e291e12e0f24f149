//! Queries by the range of keys that they ask for.

use super::hits::Hits;
use std::ops::Range;

/// Between two neighbouring ends of ranges, all keys concern the same queries. Each such interval that concerns anybody has
/// a *slot*, a number in order of keys: so the keys of a query are those of some slots in a row.
#[derive(Debug, Default)]
pub(super) struct Spans {
    /// The first key of each interval but the first, which begins at 0.
    begins: Box<[u64]>,
    /// The slot of each interval, or [`NOBODY`].
    slots: Box<[u32]>,
    count: u32,
    /// For parts of equal width between the first and the last of `begins`: how many of those lie before.
    directory: Box<[u32]>,
    /// How far a key above the first is shifted to become a part.
    shift: u32,
    queries: Box<[Asker]>,
}

/// A query, and the first and the last slot of its range.
#[derive(Clone, Copy, Debug)]
struct Asker {
    query: u32,
    first: u32,
    last: u32,
}

/// Not a slot.
pub(super) const NOBODY: u32 = u32::MAX;
/// Parts of the directory for each interval. More are found faster, if keys are spread evenly.
const PARTS: usize = 4;
/// If so many queries ask for a slot in the mean, or fewer, each row is paired with its queries.
const FEW: usize = 3;
/// From so many intervals on, a part of the directory is searched by halving.
const MANY: u32 = 8;

/// A range and its query. The last key is included.
pub(super) type Span = (u64, u64, u32);

impl Spans {
    /// Of these ranges, none of which is empty.
    pub fn new(spans: &[Span]) -> Self {
        let ends = spans.iter().flat_map(|&(low, high, _)| [Some(low), high.checked_add(1)]);
        let mut begins: Vec<u64> = ends.flatten().filter(|&begin| begin != 0).collect();
        begins.sort_unstable();
        begins.dedup();
        let mut made = Self { begins: begins.into(), ..Self::default() };
        made.direct();
        // How many ranges begin and end at each interval tells where there are any.
        let intervals: Vec<(usize, usize)> =
            spans.iter().map(|&(low, high, _)| (made.interval(low), made.interval(high))).collect();
        let mut changes = vec![0i64; made.begins.len() + 2];
        for &(first, last) in &intervals {
            changes[first] += 1;
            changes[last + 1] -= 1;
        }
        let mut there = 0;
        made.slots = changes[..=made.begins.len()]
            .iter()
            .map(|change| {
                there += change;
                let slot = made.count;
                made.count += u32::from(there > 0);
                if there > 0 { slot } else { NOBODY }
            })
            .collect();
        let asker = |(&(first, last), span): (&(usize, usize), &Span)| Asker {
            query: span.2,
            first: made.slots[first],
            last: made.slots[last],
        };
        made.queries = intervals.iter().zip(spans).map(asker).collect();
        made
    }

    /// Pairs of a slot and a query that asks for it, in order, if few ranges overlap.
    pub fn pairs(&self) -> Option<Vec<(u32, u32)>> {
        let all: usize = self.queries.iter().map(|asker| (asker.last - asker.first) as usize + 1).sum();
        if all > FEW * self.slots() {
            return None;
        }
        let mut pairs = Vec::with_capacity(all);
        for asker in &self.queries {
            pairs.extend((asker.first..=asker.last).map(|slot| (slot, asker.query)));
        }
        pairs.sort_unstable();
        Some(pairs)
    }

    /// Where each interval but the first begins, and the slots of all of them, or [`NOBODY`].
    pub fn intervals(&self) -> (&[u64], &[u32]) {
        (&self.begins, &self.slots)
    }

    /// All queries with their slots.
    pub fn queries(&self) -> impl Iterator<Item = (u32, Range<u32>)> {
        self.queries.iter().map(|asker| (asker.query, asker.first..asker.last + 1))
    }

    /// How many slots there are.
    pub fn slots(&self) -> usize {
        self.count as usize
    }

    /// The slot of a key, if anybody asks for it.
    #[inline(always)]
    pub fn slot(&self, key: u64) -> Option<u32> {
        let slot = self.slots[self.interval(key)];
        (slot != NOBODY).then_some(slot)
    }

    /// Tells each query its rows, if it has any.
    #[inline(always)]
    pub fn tell(&self, hits: &mut Hits, mut tell: impl FnMut(u32, &[u16])) {
        if hits.is_empty() {
            return;
        }
        hits.order(self.slots());
        for asker in &self.queries {
            let rows = hits.of(asker.first, asker.last);
            if !rows.is_empty() {
                tell(asker.query, rows);
            }
        }
    }

    fn direct(&mut self) {
        let (Some(&first), Some(&last)) = (self.begins.first(), self.begins.last()) else { return };
        let most = (self.begins.len() * PARTS).next_power_of_two() as u64;
        self.shift = (0..64).find(|&shift| (last - first) >> shift < most).expect("one part at least");
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

    /// The interval that a key is in.
    #[inline(always)]
    fn interval(&self, key: u64) -> usize {
        let above = self.begins.first().and_then(|&first| key.checked_sub(first));
        let Some(above) = above else { return 0 };
        let part = ((above >> self.shift) as usize).min(self.directory.len() - 2);
        let (mut from, to) = (self.directory[part], self.directory[part + 1]);
        if to - from >= MANY {
            let there = &self.begins[from as usize..to as usize];
            return from as usize + there.partition_point(|&begin| begin <= key);
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

    fn asked(spans: &Spans, key: u64) -> BTreeSet<u32> {
        let slot = spans.slot(key);
        let asks = |asker: &&Asker| slot.is_some_and(|slot| (asker.first..=asker.last).contains(&slot));
        spans.queries.iter().filter(asks).map(|asker| asker.query).collect()
    }

    proptest! {
        #[test]
        fn as_testing_each_range(ends: Vec<(u8, u8, u8)>, keys: Vec<u64>) {
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
            let all: Vec<Span> = ends.iter().enumerate().map(span).collect();
            let spans = Spans::new(&all);
            let ends = all.iter().flat_map(|&(low, high, _)| [low, high, low.wrapping_sub(1), high.wrapping_add(1)]);
            let keys: Vec<u64> = keys.into_iter().chain(ends).chain([0, u64::MAX]).collect();
            let pairs = spans.pairs();
            for &key in &keys {
                let expected = all.iter().filter(|&&(low, high, _)| (low..=high).contains(&key));
                let expected: BTreeSet<_> = expected.map(|span| span.2).collect();
                if let Some(pairs) = &pairs {
                    let of_slot = pairs.iter().filter(|pair| Some(pair.0) == spans.slot(key));
                    prop_assert_eq!(&of_slot.map(|pair| pair.1).collect::<BTreeSet<_>>(), &expected);
                }
                prop_assert_eq!(asked(&spans, key), expected);
            }
        }
    }

    #[test]
    fn ranges_with_many_ends_in_one_place_are_told_apart() {
        // All but the last lie in one part of the directory.
        let all: Vec<Span> = (0..100).map(|query| (u64::from(query), u64::from(query), query)).collect();
        let spans = Spans::new(&[&all[..], &[(1 << 60, 1 << 61, 100)]].concat());
        for query in 0..100 {
            assert_eq!(asked(&spans, u64::from(query)), [query].into());
        }
        assert_eq!(asked(&spans, 1 << 60), [100].into());
        assert!(asked(&spans, 100).is_empty());
    }
}
