//! Free memory that nobody may touch.
//!
//! The allocators of this room cut their blocks from large regions. AddressSanitizer watches regions, not blocks: it
//! would not notice that a task or a node is used after it was freed. So it is told here, block by block, when it
//! stands in (`--cfg 'sanitizer="address"'`, see `.ci/sanitizers`). Otherwise nothing is done.

use core::ptr::NonNull;

#[cfg(sanitizer = "address")]
unsafe extern "C" {
    fn __asan_poison_memory_region(start: *const u8, bytes: usize);
    fn __asan_unpoison_memory_region(start: *const u8, bytes: usize);
}

/// From now on an access to this memory, which is free, is an error.
#[inline(always)]
pub(super) fn forbid(start: NonNull<u8>, bytes: usize) {
    #[cfg(sanitizer = "address")]
    // SAFETY: this marks memory of ours and changes none of it.
    unsafe {
        __asan_poison_memory_region(start.as_ptr(), bytes);
    }
    #[cfg(not(sanitizer = "address"))]
    let _ = (start, bytes);
}

/// From now on this memory may be accessed again.
#[inline(always)]
pub(super) fn allow(start: NonNull<u8>, bytes: usize) {
    #[cfg(sanitizer = "address")]
    // SAFETY: as above.
    unsafe {
        __asan_unpoison_memory_region(start.as_ptr(), bytes);
    }
    #[cfg(not(sanitizer = "address"))]
    let _ = (start, bytes);
}
