//! The buffers that a ring's receives fill, chosen by the kernel when bytes have come. So a stream
//! that is idle has none.

use crate::sync::Release;
use crate::sync::global::AtomicU16;
use alloc::alloc::{alloc_zeroed, dealloc, handle_alloc_error};
use core::alloc::Layout;
use core::ptr::NonNull;
use core::slice;
use io_uring::Submitter;
use io_uring::types::BufRingEntry;
use std::io;

/// The number of buffers, a power of two.
const BUFFERS: u16 = 128;
/// Bytes of a buffer.
pub(super) const BUFFER_BYTES: usize = 8 << 10;
/// The group of these buffers: a ring has one.
pub(super) const GROUP: u16 = 0;

/// The buffers of one ring, with the queue in which the kernel gets them.
pub(super) struct Buffers {
    /// The queue: `BUFFERS` entries, of which the first also has the tail.
    entries: NonNull<BufRingEntry>,
    /// The buffers themselves, one after the other.
    memory: NonNull<u8>,
    tail: u16,
}

// SAFETY: it owns its memory alone, apart from the kernel, to which threads are the same.
unsafe impl Send for Buffers {}

impl Buffers {
    /// Allocates the buffers, and gives all of them to the kernel.
    pub fn new(submitter: &Submitter<'_>) -> io::Result<Self> {
        let mut buffers =
            Self { entries: allocate(Self::queue()).cast(), memory: allocate(Self::all()), tail: 0 };
        let address = buffers.entries.as_ptr() as u64;
        // SAFETY: the queue has this many entries, and is freed by `free` alone, whose caller has
        // seen the ring quiescent; otherwise it is leaked.
        let registered = unsafe { submitter.register_buf_ring_with_flags(address, BUFFERS, GROUP, 0) };
        if let Err(error) = registered {
            // SAFETY: the kernel has refused the queue, and no receive was submitted.
            unsafe { buffers.free() };
            return Err(error);
        }
        (0..BUFFERS).for_each(|number| buffers.give_back(number));
        Ok(buffers)
    }

    /// Returns the first bytes of a buffer that a completion has named. The caller has not given it
    /// back since.
    pub fn bytes(&self, number: u16, length: usize) -> &[u8] {
        assert!(number < BUFFERS && length <= BUFFER_BYTES, "a completion names no buffer of its ring");
        // SAFETY: in bounds by the assertion, and initialized when allocated. The kernel writes
        // into a buffer only between `give_back` and the completion that names it.
        unsafe { slice::from_raw_parts(self.memory.as_ptr().add(usize::from(number) * BUFFER_BYTES), length) }
    }

    /// Gives a buffer to the kernel, which fills it for some later receive.
    pub fn give_back(&mut self, number: u16) {
        assert!(number < BUFFERS, "the ring has no such buffer");
        // SAFETY: both are in bounds. The kernel reads the entry after the tail below has passed
        // it: until then it is this thread's alone, as the caller has the state of the ring.
        unsafe {
            let entry = self.entries.as_ptr().add(usize::from(self.tail % BUFFERS));
            let address = self.memory.as_ptr().add(usize::from(number) * BUFFER_BYTES);
            (*entry).set_addr(address as u64);
            (*entry).set_len(BUFFER_BYTES as u32);
            (*entry).set_bid(number);
        }
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: the queue begins with this entry, is initialized, and lives as long as `self`. Of
        // its tail, which the kernel reads, there are atomic accesses alone.
        let tail = unsafe { &*BufRingEntry::tail(self.entries.as_ptr()).cast::<AtomicU16>() };
        // Release pairs with the load of the kernel, which then sees the entry.
        tail.store(self.tail, Release);
    }

    /// Frees the memory.
    ///
    /// # Safety
    ///
    /// The kernel has no receive that may still choose a buffer.
    pub unsafe fn free(&mut self) {
        // SAFETY: both were allocated with these layouts. The kernel does not use them any more, by
        // the caller's promise.
        unsafe {
            dealloc(self.entries.as_ptr().cast(), Self::queue());
            dealloc(self.memory.as_ptr(), Self::all());
        }
    }

    /// The kernel wants the queue to begin with a page.
    fn queue() -> Layout {
        let bytes = usize::from(BUFFERS) * size_of::<BufRingEntry>();
        Layout::from_size_align(bytes.next_multiple_of(PAGE), PAGE).expect("a page is a power of two")
    }

    fn all() -> Layout {
        Layout::from_size_align(usize::from(BUFFERS) * BUFFER_BYTES, PAGE).expect("a page is a power of two")
    }
}

/// The largest page of the systems that have rings.
const PAGE: usize = 64 << 10;

fn allocate(layout: Layout) -> NonNull<u8> {
    // SAFETY: the layout has a size.
    NonNull::new(unsafe { alloc_zeroed(layout) }).unwrap_or_else(|| handle_alloc_error(layout))
}
