//! Blocks of memory whose size is not passed back: the standard library takes some for itself.

use alloc::alloc::{alloc, dealloc, realloc as resize};
use core::alloc::Layout;
use core::ptr::null_mut;

/// The bytes before a block, which have its size, and the alignment of both.
const HEADER: usize = 16;

/// Returns the layout of a block with its header; `None` if that is too large.
fn layout(bytes: usize) -> Option<Layout> {
    Layout::from_size_align(bytes.checked_add(HEADER)?, HEADER).ok()
}

/// Writes the size into a header. Returns the block behind it; null for null.
///
/// # Safety
///
/// `start` is null, or a block of the heap with this layout.
unsafe fn begin(start: *mut u8, layout: Layout) -> *mut u8 {
    if start.is_null() {
        return start;
    }
    // SAFETY: the caller's promise; the layout has the header's size and alignment.
    unsafe {
        start.cast::<Layout>().write(layout);
        start.add(HEADER)
    }
}

/// Returns the start of a block with its header, and its layout.
///
/// # Safety
///
/// The block comes from [`begin`].
unsafe fn header(block: *mut u8) -> (*mut u8, Layout) {
    // SAFETY: the caller's promise.
    unsafe {
        let start = block.sub(HEADER);
        (start, start.cast::<Layout>().read())
    }
}

/// Takes a block.
#[unsafe(no_mangle)]
extern "C" fn malloc(bytes: usize) -> *mut u8 {
    // SAFETY: the layout has at least the header; the block has this layout.
    layout(bytes).map_or(null_mut(), |layout| unsafe { begin(alloc(layout), layout) })
}

/// Gives a block back.
///
/// # Safety
///
/// `block` is null, or comes from [`malloc`] or [`realloc`], and nothing uses it.
#[unsafe(no_mangle)]
unsafe extern "C" fn free(block: *mut u8) {
    if !block.is_null() {
        // SAFETY: the caller's promise.
        unsafe {
            let (start, layout) = header(block);
            dealloc(start, layout);
        }
    }
}

/// Changes the size of a block. Returns null, and leaves it as it is, if there is no memory.
///
/// # Safety
///
/// As for [`free`].
#[unsafe(no_mangle)]
unsafe extern "C" fn realloc(block: *mut u8, bytes: usize) -> *mut u8 {
    if block.is_null() {
        return malloc(bytes);
    }
    let Some(new) = layout(bytes) else { return null_mut() };
    // SAFETY: the caller's promise; the new size is not 0.
    unsafe {
        let (start, old) = header(block);
        begin(resize(start, old, new.size()), new)
    }
}

const _: () = assert!(size_of::<Layout>() <= HEADER && align_of::<Layout>() <= HEADER);
