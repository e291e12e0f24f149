//! What owns an array's memory.

use super::kept;
use super::segments::{Parameters, Segments};
use crate::memory::pages::pages_or_fewer;
use crate::memory::{PageSource, Pages};
use crate::object::arena::{typed_pages, unmake};
use crate::object::remains::{Estate, Remains};
use crate::object::{Cell, Class};
use crate::scheduler::RuntimeState;
use crate::sync::{AtomicBool, SpinMutex};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem::align_of;
use core::ptr::NonNull;

/// The least unit of memory that is taken for a segment, in bytes.
const PAGE_BYTES: usize = 4096;

/// The owner of an array's elements and memory, shared by the array's handles.
pub(super) struct Owner<C> {
    segments: NonNull<Segments<C>>,
    /// The pages of each segment.
    pages: SpinMutex<Vec<Pages>>,
    /// Where they come from.
    source: Arc<dyn PageSource>,
    pub shared: Arc<RuntimeState>,
    /// Drops an element, and clears its header.
    unmake: unsafe fn(NonNull<u8>),
    /// Frees the segments, or keeps them if [`Links`](super::Links) may lead there.
    retire_segments: unsafe fn(NonNull<Segments<C>>),
    has_links: bool,
    pub has_grower: AtomicBool,
}

// SAFETY: the segments are shared by reference only, and are themselves `Send` and `Sync`; their
// elements are so if the class is.
unsafe impl<C: Send + Sync> Send for Owner<C> {}
// SAFETY: as for `Send`.
unsafe impl<C: Send + Sync> Sync for Owner<C> {}

impl<C: Class> Owner<C> {
    /// Takes memory for the first segment. Returns `None` if there is none.
    pub fn new(shared: Arc<RuntimeState>, parameters: Parameters) -> Option<Self> {
        let source = typed_pages::<C>(&shared, Segments::<C>::STRIDE, parameters.primitive);
        let mut pages = Vec::new();
        let mut first = NonNull::dangling();
        if parameters.first_len != 0 {
            first = allocate(&*source, parameters.first_len, &mut pages)?;
        }
        let segments = Segments::new(first, parameters);
        let segments = if C::HAS_LINKS { kept::take_or_leak(segments) } else { leak(segments) };
        Some(Self {
            segments,
            pages: SpinMutex::new(pages),
            source,
            shared,
            unmake: unmake::<C>,
            retire_segments: if C::HAS_LINKS { kept::keep } else { free },
            has_links: C::HAS_LINKS,
            has_grower: AtomicBool::new(false),
        })
    }
}

impl<C> Owner<C> {
    pub fn segments(&self) -> &Segments<C> {
        // SAFETY: the segments are freed in `drop` at the earliest.
        unsafe { self.segments.as_ref() }
    }

    /// Returns the address of the segments. If links may lead to the elements, the segments stay
    /// for ever.
    pub fn segments_address(&self) -> NonNull<Segments<C>> {
        self.segments
    }

    /// Takes memory for all segments that an array of `len` elements needs. Returns `None` if there
    /// is not enough; the segments that got memory keep it. Only the one grower calls this.
    pub fn reserve(&self, len: usize) -> Option<()> {
        while let Some((number, elements)) = self.segments().next_missing(len) {
            let mut pages = Vec::new();
            let cells = allocate(&*self.source, elements, &mut pages)?;
            self.segments().add(number, cells);
            self.pages.lock().append(&mut pages);
        }
        Some(())
    }

    /// Returns the bytes of memory of all segments, and those of them on huge pages.
    pub fn bytes(&self) -> (usize, usize) {
        let pages = self.pages.lock();
        let huge = pages.iter().filter(|pages| pages.huge);
        (pages.iter().map(|pages| pages.bytes).sum(), huge.map(|pages| pages.bytes).sum())
    }
}

/// Takes memory for the cells of a segment. `None` if there is not enough.
fn allocate<C>(source: &dyn PageSource, cells: usize, pages: &mut Vec<Pages>) -> Option<NonNull<Cell<C>>> {
    let bytes = cells.checked_mul(Segments::<C>::STRIDE)?.checked_next_multiple_of(PAGE_BYTES)?;
    let align = align_of::<Cell<C>>().max(PAGE_BYTES);
    // No node: the pages lie where they are touched first, by the workers that make the elements.
    let taken = pages_or_fewer(source, bytes, bytes, align, None)?;
    let first = taken.ptr.cast();
    pages.push(taken);
    Some(first)
}

/// Puts segments on the heap.
fn leak<C>(segments: Segments<C>) -> NonNull<Segments<C>> {
    NonNull::from(Box::leak(Box::new(segments)))
}

/// Frees segments to which nothing leads.
///
/// # Safety
///
/// They were made by [`leak`], and nothing uses them.
unsafe fn free<C>(segments: NonNull<Segments<C>>) {
    // SAFETY: this function's contract.
    drop(unsafe { Box::from_raw(segments.as_ptr()) });
}

impl<C> Drop for Owner<C> {
    fn drop(&mut self) {
        // Loom's atomics are no plain words, so headers cannot be told from free memory. What its
        // models put into arrays needs no drop.
        if !cfg!(model = "loom") {
            let pages = core::mem::take(&mut *self.pages.lock());
            let estate = Estate {
                shared: self.shared.clone(),
                source: self.source.clone(),
                runs: pages.into_iter().zip(self.segments().made()).collect(),
                stride: Segments::<C>::STRIDE,
                unmake: self.unmake,
                has_links: self.has_links,
            };
            // SAFETY: this is the last owner of the array. Cells were zeroed, or cleared by
            // `Cell::unmake`, before elements were made in them. A class is `Send`.
            unsafe { Remains::leave(estate) };
        }
        // SAFETY: no handle of the array uses the segments any more, and `Links` only if they are
        // kept.
        unsafe { (self.retire_segments)(self.segments) };
    }
}
