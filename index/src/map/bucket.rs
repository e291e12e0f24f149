//! A bucket: three entries, or two and a link to further ones.

use core::hint::select_unpredictable;
use xtasking::{Version, Word, arena::WriteToken};

/// The places of a bucket.
pub(super) const PLACES: usize = 3;
/// The least number of buckets of a map: their index implies the bits of [`KIND`].
pub(super) const MIN_BUCKETS: usize = 64;

/// The bits of a key's word that tell what it is; the others are those of a hash, or a filter. A
/// word of 0 is a free place.
const KIND: u64 = MIN_BUCKETS as u64 - 1;
/// The kind of an entry: all bits, so that the word of a hash takes one instruction.
const ENTRY: u64 = KIND;
/// The kind of a link, in the last place.
const LINK: u64 = 2;

/// Entries, or the entries of a node of a chain: both have the same form. With the header of an
/// object they fill a cache line.
///
/// Entries come first and free places afterwards, except that the last place may have a link.
pub(super) struct Bucket {
    keys: [Word; PLACES],
    values: [Word; PLACES],
}

impl Version for Bucket {}

/// The words of a bucket.
#[derive(Clone, Copy, Default)]
pub(super) struct Contents {
    pub(super) keys: [u64; PLACES],
    pub(super) values: [u64; PLACES],
}

/// An entry as buckets store it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// The word of its key.
    pub(super) key: u64,
    pub(super) value: u64,
}

/// The result of a search in one bucket or node.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Search {
    /// The place of the key, and its value.
    Here(usize, u64),
    /// The key is neither here nor in the chain.
    Missing,
    /// The key may be in the chain that begins at this link.
    Beyond(u64),
}

/// What the last place of a bucket or node has.
pub(super) enum Last {
    Free,
    Entry,
    /// The filter and the link of the chain.
    Link(Filter, u64),
}

/// The word of a key's hash.
#[inline(always)]
pub(super) fn key_word(hash: u64) -> u64 {
    hash | ENTRY
}

/// Returns the hash of a word in a bucket of this index.
#[inline(always)]
pub(super) fn hash_of(key: u64, bucket: usize) -> u64 {
    key & !KIND | bucket as u64 & KIND
}

/// A set of keys that may contain more than were put in: the bits of a word that its kind leaves.
#[derive(Clone, Copy, Default)]
pub(super) struct Filter(u64);

impl Filter {
    /// Returns the bit of a key, by bits of the hash that no bucket's index has.
    #[inline(always)]
    fn bit(key: u64) -> u64 {
        const BITS: u64 = KIND.count_zeros() as u64;
        1 << (((((key >> 40) & 0xffff) * BITS) >> 16) + KIND.trailing_ones() as u64)
    }

    /// Returns the set with another key.
    pub(super) fn with(self, key: u64) -> Self {
        Self(self.0 | Self::bit(key))
    }

    #[inline(always)]
    fn may_have(self, key: u64) -> bool {
        self.0 & Self::bit(key) != 0
    }
}

impl Contents {
    /// Puts an entry into a place.
    #[inline(always)]
    pub(super) fn set(&mut self, place: usize, entry: Entry) {
        (self.keys[place], self.values[place]) = (entry.key, entry.value);
    }

    /// Puts a link into the last place.
    pub(super) fn set_link(&mut self, filter: Filter, link: u64) {
        (self.keys[PLACES - 1], self.values[PLACES - 1]) = (filter.0 | LINK, link);
    }

    /// Returns the first free place.
    #[inline(always)]
    pub(super) fn free_place(&self) -> Option<usize> {
        let [a, b, c] = self.keys;
        // The last place may have a link while another one is free.
        match (a, b, c) {
            (0, _, _) => Some(0),
            (_, 0, _) => Some(1),
            (_, _, 0) => Some(2),
            _ => None,
        }
    }

    /// Calls `take` with each entry, without those of the chain.
    #[inline(always)]
    pub(super) fn for_each(&self, mut take: impl FnMut(Entry)) {
        for place in 0..PLACES {
            let (key, value) = (self.keys[place], self.values[place]);
            if key & KIND == ENTRY {
                take(Entry { key, value });
            }
        }
    }

    /// Returns what the last place has.
    #[inline(always)]
    pub(super) fn last(&self) -> Last {
        match self.keys[PLACES - 1] {
            0 => Last::Free,
            key if key & KIND == LINK => Last::Link(Filter(key & !KIND), self.values[PLACES - 1]),
            _ => Last::Entry,
        }
    }
}

impl Bucket {
    /// Creates a bucket.
    #[inline(always)]
    pub(super) fn new(Contents { keys, values }: Contents) -> Self {
        let words = |[a, b, c]: [u64; PLACES]| [Word::new(a), Word::new(b), Word::new(c)];
        Self { keys: words(keys), values: words(values) }
    }

    /// Returns all words. Beside a writer they may be of different moments.
    #[inline(always)]
    pub(super) fn contents(&self) -> Contents {
        let words = |words: &[Word; PLACES]| [words[0].get(), words[1].get(), words[2].get()];
        Contents { keys: words(&self.keys), values: words(&self.values) }
    }

    /// Looks for a key, given by its word.
    #[inline(always)]
    pub(super) fn find(&self, key: u64) -> Search {
        if let Some((place, value)) = self.find_here(key) {
            return Search::Here(place, value);
        }
        self.find_beyond(key).map_or(Search::Missing, Search::Beyond)
    }

    /// Returns the place of a key and its value, if it is in this bucket or node.
    #[inline(always)]
    pub(super) fn find_here(&self, key: u64) -> Option<(usize, u64)> {
        // Without a branch on the place, which could not be predicted.
        let [_, b, c] = &self.keys;
        let place = select_unpredictable(c.get() == key, PLACES - 1, usize::from(b.get() == key));
        (self.keys[place].get() == key).then(|| (place, self.values[place].get()))
    }

    /// Returns the link of the chain if a key that is not here may be there.
    #[inline(always)]
    pub(super) fn find_beyond(&self, key: u64) -> Option<u64> {
        let last = self.keys[PLACES - 1].get();
        (last & KIND == LINK && Filter(last).may_have(key)).then(|| self.values[PLACES - 1].get())
    }

    /// Returns the link of the chain, if there is one.
    #[inline(always)]
    pub(super) fn chain(&self) -> Option<u64> {
        let has_link = self.keys[PLACES - 1].get() & KIND == LINK;
        has_link.then(|| self.values[PLACES - 1].get())
    }

    /// Sets the words of one place.
    #[inline(always)]
    pub(super) fn set(&self, place: usize, entry: Entry, token: &WriteToken<'_>) {
        self.keys[place].set(entry.key, token);
        self.values[place].set(entry.value, token);
    }

    /// Sets the value of a place.
    #[inline(always)]
    pub(super) fn set_value(&self, place: usize, value: u64, token: &WriteToken<'_>) {
        self.values[place].set(value, token);
    }

    /// Sets all words.
    #[inline(always)]
    pub(super) fn set_all(&self, contents: &Contents, token: &WriteToken<'_>) {
        for place in 0..PLACES {
            let entry = Entry { key: contents.keys[place], value: contents.values[place] };
            self.set(place, entry, token);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_a_cache_line() {
        assert_eq!(xtasking::arena::Array::<Bucket>::STRIDE, 64);
    }

    #[test]
    fn a_word_and_the_index_of_its_bucket_are_a_hash() {
        for hash in [0, 63, 64, u64::MAX, 0x1234_5678_9abc_def0] {
            let index = (hash % 1024) as usize;
            assert_eq!(hash_of(key_word(hash), index), hash);
            assert_ne!(key_word(hash), 0);
        }
    }

    #[test]
    fn entries_are_found_at_their_places() {
        let mut contents = Contents::default();
        let keys = [0, 1 << 6, u64::MAX].map(key_word);
        for (place, key) in keys.into_iter().enumerate() {
            assert_eq!(contents.free_place(), Some(place));
            let value = place as u64 + 7;
            contents.set(place, Entry { key, value });
            assert_eq!(Bucket::new(contents).find(key), Search::Here(place, value));
        }
        assert_eq!(contents.free_place(), None);
        assert_eq!(Bucket::new(contents).find(key_word(1 << 7)), Search::Missing);
        let mut values = Vec::new();
        contents.for_each(|entry| values.push(entry.value));
        assert_eq!(values, [7, 8, 9]);
    }

    #[test]
    fn a_filter_has_what_was_put_in_and_little_else() {
        let key = |number: u64| key_word(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let filter = Filter::default().with(key(1)).with(key(2));
        let mut contents = Contents::default();
        contents.set_link(filter, 4711);
        let bucket = Bucket::new(contents);
        assert_eq!(
            [1, 2].map(|number| bucket.find(key(number))),
            [Search::Beyond(4711), Search::Beyond(4711)]
        );
        let others = (3..1003).filter(|&number| bucket.find(key(number)) != Search::Missing).count();
        assert!(others < 100, "{others} of 1000 other keys pass the filter");
        assert!(matches!(contents.last(), Last::Link(_, 4711)));
    }
}
