//! Memory and registers that kernel and device share. Memory is mapped to itself, so a device and
//! the kernel use the same addresses.

use crate::cores;
use crate::lock::SpinLock;
use crate::memory::paging;
use crate::memory::{PAGE, Span, zones};
use alloc::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use core::ptr::{NonNull, with_exposed_provenance_mut};
use core::slice;
use virtio_drivers::{BufferDirection, Hal, PhysAddr};

/// Held by a core that maps registers: one at a time may.
static MAPPING: SpinLock<()> = SpinLock::new(());

/// Maps registers of a device to themselves, whole pages. Returns where they are; `None` if that is
/// no place for registers, as something else is mapped there.
pub(super) fn map_registers(start: usize, bytes: usize) -> Option<NonNull<u8>> {
    let end = start.checked_add(bytes)?.checked_next_multiple_of(PAGE)?;
    let span = Span { start: start / PAGE * PAGE, end };
    let mut table = || zones::take(0, cores::own_node()).expect("memory for page tables");
    let is_mapped = MAPPING.with(|()| paging::map_registers(span, &mut table));
    NonNull::new(with_exposed_provenance_mut(start)).filter(|_| is_mapped)
}

/// The kernel's memory, as drivers of devices ask for it.
pub(crate) struct DeviceMemory;

/// Returns the layout of a number of pages; `None` if there cannot be that many.
fn layout(pages: usize) -> Option<Layout> {
    Layout::from_size_align(pages.checked_mul(PAGE)?, PAGE).ok().filter(|layout| layout.size() > 0)
}

// SAFETY: pages come from the heap, which gives each block to one holder, and are zeroed. Registers
// are mapped where nothing else is. Buffers are in the heap, which is mapped to itself, in one
// piece.
unsafe impl Hal for DeviceMemory {
    /// Returns the address 0 if there is no memory, which the drivers report as an error.
    fn dma_alloc(pages: usize, _: BufferDirection) -> (PhysAddr, NonNull<u8>) {
        // SAFETY: the layout has a size.
        let start = layout(pages).and_then(|layout| NonNull::new(unsafe { alloc_zeroed(layout) }));
        match start {
            Some(start) => (start.expose_provenance().get() as PhysAddr, start),
            None => (0, NonNull::dangling()),
        }
    }

    unsafe fn dma_dealloc(_: PhysAddr, start: NonNull<u8>, pages: usize) -> i32 {
        let Some(layout) = layout(pages) else { return -1 };
        // SAFETY: it came from `dma_alloc` with this layout, by the caller's promise.
        unsafe { dealloc(start.as_ptr(), layout) };
        0
    }

    /// # Panics
    ///
    /// If the device names registers where something else is mapped.
    unsafe fn mmio_phys_to_virt(address: PhysAddr, bytes: usize) -> NonNull<u8> {
        map_registers(address as usize, bytes).expect("registers are where nothing else is")
    }

    /// # Panics
    ///
    /// If the buffer is not in the heap: stacks are not mapped to themselves.
    unsafe fn share(buffer: NonNull<[u8]>, _: BufferDirection) -> PhysAddr {
        let address = buffer.cast::<u8>().expose_provenance().get();
        assert!(zones::node_of(address).is_some(), "a device can only use buffers of the heap");
        address as PhysAddr
    }

    unsafe fn unshare(_: PhysAddr, _: NonNull<[u8]>, _: BufferDirection) {}
}

/// Buffers of equal length, each of which either the kernel or a device uses.
pub(crate) struct Buffers {
    start: NonNull<u8>,
    layout: Layout,
    /// Bytes of each.
    length: usize,
}

// SAFETY: it owns its memory.
unsafe impl Send for Buffers {}
// SAFETY: by the promise of `buffer`, each is accessed by one core or one device at a time.
unsafe impl Sync for Buffers {}

impl Buffers {
    /// Allocates a number of buffers of this length, which is not 0.
    pub fn new(count: usize, length: usize) -> Self {
        let layout = Layout::from_size_align(count * length, PAGE).expect("a moderate number of buffers");
        // SAFETY: the layout has a size.
        let Some(start) = NonNull::new(unsafe { alloc_zeroed(layout) }) else { handle_alloc_error(layout) };
        Self { start, layout, length }
    }

    /// Returns a buffer.
    ///
    /// # Safety
    ///
    /// No device uses it, and there is no other reference to it.
    ///
    /// # Panics
    ///
    /// If there is no buffer with this number.
    // The promise is about a buffer, not about all of them.
    #[expect(clippy::mut_from_ref)]
    pub unsafe fn buffer(&self, number: usize) -> &mut [u8] {
        assert!((number + 1) * self.length <= self.layout.size(), "there is no buffer {number}");
        // SAFETY: it is inside of the memory, and not used otherwise by the caller's promise.
        unsafe { slice::from_raw_parts_mut(self.start.add(number * self.length).as_ptr(), self.length) }
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: it was allocated with this layout.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}
