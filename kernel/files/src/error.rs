//! Errors of volumes.

use crate::BlockError;
use core::fmt;

/// Why an operation on a [`Volume`](crate::Volume) has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// There is no file of that name.
    NotFound,
    /// There is a file of that name.
    AlreadyExists,
    /// A name is not valid.
    InvalidName,
    /// A file is shorter than it is to be cut to.
    InvalidLength,
    /// The handle is closed.
    Closed,
    /// There is no room on the device, or in the table of files.
    Full,
    /// The device is too small for a volume.
    TooSmall,
    /// There is something else on the device.
    NoVolume,
    /// The table of files contradicts itself or the device.
    Damaged(&'static str),
    /// A commit has failed before.
    Failed,
    /// The device has failed.
    Device(BlockError),
}

impl From<BlockError> for Error {
    fn from(error: BlockError) -> Self {
        Self::Device(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotFound => "there is no file of that name",
            Self::AlreadyExists => "there is a file of that name",
            Self::InvalidName => {
                "a file's name has 1 to 255 bytes, without `/` and zeros, and is not `.` or `..`"
            }
            Self::InvalidLength => "a file can only be cut to a length that it has",
            Self::Closed => "the handle of the file is closed",
            Self::Full => "the volume is full; remove files or give it a larger device",
            Self::TooSmall => "a volume needs a device of at least 512 KiB",
            Self::NoVolume => "the device has no volume, and is not empty; fill it with zeros to use it",
            Self::Damaged(what) => return write!(f, "the table of files is damaged: {what}"),
            Self::Failed => "a commit has failed before; open the volume again",
            Self::Device(error) => return error.fmt(f),
        })
    }
}

impl core::error::Error for Error {}
