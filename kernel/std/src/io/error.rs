//! Errors of input and output.

use alloc_crate::boxed::Box;
use core::error;
use core::fmt;

/// What kind of error it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// There is nothing of that name.
    NotFound,
    /// There is something of that name.
    AlreadyExists,
    /// It would have to wait.
    WouldBlock,
    /// An argument is wrong.
    InvalidInput,
    /// The data are wrong.
    InvalidData,
    /// Nothing more is taken.
    WriteZero,
    /// There is no room.
    StorageFull,
    /// It may be tried again.
    Interrupted,
    /// There is nothing that does it.
    Unsupported,
    /// The data end too early.
    UnexpectedEof,
    /// There is no memory for it.
    OutOfMemory,
    /// None of these.
    Other,
}

/// What a reader or a writer returns.
pub type Result<T> = core::result::Result<T, Error>;

/// Why an error was made.
type Cause = Box<dyn error::Error + Send + Sync>;

/// An error of input or output.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    cause: Option<Cause>,
}

impl Error {
    /// Creates an error.
    pub fn new(kind: ErrorKind, cause: impl Into<Cause>) -> Self {
        Self { kind, cause: Some(cause.into()) }
    }

    /// Creates an error of no particular kind.
    pub fn other(cause: impl Into<Cause>) -> Self {
        Self::new(ErrorKind::Other, cause)
    }

    /// Returns its kind.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Self { kind, cause: None }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotFound => "entity not found",
            Self::AlreadyExists => "entity already exists",
            Self::WouldBlock => "operation would block",
            Self::InvalidInput => "invalid input parameter",
            Self::InvalidData => "invalid data",
            Self::WriteZero => "write zero",
            Self::StorageFull => "no storage space",
            Self::Interrupted => "operation interrupted",
            Self::Unsupported => "unsupported",
            Self::UnexpectedEof => "unexpected end of file",
            Self::OutOfMemory => "out of memory",
            Self::Other => "other error",
        })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cause {
            Some(cause) => cause.fmt(f),
            None => self.kind.fmt(f),
        }
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        self.cause.as_ref().and_then(|cause| cause.source())
    }
}
