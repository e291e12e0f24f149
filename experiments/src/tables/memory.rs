//! Memory on huge pages, and prefetching.

use std::sync::atomic::AtomicU64;

/// Allocates zeroed words, on huge pages where the system has them. No page is touched yet, so that
/// the threads that use it first do it at the same time.
pub(crate) fn zeroed_words(count: usize) -> Box<[AtomicU64]> {
    let words = Box::new_zeroed_slice(count);
    // SAFETY: zeroes are valid atomic words.
    let words = unsafe { words.assume_init() };
    prefer_huge_pages(&words);
    words
}

/// Asks the system for huge pages, as a memory-bound program should. Call it before the memory is
/// touched.
pub(crate) fn prefer_huge_pages<T>(items: &[T]) {
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 4096;
        let address = items.as_ptr();
        let offset = address.addr().next_multiple_of(PAGE) - address.addr();
        let bytes = size_of_val(items).saturating_sub(offset) / PAGE * PAGE;
        let first = address.wrapping_byte_add(offset).cast_mut();
        // SAFETY: the pages are within the items, and the advice changes no contents. A refusal is
        // harmless.
        unsafe { libc::madvise(first.cast(), bytes, libc::MADV_HUGEPAGE) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = items;
}

/// Starts fetching the first cache line of a value into the first-level cache.
#[inline(always)]
pub(crate) fn fetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch is a hint that is valid for any address, and every x86-64 processor
    // supports it.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn words_are_zero_and_empty_slices_are_no_error() {
        for count in [0, 1, 511, 1_000_000] {
            let words = zeroed_words(count);
            assert!(words.len() == count && words.iter().all(|word| word.load(Relaxed) == 0));
        }
        prefer_huge_pages::<u64>(&[]);
        fetch(&7);
    }
}
