//! Why a platform failed.

use alloc::borrow::Cow;
use alloc::string::String;
use core::fmt;

/// Why a [`Platform`](super::Platform) could not start a worker or a watcher.
///
/// It displays as one line: what failed, and the error of the operating system that caused it, if
/// there is one. [`source`](core::error::Error::source) is `None`, as the line has the cause
/// already; [`io_error`](Self::io_error) returns it.
///
/// ```
/// use xtasking::platform::PlatformError;
///
/// let error = PlatformError::new("no watchers here");
/// assert_eq!(error.to_string(), "no watchers here");
/// # #[cfg(feature = "std")] {
/// let cause = std::io::Error::other("out of threads");
/// let error = PlatformError::with_cause("cannot start worker 3", cause);
/// assert_eq!(error.to_string(), "cannot start worker 3: out of threads");
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct PlatformError {
    what: Cow<'static, str>,
    #[cfg(feature = "std")]
    cause: Option<alloc::sync::Arc<std::io::Error>>,
}

impl PlatformError {
    /// Creates an error without a cause. `what` says what failed, in lower case and without a full
    /// stop.
    pub fn new(what: impl Into<Cow<'static, str>>) -> Self {
        Self {
            what: what.into(),
            #[cfg(feature = "std")]
            cause: None,
        }
    }

    /// Creates an error that an error of the operating system has caused.
    #[cfg(feature = "std")]
    pub fn with_cause(what: impl Into<Cow<'static, str>>, cause: std::io::Error) -> Self {
        Self { what: what.into(), cause: Some(cause.into()) }
    }

    /// Returns what failed, without the cause.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// Returns the error of the operating system, if there is one.
    #[cfg(feature = "std")]
    pub fn io_error(&self) -> Option<&std::io::Error> {
        self.cause.as_deref()
    }
}

impl From<&'static str> for PlatformError {
    fn from(what: &'static str) -> Self {
        Self::new(what)
    }
}

impl From<String> for PlatformError {
    fn from(what: String) -> Self {
        Self::new(what)
    }
}

/// Compares the texts, and the kinds of the causes.
impl PartialEq for PlatformError {
    fn eq(&self, other: &Self) -> bool {
        #[cfg(feature = "std")]
        if self.io_error().map(std::io::Error::kind) != other.io_error().map(std::io::Error::kind) {
            return false;
        }
        self.what == other.what
    }
}

impl Eq for PlatformError {}

impl fmt::Display for PlatformError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        #[cfg(feature = "std")]
        if let Some(cause) = self.io_error() {
            write!(f, ": {cause}")?;
        }
        Ok(())
    }
}

impl core::error::Error for PlatformError {}
