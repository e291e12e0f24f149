//! A buffer for the entries of a node, for operations that rearrange a whole node.

use super::Siblings;
use core::mem::MaybeUninit;

/// Up to `N` entries in key order, on the stack.
///
/// A node of `N` words has fewer than `N / 2` entries, so the entries of two nodes fit as well.
pub(super) struct Pairs<const N: usize> {
    len: usize,
    /// The first `len` are initialised.
    pairs: [MaybeUninit<(u64, u64)>; N],
}

impl<const N: usize> Pairs<N> {
    #[inline(always)]
    pub(super) const fn new() -> Self {
        Self { len: 0, pairs: [MaybeUninit::uninit(); N] }
    }

    /// Appends an entry. Beyond `N` entries it is dropped, which happens only to a reader of a torn
    /// node.
    #[inline(always)]
    pub(super) fn push(&mut self, key: u64, value: u64) {
        if let Some(slot) = self.pairs.get_mut(self.len) {
            slot.write((key, value));
            self.len += 1;
        }
    }

    /// Inserts an entry in key order.
    pub(super) fn insert(&mut self, key: u64, value: u64) {
        let at = self.as_slice().partition_point(|&(other, _)| other < key);
        self.push(key, value);
        self.pairs[at..self.len].rotate_right(1);
    }

    #[inline(always)]
    pub(super) fn as_slice(&self) -> &[(u64, u64)] {
        // SAFETY: only `push` increases `len`, after it has initialised the pair at that index.
        unsafe { core::slice::from_raw_parts(self.pairs.as_ptr().cast(), self.len) }
    }

    /// Removes all entries.
    #[inline(always)]
    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    /// Returns the child that covers `key` and one of its neighbours, if these are an inner node's
    /// entries.
    pub(super) fn siblings(&self, key: u64) -> Option<Siblings> {
        let pairs = self.as_slice();
        // The index of the right one of the two: of the child after the one that covers the key, or
        // of that child itself if it is the last.
        let second = pairs.partition_point(|pair| pair.0 <= key).clamp(1, pairs.len().max(2) - 1);
        match pairs.get(second - 1..=second)? {
            &[(_, left), (separator, right)] => Some(Siblings { left, right, separator }),
            _ => None,
        }
    }

    /// Chooses where to split a node into which `pending` did not fit; see
    /// [`Layout::split`](super::Layout::split). Returns how many entries stay, and the lowest key
    /// of the right node.
    pub(super) fn split_point(&self, rightmost: bool, level: u64, pending: u64) -> (usize, u64) {
        let pairs = self.as_slice();
        let ascending = rightmost && pairs.last().is_none_or(|&(last, _)| last < pending);
        let stay = match ascending {
            true if level == 0 => pairs.len(),
            // An inner node needs a first child.
            true => pairs.len().saturating_sub(1),
            false => pairs.len() / 2,
        };
        (stay, pairs.get(stay).map_or(pending, |pair| pair.0))
    }
}
