//! Why a bulk load failed.

use core::fmt;
use xtasking::JoinError;

/// The error of [`Tree::load_sorted`](super::Tree::load_sorted).
#[derive(Debug)]
#[non_exhaustive]
pub enum LoadError {
    /// The keys are not in strictly ascending order.
    Unsorted {
        /// The first entry whose key is not above that of the entry before.
        index: usize,
    },
    /// The tasks that build the tree could not be waited for, or one of them failed.
    Join(JoinError),
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsorted { index } => {
                write!(f, "the key of entry {index} is not above that of the entry before it")
            }
            Self::Join(error) => write!(f, "the tree could not be built: {error}"),
        }
    }
}

impl core::error::Error for LoadError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Unsorted { .. } => None,
            Self::Join(error) => Some(error),
        }
    }
}

impl From<JoinError> for LoadError {
    fn from(error: JoinError) -> Self {
        Self::Join(error)
    }
}
