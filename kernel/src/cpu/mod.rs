//! What a core does for itself: its registers, tables, interrupts.
//!
//! | file | what is in it |
//! |---|---|
//! | `apic` | the interrupt controller of each core: wake-ups, the timer, the start of others |
//! | `interrupts` | the table of interrupts, and what each does |
//! | `ports` | input and output by ports |
//! | `random` | random bits |
//! | `tables` | segments, and the stacks of interrupts |

pub(crate) mod apic;
pub(crate) mod interrupts;
pub(crate) mod ports;
pub(crate) mod random;
pub(crate) mod tables;

use core::arch::asm;
use core::arch::x86_64::_rdtsc;

/// The register with the base of the segment GS, by which a core finds what is its own.
const GS_BASE: u32 = 0xc000_0101;
/// The register with the base of the segment FS, by which it finds its thread-local values.
#[cfg(feature = "unwind")]
const FS_BASE: u32 = 0xc000_0100;

/// Reads the counter of cycles.
#[inline(always)]
pub(crate) fn counter() -> u64 {
    // SAFETY: each core has the counter, and reading it changes nothing.
    unsafe { _rdtsc() }
}

/// Lets interrupts in from now on.
pub(crate) fn enable_interrupts() {
    // SAFETY: each interrupt has a handler and a stack of its own, which disturb no code. Accesses
    // to memory do not move across it, as the assembly may access memory, too.
    unsafe { asm!("sti", options(nostack)) };
}

/// Calls `critical` while no interrupt comes in.
pub(crate) fn without_interrupts<R>(critical: impl FnOnce() -> R) -> R {
    let flags: u64;
    // SAFETY: the flags are read, and interrupts wait until they are let in below.
    unsafe { asm!("pushfq", "pop {}", "cli", out(reg) flags) };
    let result = critical();
    if flags & 1 << 9 != 0 {
        enable_interrupts();
    }
    result
}

/// Halts this core until an interrupt, unless `is_over` returns true. No interrupt comes between
/// the two.
pub(crate) fn halt_unless(is_over: impl FnOnce() -> bool) {
    // SAFETY: interrupts wait until one of the instructions below lets them in.
    unsafe { asm!("cli") };
    if is_over() {
        enable_interrupts();
    } else {
        // SAFETY: interrupts come in after the instruction that follows `sti` only: a wake-up that
        // was sent meanwhile ends the halt.
        unsafe { asm!("sti", "hlt") };
    }
}

/// Halts this core for ever.
pub(crate) fn halt_for_ever() -> ! {
    loop {
        // SAFETY: nothing runs on this core from now on.
        unsafe { asm!("cli", "hlt") };
    }
}

/// Returns the address whose access was the last page fault of this core.
pub(crate) fn fault_address() -> usize {
    let address;
    // SAFETY: reading the register changes nothing.
    unsafe { asm!("mov {}, cr2", out(reg) address, options(nomem, nostack)) };
    address
}

/// Sets the page tables of this core.
///
/// # Safety
///
/// `root` is the physical address of tables that map all that this core uses.
pub(crate) unsafe fn set_page_root(root: usize) {
    // SAFETY: the caller's promise.
    unsafe { asm!("mov cr3, {}", in(reg) root) };
}

/// Forgets how this core has translated an address.
pub(crate) fn forget_translation(address: usize) {
    // SAFETY: the core only looks its tables up again.
    unsafe { asm!("invlpg [{}]", in(reg) address, options(nostack)) };
}

/// Sets what [`own_index`] reads.
pub(crate) fn set_own(index: &'static core::sync::atomic::AtomicU32) {
    let address = core::ptr::from_ref(index).addr() as u64;
    let (low, high) = (address as u32, (address >> 32) as u32);
    // SAFETY: the register exists in 64-bit mode, and only this kernel uses the segment.
    unsafe { asm!("wrmsr", in("ecx") GS_BASE, in("eax") low, in("edx") high, options(nostack)) };
}

/// Sets where the thread-local values of this core are.
#[cfg(feature = "unwind")]
pub(crate) fn set_thread_pointer(address: usize) {
    let (low, high) = (address as u32, (address >> 32) as u32);
    // SAFETY: the register exists in 64-bit mode, and only thread-local values use the segment.
    unsafe { asm!("wrmsr", in("ecx") FS_BASE, in("eax") low, in("edx") high, options(nostack)) };
}

/// Returns the index of this core.
#[inline(always)]
pub(crate) fn own_index() -> usize {
    let index: u32;
    // SAFETY: `set_own` has pointed the segment to the index, which lives for ever.
    unsafe { asm!("mov {:e}, gs:[0]", out(reg) index, options(nostack, preserves_flags, readonly)) };
    index as usize
}

/// Goes on at `next` with another stack, for ever.
///
/// # Safety
///
/// `top` is the upper end of a stack that nothing else uses, aligned to 16 bytes.
pub(crate) unsafe fn run_on(top: *mut u8, next: extern "C-unwind" fn() -> !) -> ! {
    // SAFETY: the caller's promise; the old stack is not used again. The return address is 0: there
    // the search for what catches a panic ends.
    unsafe {
        asm!("mov rsp, {}", "xor ebp, ebp", "push 0", "jmp {}", in(reg) top, in(reg) next, options(noreturn))
    }
}
