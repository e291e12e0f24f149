//! The search in one bucket, which all tables of buckets share.

/// Entries of a bucket: their keys and values fill a cache line together with a header.
pub(crate) const ENTRIES: usize = 3;

/// The result of a search in one bucket.
pub(crate) enum Found {
    /// The value of the key.
    Value(u64),
    /// The key is not in the table.
    Missing,
    /// The key is not here, and the bucket is full: the search goes on in the next one.
    Full,
}

/// Looks for a key among those of a bucket; 0 stands for a free entry, and free ones come last.
/// `value` returns the value of an entry.
#[inline(always)]
pub(crate) fn find(keys: [u64; ENTRIES], key: u64, value: impl FnOnce(usize) -> u64) -> Found {
    // Without a branch on the place, which could not be predicted.
    let is_at = |place: usize| usize::from(keys[place] == key);
    let hit = is_at(0) + is_at(1) * 2 + is_at(2) * 3;
    if hit != 0 {
        // A reader beside a writer may see a key twice.
        Found::Value(value((hit - 1).min(ENTRIES - 1)))
    } else if keys[ENTRIES - 1] == 0 {
        Found::Missing
    } else {
        Found::Full
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_at_its_place() {
        let find = |keys, key| match find(keys, key, |place| place as u64) {
            Found::Value(place) => Some(Some(place)),
            Found::Missing => Some(None),
            Found::Full => None,
        };
        assert_eq!([5, 6, 7].map(|key| find([5, 6, 7], key)), [Some(Some(0)), Some(Some(1)), Some(Some(2))]);
        assert_eq!(
            (find([5, 6, 0], 6), find([5, 6, 0], 7), find([0; 3], 7)),
            (Some(Some(1)), Some(None), Some(None))
        );
        assert_eq!((find([5, 6, 7], 8), find([5, 5, 5], 5)), (None, Some(Some(2))));
    }
}
