//! The spaces of keys: how nodes, tasks and walks hold a key.

use core::cmp::Ordering;
use core::fmt::Debug;

/// A space of encoded keys with their order, and the ways to hold one.
///
/// A [`Layout`](crate::Layout) arranges keys of one space in nodes. A [`Key`](crate::Key) is
/// encoded as a key of one space.
pub trait KeySpace: Send + Sync + Sized + 'static {
    /// A key that is passed along and not kept.
    type Ref<'k>: Copy + Send + Debug;
    /// A key that is kept.
    type Owned: EncodedKey<Self> + Clone + Ord + Debug + Sync + 'static;

    /// The lowest key of the space.
    const LOWEST: Self::Ref<'static>;

    /// Compares two keys.
    fn compare(one: Self::Ref<'_>, other: Self::Ref<'_>) -> Ordering;

    /// Makes a key that is kept.
    fn to_owned(key: Self::Ref<'_>) -> Self::Owned;

    /// Returns the last key below `end`, or the last of all keys if that is `None`. Returns `None`
    /// if there is no such key. Between two keys of a space of strings there are always others.
    ///
    /// Descending scans use it where they can, as a search for a key is faster than one for what is
    /// below it.
    fn last_below(end: Option<Self::Ref<'_>>) -> Option<Self::Owned> {
        let _ = end;
        None
    }
}

/// A value that holds an encoded key, as the walk or task of an operation carries it.
pub trait EncodedKey<S: KeySpace>: Send {
    /// Returns the key.
    fn key(&self) -> S::Ref<'_>;
}

/// The space of words: unsigned integers of 64 bits.
pub enum Words {}

impl KeySpace for Words {
    type Ref<'k> = u64;
    type Owned = u64;

    const LOWEST: u64 = 0;

    #[inline(always)]
    fn compare(one: u64, other: u64) -> Ordering {
        one.cmp(&other)
    }

    #[inline(always)]
    fn to_owned(key: u64) -> u64 {
        key
    }

    #[inline(always)]
    fn last_below(end: Option<u64>) -> Option<u64> {
        end.map_or(Some(u64::MAX), |end| end.checked_sub(1))
    }
}

impl EncodedKey<Words> for u64 {
    #[inline(always)]
    fn key(&self) -> u64 {
        *self
    }
}

/// The space of byte strings of any length, in lexicographic order.
pub enum Bytes {}

impl KeySpace for Bytes {
    type Ref<'k> = &'k [u8];
    type Owned = Box<[u8]>;

    const LOWEST: &'static [u8] = &[];

    #[inline(always)]
    fn compare(one: &[u8], other: &[u8]) -> Ordering {
        one.cmp(other)
    }

    fn to_owned(key: &[u8]) -> Box<[u8]> {
        key.into()
    }
}

impl EncodedKey<Bytes> for Box<[u8]> {
    #[inline(always)]
    fn key(&self) -> &[u8] {
        self
    }
}

impl EncodedKey<Bytes> for &[u8] {
    #[inline(always)]
    fn key(&self) -> &[u8] {
        self
    }
}

impl<const N: usize> EncodedKey<Bytes> for [u8; N] {
    #[inline(always)]
    fn key(&self) -> &[u8] {
        self
    }
}
