//! The two orders in which scans read the leaves.
//!
//! Leaves have right links only. So an ascending scan goes from leaf to leaf. A descending one
//! returns to the topmost node after each leaf, and descends to the keys below the leaf's `low`.
//! It need not know which leaf holds them: `low` never changes while a node exists, and the leaf
//! that covers the keys just below it holds the greatest key that is left.

use super::key_range::KeyRange;
use crate::key_space::{EncodedKey, KeySpace};
use crate::node::{DescendResult, KeyRef, Layout, ScanNext};
use core::cmp::Ordering;
use core::ops::Bound;
use xtasking::Part;

/// Where a scan continues.
#[derive(Debug)]
pub(crate) struct Rest<S: KeySpace> {
    /// The keys that are left.
    pub range: KeyRange<S>,
    /// The link of the next leaf; 0 if it has to be found from the topmost node.
    pub link: u64,
}

/// The order of a scan.
pub(crate) trait Order: Send + 'static {
    /// Returns the child of an inner node below which the leaf is that is read first.
    fn descend<L: Layout>(node: &L, range: &KeyRange<L::Keys>) -> DescendResult;

    /// Returns the lines that [`descend`](Self::descend) will access besides the first ones.
    fn locate<L: Layout>(node: &L, range: &KeyRange<L::Keys>) -> Part;

    /// Calls `visit` for the entries of a leaf whose keys are in the range, in this order. Returns
    /// the keys that the leaf does not cover; `None` if there are none.
    ///
    /// The leaf may be to the left of the range, or dead. Then it has no such entries, and its
    /// right link leads on.
    fn read_leaf<L: Layout>(
        leaf: &L,
        range: &KeyRange<L::Keys>,
        visit: impl FnMut(KeyRef<'_, L>, u64),
    ) -> Option<Rest<L::Keys>>;
}

/// From the least key to the greatest.
pub(crate) struct Ascending;
/// From the greatest key to the least.
pub(crate) struct Descending;

impl Order for Ascending {
    #[inline(always)]
    fn descend<L: Layout>(node: &L, range: &KeyRange<L::Keys>) -> DescendResult {
        node.descend(range.first())
    }

    #[inline(always)]
    fn locate<L: Layout>(node: &L, range: &KeyRange<L::Keys>) -> Part {
        node.locate(range.first())
    }

    #[inline]
    fn read_leaf<L: Layout>(
        leaf: &L,
        range: &KeyRange<L::Keys>,
        mut visit: impl FnMut(KeyRef<'_, L>, u64),
    ) -> Option<Rest<L::Keys>> {
        let next = leaf.visit(range.first(), |key, value| {
            if range.contains(key) {
                visit(key, value);
            }
        });
        let ScanNext::Right { link, low } = next else { return None };
        // A leaf to the left of the scan's position (it took over a dead leaf's keys) has nothing
        // new.
        Some(Rest { range: range.from(low)?, link })
    }
}

impl Order for Descending {
    #[inline(always)]
    fn descend<L: Layout>(node: &L, range: &KeyRange<L::Keys>) -> DescendResult {
        match range.end() {
            Bound::Included(last) => node.descend(last),
            Bound::Excluded(end) => descend_below(node, Some(end)),
            Bound::Unbounded => descend_below(node, None),
        }
    }

    #[inline(always)]
    fn locate<L: Layout>(node: &L, range: &KeyRange<L::Keys>) -> Part {
        if let Bound::Included(last) = range.end() { node.locate(last) } else { L::ALL }
    }

    fn read_leaf<L: Layout>(
        leaf: &L,
        range: &KeyRange<L::Keys>,
        mut visit: impl FnMut(KeyRef<'_, L>, u64),
    ) -> Option<Rest<L::Keys>> {
        if leaf.is_dead() || leaf.high().is_some_and(|high| !range.ends_before(high.key())) {
            return Some(Rest { range: range.clone(), link: leaf.right() });
        }
        let mut entries = Vec::with_capacity(L::CAPACITY);
        leaf.visit(range.first(), |key, value| {
            if range.contains(key) {
                entries.push((L::Keys::to_owned(key), value));
            }
        });
        entries.iter().rev().for_each(|(key, value)| visit(key.key(), *value));
        Some(Rest { range: range.below(leaf.low())?, link: 0 })
    }
}

/// Returns the last child of an inner node whose separator is below `end`, or the first child if
/// there is none. Without a bound, returns the last child of the level.
///
/// In spaces without a key just below another, no key leads there.
fn descend_below<L: Layout>(node: &L, end: Option<KeyRef<'_, L>>) -> DescendResult {
    let is_below = |key: KeyRef<'_, L>| end.is_none_or(|end| L::Keys::compare(key, end) == Ordering::Less);
    let mut last = 0;
    let next = node.visit(L::Keys::LOWEST, |separator, child| {
        if last == 0 || is_below(separator) {
            last = child;
        }
    });
    match next {
        ScanNext::Right { link, low } if node.is_dead() || is_below(low.key()) => DescendResult::Right(link),
        _ => DescendResult::Child(last),
    }
}

#[cfg(test)]
mod tests {
    use super::{DescendResult, Layout, descend_below};
    use crate::key_space::Words;
    use crate::node::{HintedNode, SortedNode, words};

    /// An inner node of the keys below 400, whose separators are the multiples of 10.
    fn leads_below<L: Layout<Keys = Words>>() {
        let entries: Vec<(u64, u64)> = (0..20).map(|at| (at * 10, 1000 + at)).collect();
        let mut node = L::new(1, 0);
        node.fill(&entries, Some((400, 7)));
        for end in 0..=400 {
            let last = entries.iter().rev().find(|entry| entry.0 < end).unwrap_or(&entries[0]);
            assert_eq!(descend_below(&node, Some(end)), DescendResult::Child(last.1), "{end}");
        }
        assert_eq!(descend_below(&node, Some(401)), DescendResult::Right(7));
        assert_eq!(descend_below(&node, None), DescendResult::Right(7));
        let mut last = L::new(1, 0);
        last.fill(&entries, None);
        assert_eq!(descend_below(&last, Some(u64::MAX)), DescendResult::Child(1019));
        assert_eq!(descend_below(&last, None), DescendResult::Child(1019));
    }

    #[test]
    fn a_bound_leads_to_the_last_child_below_it() {
        leads_below::<HintedNode<{ words(1024) }>>();
        leads_below::<SortedNode<{ words(512) }>>();
    }
}
