//! The checksum of files and of DUMP: Redis' CRC-64.

use crc::{CRC_64_REDIS, Crc, Table};

/// Sixteen bytes at a time.
static CRC: Crc<u64, Table<16>> = Crc::<u64, Table<16>>::new(&CRC_64_REDIS);

/// A checksum under way.
pub(super) struct Checksum(crc::Digest<'static, u64, Table<16>>);

impl Checksum {
    pub(super) fn new() -> Self {
        Self(CRC.digest())
    }

    pub(super) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the checksum of the bytes so far.
    pub(super) fn value(&self) -> u64 {
        self.0.clone().finalize()
    }
}

/// Returns the checksum of bytes.
pub(super) fn checksum(bytes: &[u8]) -> u64 {
    CRC.checksum(bytes)
}
