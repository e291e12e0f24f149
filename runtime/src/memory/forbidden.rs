//! Marks free memory as inaccessible under AddressSanitizer.
//!
//! The allocators of this room cut blocks from large regions. AddressSanitizer tracks regions, not
//! blocks, and would not notice a use after free. So each block is reported to it where it is
//! enabled (`--cfg 'sanitizer="address"'`, see `.ci/sanitizers`). Otherwise these functions do
//! nothing.

use core::ptr::NonNull;

#[cfg(sanitizer = "address")]
unsafe extern "C" {
    fn __asan_poison_memory_region(start: *const u8, bytes: usize);
    fn __asan_unpoison_memory_region(start: *const u8, bytes: usize);
}

/// Makes any access to this free memory an error.
#[inline(always)]
pub(super) fn forbid(start: NonNull<u8>, bytes: usize) {
    #[cfg(sanitizer = "address")]
    // SAFETY: this marks memory of the caller's allocator and changes none of it.
    unsafe {
        __asan_poison_memory_region(start.as_ptr(), bytes);
    }
    #[cfg(not(sanitizer = "address"))]
    let _ = (start, bytes);
}

/// Makes this memory accessible again.
#[inline(always)]
pub(super) fn allow(start: NonNull<u8>, bytes: usize) {
    #[cfg(sanitizer = "address")]
    // SAFETY: this marks memory of the caller's allocator and changes none of it.
    unsafe {
        __asan_unpoison_memory_region(start.as_ptr(), bytes);
    }
    #[cfg(not(sanitizer = "address"))]
    let _ = (start, bytes);
}
