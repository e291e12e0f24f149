//! The searches on any processor.

use super::{LINE_WORDS, SEPARATORS};
use core::hint::select_unpredictable;
use xtasking::Word;

/// See [`lower_bound`](super::lower_bound).
#[inline(always)]
pub(super) fn lower_bound(keys: &[Word; LINE_WORDS], key: u64) -> usize {
    let below = |at: usize| keys[at].get() < key;
    let half = select_unpredictable(below(3), 4, 0);
    half + usize::from(below(half)) + usize::from(below(half + 1)) + usize::from(below(half + 2))
}

/// See [`last_not_above`](super::last_not_above).
#[inline(always)]
pub(super) fn last_not_above(keys: &[Word; LINE_WORDS], key: u64) -> usize {
    let not_above = |at: usize| keys[at].get() <= key;
    let half = select_unpredictable(not_above(4), 4, 0);
    half + usize::from(not_above(half + 1))
        + usize::from(not_above(half + 2))
        + usize::from(not_above(half + 3))
}

/// See [`count_not_above`](super::count_not_above).
#[inline(always)]
pub(super) fn count_not_above(separators: &[Word; SEPARATORS], key: u64) -> usize {
    separators.iter().map(|word| usize::from(word.get() <= key)).sum()
}
