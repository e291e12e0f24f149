//! The links of an array, as walks and tasks carry them.

use super::segments::Segments;
use crate::object::{Link, Version, Versioned};
use core::ptr::NonNull;

/// The links of an [`Array`](super::Array) in one word, to be copied into walks, tasks and nodes.
///
/// Like a [`Link`], it does not keep the array's elements. After the last handle of the
/// [`Array`](super::Array) is dropped, the links lead to elements that are freed.
pub struct Links<T> {
    segments: NonNull<Segments<Versioned<T>>>,
}

// SAFETY: the segments are shared by reference only. They give out links, which may be sent.
unsafe impl<T> Send for Links<T> {}
// SAFETY: as for `Send`.
unsafe impl<T> Sync for Links<T> {}

impl<T: Version> Links<T> {
    pub(super) fn new(segments: NonNull<Segments<Versioned<T>>>) -> Self {
        Self { segments }
    }

    #[inline(always)]
    fn segments(&self) -> &Segments<Versioned<T>> {
        // SAFETY: segments of arrays with links are never freed (`kept.rs`).
        unsafe { self.segments.as_ref() }
    }

    /// Returns the link to an element.
    ///
    /// # Panics
    ///
    /// Panics if there is no such element.
    #[inline(always)]
    #[track_caller]
    pub fn link(self, index: usize) -> Link<T> {
        Link::from_reference(self.segments().reference(index))
    }

    /// Returns the index of the element that a link leads to, whatever its mark and frequency;
    /// `None` if that is no element of this array.
    #[inline]
    pub fn index_of(self, link: Link<T>) -> Option<usize> {
        self.segments().index_of(link.reference().address())
    }

    /// Returns the number of elements.
    #[inline]
    pub fn len(self) -> usize {
        self.segments().len()
    }

    /// Returns true if there are no elements.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }
}

impl<T> Clone for Links<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Links<T> {}
