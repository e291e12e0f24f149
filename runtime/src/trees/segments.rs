//! A table that grows and never moves what is in it.

use crate::sync::{AcqRel, Acquire, AtomicPtr, under_model};
use alloc::boxed::Box;
use core::array::from_fn;
use core::ptr::{null_mut, slice_from_raw_parts_mut};

/// Entries of the first segment; each further one has twice as many as the one before.
const FIRST: u64 = under_model(64, 4);
/// One for each bit that may be the highest of a place, so that a look-up needs no check of bounds.
const SEGMENTS: usize = under_model(64, 4) as usize;

/// A table of values in segments, which are allocated when an index in them is first used.
pub(crate) struct Segments<T> {
    /// By the logarithms of their lengths. Those that are shorter than the first are never used.
    segments: [AtomicPtr<T>; SEGMENTS],
}

// SAFETY: the table owns its values; dropping it on another thread drops them there.
unsafe impl<T: Send> Send for Segments<T> {}
// SAFETY: it hands out shared references to its values, and drops a segment that it has made on one
// thread only if no other thread has seen it.
unsafe impl<T: Send + Sync> Sync for Segments<T> {}

impl<T> Default for Segments<T> {
    fn default() -> Self {
        Self { segments: from_fn(|_| AtomicPtr::new(null_mut())) }
    }
}

/// The place of an index in each table, to look it up in several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentIndex {
    segment: usize,
    offset: usize,
}

impl SegmentIndex {
    #[inline(always)]
    pub const fn of(index: u32) -> Self {
        let place = index as u64 + FIRST;
        let segment = place.ilog2();
        Self { segment: segment as usize, offset: (place ^ (1 << segment)) as usize }
    }
}

const fn len(segment: usize) -> usize {
    1 << segment
}

impl<T> Segments<T> {
    /// Returns the value at an index, if its segment is allocated.
    #[inline(always)]
    pub fn get(&self, index: u32) -> Option<&T> {
        self.get_at(SegmentIndex::of(index))
    }

    /// Returns the value at the place of an index, if its segment is allocated.
    #[inline(always)]
    pub fn get_at(&self, SegmentIndex { segment, offset }: SegmentIndex) -> Option<&T> {
        // Acquire pairs with the Release of `make`: the values are initialized.
        let segment = self.segments.get(segment)?.load(Acquire);
        // SAFETY: a segment that is not null is a slice of `len(segment)` values, which contains
        // the offset, and stays until the table is dropped.
        (!segment.is_null()).then(|| unsafe { &*segment.add(offset) })
    }
}

impl<T> Segments<T> {
    /// Returns the value at an index.
    ///
    /// # Safety
    ///
    /// The segment of the index is allocated, and the caller was told so by a thread that knows.
    #[inline(always)]
    pub unsafe fn get_made(&self, index: u32) -> &T {
        let SegmentIndex { segment, offset } = SegmentIndex::of(index);
        // SAFETY: the segment is allocated, by the contract of this function, and stays until the
        // table is dropped. Acquire: as in `get`; each number has a place in `segments`.
        unsafe { &*self.segments.get_unchecked(segment).load(Acquire).add(offset) }
    }
}

impl<T: Default> Segments<T> {
    /// Returns the value at an index; allocates its segment if need be.
    ///
    /// # Panics
    ///
    /// If the index is beyond all segments.
    #[inline]
    pub fn get_or_make(&self, index: u32) -> &T {
        self.get_or_make_at(SegmentIndex::of(index))
    }

    /// Returns the value at the place of an index, like [`get_or_make`](Self::get_or_make).
    #[inline(always)]
    pub fn get_or_make_at(&self, place: SegmentIndex) -> &T {
        if let Some(value) = self.get_at(place) {
            return value;
        }
        self.make(place.segment);
        self.get_at(place).expect("the segment was made")
    }

    #[cold]
    fn make(&self, segment: usize) {
        let values: Box<[T]> = (0..len(segment)).map(|_| T::default()).collect();
        let values = Box::into_raw(values);
        // Release pairs with the Acquire of `get`.
        let first = values.cast::<T>();
        if self.segments[segment].compare_exchange(null_mut(), first, AcqRel, Acquire).is_err() {
            // SAFETY: made from a box above, and no other thread has seen it.
            drop(unsafe { Box::from_raw(values) });
        }
    }
}

impl<T> Drop for Segments<T> {
    fn drop(&mut self) {
        for (number, segment) in self.segments.iter().enumerate() {
            // Acquire pairs with the Release of `make`.
            let values = segment.load(Acquire);
            if !values.is_null() {
                // SAFETY: `make` made it from a box of that length; the table is borrowed by none.
                drop(unsafe { Box::from_raw(slice_from_raw_parts_mut(values, len(number))) });
            }
        }
    }
}

#[cfg(all(test, not(any(model = "loom", model = "shuttle"))))]
mod tests {
    use super::*;
    use crate::sync::{AtomicU32, Relaxed};

    #[test]
    fn each_index_has_a_place_of_its_own() {
        let table = Segments::<AtomicU32>::default();
        assert!(table.get(0).is_none() && table.get(u32::MAX).is_none());
        for index in 0..1000 {
            table.get_or_make(index).store(index, Relaxed);
        }
        assert!((0..1000).all(|index| table.get(index).unwrap().load(Relaxed) == index));
        let place = |segment, offset| SegmentIndex { segment, offset };
        assert_eq!(SegmentIndex::of(63), place(6, 63));
        assert_eq!(SegmentIndex::of(64), place(7, 0));
        assert_eq!(SegmentIndex::of(191), place(7, 127));
        assert_eq!(SegmentIndex::of(u32::MAX), place(32, 63));
    }
}
