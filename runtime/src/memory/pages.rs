//! Sources of memory in bulk, which is what all allocators of the runtime need from the platform;
//! and memory that is not cut up yet.

use alloc::alloc::{alloc_zeroed, dealloc};
use alloc::vec::Vec;
use core::alloc::Layout;
use core::ptr::NonNull;

/// Size and alignment of a huge page in bytes, where a platform has them. Smaller requests do not
/// ask for huge pages.
pub const HUGE_PAGE: usize = 2 << 20;

/// A run of memory from a [`PageSource`]: zeroed, and exclusively its holder's until it is
/// released.
#[derive(Debug)]
pub struct Pages {
    /// Start of the run, a multiple of `align`.
    pub ptr: NonNull<u8>,
    /// Length of the run in bytes; at least what was requested.
    pub bytes: usize,
    /// Alignment of the run in bytes; at least what was requested.
    pub align: usize,
    /// Whether the platform was asked to back the run by huge pages, and can do so.
    pub huge: bool,
}

// SAFETY: the holder of the value owns the run, and memory may be used by any thread.
unsafe impl Send for Pages {}
// SAFETY: through a shared reference only the four plain fields can be read.
unsafe impl Sync for Pages {}

/// A supplier of memory in bulk.
///
/// Calls are rare (each caller doubles its requests), so a source may take a lock or enter the
/// kernel.
///
/// # Safety
///
/// A run returned by [`pages`](Self::pages) must be zeroed, readable and writable, and at least as
/// long and as aligned as requested. It must be disjoint from all other memory in use until it is
/// released.
pub unsafe trait PageSource: Send + Sync {
    /// Supplies at least `bytes` bytes (not 0) at a multiple of `align` (a power of two). `node`
    /// and `huge` are preferences: a source that cannot satisfy them supplies what it has. Returns
    /// `None` if it is out of memory.
    fn pages(&self, bytes: usize, align: usize, node: Option<u16>, huge: bool) -> Option<Pages>;

    /// Gives the memory behind the whole pages of a part of a run back to the system, and keeps its
    /// addresses. These pages are zeroed afterwards, and what is written there is in use again.
    /// Returns false, and does nothing, if the source cannot do this, or the part has no whole
    /// page.
    ///
    /// Other threads may read words of the part meanwhile, atomically; they find what was there or
    /// 0.
    ///
    /// # Safety
    ///
    /// The `bytes` bytes from `start` on are in one run that came from this source's
    /// [`pages`](Self::pages). Nothing needs what is in them.
    unsafe fn discard(&self, start: NonNull<u8>, bytes: usize) -> bool {
        let _ = (start, bytes);
        false
    }

    /// Takes a run back.
    ///
    /// # Safety
    ///
    /// `pages` came unchanged from this source's [`pages`](Self::pages), and its memory is no
    /// longer used.
    unsafe fn release(&self, pages: Pages);

    /// Gives the memory of a whole run back, as [`discard`](Self::discard) does for a part. All of
    /// the run is zeroed afterwards.
    ///
    /// # Safety
    ///
    /// `pages` came unchanged from this source's [`pages`](Self::pages), and nothing needs what is
    /// in it.
    unsafe fn discard_run(&self, pages: &Pages) -> bool {
        let _ = pages;
        false
    }
}

/// Takes `bytes` bytes from `source`; if it has no more, half of that (in multiples of `least`),
/// and so on down to `least`. Requests of at least a huge page ask for huge pages.
pub(crate) fn pages_or_fewer(
    source: &dyn PageSource,
    mut bytes: usize,
    least: usize,
    align: usize,
    node: Option<u16>,
) -> Option<Pages> {
    loop {
        let huge = bytes >= HUGE_PAGE;
        let align = if huge { align.max(HUGE_PAGE) } else { align };
        match source.pages(bytes, align, node, huge) {
            None if bytes > least => bytes = least.max(bytes / 2 / least * least),
            pages => return pages,
        }
    }
}

/// Pages of the global allocator, for platforms without an operating system, and for simulation.
///
/// It supports neither nodes nor huge pages.
#[derive(Clone, Copy, Debug, Default)]
pub struct GlobalPages;

// SAFETY: the global allocator's guarantees for `alloc_zeroed` are those required here.
unsafe impl PageSource for GlobalPages {
    fn pages(&self, bytes: usize, align: usize, _node: Option<u16>, _huge: bool) -> Option<Pages> {
        let layout = Layout::from_size_align(bytes, align).ok().filter(|layout| layout.size() != 0)?;
        // SAFETY: the layout's size is not zero.
        let ptr = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        Some(Pages { ptr, bytes, align, huge: false })
    }

    unsafe fn release(&self, pages: Pages) {
        // SAFETY: the run came unchanged from `pages`, which checked this layout and allocated with
        // it.
        unsafe {
            dealloc(pages.ptr.as_ptr(), Layout::from_size_align_unchecked(pages.bytes, pages.align));
        }
    }
}

/// Memory of a region that nothing was cut from yet.
pub(crate) struct Span {
    start: NonNull<u8>,
    units: usize,
}

// SAFETY: the span owns its memory, which may be used by any thread.
unsafe impl Send for Span {}

impl Span {
    /// Makes a span of `units` units from `start`.
    pub const fn new(start: NonNull<u8>, units: usize) -> Self {
        Self { start, units }
    }

    /// Cuts up to `units` units of `size` bytes from the last of `spans`. Returns `None` if none is
    /// left.
    pub fn cut(spans: &mut Vec<Self>, size: usize, units: usize) -> Option<Self> {
        let span = spans.last_mut()?;
        let cut = Self { start: span.start, units: units.min(span.units) };
        span.units -= cut.units;
        // SAFETY: the span has `span.units` units of this size, and no more than that are cut.
        span.start = unsafe { span.start.byte_add(cut.units * size) };
        if span.units == 0 {
            spans.pop();
        }
        Some(cut)
    }

    /// Returns start and length in units.
    pub const fn into_parts(self) -> (NonNull<u8>, usize) {
        (self.start, self.units)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn global_pages_are_zeroed_and_aligned() {
        let source: &dyn PageSource = &GlobalPages;
        let pages = source.pages(3 * 4096, 1 << 16, Some(3), true).unwrap();
        assert!(pages.ptr.addr().get().is_multiple_of(1 << 16) && pages.bytes == 3 * 4096 && !pages.huge);
        // SAFETY: the run was just allocated and initialised, and only this test has a pointer to
        // it.
        let bytes = unsafe { core::slice::from_raw_parts_mut(pages.ptr.as_ptr(), pages.bytes) };
        assert!(bytes.iter().all(|byte| *byte == 0));
        bytes.fill(7);
        // SAFETY: it came from this source, and `bytes` is not used again.
        unsafe { source.release(pages) };
    }

    #[test]
    fn impossible_requests_return_none() {
        assert!(GlobalPages.pages(0, 64, None, false).is_none());
        assert!(GlobalPages.pages(64, 3, None, false).is_none());
        assert!(GlobalPages.pages(usize::MAX, 64, None, false).is_none());
    }
}
