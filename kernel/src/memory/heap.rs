//! The global allocator.
//!
//! Blocks of up to half a page come from lists by size, 16 to 2,048 bytes; larger ones are whole
//! frames. A core takes from its own node. A block goes back to the zone that it came from, so that
//! cores which only free do not hoard what others need. The runtimes take their memory in bulk, and
//! share it out among their workers without these lists.

use super::PAGE;
use super::zones::{self, ZoneSlot};
use crate::cores;
use crate::lock::SpinLock;
use core::alloc::{GlobalAlloc, Layout};
use core::ptr::{NonNull, null_mut, with_exposed_provenance_mut};

/// The sizes of small blocks: 2^4 to 2^11 bytes.
const SIZES: usize = 8;
const SMALLEST: usize = 16;
const LARGEST: usize = SMALLEST << (SIZES - 1);
/// The frames that are cut into small blocks at once.
const CUT_ORDER: usize = 4;

/// A free block: the next one.
struct FreeBlock(Option<NonNull<FreeBlock>>);

/// The free blocks of one size.
struct BlockList(Option<NonNull<FreeBlock>>);

// SAFETY: the list owns its blocks, which any core may access.
unsafe impl Send for BlockList {}

impl BlockList {
    fn pop(&mut self) -> Option<NonNull<u8>> {
        let block = self.0?;
        // SAFETY: a block in the list is free, so its memory has the next one.
        self.0 = unsafe { block.read().0 };
        Some(block.cast())
    }

    /// # Safety
    ///
    /// The block is large enough, and nothing uses it.
    unsafe fn push(&mut self, block: NonNull<u8>) {
        // SAFETY: the caller's promise.
        unsafe { block.cast().write(FreeBlock(self.0)) };
        self.0 = Some(block.cast());
    }
}

/// The free blocks of a zone, by size.
pub(super) struct BlockLists([SpinLock<BlockList>; SIZES]);

impl BlockLists {
    pub const fn new() -> Self {
        Self([const { SpinLock::new(BlockList(None)) }; SIZES])
    }
}

/// The allocator of this kernel.
struct Heap;

#[global_allocator]
static HEAP: Heap = Heap;

/// Returns the size that a request needs, as an index; `None` if that is whole frames.
fn size_index(layout: Layout) -> Option<usize> {
    let bytes = layout.size().max(layout.align()).max(SMALLEST);
    (bytes <= LARGEST).then(|| (bytes.next_power_of_two() / SMALLEST).ilog2() as usize)
}

impl ZoneSlot {
    /// Takes a small block.
    fn take_small(&self, index: usize) -> Option<NonNull<u8>> {
        if let Some(block) = self.blocks.0[index].with(BlockList::pop) {
            return Some(block);
        }
        let start = with_exposed_provenance_mut::<u8>(self.take(CUT_ORDER)?);
        let bytes = SMALLEST << index;
        self.blocks.0[index].with(|list| {
            for at in (bytes..PAGE << CUT_ORDER).step_by(bytes) {
                // SAFETY: the frames were taken above; this part of them is handed to the list.
                unsafe { list.push(NonNull::new_unchecked(start.add(at))) };
            }
        });
        NonNull::new(start)
    }
}

// SAFETY: blocks are disjoint while they are in use, as zones and lists own what is free. They are
// multiples of their size, a power of two that is at least the size and the alignment asked for.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let node = cores::own_node();
        match size_index(layout) {
            Some(index) => zones::from_node(node)
                .find_map(|zone| zone.take_small(index))
                .map_or(null_mut(), NonNull::as_ptr),
            None => zones::order_of(layout.size().max(layout.align()))
                .and_then(|order| zones::take(order, node))
                .map_or(null_mut(), with_exposed_provenance_mut),
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        match size_index(layout) {
            Some(index) => {
                if let (Some(zone), Some(block)) = (zones::of(block.addr()), NonNull::new(block)) {
                    // SAFETY: the block is free, and has this size, as it was allocated with this
                    // layout.
                    zone.blocks.0[index].with(|list| unsafe { list.push(block) });
                }
            }
            None => {
                if let Some(order) = zones::order_of(layout.size().max(layout.align())) {
                    // SAFETY: the frames came from this zone with this order.
                    unsafe { zones::put_back_part(block.addr(), 1 << order) };
                }
            }
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: the caller's promise: it is not 0 and does not overflow.
        let new_layout = unsafe { Layout::from_size_align_unchecked(bytes, layout.align()) };
        let is_same = match (size_index(layout), size_index(new_layout)) {
            (Some(old), Some(new)) => old == new,
            (None, None) => {
                zones::order_of(layout.size().max(layout.align()))
                    == zones::order_of(bytes.max(layout.align()))
            }
            _ => false,
        };
        if is_same {
            return block;
        }
        // SAFETY: the caller's promise; the copy is of what both have.
        unsafe {
            let copy = self.alloc(new_layout);
            if !copy.is_null() {
                copy.copy_from_nonoverlapping(block, layout.size().min(bytes));
                self.dealloc(block, layout);
            }
            copy
        }
    }
}
