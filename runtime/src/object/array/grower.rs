//! Growing an array while it is used.

use super::Array;
use super::fill::{fill, make_one};
use crate::object::{Class, Versioned};
use crate::scheduler::Runtime;
use crate::sync::Release;
use alloc::sync::Arc;
use core::ops::Range;

/// Appends elements to an [`Array`]; made by [`Array::grower`], one at a time for each array.
///
/// The other elements stay where they are, and may be used meanwhile. A new element is in the array
/// for all threads once the call that makes it has returned: [`Array::len`] has grown by then.
///
/// Tasks share a grower as they share other data, for example as a [plain
/// object](crate::Runtime::plain).
pub struct Grower<T, C: Class<Target = T> = Versioned<T>> {
    array: Array<T, C>,
    /// The number of elements that have memory.
    capacity: usize,
}

impl<T, C: Class<Target = T>> Grower<T, C> {
    /// `array.owner.has_grower` was set for this grower.
    pub(super) fn new(array: Array<T, C>) -> Self {
        let capacity = array.segments().capacity();
        Self { array, capacity }
    }

    /// Returns the array.
    pub fn array(&self) -> &Array<T, C> {
        &self.array
    }

    /// Appends one element, on this thread. Returns its index.
    ///
    /// Without memory for it, the process ends, as with the global allocator;
    /// [`try_push`](Self::try_push) returns an error then.
    pub fn push(&mut self, value: T) -> usize {
        self.try_push(value).unwrap_or_else(|_| self.array.out_of_memory(1))
    }

    /// Appends one element as [`push`](Self::push) does.
    ///
    /// # Errors
    ///
    /// Returns the value if there is no memory for it.
    #[inline]
    pub fn try_push(&mut self, value: T) -> Result<usize, T> {
        let index = self.array.len();
        if index == self.capacity && self.try_reserve(1).is_none() {
            return Err(value);
        }
        let segments = self.array.segments();
        // SAFETY: the element has memory, and is appended by the one grower.
        unsafe { make_one(segments, index, value) };
        segments.set_len(index + 1);
        Ok(index)
    }

    /// Takes memory for `count` further elements, so that appending them needs none. Returns `None`
    /// if there is not enough; the array stays as it is.
    pub fn try_reserve(&mut self, count: usize) -> Option<()> {
        let end = self.array.len().checked_add(count)?;
        let reserved = self.array.owner.reserve(end);
        // Of several segments only some may have got memory.
        self.capacity = self.array.segments().capacity();
        reserved
    }

    /// Appends `count` elements, and returns their indices. `value` makes each from its index, as
    /// in [`Array::new`]; elements are made by the workers that are their homes, or by this thread
    /// if they are few, or if it is a worker.
    ///
    /// Without memory for them, the process ends, as with the global allocator;
    /// [`try_grow`](Self::try_grow) returns `None` then.
    ///
    /// # Panics
    ///
    /// Panics if the array belongs to another runtime, or if `value` panics. Then no element is
    /// appended.
    pub fn grow(
        &mut self,
        runtime: &Runtime,
        count: usize,
        value: impl Fn(usize) -> T + Send + Sync,
    ) -> Range<usize> {
        self.try_grow(runtime, count, value).unwrap_or_else(|| self.array.out_of_memory(count))
    }

    /// Appends elements as [`grow`](Self::grow) does. Returns `None`, and appends none, if there is
    /// no memory for them.
    ///
    /// # Panics
    ///
    /// As [`grow`](Self::grow).
    pub fn try_grow(
        &mut self,
        runtime: &Runtime,
        count: usize,
        value: impl Fn(usize) -> T + Send + Sync,
    ) -> Option<Range<usize>> {
        let is_own = Arc::ptr_eq(&self.array.owner.shared, runtime.shared());
        assert!(is_own, "an array is grown by another runtime");
        self.try_reserve(count)?;
        let segments = self.array.segments();
        let begin = segments.len();
        let end = begin + count;
        // SAFETY: the elements have memory, and are appended by the one grower.
        unsafe { fill(segments, runtime, begin..end, value) };
        segments.set_len(end);
        Some(begin..end)
    }
}

impl<T, C: Class<Target = T>> Drop for Grower<T, C> {
    fn drop(&mut self) {
        // Release pairs with the Acquire of `Array::grower`: the next grower sees what this one
        // did.
        self.array.owner.has_grower.store(false, Release);
    }
}
