//! The hash function of the tables written for these experiments.

/// Returns the hash of a key, with its best bits on top: a multiplication by the golden ratio.
///
/// The experiments draw keys at random, so this spreads them well.
#[inline(always)]
pub(crate) const fn hash(key: u64) -> u64 {
    key.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The places of a table, a power of two of them: maps a hash to the place where a search begins.
#[derive(Clone, Copy)]
pub(crate) struct Places {
    shift: u32,
    count: usize,
}

impl Places {
    /// Creates at least `count` places, and at least two.
    pub(crate) fn at_least(count: usize) -> Self {
        let count = count.next_power_of_two().max(2);
        Self { shift: 64 - count.trailing_zeros(), count }
    }

    /// Returns the number of places.
    pub(crate) fn count(self) -> usize {
        self.count
    }

    /// Returns the place of a hash, by its top bits.
    #[inline(always)]
    pub(crate) fn first(self, hash: u64) -> usize {
        (hash >> self.shift) as usize
    }

    /// Returns the place after another one; the first follows the last.
    #[inline(always)]
    pub(crate) fn next(self, place: usize) -> usize {
        (place + 1) & (self.count - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xtasking_harness::random::mix;

    #[test]
    fn a_search_passes_every_place_once() {
        let places = Places::at_least(5);
        let mut place = places.first(u64::MAX);
        assert_eq!((places.count(), place), (8, 7));
        let mut passed: Vec<_> = (0..8)
            .map(|_| {
                place = places.next(place);
                place
            })
            .collect();
        passed.sort_unstable();
        assert_eq!(passed, [0, 1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn random_keys_are_spread_evenly() {
        let places = Places::at_least(64);
        let mut counts = [0; 64];
        (1..=64_000).for_each(|number| counts[places.first(hash(mix(number)))] += 1);
        assert!(counts.iter().all(|count| (800..1200).contains(count)), "{counts:?}");
    }
}
