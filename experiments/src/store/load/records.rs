//! Keys and values of records: both follow from the number of the record, and are not stored.

use xtasking_harness::random::mix;

/// The size of every key in bytes.
pub(super) const KEY_SIZE: usize = 16;

/// The digits of a key.
const DIGITS: usize = 12;

/// Returns the key of a record: `key:` and the number.
pub(super) fn key(record: u64) -> [u8; KEY_SIZE] {
    let mut key = *b"key:000000000000";
    let mut rest = record;
    for pair in key[KEY_SIZE - DIGITS..].as_chunks_mut::<2>().0.iter_mut().rev() {
        *pair = PAIRS[(rest % 100) as usize];
        rest /= 100;
    }
    key
}

/// The numbers 0 to 99 in digits.
static PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut number = 0;
    while number < 100 {
        pairs[number] = [b'0' + number as u8 / 10, b'0' + number as u8 % 10];
        number += 1;
    }
    pairs
};

/// The values of a size: letters that follow from the record and the number of its write.
#[derive(Clone, Copy)]
pub(super) struct Values {
    pub size: usize,
    pub seed: u64,
}

/// The bytes that are made at once.
type Word = [u8; 8];

impl Values {
    /// Appends the value that a write gives to a record.
    #[inline]
    pub fn append(self, record: u64, version: u32, out: &mut Vec<u8>) {
        let mut words = self.words(record, version);
        for _ in 0..self.size / size_of::<Word>() {
            out.extend_from_slice(&words.next());
        }
        out.extend_from_slice(&words.next()[..self.size % size_of::<Word>()]);
    }

    /// Returns true if these bytes are the value that a write gave to a record.
    #[inline]
    pub fn matches(self, record: u64, version: u32, value: &[u8]) -> bool {
        let mut words = self.words(record, version);
        let (whole, rest) = value.as_chunks::<{ size_of::<Word>() }>();
        value.len() == self.size
            && whole.iter().all(|word| *word == words.next())
            && *rest == words.next()[..rest.len()]
    }

    #[inline]
    fn words(self, record: u64, version: u32) -> Words {
        Words(mix(record ^ self.seed) ^ u64::from(version).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }
}

/// Makes the bytes of a value.
struct Words(u64);

impl Words {
    #[inline]
    fn next(&mut self) -> Word {
        self.0 = (self.0 ^ (self.0 >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        // Sixteen characters from '`' to 'o': no number, and no line end.
        (self.0 >> 4 & 0x0f0f_0f0f_0f0f_0f0f | 0x6060_6060_6060_6060).to_le_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_the_number_of_its_record() {
        assert_eq!(&key(9), b"key:000000000009");
        assert_eq!(&key(123_456_789_012), b"key:123456789012");
    }

    #[test]
    fn a_value_belongs_to_one_write_of_one_record() {
        for size in [1, 7, 8, 9, 64, 1000] {
            let values = Values { size, seed: 42 };
            let value = |record, version| {
                let mut value = Vec::new();
                values.append(record, version, &mut value);
                value
            };
            let ours = value(5, 2);
            assert_eq!(ours.len(), size);
            assert!(ours.iter().all(|byte| (b'`'..=b'o').contains(byte)));
            assert!(values.matches(5, 2, &ours));
            let shorter = &ours[..size - 1];
            assert!(!values.matches(5, 2, shorter));
            if size >= size_of::<Word>() - 1 {
                assert!(!values.matches(5, 3, &ours) && !values.matches(6, 2, &ours));
            }
            let mut other = ours.clone();
            other[size - 1] ^= 1;
            assert!(!values.matches(5, 2, &other));
        }
    }
}
