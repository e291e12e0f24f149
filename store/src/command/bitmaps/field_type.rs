//! Integers of 1 to 64 bits, and their overflow.

use super::super::CommandError;
use super::bits::{bit, set_bit};
use crate::resp::parse_integer;

/// The type of an integer in a field: signed with up to 64 bits, or unsigned with up to 63.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FieldType {
    is_signed: bool,
    bits: u32,
}

/// What becomes of a number that does not fit into its field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Overflow {
    /// Its low bits.
    Wrap,
    /// The greatest number that fits, or the least.
    Saturate,
    /// Nothing: the field stays.
    Fail,
}

impl FieldType {
    /// Reads a type such as `i16` or `u8`.
    pub(super) fn parse(arg: &[u8]) -> Result<Self, CommandError> {
        let invalid = CommandError::fixed(
            "ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 \
             is.",
        );
        let (is_signed, most) = match arg.first() {
            Some(b'i') => (true, 64),
            Some(b'u') => (false, 63),
            _ => return Err(invalid),
        };
        let bits = parse_integer(&arg[1..]).filter(|bits| (1..=most).contains(bits)).ok_or(invalid)?;
        Ok(Self { is_signed, bits: bits as u32 })
    }

    pub(super) fn bits(self) -> u32 {
        self.bits
    }

    /// Returns the number that is to be set. As in Redis, a negative one is a large one where there
    /// is no sign: so it saturates to the greatest.
    pub(super) fn number(self, arg: i64) -> i128 {
        if self.is_signed { arg.into() } else { i128::from(arg as u64) }
    }

    fn least(self) -> i128 {
        if self.is_signed { -1 << (self.bits - 1) } else { 0 }
    }

    fn greatest(self) -> i128 {
        self.least() + (1 << self.bits) - 1
    }

    /// Returns what becomes of a number in a field of this type; `None` if it must not be written.
    pub(super) fn fit(self, number: i128, overflow: Overflow) -> Option<i128> {
        if (self.least()..=self.greatest()).contains(&number) {
            return Some(number);
        }
        match overflow {
            Overflow::Wrap => Some((number - self.least()).rem_euclid(1 << self.bits) + self.least()),
            Overflow::Saturate => Some(number.clamp(self.least(), self.greatest())),
            Overflow::Fail => None,
        }
    }

    /// Reads the field at an offset in bits. Bits after the end are 0.
    pub(super) fn read(self, bytes: &[u8], offset: usize) -> i128 {
        let bits = (offset..).take(self.bits as usize);
        let number = bits.fold(0, |number: i128, at| number << 1 | i128::from(bit(bytes, at)));
        if number > self.greatest() { number - (1 << self.bits) } else { number }
    }

    /// Writes a number that fits into the field at an offset in bits, which the string has.
    pub(super) fn write(self, bytes: &mut [u8], offset: usize, number: i128) {
        for (at, place) in (offset..).zip((0..self.bits).rev()) {
            set_bit(bytes, at, number >> place & 1 == 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{FieldType, Overflow};

    #[test]
    fn each_number_of_a_field_comes_back() {
        for (name, range) in [("i3", -4..4), ("u3", 0..8), ("i1", -1..1), ("u1", 0..2)] {
            let field = FieldType::parse(name.as_bytes()).unwrap();
            for number in range.clone() {
                let mut bytes = [0xa5; 2];
                field.write(&mut bytes, 6, number);
                assert_eq!(field.read(&bytes, 6), number, "{name}");
                assert_eq!(field.fit(number, Overflow::Fail), Some(number));
            }
            assert_eq!(field.fit(range.end, Overflow::Wrap), Some(range.start));
            assert_eq!(field.fit(range.start - 1, Overflow::Wrap), Some(range.end - 1));
            assert_eq!(field.fit(range.end + 9, Overflow::Saturate), Some(range.end - 1));
            assert_eq!(field.fit(range.start - 9, Overflow::Saturate), Some(range.start));
            assert_eq!(field.fit(range.end, Overflow::Fail), None);
        }
        for name in ["", "i", "i0", "i65", "u64", "x8", "i8x"] {
            assert!(FieldType::parse(name.as_bytes()).is_err(), "{name}");
        }
    }
}
