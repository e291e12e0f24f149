//! Why a pool could not be built.

use std::error::Error;
use std::{fmt, io};

/// The error of [`ThreadPoolBuilder::build`](crate::ThreadPoolBuilder::build) and its like.
#[derive(Debug)]
pub struct ThreadPoolBuildError(Kind);

#[derive(Debug)]
enum Kind {
    AlreadyInitialized,
    CurrentThread,
    Thread(io::Error),
    Runtime(xtasking::BuildError),
}

impl ThreadPoolBuildError {
    pub(crate) fn already_initialized() -> Self {
        Self(Kind::AlreadyInitialized)
    }

    pub(crate) fn current_thread() -> Self {
        Self(Kind::CurrentThread)
    }

    pub(crate) fn thread(cause: io::Error) -> Self {
        Self(Kind::Thread(cause))
    }

    pub(crate) fn runtime(cause: xtasking::BuildError) -> Self {
        Self(Kind::Runtime(cause))
    }
}

impl fmt::Display for ThreadPoolBuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            // rayon's own words, which programs may compare.
            Kind::AlreadyInitialized => f.write_str("The global thread pool has already been initialized."),
            Kind::CurrentThread => f.write_str(
                "rayon-core on xtasking cannot make the current thread a worker; build the pool without \
                 `use_current_thread`",
            ),
            Kind::Thread(cause) => cause.fmt(f),
            Kind::Runtime(cause) => cause.fmt(f),
        }
    }
}

impl Error for ThreadPoolBuildError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.0 {
            Kind::AlreadyInitialized | Kind::CurrentThread => None,
            Kind::Thread(cause) => Some(cause),
            Kind::Runtime(cause) => Some(cause),
        }
    }
}
