//! The keys that a scan reads.

use crate::key_space::{EncodedKey, KeySpace};
use crate::key_value::Key;
use core::cmp::Ordering;
use core::fmt;
use core::ops::{Bound, RangeBounds};

/// The keys between two bounds; none if the upper bound is below the lower one.
pub(crate) struct KeyRange<S: KeySpace> {
    first: S::Owned,
    /// Whether `first` itself is left out.
    excludes_first: bool,
    /// The upper bound. It is inclusive if the space knows the key before it.
    end: Bound<S::Owned>,
}

impl<S: KeySpace> KeyRange<S> {
    /// Returns the range of all keys.
    pub fn all() -> Self {
        let first = S::to_owned(S::LOWEST);
        Self { first, excludes_first: false, end: inclusive::<S>(Bound::Unbounded) }
    }

    /// Encodes a range of keys. A range that ends before it begins is empty.
    pub fn of<'k, K: Key<Keys = S>>(range: &impl RangeBounds<K::Arg<'k>>) -> Self {
        let encode = |key: &K::Arg<'k>| S::to_owned(K::probe(*key).key());
        let first = match range.start_bound() {
            Bound::Included(key) | Bound::Excluded(key) => encode(key),
            Bound::Unbounded => S::to_owned(S::LOWEST),
        };
        let excludes_first = matches!(range.start_bound(), Bound::Excluded(_));
        Self { first, excludes_first, end: inclusive::<S>(range.end_bound().map(encode)) }
    }

    /// Returns the lower bound.
    #[inline(always)]
    pub fn first(&self) -> S::Ref<'_> {
        self.first.key()
    }

    /// Returns the upper bound.
    #[inline(always)]
    pub fn end(&self) -> Bound<S::Ref<'_>> {
        self.end.as_ref().map(EncodedKey::key)
    }

    /// Returns true if the lower bound is not below `key`.
    #[inline]
    pub fn begins_from(&self, key: &S::Owned) -> bool {
        self.first >= *key
    }

    /// Returns true if neither `key` nor any key above it is in the range.
    #[inline(always)]
    pub fn ends_before(&self, key: S::Ref<'_>) -> bool {
        match self.end() {
            Bound::Included(end) => S::compare(key, end) == Ordering::Greater,
            Bound::Excluded(end) => S::compare(key, end) != Ordering::Less,
            Bound::Unbounded => false,
        }
    }

    /// Returns true if `key`, which is not below the lower bound, is in the range.
    #[inline(always)]
    pub fn contains(&self, key: S::Ref<'_>) -> bool {
        let is_left_out = self.excludes_first && S::compare(key, self.first.key()) == Ordering::Equal;
        !is_left_out && !self.ends_before(key)
    }

    /// Returns the part from `key` on; `None` if it is empty.
    pub fn from(&self, key: S::Owned) -> Option<Self> {
        let (first, excludes_first) =
            if key > self.first { (key, false) } else { (self.first.clone(), self.excludes_first) };
        (!self.ends_before(first.key())).then(|| Self { first, excludes_first, end: self.end.clone() })
    }

    /// Returns the part below `key`, which is in the range or below it; `None` if it is empty.
    pub fn below(&self, key: S::Owned) -> Option<Self> {
        (key > self.first).then(|| Self { end: inclusive::<S>(Bound::Excluded(key)), ..self.clone() })
    }
}

/// Returns an inclusive upper bound for the same keys, if the space knows the last of them.
fn inclusive<S: KeySpace>(end: Bound<S::Owned>) -> Bound<S::Owned> {
    let last = match &end {
        Bound::Included(_) => None,
        Bound::Excluded(key) => S::last_below(Some(key.key())),
        Bound::Unbounded => S::last_below(None),
    };
    last.map_or(end, Bound::Included)
}

impl<S: KeySpace> Clone for KeyRange<S> {
    fn clone(&self) -> Self {
        Self { first: self.first.clone(), excludes_first: self.excludes_first, end: self.end.clone() }
    }
}

impl<S: KeySpace> fmt::Debug for KeyRange<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first =
            if self.excludes_first { Bound::Excluded(&self.first) } else { Bound::Included(&self.first) };
        write!(f, "{first:?} to {:?}", self.end)
    }
}

#[cfg(test)]
mod tests {
    use super::KeyRange;
    use crate::key_space::Words;
    use core::ops::Bound::{self, Excluded, Included, Unbounded};
    use core::ops::RangeBounds;

    type Words64 = KeyRange<Words>;

    /// The words of a range that are among these.
    fn words(range: &Words64, among: impl Iterator<Item = u64>) -> Vec<u64> {
        among.filter(|&word| word >= range.first() && range.contains(word)).collect()
    }

    #[test]
    fn a_range_has_the_keys_between_its_bounds() {
        let bounds =
            [Unbounded, Included(3), Excluded(3), Included(7), Excluded(7), Included(0), Excluded(0)];
        for first in bounds {
            for end in bounds {
                let range: (Bound<u64>, Bound<u64>) = (first, end);
                let expected: Vec<u64> = (0..12).filter(|word| range.contains(word)).collect();
                assert_eq!(words(&Words64::of::<u64>(&range), 0..12), expected, "{range:?}");
            }
        }
        let last = u64::MAX;
        assert_eq!(words(&Words64::all(), [0, last].into_iter()), [0, last]);
        assert_eq!(words(&Words64::of::<u64>(&(Excluded(last), Unbounded)), [last].into_iter()), []);
        assert_eq!(words(&Words64::of::<u64>(&(..last)), [last - 1, last].into_iter()), [last - 1]);
        // Words have the order of the keys.
        let signed = Words64::of::<i64>(&(-1..));
        assert_eq!((signed.first(), signed.end()), ((1 << 63) - 1, Included(last)));
    }

    #[test]
    fn a_range_is_divided_at_a_key() {
        let range = Words64::of::<u64>(&(Excluded(3), Included(9)));
        let part = |range: Option<Words64>| range.map(|range| words(&range, 0..12));
        assert_eq!(part(range.from(2)), Some(vec![4, 5, 6, 7, 8, 9]));
        assert_eq!(part(range.from(3)), Some(vec![4, 5, 6, 7, 8, 9]));
        assert_eq!(part(range.from(8)), Some(vec![8, 9]));
        assert_eq!(part(range.from(10)), None);
        assert_eq!(part(range.below(6)), Some(vec![4, 5]));
        assert_eq!(part(range.below(3)), None);
        assert_eq!(part(Words64::all().below(0)), None);
    }
}
