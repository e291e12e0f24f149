//! Registers of six bits each, the lowest bits first.

use super::element::REGISTERS;
use super::estimate::Histogram;

/// The bits of a register.
const BITS: usize = 6;
const MASK: u16 = (1 << BITS) - 1;
/// The bytes of all registers.
pub(super) const BYTES: usize = REGISTERS * BITS / 8;

/// Returns the two bytes that have a register, and where it begins in them.
fn place(registers: &[u8], index: usize) -> (u16, usize) {
    let at = index * BITS / 8;
    // The last register ends with the last byte.
    let next = registers.get(at + 1).copied().unwrap_or(0);
    (u16::from_le_bytes([registers[at], next]), index * BITS % 8)
}

/// Sets a register to a number that is greater. Returns false if it is not.
pub(super) fn raise(registers: &mut [u8], index: usize, number: u8) -> bool {
    let (word, shift) = place(registers, index);
    if (word >> shift & MASK) >= u16::from(number) {
        return false;
    }
    let [first, second] = (word & !(MASK << shift) | u16::from(number) << shift).to_le_bytes();
    let at = index * BITS / 8;
    registers[at] = first;
    if let Some(next) = registers.get_mut(at + 1) {
        *next = second;
    }
    true
}

/// Iterates over all registers.
pub(super) fn iter(registers: &[u8]) -> impl Iterator<Item = u8> {
    // Four registers are three bytes.
    registers.as_chunks::<3>().0.iter().flat_map(|&[low, middle, high]| {
        let word = u32::from_le_bytes([low, middle, high, 0]);
        [0, 1, 2, 3].map(|at| (word >> (at * BITS)) as u8 & MASK as u8)
    })
}

/// Counts the registers by their numbers.
pub(super) fn count(registers: &[u8], histogram: &mut Histogram) {
    iter(registers).for_each(|number| histogram[usize::from(number)] += 1);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_are_independent() {
        let mut registers = vec![0; BYTES];
        let number = |index: usize| (index * 37 % 63) as u8 + 1;
        for index in (0..REGISTERS).rev() {
            assert!(raise(&mut registers, index, number(index)));
            assert!(!raise(&mut registers, index, number(index)));
        }
        assert!(iter(&registers).eq((0..REGISTERS).map(number)));
        let mut histogram = [0; 64];
        count(&registers, &mut histogram);
        assert_eq!(histogram.iter().sum::<u32>(), REGISTERS as u32);
    }
}
