//! What the store uses of the crate `crc32c`, which needs the standard library.

#![no_std]
#![forbid(unsafe_code)]

use crc::{CRC_32_ISCSI, Crc, Table};

static CHECKSUM: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISCSI);

/// Returns the checksum of bytes that come after others, whose checksum is `before`; 0 if there are
/// none.
pub fn crc32c_append(before: u32, bytes: &[u8]) -> u32 {
    // The state after those bytes: the complement of their checksum, with its bits in reverse
    // order.
    let mut digest = CHECKSUM.digest_with_initial((!before).reverse_bits());
    digest.update(bytes);
    digest.finalize()
}

#[cfg(test)]
mod tests {
    use super::crc32c_append;

    #[test]
    fn parts_have_the_checksum_of_the_whole() {
        // The check value of the catalogue of parametrised CRC algorithms.
        assert_eq!(crc32c_append(0, b"123456789"), 0xe306_9283);
        for cut in 0..=9 {
            let (first, rest) = b"123456789".split_at(cut);
            assert_eq!(crc32c_append(crc32c_append(0, first), rest), 0xe306_9283, "{cut}");
        }
    }
}
