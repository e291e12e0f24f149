//! Where memory comes from in bulk, which is the one thing that every allocator of the runtime asks of its platform;
//! and what they all do with it: cut blocks from it, and link the free ones.

use alloc::alloc::{alloc_zeroed, dealloc};
use alloc::vec::Vec;
use core::alloc::Layout;
use core::ptr::{self, NonNull};

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

/// `bytes` bytes of `source`, or half of that and so on down to `least` where it has no more. From the size of a huge
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
            None if bytes > least => bytes = least.max(bytes / 2),
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

/// Where a free block links to the next in its list.
const NEXT: usize = 8;

/// The block that follows the free block `block` in its list.
///
/// # Safety
///
/// `block` is in a list whose links the caller may read.
#[inline(always)]
pub(crate) unsafe fn next(block: NonNull<u8>) -> *mut u8 {
    // SAFETY: a block is aligned and has at least 16 bytes; being in a list, its link is written.
    unsafe { block.byte_add(NEXT).cast().read() }
}

/// Sets the block that follows the free block `block` in its list.
///
/// # Safety
///
/// `block` is free, at least 16 bytes long, aligned to a word, and the caller's alone.
#[inline(always)]
pub(crate) unsafe fn set_next(block: NonNull<u8>, next: *mut u8) {
    // SAFETY: by the caller's promise the link is inside of the block, aligned, and nobody else looks at it.
    unsafe { block.byte_add(NEXT).cast().write(next) }
}

/// Free blocks, linked through themselves, that are the holder's alone.
pub(crate) struct List {
    head: *mut u8,
    len: usize,
}

// SAFETY: the list owns its blocks, and memory does not care which thread uses it.
unsafe impl Send for List {}

impl List {
    pub const EMPTY: Self = Self { head: ptr::null_mut(), len: 0 };

    /// The list of `len` blocks that starts at `head`.
    ///
    /// # Safety
    ///
    /// There are exactly that many, linked to each other, the last to null; they are free and become the list's.
    pub const unsafe fn from_raw(head: *mut u8, len: usize) -> Self {
        Self { head, len }
    }

    /// Links `len` blocks that lie side by side, every `stride` bytes.
    ///
    /// # Safety
    ///
    /// All of this memory is free, the caller's alone, aligned to a word, and `stride` is at least 16.
    pub unsafe fn link(start: NonNull<u8>, stride: usize, len: usize) -> Self {
        let mut list = Self::EMPTY;
        for index in (0..len).rev() {
            // SAFETY: each block is inside of the memory that the caller promised, which is free.
            unsafe { list.push(start.byte_add(index * stride)) };
        }
        list
    }

    pub const fn len(&self) -> usize {
        self.len
    }

    pub const fn head(&self) -> *mut u8 {
        self.head
    }

    pub fn pop(&mut self) -> Option<NonNull<u8>> {
        let head = NonNull::new(self.head)?;
        // SAFETY: the block is in this list, which is ours.
        self.head = unsafe { next(head) };
        self.len -= 1;
        Some(head)
    }

    /// Adds a block.
    ///
    /// # Safety
    ///
    /// `block` is free, fit for a link, and becomes the list's.
    pub unsafe fn push(&mut self, block: NonNull<u8>) {
        // SAFETY: the caller's promise.
        unsafe { set_next(block, self.head) };
        self.head = block.as_ptr();
        self.len += 1;
    }
}

/// Free blocks of one size which no core has: a stack of full batches, and some loose ones.
///
/// Batches are stacked through the word at `LINK` in each batch's first block. Every operation is O(1) but for
/// [`put`](Self::put) of less than a batch.
pub(crate) struct Depot<const LINK: usize> {
    top: *mut u8,
    batches: usize,
    loose: List,
    batch: usize,
}

// SAFETY: the depot owns its blocks, and memory does not care which thread uses it.
unsafe impl<const LINK: usize> Send for Depot<LINK> {}

impl<const LINK: usize> Depot<LINK> {
    /// An empty depot for batches of `batch` blocks, each at least `LINK + 8` bytes long.
    pub const fn new(batch: usize) -> Self {
        Self { top: ptr::null_mut(), batches: 0, loose: List::EMPTY, batch }
    }

    /// A batch, or fewer blocks than that if there is none; `None` if there are no blocks at all.
    pub fn take(&mut self) -> Option<List> {
        if let Some(top) = NonNull::new(self.top) {
            // SAFETY: the block is the first of a batch in the stack, which is ours, and has this link.
            self.top = unsafe { top.byte_add(LINK).cast().read() };
            self.batches -= 1;
            // SAFETY: only full batches are stacked.
            return Some(unsafe { List::from_raw(top.as_ptr(), self.batch) });
        }
        (self.loose.len != 0).then(|| core::mem::replace(&mut self.loose, List::EMPTY))
    }

    /// Takes blocks back, at most a batch.
    ///
    /// # Safety
    ///
    /// They are of this depot's size.
    pub unsafe fn put(&mut self, mut list: List) {
        if let Some(head) = NonNull::new(list.head).filter(|_| list.len == self.batch) {
            // SAFETY: the block is free, ours as its list is, and long enough for this link.
            unsafe { head.byte_add(LINK).cast().write(self.top) };
            self.top = head.as_ptr();
            self.batches += 1;
        } else if self.loose.len == 0 {
            self.loose = list;
        } else {
            while let Some(block) = list.pop() {
                // SAFETY: the block came out of a list of free blocks of this size.
                unsafe { self.put_one(block) };
            }
        }
    }

    pub fn take_one(&mut self) -> Option<NonNull<u8>> {
        if self.loose.len == 0 {
            self.loose = self.take()?;
        }
        self.loose.pop()
    }

    /// Takes one block back.
    ///
    /// # Safety
    ///
    /// `block` is free, of this depot's size, and becomes the depot's.
    pub unsafe fn put_one(&mut self, block: NonNull<u8>) {
        // SAFETY: the caller's promise.
        unsafe { self.loose.push(block) };
        if self.loose.len == self.batch {
            let full = core::mem::replace(&mut self.loose, List::EMPTY);
            // SAFETY: the blocks are this depot's own.
            unsafe { self.put(full) };
        }
    }

    /// How many blocks are here.
    pub const fn len(&self) -> usize {
        self.batches * self.batch + self.loose.len
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
