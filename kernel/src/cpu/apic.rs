//! The local APIC, the interrupt controller of each core, by its registers in memory.

use super::ports;
use super::without_interrupts;

/// Where each core sees its own controller.
pub(crate) const REGISTERS: usize = 0xfee0_0000;

/// A register of the controller.
#[derive(Clone, Copy)]
#[repr(usize)]
enum Register {
    Id = 0x20,
    EndOfInterrupt = 0xb0,
    Spurious = 0xf0,
    CommandLow = 0x300,
    CommandHigh = 0x310,
    Timer = 0x320,
    TimerStart = 0x380,
    TimerNow = 0x390,
    TimerDivider = 0x3e0,
}

/// The numbers of the interrupts that this kernel uses.
pub(crate) mod vector {
    /// The timer has come to its time.
    pub const TIMER: u8 = 32;
    /// Another core has work for this one.
    pub const WAKE: u8 = 33;
    /// A device has something to report.
    pub const DEVICE: u8 = 34;
    /// None: the controller had one that has gone.
    pub const SPURIOUS: u8 = 35;
}

/// The start of a core: it is reset, and then begins at a page below 1 MiB.
const RESET_OTHERS: u32 = 0x000c_4500;
const START_OTHERS: u32 = 0x000c_4600;
/// The NMI (non-maskable interrupt) to all other cores.
const HALT_OTHERS: u32 = 0x000c_4400;
/// The command is still on its way.
const IS_PENDING: u32 = 1 << 12;
/// The timer counts each tick.
const UNDIVIDED: u32 = 0b1011;

fn read(register: Register) -> u32 {
    // SAFETY: the page of the registers is mapped, and reading these changes nothing.
    unsafe { ((REGISTERS + register as usize) as *const u32).read_volatile() }
}

fn write(register: Register, value: u32) {
    // SAFETY: the page of the registers is mapped; callers of this file write commands only for
    // interrupts that have handlers, and for cores that are to start.
    unsafe { ((REGISTERS + register as usize) as *mut u32).write_volatile(value) };
}

/// Returns the APIC ID of this core.
pub(crate) fn own_id() -> u8 {
    (read(Register::Id) >> 24) as u8
}

/// Turns the controller of this core on.
pub(crate) fn enable() {
    write(Register::Spurious, 0x100 | u32::from(vector::SPURIOUS));
    write(Register::TimerDivider, UNDIVIDED);
    write(Register::Timer, u32::from(vector::TIMER));
}

/// Masks both PICs, the old interrupt controllers: their interrupts look like faults.
pub(crate) fn silence_old_controllers() {
    for port in [0x21, 0xa1] {
        // SAFETY: these are the masks of both controllers.
        unsafe { ports::write8(port, 0xff) };
    }
}

/// Acknowledges an interrupt.
pub(crate) fn end_interrupt() {
    write(Register::EndOfInterrupt, 0);
}

/// Makes the timer of this core interrupt it after this number of its ticks; 0 stops it.
pub(crate) fn start_timer(ticks: u32) {
    write(Register::TimerStart, ticks);
}

/// Returns how many ticks the timer has left.
pub(crate) fn timer_left() -> u32 {
    read(Register::TimerNow)
}

/// Sends a command to another core's controller, or to those that it names.
fn send(apic_id: u8, command: u32) {
    // Two registers make one command: no handler must come between them.
    without_interrupts(|| {
        write(Register::CommandHigh, u32::from(apic_id) << 24);
        write(Register::CommandLow, command);
        while read(Register::CommandLow) & IS_PENDING != 0 {
            core::hint::spin_loop();
        }
    });
}

/// Interrupts a core that may be halted.
pub(crate) fn wake(apic_id: u8) {
    send(apic_id, u32::from(vector::WAKE));
}

/// Resets all other cores.
pub(crate) fn reset_others() {
    send(0, RESET_OTHERS);
}

/// Lets all other cores begin at an address below 1 MiB.
pub(crate) fn start_others(address: usize) {
    send(0, START_OTHERS | (address >> 12) as u32);
}

/// Interrupts all other cores, whatever they do.
pub(crate) fn halt_others() {
    send(0, HALT_OTHERS);
}
