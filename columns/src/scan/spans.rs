//! Queries by the range of keys that they ask for.

/// Between two neighbouring ends of ranges, all keys concern the same queries: so there is a list for each such interval.
#[derive(Debug, Default)]
pub(super) struct Spans {
    /// The first key of each interval but the first, which begins at 0.
    begins: Box<[u64]>,
    /// Where the queries of each interval end; those of the first begin at 0.
    ends: Box<[u32]>,
    queries: Box<[u32]>,
}

/// The lists together are at most so many times as long as there are queries. Wider ranges would make them longer than it
/// takes to test each row.
const LONGEST: usize = 64;

/// A range and its query. The last key is included.
pub(super) type Span = (u64, u64, u32);

impl Spans {
    /// Of those ranges that are narrow enough; gives back the queries of the others. No range is empty.
    pub fn new(mut spans: Vec<Span>) -> (Self, Vec<u32>) {
        // The narrowest first.
        spans.sort_unstable_by_key(|&(low, high, query)| (high - low, query));
        let most = spans.len() * LONGEST;
        let begins = |spans: &[Span]| {
            let ends = spans.iter().flat_map(|&(low, high, _)| [Some(low), high.checked_add(1)]);
            let mut begins: Vec<u64> = ends.flatten().filter(|&begin| begin != 0).collect();
            begins.sort_unstable();
            begins.dedup();
            begins
        };
        let mut dropped = Vec::new();
        let mut kept = begins(&spans);
        // How many intervals each range covers.
        let covers =
            |begins: &[u64], &(low, high, _): &Span| interval(begins, low)..interval(begins, high) + 1;
        let mut total: usize = spans.iter().map(|span| covers(&kept, span).len()).sum();
        while total > most {
            let Some(widest) = spans.pop() else { break };
            total -= covers(&kept, &widest).len();
            dropped.push(widest.2);
        }
        if !dropped.is_empty() {
            kept = begins(&spans);
        }
        let mut lists = vec![Vec::new(); kept.len() + 1];
        for span in &spans {
            covers(&kept, span).for_each(|interval| lists[interval].push(span.2));
        }
        let ends = lists.iter().scan(0, |end, list| {
            *end += list.len() as u32;
            Some(*end)
        });
        (Self { ends: ends.collect(), queries: lists.concat().into(), begins: kept.into() }, dropped)
    }

    pub fn is_empty(&self) -> bool {
        self.queries.is_empty()
    }

    /// Who asks for the key.
    #[inline(always)]
    pub fn of(&self, key: u64) -> &[u32] {
        let interval = interval(&self.begins, key);
        let begin = if interval == 0 { 0 } else { self.ends[interval - 1] };
        &self.queries[begin as usize..self.ends[interval] as usize]
    }
}

/// The interval that a key is in.
#[inline(always)]
fn interval(begins: &[u64], key: u64) -> usize {
    begins.partition_point(|&begin| begin <= key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn as_testing_each_range(ends: Vec<(u8, u8, bool)>, keys: Vec<u64>) {
            let span = |(query, &(a, b, up)): (usize, &(u8, u8, bool))| {
                let key = |end: u8| if up { u64::MAX - u64::from(end) } else { u64::from(end) };
                (key(a).min(key(b)), key(a).max(key(b)), query as u32)
            };
            let all: Vec<Span> = ends.iter().enumerate().map(span).collect();
            let (spans, dropped) = Spans::new(all.clone());
            let dropped: BTreeSet<u32> = dropped.into_iter().collect();
            let ends = all.iter().flat_map(|&(low, high, _)| [low, high, low.wrapping_sub(1), high.wrapping_add(1)]);
            for key in keys.into_iter().chain(ends).chain([0, u64::MAX]) {
                let asked = all.iter().filter(|&&(low, high, _)| (low..=high).contains(&key));
                let asked: BTreeSet<_> = asked.map(|span| span.2).filter(|query| !dropped.contains(query)).collect();
                prop_assert_eq!(spans.of(key).iter().copied().collect::<BTreeSet<_>>(), asked);
            }
        }
    }

    #[test]
    fn wide_ranges_are_given_back() {
        // Each overlaps half of the others in the mean: the lists would have some 500,000 entries.
        let all: Vec<Span> =
            (0..1000).map(|query| (u64::from(query) * 10, u64::from(query) * 10 + 5005, query)).collect();
        let (spans, dropped) = Spans::new(all);
        assert!(!dropped.is_empty() && dropped.len() < 1000 && !spans.is_empty());
        assert!(spans.queries.len() <= 1000 * LONGEST);
    }
}
