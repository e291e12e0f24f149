//! Where the registers of a device are, as its own description says: nothing of that is believed
//! before it is checked.

/// The memory that an address register (BAR) of a device names.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    pub address: u64,
    pub bytes: u64,
}

impl Window {
    /// Returns the address of some bytes in it; `None` if they are not all inside, if there are
    /// none, or if they cannot be read word by word.
    pub fn place(self, offset: u32, bytes: usize) -> Option<usize> {
        let end = u64::from(offset).checked_add(bytes as u64).filter(|&end| end <= self.bytes)?;
        self.address.checked_add(end)?;
        let start = usize::try_from(self.address + u64::from(offset)).ok()?;
        (self.address > 0 && bytes > 0 && start.is_multiple_of(align_of::<u32>())).then_some(start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Window = Window { address: 0xfe00_0000, bytes: 0x4000 };

    #[test]
    fn registers_are_inside_of_their_window() {
        assert_eq!(WINDOW.place(0x3000, 0x1000), Some(0xfe00_3000));
        assert_eq!(WINDOW.place(0x3000, 0x1001), None);
        assert_eq!(WINDOW.place(0x4000, 1), None);
        assert_eq!(WINDOW.place(u32::MAX & !3, 16), None);
        assert_eq!(WINDOW.place(0, usize::MAX), None);
    }

    #[test]
    fn what_is_no_place_for_registers_is_refused() {
        assert_eq!(WINDOW.place(0, 0), None);
        assert_eq!(WINDOW.place(2, 4), None);
        assert_eq!(Window { address: 0, ..WINDOW }.place(0, 4), None);
        assert_eq!(Window { address: u64::MAX - 0xfff, bytes: u64::MAX }.place(0x1000, 4), None);
    }
}
