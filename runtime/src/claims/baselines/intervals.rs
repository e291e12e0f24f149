//! Conflicts between sets of granules, and sets of intervals that cover them.

use crate::claims::rights::Rights;
use smallvec::SmallVec;

impl Rights {
    /// Returns true if some of the granules are written.
    pub(super) fn has_writes(&self) -> bool {
        self.0.iter().any(|right| right.1)
    }

    /// Returns true if two tasks with these rights conflict: a granule is in both sets, and one of
    /// the tasks writes it.
    pub(super) fn conflicts_with(&self, other: &Self) -> bool {
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

    /// Merges ranges until at most `most` are left, across the smallest holes between them. All of
    /// them are written if one is.
    pub(super) fn coalesced(&self, most: usize) -> Self {
        let write = self.has_writes();
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
    use crate::claims::rights::Ranges;
    use crate::claims::rights::tests::random_ranges;
    use alloc::vec::Vec;

    #[test]
    fn rights_conflict_where_one_of_them_writes() {
        let mut state = 7;
        for _ in 0..3000 {
            let ((ranges, each), (other, others)) = (random_ranges(&mut state), random_ranges(&mut state));
            let pairs = each.iter().zip(others);
            let conflict =
                { pairs }.any(|(own, other)| own.is_some_and(|own| other.is_some_and(|other| own | other)));
            let (rights, other) = (ranges.rights(), other.rights());
            assert_eq!(rights.conflicts_with(&other), conflict);
            assert_eq!(other.conflicts_with(&rights), conflict);
        }
    }

    #[test]
    fn ranges_are_coalesced_across_the_smallest_holes() {
        let mut ranges = Ranges::default();
        for (range, write) in [(0..2, false), (3..4, true), (9..10, false), (20..22, false)] {
            ranges.add(range, write);
        }
        let rights = ranges.rights();
        let coalesced = |most| rights.coalesced(most).iter().cloned().collect::<Vec<_>>();
        assert_eq!(coalesced(1), [(0..22, true)]);
        assert_eq!(coalesced(2), [(0..10, true), (20..22, true)]);
        assert_eq!(coalesced(9).len(), 4);
        assert!(Rights::default().coalesced(3).is_empty());
    }
}
