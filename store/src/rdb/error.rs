//! What is wrong with a file, and where.

use std::{fmt, io};
use xtasking::JoinError;

/// Why a file or a dump cannot be read.
#[derive(Debug)]
pub struct RdbError {
    /// The offset of the byte after which reading failed.
    pub offset: u64,
    /// What is wrong.
    pub kind: RdbErrorKind,
}

/// What is wrong with a file or a dump.
#[derive(Debug)]
#[non_exhaustive]
pub enum RdbErrorKind {
    /// The file cannot be read.
    Io(io::Error),
    /// It ends too early.
    Truncated,
    /// It does not begin as such a file does.
    NoSignature,
    /// It has a version that is not known.
    Version(u32),
    /// It has a type of value, or another part, that is not known.
    UnknownType(u8),
    /// It has what the store does not have, such as a value of a module.
    Unsupported {
        /// What it is.
        what: &'static str,
        /// The key whose value it is; empty if it belongs to none.
        key: Box<[u8]>,
    },
    /// It has a database that the store does not have.
    Database(u64),
    /// It has a key twice.
    DuplicateKey(Box<[u8]>),
    /// Bytes are not as the format has them; why.
    Malformed(&'static str),
    /// Its checksum is another one.
    Checksum {
        /// That of the bytes.
        computed: u64,
        /// The one in the file.
        stored: u64,
    },
    /// A task of the load has failed.
    Runtime(JoinError),
}

impl RdbError {
    pub(crate) fn new(offset: u64, kind: RdbErrorKind) -> Self {
        Self { offset, kind }
    }

    pub(super) fn malformed(offset: u64, why: &'static str) -> Self {
        Self::new(offset, RdbErrorKind::Malformed(why))
    }
}

impl fmt::Display for RdbErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Truncated => f.write_str("the data end too early"),
            Self::NoSignature => f.write_str("this is no RDB file: it does not begin with REDIS"),
            Self::Version(version) => write!(f, "version {version} of the format is not supported"),
            Self::UnknownType(code) => write!(f, "type {code} is not known"),
            Self::Unsupported { what, key } if key.is_empty() => write!(f, "{what} cannot be loaded"),
            Self::Unsupported { what, key } => {
                write!(f, "the key '{}' has {what}, which cannot be loaded", key.escape_ascii())
            }
            Self::Database(number) => {
                write!(f, "database {number} is not there; the setting databases makes more of them")
            }
            Self::DuplicateKey(key) => write!(f, "the key '{}' is there twice", key.escape_ascii()),
            Self::Malformed(why) => f.write_str(why),
            Self::Checksum { computed, stored } => {
                write!(f, "the checksum is {computed:016x}, and should be {stored:016x}")
            }
            Self::Runtime(error) => write!(f, "a task of the load has failed: {error}"),
        }
    }
}

impl fmt::Display for RdbError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {}: {}", self.offset, self.kind)
    }
}

impl std::error::Error for RdbError {}
