//! The segments of a core, and the stacks on which it takes interrupts: the IST (interrupt stack
//! table) in its TSS (task state segment).

use crate::MAX_CORES;
use core::arch::asm;
use core::cell::UnsafeCell;

/// Stacks for interrupts of a core.
pub(crate) const INTERRUPT_STACKS: usize = 4;

/// The stacks, from 1 as the processor counts them.
pub(crate) mod stack {
    /// Faults of the code that runs.
    pub const FAULT: u8 = 1;
    /// Faults while a fault is taken.
    pub const DOUBLE_FAULT: u8 = 2;
    /// The NMI.
    pub const NON_MASKABLE: u8 = 3;
    /// Wake-ups, the timer, devices.
    pub const INTERRUPT: u8 = 4;
}

const CODE: u64 = 0x00af_9b00_0000_ffff;
const DATA: u64 = 0x00cf_9300_0000_ffff;
/// The selector of the segment that names the stacks.
const STACKS_SELECTOR: u16 = 0x18;
/// Bytes of that segment.
const TASK_STATE_BYTES: usize = 104;

/// The tables of one core.
#[repr(C, align(16))]
struct Tables {
    /// Nothing, code, data, and the task state, which takes two.
    segments: [u64; 5],
    /// The TSS: here the tops of the stacks only.
    task_state: [u32; TASK_STATE_BYTES / 4],
}

/// The tables of all cores.
struct AllTables([UnsafeCell<Tables>; MAX_CORES]);

// SAFETY: only `load` writes them, for each core once and before the processor reads them.
unsafe impl Sync for AllTables {}

static TABLES: AllTables = AllTables(
    [const { UnsafeCell::new(Tables { segments: [0; 5], task_state: [0; TASK_STATE_BYTES / 4] }) };
        MAX_CORES],
);

/// What the processor wants to know of a table: its last byte and where it is.
#[repr(C, packed)]
pub(super) struct TablePointer {
    pub last: u16,
    pub start: u64,
}

/// Loads the segments of the calling core, with the upper ends of its stacks for interrupts.
///
/// # Safety
///
/// `index` is the calling core's, which calls this once. Nothing else uses the stacks.
pub(crate) unsafe fn load(index: usize, stacks: [*mut u8; INTERRUPT_STACKS]) {
    // SAFETY: this core alone has its tables, by the caller's promise.
    let tables = unsafe { &mut *TABLES.0[index].get() };
    for (number, top) in stacks.into_iter().enumerate() {
        let top = top.addr() as u64;
        // The first of these stacks is at byte 36.
        tables.task_state[9 + 2 * number] = top as u32;
        tables.task_state[10 + 2 * number] = (top >> 32) as u32;
    }
    // No port is open to other privileges: their map begins beyond the end.
    tables.task_state[25] = (TASK_STATE_BYTES as u32) << 16;
    let at = tables.task_state.as_ptr().addr() as u64;
    let low = (TASK_STATE_BYTES as u64 - 1) | (at & 0xff_ffff) << 16 | 0x89 << 40 | (at >> 24 & 0xff) << 56;
    tables.segments = [0, CODE, DATA, low, at >> 32];
    let pointer = TablePointer {
        last: size_of_val(&tables.segments) as u16 - 1,
        start: tables.segments.as_ptr().addr() as u64,
    };
    // SAFETY: the tables live for ever. Code and data have the numbers that the loaded ones have.
    unsafe {
        asm!("lgdt [{}]", in(reg) &pointer, options(readonly, nostack));
        asm!("ltr {:x}", in(reg) STACKS_SELECTOR, options(nostack));
    }
}
