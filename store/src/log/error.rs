//! Why a log cannot be opened.

use std::{error, fmt, io};

/// Why a log cannot be opened. The store is not started then: an empty one would be worse.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// Another process uses the log.
    Locked,
    /// The disk fails.
    Disk {
        /// The file; empty if it is the directory.
        file: String,
        /// The error of the disk.
        cause: io::Error,
    },
    /// A file is not as it was written.
    Corrupt {
        /// The file.
        file: String,
        /// Where, in bytes from its start.
        offset: u64,
        /// What is wrong.
        reason: String,
    },
    /// There is no such setting, or it does not take its value.
    Setting(String),
    /// The users of the settings cannot be made.
    Users(String),
    /// The setting `appendonly` is on, and the engine has no disk for a log.
    NoDisk,
    /// The replay was not waited for: the runtime has ended, or the caller is a task.
    Interrupted,
}

impl OpenError {
    /// Returns a function that makes the error of a disk at a file.
    pub(super) fn at(file: &str) -> impl Fn(io::Error) -> Self {
        move |cause| Self::Disk { file: file.to_owned(), cause }
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Locked => f.write_str("another process uses the log in this directory"),
            Self::Disk { file, cause } if file.is_empty() => write!(f, "the directory of the log: {cause}"),
            Self::Disk { file, cause } => write!(f, "the file {file} of the log: {cause}"),
            Self::Corrupt { file, offset, reason } => {
                write!(f, "the file {file} of the log is corrupt at byte {offset}: {reason}")
            }
            Self::Setting(why) | Self::Users(why) => f.write_str(why),
            Self::NoDisk => f.write_str("appendonly is yes, and the engine was given no disk for a log"),
            Self::Interrupted => {
                f.write_str("the log was not replayed: the runtime has ended, or a task cannot wait for it")
            }
        }
    }
}

impl error::Error for OpenError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Disk { cause, .. } => Some(cause),
            _ => None,
        }
    }
}
