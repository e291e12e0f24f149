//! The IDT (interrupt descriptor table), and what each interrupt does.

use super::apic::{self, vector};
use super::tables::{TablePointer, stack};
use crate::report;
use core::arch::{asm, global_asm};
use core::cell::UnsafeCell;

global_asm!(
    include_str!("entry.s"),
    on_interrupt = sym on_interrupt,
    // With the target's own flags no code uses them.
    saves_vectors = const cfg!(feature = "unwind") as u8,
);

/// Interrupts that have an entry.
const ENTRIES: usize = 36;
/// Faults of the processor have the first numbers.
const FAULTS: u64 = 32;
const NON_MASKABLE: u64 = 2;
const DOUBLE_FAULT: u64 = 8;
const MACHINE_CHECK: u64 = 18;
/// The selector of the code segment.
const CODE: u64 = 8;
/// A gate that is present, and lets no interrupt in.
const GATE: u64 = 0x8e00 << 32;

unsafe extern "C" {
    static interrupt_entries: [usize; ENTRIES];
}

/// What the entry has saved: registers, and what the processor says.
#[repr(C)]
pub(crate) struct Frame {
    /// r15 to rax.
    _registers: [u64; 15],
    /// The number of the interrupt.
    pub vector: u64,
    /// What a fault says of itself; 0 if it says nothing.
    pub error: u64,
    /// Where the core was.
    pub instruction: u64,
    _code: u64,
    _flags: u64,
    /// Its stack.
    pub stack: u64,
    _data: u64,
}

/// The IDT as the processor reads it.
struct Gates(UnsafeCell<[[u64; 2]; ENTRIES]>);

// SAFETY: only `write_gates` writes it, before any core has loaded it.
unsafe impl Sync for Gates {}

static GATES: Gates = Gates(UnsafeCell::new([[0; 2]; ENTRIES]));

/// Writes the table.
///
/// # Safety
///
/// The first core calls it, once, before it [loads](load) the table.
pub(crate) unsafe fn write_gates() {
    // SAFETY: no other core runs, and this one has no other reference.
    let gates = unsafe { &mut *GATES.0.get() };
    for (number, gate) in gates.iter_mut().enumerate() {
        // SAFETY: the assembly has as many entries as this table.
        let entry = unsafe { interrupt_entries[number] } as u64;
        let stack = match number as u64 {
            NON_MASKABLE => stack::NON_MASKABLE,
            DOUBLE_FAULT | MACHINE_CHECK => stack::DOUBLE_FAULT,
            number if number < FAULTS => stack::FAULT,
            _ => stack::INTERRUPT,
        };
        let low =
            (entry & 0xffff) | CODE << 16 | u64::from(stack) << 32 | GATE | (entry >> 16 & 0xffff) << 48;
        *gate = [low, entry >> 32];
    }
}

/// Makes this core use the table.
pub(crate) fn load() {
    let start = GATES.0.get().addr() as u64;
    let pointer = TablePointer { last: (size_of::<[[u64; 2]; ENTRIES]>() - 1) as u16, start };
    // SAFETY: the table is written, and lives for ever.
    unsafe { asm!("lidt [{}]", in(reg) &pointer, options(readonly, nostack)) };
}

/// Called by the entry of each interrupt, with interrupts held back.
extern "C" fn on_interrupt(frame: &Frame) {
    match frame.vector {
        NON_MASKABLE => report::halt_if_stopped(),
        number if number < FAULTS => report::fault(frame),
        number if number == u64::from(vector::SPURIOUS) => {}
        // The timer, a wake-up or a device only ends a halt: what is to be done is in memory.
        _ => apic::end_interrupt(),
    }
}
