//! MSI-X: a device interrupts a core by a write to that core's interrupt controller. Its table says
//! where to, and what.

use core::ptr::NonNull;

/// The capability of a device that has such a table.
pub(super) const CAPABILITY: u8 = 0x11;
/// The bit of its first word that turns the table on.
pub(super) const ENABLE: u32 = 1 << 31;
/// The bit of its first word that holds the interrupts of all entries back.
pub(super) const ALL_ARE_MASKED: u32 = 1 << 30;
/// The bit of an entry's last word that holds its interrupts back.
const IS_MASKED: u32 = 1;
/// Writes to this address interrupt a core; its APIC ID begins at bit 12.
const CONTROLLERS: u32 = 0xfee0_0000;

/// Where the table is: the number of an address register, and the offset from its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TablePlace {
    pub bar: u8,
    pub offset: u32,
}

impl TablePlace {
    /// Reads the second word of the capability.
    pub fn new(word: u32) -> Self {
        Self { bar: (word & 7) as u8, offset: word & !7 }
    }
}

/// Returns the words of an entry that interrupts a core: the address, its upper half, what is
/// written.
fn entry(apic_id: u8, vector: u8) -> [u32; 3] {
    [CONTROLLERS | u32::from(apic_id) << 12, 0, u32::from(vector)]
}

/// An entry of the table of a device, which this kernel alone writes.
pub(super) struct Entry(NonNull<[u32; 4]>);

// SAFETY: registers of a device may be written by any core; `&mut self` keeps writes apart.
unsafe impl Send for Entry {}

impl Entry {
    /// # Safety
    ///
    /// `address` is that of an entry which stays mapped, and which nothing else writes.
    pub unsafe fn new(address: NonNull<u8>) -> Self {
        Self(address.cast())
    }

    fn write(&mut self, word: usize, value: u32) {
        // SAFETY: the entry has four words, by the promise of `new`.
        unsafe { self.0.cast::<u32>().add(word).write_volatile(value) };
    }

    /// Masks the entry, or opens it. The device has all that was written when this returns.
    fn set_mask(&mut self, mask: u32) {
        self.write(3, mask);
        // Writes may be on their way for some time, but a read comes behind them.
        // SAFETY: the entry has four words, by the promise of `new`.
        unsafe { self.0.cast::<u32>().add(3).read_volatile() };
    }

    /// Makes the device interrupt this core. An interrupt that is due meanwhile goes to the new
    /// one.
    pub fn send_to(&mut self, apic_id: u8, vector: u8) {
        self.set_mask(IS_MASKED);
        for (word, value) in entry(apic_id, vector).into_iter().enumerate() {
            self.write(word, value);
        }
        self.set_mask(0);
    }

    /// Holds all interrupts back.
    pub fn mask(&mut self) {
        self.set_mask(IS_MASKED);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_names_the_core_and_is_open() {
        let mut words = [0, 7, 7, IS_MASKED];
        // SAFETY: the words outlive the entry, which alone writes them.
        let mut table = unsafe { Entry::new(NonNull::from(&mut words).cast()) };
        table.send_to(0x2a, 34);
        table.mask();
        table.send_to(0x03, 34);
        assert_eq!(words, [0xfee0_3000, 0, 34, 0]);
    }

    #[test]
    fn the_table_has_a_register_and_an_offset() {
        assert_eq!(TablePlace::new(0x2001), TablePlace { bar: 1, offset: 0x2000 });
    }
}
