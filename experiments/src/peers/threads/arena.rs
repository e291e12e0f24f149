//! Allocates nodes from large mappings, which are freed together.

use std::alloc::{Layout, handle_alloc_error};
use std::ptr::{self, NonNull};
use std::sync::{Mutex, PoisonError};

/// Size and alignment of huge pages.
const HUGE_PAGE: usize = 2 << 20;
/// Bytes of one mapping.
const CHUNK: usize = 64 << 20;

/// A bump allocator over large mappings, with huge pages where the system has them: a tree exceeds
/// what a TLB covers with small pages.
pub(super) struct Arena {
    bump: Mutex<Bump>,
}

struct Bump {
    /// Address of the next allocation, and the end of its chunk.
    next: usize,
    end: usize,
    chunks: Vec<Chunk>,
}

impl Arena {
    pub(super) const fn new() -> Self {
        Self { bump: Mutex::new(Bump { next: 0, end: 0, chunks: Vec::new() }) }
    }

    /// Returns zeroed memory of `size` bytes, aligned to `size`, which is a power of two up to that
    /// of a huge page.
    ///
    /// It stays valid until the arena is dropped.
    pub(super) fn allocate(&self, size: usize) -> NonNull<u8> {
        debug_assert!(size.is_power_of_two() && size <= HUGE_PAGE);
        let mut bump = self.bump.lock().unwrap_or_else(PoisonError::into_inner);
        let mut start = bump.next.next_multiple_of(size);
        if bump.end < start + size {
            let chunk = Chunk::map();
            start = chunk.start.expose_provenance().get();
            bump.end = start + CHUNK;
            bump.chunks.push(chunk);
        }
        bump.next = start + size;
        NonNull::new(ptr::with_exposed_provenance_mut(start)).expect("a mapping does not start at null")
    }
}

/// One mapping of `CHUNK` bytes.
struct Chunk {
    start: NonNull<u8>,
}

// SAFETY: a mapping is not bound to a thread.
unsafe impl Send for Chunk {}

impl Chunk {
    fn map() -> Self {
        let failed = || handle_alloc_error(Layout::from_size_align(CHUNK, HUGE_PAGE).expect("constants"));
        // A huge page more than needed, so that an aligned start exists. The rest is unmapped.
        let length = CHUNK + HUGE_PAGE;
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping at an address of the system's choice overlaps no existing one.
        let mapping = unsafe { libc::mmap(ptr::null_mut(), length, access, kind, -1, 0) };
        if mapping == libc::MAP_FAILED {
            failed();
        }
        let mapping = mapping.cast::<u8>();
        let before = mapping.align_offset(HUGE_PAGE);
        let start = mapping.wrapping_add(before);
        for (part, length) in [(mapping, before), (start.wrapping_add(CHUNK), HUGE_PAGE - before)] {
            if length > 0 {
                // SAFETY: this part of the new mapping is not used. If unmapping fails, it merely
                // stays mapped.
                unsafe { libc::munmap(part.cast(), length) };
            }
        }
        #[cfg(target_os = "linux")]
        // SAFETY: the range is the new mapping, which this function owns; the advice only changes
        // the size of its pages, and may be declined.
        unsafe {
            libc::madvise(start.cast(), CHUNK, libc::MADV_HUGEPAGE);
        }
        NonNull::new(start).map_or_else(failed, |start| Self { start })
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        // SAFETY: the chunk owns the mapping, and allocations from it do not outlive the arena that
        // owns the chunk.
        unsafe { libc::munmap(self.start.as_ptr().cast(), CHUNK) };
    }
}
