//! Why there is no permit.

use core::fmt;

/// Why a task was not spawned with room, or a permit was not given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LimitError {
    /// All permits are out, or others wait for one.
    Full,
    /// The runtime is shutting down.
    ShutDown,
    /// The wait would block a worker of the runtime, which has to run the tasks that make room.
    WouldBlock,
}

impl fmt::Display for LimitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "there is no room for another task: the limit is reached",
            Self::ShutDown => "there is no room for another task: the runtime is shutting down",
            Self::WouldBlock => {
                "a worker cannot block until there is room in its own runtime; use `try_reserve` or `spawn`"
            }
        })
    }
}

impl core::error::Error for LimitError {}
