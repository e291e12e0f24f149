//! Input and output by ports.

use core::arch::asm;

/// Writes a byte to a port.
///
/// # Safety
///
/// What the device does at that must not disturb memory that is in use.
pub(crate) unsafe fn write8(port: u16, value: u8) {
    // SAFETY: the caller's promise.
    unsafe { asm!("out dx, al", in("dx") port, in("al") value, options(nostack, preserves_flags)) };
}

/// Writes a word of 32 bits to a port.
///
/// # Safety
///
/// As for [`write8`].
pub(crate) unsafe fn write32(port: u16, value: u32) {
    // SAFETY: the caller's promise.
    unsafe { asm!("out dx, eax", in("dx") port, in("eax") value, options(nostack, preserves_flags)) };
}

/// Reads a byte from a port.
///
/// # Safety
///
/// As for [`write8`].
pub(crate) unsafe fn read8(port: u16) -> u8 {
    let value;
    // SAFETY: the caller's promise.
    unsafe { asm!("in al, dx", in("dx") port, out("al") value, options(nostack, preserves_flags)) };
    value
}

/// Reads a word of 32 bits from a port.
///
/// # Safety
///
/// As for [`write8`].
pub(crate) unsafe fn read32(port: u16) -> u32 {
    let value;
    // SAFETY: the caller's promise.
    unsafe { asm!("in eax, dx", in("dx") port, out("eax") value, options(nostack, preserves_flags)) };
    value
}
