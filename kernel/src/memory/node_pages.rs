//! The pages of the runtimes, on the node that they ask for.

use super::{LARGE_PAGE, PAGE, zones};
use crate::cores;
use core::ptr::{NonNull, with_exposed_provenance_mut};
use xtasking::platform::{PageSource, Pages};

/// Page frames for a runtime. All memory is mapped in large pages already.
pub(crate) struct NodePages;

// SAFETY: a run is zeroed below, and a zone gives each block to one holder until it is put back.
unsafe impl PageSource for NodePages {
    fn pages(&self, bytes: usize, align: usize, node: Option<u16>, huge: bool) -> Option<Pages> {
        if bytes == 0 || !align.is_power_of_two() {
            return None;
        }
        let order = zones::order_of(bytes.max(align))?;
        let block = zones::take(order, node.unwrap_or_else(cores::own_node))?;
        let ptr = NonNull::new(with_exposed_provenance_mut::<u8>(block))?;
        // What the block has too much would count for the limits of its holder.
        let pages = bytes.div_ceil(PAGE);
        let bytes = pages * PAGE;
        // SAFETY: the end of a block that was just taken.
        unsafe { zones::put_back_part(block + bytes, (1 << order) - pages) };
        // SAFETY: the block was taken, and is this long.
        unsafe { ptr.write_bytes(0, bytes) };
        Some(Pages { ptr, bytes, align, huge: huge && bytes >= LARGE_PAGE })
    }

    unsafe fn release(&self, pages: Pages) {
        // SAFETY: the run is the part of a block that `pages` has kept, and is not used any longer.
        unsafe { zones::put_back_part(pages.ptr.addr().get(), pages.bytes / PAGE) };
    }
}
