//! The log of a store: what commands have changed is on the disk, and replayed at the next start.
//!
//! A worker appends the effects of a command to a buffer of its own, while its task holds the
//! shards. A thread writes the buffers to a file, and syncs it. Batches wait for that as the
//! setting `appendfsync` says, and no worker does. `docs/explanation/log.md` has the format, and
//! says why what is replayed is consistent.
//!
//! | file | contents |
//! |---|---|
//! | `handle` | [`Log`] |
//! | `base` | a snapshot that stands for the epochs before one |
//! | `options` | [`Options`]: how a log is made; what its recovery reports |
//! | `error` | [`OpenError`]: why a log cannot be opened |
//! | `lane` | the buffer of a worker, and the order of what several have |
//! | `waiting` | batches that wait for the disk |
//! | `shared` | what workers and the thread share: epochs, waits, failures |
//! | `writer` | what the thread does |
//! | `segments` | the files |
//! | `recovery` | what is done at the start |
//! | `format` | the bytes of the files; those of units are in `command::Commands` |

mod base;
mod error;
mod format;
mod handle;
mod lane;
mod options;
mod recovery;
mod segments;
mod shared;
mod waiting;
mod writer;

pub(crate) use base::NewBase;
pub use error::OpenError;
pub use handle::Log;
pub(crate) use options::PolicySource;
pub use options::{Cut, Options, Progress, Recovered, SyncPolicy};
pub(crate) use recovery::{Replay, ReplayError};
pub(crate) use shared::Appended;
pub(crate) use waiting::{Dependence, Outcome, Waiter};
