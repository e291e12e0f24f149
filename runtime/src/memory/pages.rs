//! Where memory comes from in bulk, which is the one thing that every allocator of the runtime asks of its platform;
//! and the part of it that is not cut up yet.

use alloc::alloc::{alloc_zeroed, dealloc};
use alloc::vec::Vec;
use core::alloc::Layout;
use core::ptr::NonNull;

/// Size and alignment of a huge page, where a platform has them: below this much memory it is not worth asking.
pub const HUGE_PAGE: usize = 2 << 20;

/// A run of memory that a [`PageSource`] gave out: zeroed, and its holder's alone until it is released.
#[derive(Debug)]
pub struct Pages {
    /// Start of the run, a multiple of `align`.
    pub ptr: NonNull<u8>,
    /// Length of the run; at least what was asked for.
    pub bytes: usize,
    /// Alignment of the run; at least what was asked for.
    pub align: usize,
    /// Whether the platform was told to back the run by huge pages and can do so.
    pub huge: bool,
}

// SAFETY: the run is owned by whoever holds the value, and memory does not care which thread uses it.
unsafe impl Send for Pages {}
// SAFETY: through a shared reference only the four plain fields can be read.
unsafe impl Sync for Pages {}

/// A supplier of memory in bulk.
///
/// Calls are rare (each caller doubles what it asks for), so a source may take a lock or enter the kernel.
///
/// # Safety
///
/// A run returned by [`pages`](Self::pages) must be zeroed, readable and writable, at least as long and as aligned
/// as asked for, disjoint from everything else in use, and stay so until it is released.
pub unsafe trait PageSource: Send + Sync {
    /// At least `bytes` bytes (not 0) at a multiple of `align` (a power of two), on node `node` where the platform
    /// can choose and in huge pages where `huge` asks for it and the platform has them. The last two are wishes:
    /// a source that cannot fulfil them gives what it has. `None`: out of memory.
    fn pages(&self, bytes: usize, align: usize, node: Option<u16>, huge: bool) -> Option<Pages>;

    /// Takes a run back.
    ///
    /// # Safety
    ///
    /// `pages` came unchanged from this source's [`pages`](Self::pages), and nothing uses its memory any more.
    unsafe fn release(&self, pages: Pages);
}

/// `bytes` bytes of `source`, or half of that (in multiples of `least`) and so on down to `least` where it has no more. From the size of a huge
/// page on, huge pages are asked for.
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

/// Pages of the global allocator, for platforms without an operating system below, and for simulation.
///
/// It knows neither nodes nor huge pages.
#[derive(Clone, Copy, Debug, Default)]
pub struct GlobalPages;

// SAFETY: the global allocator's promises for `alloc_zeroed` are the ones asked for here.
unsafe impl PageSource for GlobalPages {
    fn pages(&self, bytes: usize, align: usize, _node: Option<u16>, _huge: bool) -> Option<Pages> {
        let layout = Layout::from_size_align(bytes, align).ok().filter(|layout| layout.size() != 0)?;
        // SAFETY: the layout's size is not zero.
        let ptr = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        Some(Pages { ptr, bytes, align, huge: false })
    }

    unsafe fn release(&self, pages: Pages) {
        // SAFETY: the run came unchanged from `pages`, which had checked this very layout and allocated with it.
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

// SAFETY: the span owns its memory, which does not care which thread uses it.
unsafe impl Send for Span {}

impl Span {
    /// `units` units from `start`.
    pub const fn new(start: NonNull<u8>, units: usize) -> Self {
        Self { start, units }
    }

    /// Cuts up to `units` units of `size` bytes from the last of `spans`; `None` if none has any left.
    pub fn cut(spans: &mut Vec<Self>, size: usize, units: usize) -> Option<Self> {
        let span = spans.last_mut()?;
        let cut = Self { start: span.start, units: units.min(span.units) };
        span.units -= cut.units;
        // SAFETY: the span is `span.units` units of this size long, of which no more than that many are cut.
        span.start = unsafe { span.start.byte_add(cut.units * size) };
        if span.units == 0 {
            spans.pop();
        }
        Some(cut)
    }

    /// Start and length in units.
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
        // SAFETY: the run was just given to us, initialised, and nobody else knows it.
        let bytes = unsafe { core::slice::from_raw_parts_mut(pages.ptr.as_ptr(), pages.bytes) };
        assert!(bytes.iter().all(|byte| *byte == 0));
        bytes.fill(7);
        // SAFETY: it came from this source and `bytes` is not used again.
        unsafe { source.release(pages) };
    }

    #[test]
    fn impossible_requests_give_nothing() {
        assert!(GlobalPages.pages(0, 64, None, false).is_none());
        assert!(GlobalPages.pages(64, 3, None, false).is_none());
        assert!(GlobalPages.pages(usize::MAX, 64, None, false).is_none());
    }
}
