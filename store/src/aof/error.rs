//! What is wrong with an append-only file, and where.

use crate::rdb::RdbErrorKind;
use std::{error, fmt, io};

/// Why a file cannot be loaded.
#[derive(Debug)]
pub struct AofError {
    /// The offset of the command or the bytes that are wrong, or after which reading failed.
    pub offset: u64,
    /// What is wrong.
    pub kind: AofErrorKind,
}

/// What is wrong with a file.
#[derive(Debug)]
#[non_exhaustive]
pub enum AofErrorKind {
    /// It cannot be read.
    Io(io::Error),
    /// The snapshot with which it begins cannot be loaded.
    Snapshot(RdbErrorKind),
    /// Its last command or transaction is not whole.
    Torn,
    /// Bytes are not as the format has them; why.
    Malformed(&'static str),
    /// A command cannot be run.
    Refused {
        /// Its name.
        command: String,
        /// Why.
        reason: String,
    },
    /// The commands were not waited for: the runtime has ended, or the caller is a task.
    Interrupted,
}

impl AofError {
    pub(crate) fn new(offset: u64, kind: AofErrorKind) -> Self {
        Self { offset, kind }
    }
}

impl fmt::Display for AofErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Snapshot(error) => error.fmt(f),
            Self::Torn => f.write_str("the file ends within a command or transaction"),
            Self::Malformed(why) => f.write_str(why),
            Self::Refused { command, reason } => {
                write!(f, "the command {} cannot be run: {}", command.escape_debug(), reason.escape_debug())
            }
            Self::Interrupted => f.write_str("the runtime has ended, or a task cannot wait for it"),
        }
    }
}

impl fmt::Display for AofError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {}: {}", self.offset, self.kind)
    }
}

impl error::Error for AofError {}
