//! Sets of granules that a claim asks for or was granted, each to be read or written.

use core::ops::Range;
use smallvec::{SmallVec, smallvec};

/// Ranges of granules as a claim names them: in any order, and possibly overlapping.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranges(SmallVec<[Right; 4]>);

/// A range of granules, and true if it is written.
pub(super) type Right = (Range<u32>, bool);

/// Disjoint ranges in ascending order. A granule that is named to be read and to be written is
/// written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Rights(pub(super) SmallVec<[Right; 4]>);

impl Ranges {
    pub fn all(count: u32) -> Self {
        Self(smallvec![(0..count, true)])
    }

    pub fn add(&mut self, range: Range<u32>, write: bool) {
        if !range.is_empty() {
            self.0.push((range, write));
        }
    }

    /// Sorts the ranges and merges those that overlap.
    pub fn rights(self) -> Rights {
        if self.0.len() < 2 {
            return Rights(self.0);
        }
        // A sweep over the ends of all ranges: at each end, the change in the number of ranges that
        // cover the position, and in the number of those that are written.
        let ends = |(range, write): &Right| {
            let write = i32::from(*write);
            [(range.start, 1, write), (range.end, -1, -write)]
        };
        let mut ends: SmallVec<[(u32, i32, i32); 16]> = self.0.iter().flat_map(ends).collect();
        ends.sort_unstable_by_key(|end| end.0);
        let (mut rights, mut all, mut written, mut from) = (Rights::default(), 0, 0, 0);
        for (at, more, to_write) in ends {
            if all > 0 && from < at {
                rights.push((from..at, written > 0));
            }
            (from, all, written) = (at, all + more, written + to_write);
        }
        rights
    }

    /// Returns true if `rights` covers every range.
    pub fn are_covered_by(&self, rights: &Rights) -> bool {
        self.0.iter().all(|(range, write)| {
            let mut from = range.start;
            for (there, may_write) in &rights.0[rights.position(from)..] {
                if from >= range.end || there.start > from || *write && !may_write {
                    break;
                }
                from = there.end;
            }
            from >= range.end
        })
    }
}

impl Rights {
    fn push(&mut self, next: Right) {
        match self.0.last_mut() {
            Some((last, write)) if last.end == next.0.start && *write == next.1 => last.end = next.0.end,
            _ => self.0.push(next),
        }
    }

    /// Returns the index of the first range that ends behind a granule.
    fn position(&self, granule: u32) -> usize {
        self.0.partition_point(|(range, _)| range.end <= granule)
    }

    pub fn iter(&self) -> core::slice::Iter<'_, Right> {
        self.0.iter()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the granule and whether it is written, if there is exactly one.
    pub fn single(&self) -> Option<(u32, bool)> {
        match &self.0[..] {
            [(range, write)] if range.len() == 1 => Some((range.start, *write)),
            _ => None,
        }
    }

    /// Returns the number of granules.
    pub fn count(&self) -> usize {
        self.0.iter().map(|(range, _)| range.len()).sum()
    }

    /// Returns whether a granule may be written, or `None` if it is not in the set. Tries the range
    /// at index `last` first, and stores there where it has found the granule.
    pub fn find(&self, granule: u32, last: &core::cell::Cell<usize>) -> Option<bool> {
        let found =
            |at: usize| self.0.get(at).filter(|(range, _)| range.contains(&granule)).map(|right| right.1);
        found(last.get()).or_else(|| {
            last.set(self.position(granule));
            found(last.get())
        })
    }

    /// Returns all granules, ascending, and whether each may be written.
    pub fn granules(&self) -> impl Iterator<Item = (u32, bool)> + Clone + '_ {
        self.0.iter().flat_map(|(range, write)| range.clone().map(move |granule| (granule, *write)))
    }
}

#[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
pub(super) mod tests {
    use super::*;
    use core::cell::Cell;

    /// A linear congruential generator.
    fn random(state: &mut u64) -> u32 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 40) as u32
    }

    /// Returns random ranges of 30 granules, and the right to each granule.
    pub fn random_ranges(state: &mut u64) -> (Ranges, [Option<bool>; 30]) {
        let (mut ranges, mut each) = (Ranges::default(), [None; 30]);
        for _ in 0..random(state) % 6 {
            let (start, write) = (random(state) % 30, random(state).is_multiple_of(2));
            let range = start..(start + random(state) % 6).min(30);
            ranges.add(range.clone(), write);
            for granule in range {
                let there = &mut each[granule as usize];
                *there = Some(there.unwrap_or(false) | write);
            }
        }
        (ranges, each)
    }

    #[test]
    fn overlapping_ranges_merge_into_one_right_for_each_granule() {
        let mut state = 7;
        for _ in 0..3000 {
            let (ranges, each) = random_ranges(&mut state);
            let rights = ranges.clone().rights();
            let last = Cell::new(0);
            for granule in (0..30).chain((0..30).rev()) {
                assert_eq!(rights.find(granule, &last), each[granule as usize]);
            }
            assert_eq!(rights.count(), each.iter().flatten().count());
            let single = rights.granules().next().filter(|_| rights.count() == 1);
            assert_eq!(rights.single(), single);
            assert!(rights.granules().all(|(granule, write)| each[granule as usize] == Some(write)));
            assert!(ranges.are_covered_by(&rights) && ranges.are_covered_by(&Ranges::all(30).rights()));
            let (other, those) = random_ranges(&mut state);
            let pairs = || each.iter().zip(those);
            let within =
                pairs().all(|(own, other)| other.is_none_or(|write| own.is_some_and(|own| own | !write)));
            assert_eq!(other.are_covered_by(&rights), within);
        }
    }
}

/// # Panics
///
/// If the range ends behind the last granule.
#[track_caller]
pub(super) fn check_range(range: &Range<u32>, count: u32) {
    assert!(range.end <= count, "there are no granules {range:?}");
}
