//! The thread-local values of each core: a core is a thread.
//!
//! The linker gives each value a place below the address that the register FS has, where that
//! address itself is stored (the ABI's variant II).

use crate::MAX_CORES;
use crate::cpu;
use core::cell::UnsafeCell;
use core::ptr;

/// Bytes of a core's values and of the address behind them. `linker.ld` ends the build if they are
/// too few.
const BYTES: usize = 1024;

/// The values of a core. The alignment is that of the values in `layout/unwind/panics.ld`.
#[repr(C, align(64))]
struct Block(UnsafeCell<[u8; BYTES]>);

// SAFETY: only the core of its index accesses a block.
unsafe impl Sync for Block {}

static BLOCKS: [Block; MAX_CORES] = [const { Block(UnsafeCell::new([0; BYTES])) }; MAX_CORES];

unsafe extern "C" {
    /// The values at the beginning: these bytes, then zeros.
    static __tls_start: u8;
    static __tls_data_end: u8;
    static __tls_end: u8;
}

/// Gives the calling core its values, as they are at the beginning.
///
/// # Safety
///
/// The calling core has this index, and no reference to one of its values.
pub(crate) unsafe fn begin(index: usize) {
    let start = &raw const __tls_start;
    let data = (&raw const __tls_data_end).addr() - start.addr();
    let all = (&raw const __tls_end).addr() - start.addr();
    let block = BLOCKS[index].0.get().cast::<u8>();
    // SAFETY: this core alone has the block, by the caller's promise; the layout makes sure that
    // the values and the address fit, and that `all` is a multiple of the block's alignment.
    unsafe {
        ptr::write_bytes(block, 0, BYTES);
        ptr::copy_nonoverlapping(start, block, data);
        let behind = block.add(all).cast::<*mut u8>();
        behind.write(behind.cast());
        cpu::set_thread_pointer(behind.addr());
    }
}
