//! A node's entries on the stack, for the operations that rearrange a whole node.

use super::Siblings;
use core::mem::MaybeUninit;

/// Up to `N` entries in key order.
///
/// A node of `N` words has fewer than `N / 2` entries, so two nodes' entries fit as well.
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

    /// Appends an entry. Beyond `N` it is dropped: that can only be a reader's view of a torn node.
    #[inline(always)]
    pub(super) fn push(&mut self, key: u64, value: u64) {
        if let Some(slot) = self.pairs.get_mut(self.len) {
            slot.write((key, value));
            self.len += 1;
        }
    }

    /// Adds an entry where it belongs.
    pub(super) fn insert(&mut self, key: u64, value: u64) {
        let at = self.as_slice().partition_point(|&(other, _)| other < key);
        self.push(key, value);
        self.pairs[at..self.len].rotate_right(1);
    }

    /// The entries.
    #[inline(always)]
    pub(super) fn as_slice(&self) -> &[(u64, u64)] {
        // SAFETY: `push` initialises the pairs in order and counts them.
        unsafe { core::slice::from_raw_parts(self.pairs.as_ptr().cast(), self.len) }
    }

    /// Forgets the entries.
    #[inline(always)]
    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    /// The child that covers `key` and a neighbour of it, if these are an inner node's entries.
    pub(super) fn siblings(&self, key: u64) -> Option<Siblings> {
        let pairs = self.as_slice();
        // The second one of the two: the child after the one that covers the key, or that one if it is the
        // last.
        let second = pairs.partition_point(|pair| pair.0 <= key).clamp(1, pairs.len().max(2) - 1);
        match pairs.get(second - 1..=second)? {
            &[(_, left), (separator, right)] => Some(Siblings { left, right, separator }),
            _ => None,
        }
    }

    /// Divides the entries of a node that `pending` did not fit into; see
    /// [`Layout::split`](super::Layout::split). Returns how many stay and the lowest key of the node for the
    /// others.
    pub(super) fn divide(&self, rightmost: bool, level: u64, pending: u64) -> (usize, u64) {
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
