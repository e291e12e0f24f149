//! How the machine ends: by the program, or with a report of a panic or a fault.

use crate::console::{print_at_once, print_failure};
use crate::cores;
use crate::cpu::interrupts::Frame;
use crate::cpu::{self, apic, ports};
use crate::memory::stacks;
use core::fmt::Arguments;
#[cfg(not(feature = "unwind"))]
use core::panic::PanicInfo;
use core::sync::atomic::{AtomicUsize, Ordering::*};

/// The port of QEMU's device `isa-debug-exit`: a number ends the virtual machine with the status
/// 2 n + 1.
const EXIT_PORT: u16 = 0xf4;

/// How the machine ends. `kernel/run` ends with the number as its status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ExitStatus {
    /// The program has done what it was to do. The machine says 16, as 0 would be an error of the
    /// virtual machine itself; `kernel/run` makes it 0.
    Success = 16,
    /// The program has failed.
    Failure = 17,
    /// A panic, or memory was exhausted.
    Panic = 18,
    /// A fault of the processor.
    Fault = 19,
}

/// The index of the core that reports a failure, while all others are to halt; or [`NONE`].
static REPORTER: AtomicUsize = AtomicUsize::new(NONE);
const NONE: usize = usize::MAX;
/// What is written if the core that reports a failure fails again.
const SECOND_FAILURE: &str = "\nFAILED AGAIN: a second failure within the report of the first\n";

/// The page fault, and what its error says.
const PAGE_FAULT: u64 = 14;
const WAS_PRESENT: u64 = 1;
const WAS_WRITE: u64 = 1 << 1;
const WAS_RUN: u64 = 1 << 4;

/// Names of the faults, by their numbers.
const FAULTS: [&str; 20] = [
    "division by zero",
    "debug exception",
    "non-maskable interrupt",
    "breakpoint",
    "overflow",
    "index out of bounds",
    "invalid instruction",
    "no floating-point unit",
    "double fault",
    "coprocessor segment overrun",
    "invalid task state",
    "missing segment",
    "stack segment fault",
    "general protection fault",
    "page fault",
    "reserved",
    "floating-point error",
    "unaligned access",
    "machine check",
    "vector error",
];

/// Ends the virtual machine.
pub fn exit(status: ExitStatus) -> ! {
    // SAFETY: the device ends the machine, or there is none and nothing happens.
    unsafe { ports::write32(EXIT_PORT, status as u32) };
    cpu::halt_for_ever()
}

/// Called by the NMI: halts this core if another one reports a
/// failure.
pub(crate) fn halt_if_stopped() {
    let reporter = REPORTER.load(SeqCst);
    if reporter != NONE && reporter != cores::own().index() {
        cpu::halt_for_ever();
    }
}

/// Halts all other cores. A core that fails while another one reports halts itself. If the report
/// itself fails, this ends the machine with the status of the second failure.
fn stop_others(status: ExitStatus) {
    let own = cores::own().index();
    match REPORTER.compare_exchange(NONE, own, SeqCst, SeqCst) {
        Ok(_) => apic::halt_others(),
        Err(reporter) if reporter == own => {
            // Nothing is formatted and no lock is taken: that may be what has failed.
            print_at_once(SECOND_FAILURE);
            exit(status)
        }
        Err(_) => cpu::halt_for_ever(),
    }
}

/// Reports a failure with what ran on this core, and ends the machine.
fn end(status: ExitStatus, what: Arguments<'_>) -> ! {
    stop_others(status);
    let core = cores::own();
    print_failure(format_args!("\n{what}\n  core {} of node {}\n", core.index(), core.node()));
    match core.try_worker() {
        Some(worker) => print_failure(format_args!("  {worker}\n")),
        None => print_failure(format_args!("  outside of all tasks\n")),
    }
    exit(status)
}

/// Reports a fault of the processor on this core, and ends the machine.
pub(crate) fn fault(frame: &Frame) -> ! {
    let name = FAULTS.get(frame.vector as usize).copied().unwrap_or("fault");
    let (error, at, stack) = (frame.error, frame.instruction, frame.stack);
    if frame.vector != PAGE_FAULT {
        end(ExitStatus::Fault, format_args!("FAULT: {name}, error {error:#x}, at {at:#x}, stack {stack:#x}"));
    }
    let address = cpu::fault_address();
    let how = match error {
        error if error & WAS_RUN != 0 => "running",
        error if error & WAS_WRITE != 0 => "writing",
        _ => "reading",
    };
    match stacks::overflowed(address) {
        Some(core) => end(
            ExitStatus::Fault,
            format_args!("FAULT: stack overflow of core {core}, {how} {address:#x}, at {at:#x}"),
        ),
        None if error & WAS_PRESENT != 0 => end(
            ExitStatus::Fault,
            format_args!("FAULT: {how} {address:#x}, which is not allowed, at {at:#x}"),
        ),
        None => {
            end(ExitStatus::Fault, format_args!("FAULT: {how} {address:#x}, where nothing is, at {at:#x}"))
        }
    }
}

/// Reports that the standard library has called a function that this kernel does not have.
#[cfg(feature = "unwind")]
pub(crate) fn absent(function: &str) -> ! {
    end(ExitStatus::Panic, format_args!("PANIC: the standard library calls `{function}`, which is not here"))
}

/// Reports a panic that nothing catches, or that memory is exhausted: the console has the reason.
#[cfg(feature = "unwind")]
pub(crate) fn aborted() -> ! {
    end(ExitStatus::Panic, format_args!("PANIC: not caught, as said above"))
}

/// Reports a panic: no task can be unwound.
#[cfg(not(feature = "unwind"))]
#[panic_handler]
fn panicked(info: &PanicInfo<'_>) -> ! {
    match info.location() {
        Some(place) => end(ExitStatus::Panic, format_args!("PANIC: {}\n  at {place}", info.message())),
        None => end(ExitStatus::Panic, format_args!("PANIC: {}", info.message())),
    }
}
