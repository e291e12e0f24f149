//! How much memory values take: MEMORY USAGE estimates it, and the limit `maxmemory` counts it.

use super::{StringRef, ValueRef};

/// What an allocator adds to a short byte string on average, as its sizes are multiples of 16.
pub(super) const ROUNDING: usize = 8;

impl ValueRef<'_> {
    /// Returns about how many bytes the value takes, beside those in the block of its key. The
    /// sizes of this many elements stand for all; 0 means that all are looked at.
    pub fn memory(self, samples: usize) -> usize {
        match self {
            Self::String(StringRef::Growing(bytes)) => bytes.capacity(),
            Self::String(_) => 0,
            Self::List(value) => size_of_val(value) + value.memory(samples),
            Self::Hash(value) => size_of_val(value) + value.memory(samples),
            Self::Set(value) => size_of_val(value) + value.memory(samples),
            Self::SortedSet(value) => size_of_val(value) + value.memory(samples),
            // Its size is known.
            Self::Stream(value) => size_of_val(value) + value.bytes(),
        }
    }
}

impl ValueRef<'_> {
    /// Returns how many bytes the value takes, beside those in the block of its key. It takes
    /// constant time, and changes only if the value does.
    pub(crate) fn bytes(self) -> usize {
        match self {
            Self::String(StringRef::Growing(bytes)) => bytes.capacity(),
            Self::String(_) => 0,
            Self::List(value) => size_of_val(value) + value.bytes(),
            Self::Hash(value) => size_of_val(value) + value.bytes(),
            Self::Set(value) => size_of_val(value) + value.bytes(),
            Self::SortedSet(value) => size_of_val(value) + value.bytes(),
            Self::Stream(value) => size_of_val(value) + value.bytes(),
        }
    }
}

/// Returns about how many bytes `sizes` add up to, by `samples` of them; 0 means all.
pub(super) fn sampled(sizes: impl ExactSizeIterator<Item = usize>, samples: usize) -> usize {
    let len = sizes.len();
    let taken = if samples == 0 { len } else { len.min(samples) };
    let sum: usize = sizes.take(taken).sum();
    sum.saturating_mul(len).checked_div(taken).unwrap_or(0)
}

/// Returns how many bytes the entries of a table take, without what they point to.
pub(super) fn table_bytes<Entry>(capacity: usize) -> usize {
    // An entry has its hash beside it, and its index in the table of hashes.
    capacity * (size_of::<Entry>() + 2 * size_of::<usize>())
}

#[cfg(test)]
mod tests {
    use super::sampled;
    use crate::value::{CompactLimits, Set, StringRef, ValueRef};

    #[test]
    fn samples_stand_for_all() {
        assert_eq!(sampled([10, 20, 30, 40].into_iter(), 2), 60);
        assert_eq!(sampled([10, 20, 30, 40].into_iter(), 0), 100);
        assert_eq!(sampled(std::iter::empty::<usize>().collect::<Vec<_>>().into_iter(), 5), 0);
    }

    #[test]
    fn what_is_larger_takes_more() {
        assert!(ValueRef::String(StringRef::Growing(&vec![b'x'; 1000])).memory(5) >= 1000);
        assert_eq!(ValueRef::String(StringRef::Integer(12)).memory(5), 0);
        let limits = CompactLimits::default();
        let mut set = Set::new(b"member", 1, &limits);
        let small = ValueRef::Set(&set.clone()).memory(0);
        for number in 0..1000 {
            set.insert(format!("member:{number:093}").as_bytes(), &limits);
        }
        assert!(ValueRef::Set(&set).memory(0) >= small + 1000 * 100);
    }
}
