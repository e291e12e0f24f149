//! Which granules a task has, or is to have, and whether to write them.

use core::ops::Range;
use smallvec::{SmallVec, smallvec};

/// Ranges of granules, each to be read or written, as they were asked for: in any order, and perhaps several times the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranges(SmallVec<[Right; 4]>);

/// A range of granules, and whether to write it.
pub(super) type Right = (Range<u32>, bool);

/// The same in rising order, each granule once: one that is asked for to read it and to write it is to be written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Rights(SmallVec<[Right; 4]>);

impl Ranges {
    pub fn all(count: u32) -> Self {
        Self(smallvec![(0..count, true)])
    }

    pub fn add(&mut self, range: Range<u32>, write: bool) {
        if !range.is_empty() {
            self.0.push((range, write));
        }
    }

    /// Each granule once.
    pub fn rights(self) -> Rights {
        if self.0.len() < 2 {
            return Rights(self.0);
        }
        // Where a range begins or ends: how many more there are then, and how many more to be written.
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

    /// Whether who has these rights has all that is asked for.
    pub fn are_within(&self, rights: &Rights) -> bool {
        self.0.iter().all(|(range, write)| {
            let mut from = range.start;
            for (there, may_write) in &rights.0[rights.at(from)..] {
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

    /// The index of the first that ends behind a granule.
    fn at(&self, granule: u32) -> usize {
        self.0.partition_point(|(range, _)| range.end <= granule)
    }

    pub fn iter(&self) -> core::slice::Iter<'_, Right> {
        self.0.iter()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The granule, if there is just one, and whether to write it.
    pub fn only(&self) -> Option<(u32, bool)> {
        match &self.0[..] {
            [(range, write)] if range.len() == 1 => Some((range.start, *write)),
            _ => None,
        }
    }

    /// How many granules that are.
    pub fn count(&self) -> usize {
        self.0.iter().map(|(range, _)| range.len()).sum()
    }

    /// Whether a granule may be written; `None`: it may not even be read. Looks first at the one that was found last.
    pub fn find(&self, granule: u32, last: &core::cell::Cell<usize>) -> Option<bool> {
        let found =
            |at: usize| self.0.get(at).filter(|(range, _)| range.contains(&granule)).map(|right| right.1);
        found(last.get()).or_else(|| {
            last.set(self.at(granule));
            found(last.get())
        })
    }

    /// All granules, in their order, and whether each may be written.
    pub fn granules(&self) -> impl Iterator<Item = (u32, bool)> + Clone + '_ {
        self.0.iter().flat_map(|(range, write)| range.clone().map(move |granule| (granule, *write)))
    }

    /// Whether two tasks with these must not run side by side.
    pub fn meet(&self, other: &Self) -> bool {
        let (mut own, mut others) = (self.iter().peekable(), other.iter().peekable());
        while let (Some((a, write)), Some((b, writes))) = (own.peek(), others.peek()) {
            if a.start < b.end && b.start < a.end && (*write || *writes) {
                return true;
            }
            if a.end <= b.end {
                own.next();
            } else {
                others.next();
            }
        }
        false
    }

    /// As few ranges as that, with the largest holes left between them, all of them to be written if one is.
    pub fn joined(&self, most: usize) -> Self {
        let write = self.0.iter().any(|right| right.1);
        let mut cuts: SmallVec<[(u32, usize); 16]> =
            (1..self.0.len()).map(|at| (self.0[at].0.start - self.0[at - 1].0.end, at)).collect();
        cuts.sort_unstable_by(|a, b| b.cmp(a));
        cuts.truncate(most.max(1) - 1);
        cuts.sort_unstable_by_key(|cut| cut.1);
        let mut first = 0;
        let cuts = cuts.into_iter().map(|cut| cut.1).chain((!self.0.is_empty()).then_some(self.0.len()));
        let parts = cuts.map(|cut| {
            let from = core::mem::replace(&mut first, cut);
            (self.0[from].0.start..self.0[cut - 1].0.end, write)
        });
        Self(parts.collect())
    }
}

#[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use core::cell::Cell;

    /// Numbers that look as if they came by chance.
    fn chance(state: &mut u64) -> u32 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 40) as u32
    }

    /// Ranges of 30 granules, and what that makes of each.
    fn any(state: &mut u64) -> (Ranges, [Option<bool>; 30]) {
        let (mut ranges, mut each) = (Ranges::default(), [None; 30]);
        for _ in 0..chance(state) % 6 {
            let (start, write) = (chance(state) % 30, chance(state).is_multiple_of(2));
            let range = start..(start + chance(state) % 6).min(30);
            ranges.add(range.clone(), write);
            for granule in range {
                let there = &mut each[granule as usize];
                *there = Some(there.unwrap_or(false) | write);
            }
        }
        (ranges, each)
    }

    #[test]
    fn each_granule_has_one_right() {
        let mut state = 7;
        for _ in 0..3000 {
            let (ranges, each) = any(&mut state);
            let rights = ranges.clone().rights();
            let last = Cell::new(0);
            for granule in (0..30).chain((0..30).rev()) {
                assert_eq!(rights.find(granule, &last), each[granule as usize]);
            }
            assert_eq!(rights.count(), each.iter().flatten().count());
            let only = rights.granules().next().filter(|_| rights.count() == 1);
            assert_eq!(rights.only(), only);
            assert!(rights.granules().all(|(granule, write)| each[granule as usize] == Some(write)));
            assert!(ranges.are_within(&rights) && ranges.are_within(&Ranges::all(30).rights()));
            let (other, those) = any(&mut state);
            let pairs = || each.iter().zip(those);
            let within =
                pairs().all(|(own, other)| other.is_none_or(|write| own.is_some_and(|own| own | !write)));
            assert_eq!(other.are_within(&rights), within);
            let meet =
                pairs().any(|(own, other)| own.is_some_and(|own| other.is_some_and(|other| own | other)));
            assert_eq!(rights.meet(&other.clone().rights()), meet);
            assert_eq!(other.rights().meet(&rights), meet);
        }
    }

    #[test]
    fn ranges_are_joined_at_the_smallest_holes() {
        let mut ranges = Ranges::default();
        for (range, write) in [(0..2, false), (3..4, true), (9..10, false), (20..22, false)] {
            ranges.add(range, write);
        }
        let rights = ranges.rights();
        let of = |most| rights.joined(most).iter().cloned().collect::<Vec<_>>();
        assert_eq!(of(1), [(0..22, true)]);
        assert_eq!(of(2), [(0..10, true), (20..22, true)]);
        assert_eq!(of(9).len(), 4);
        assert!(Rights::default().joined(3).is_empty());
    }
}
