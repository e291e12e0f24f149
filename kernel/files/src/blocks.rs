//! What a volume asks of a device.

use core::fmt;

/// Bytes of a sector. A device reads and writes whole ones.
pub const SECTOR: usize = 512;

/// A block device.
///
/// What is written is durable after the next [`flush`](Self::flush). Until then a power cut may
/// lose each sector, or tear it into old and new bytes.
pub trait Blocks: Send {
    /// Returns the number of sectors.
    fn sectors(&self) -> u64;

    /// Reads whole sectors.
    ///
    /// # Errors
    ///
    /// If the device fails.
    fn read(&self, sector: u64, buffer: &mut [u8]) -> Result<(), BlockError>;

    /// Writes whole sectors.
    ///
    /// # Errors
    ///
    /// If the device fails. Some of the sectors may have been written then.
    fn write(&self, sector: u64, bytes: &[u8]) -> Result<(), BlockError>;

    /// Makes durable what was written.
    ///
    /// # Errors
    ///
    /// If the device fails. What was written since the last success may be lost then, even if a
    /// later call succeeds.
    fn flush(&self) -> Result<(), BlockError>;
}

/// Why a device has not done what it was asked to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BlockError {
    /// It says that it has failed.
    Failed,
    /// It does not know this kind of request.
    Unsupported,
    /// It has no such sectors, or the length is not that of whole ones.
    OutOfRange,
    /// It cannot be written.
    ReadOnly,
    /// It has not answered for a long time.
    NoAnswer,
}

impl fmt::Display for BlockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Failed => "the block device reports a failure",
            Self::Unsupported => "the block device does not support the request",
            Self::OutOfRange => "the block device has no such sectors",
            Self::ReadOnly => "the block device is read-only",
            Self::NoAnswer => "the block device does not answer; restart the machine",
        })
    }
}

impl core::error::Error for BlockError {}
