//! Redis' append-only files: what they have is loaded by
//! [`Engine::load_aof`](crate::Engine::load_aof).
//!
//! Redis 7 keeps a directory of them: a *manifest* names a base, which is a snapshot or commands,
//! and files of the commands that came after it. Older versions have a single file. A file of
//! commands has requests of the protocol, and may begin with a snapshot. Lines with times, which
//! begin with `#`, may stand between requests.
//!
//! | file | contents |
//! |---|---|
//! | `manifest` | [`Manifest`]: which files there are, in order |
//! | `reader` | reads the commands of a file |
//! | `progress` | [`AofProgress`]: how far a file is loaded; [`AofEnd`] |
//! | `error` | [`AofError`]: what is wrong with a file, and where |

mod error;
mod manifest;
mod progress;
mod reader;

pub use error::{AofError, AofErrorKind};
pub use manifest::Manifest;
pub use progress::{AofEnd, AofProgress};
pub(crate) use reader::{CommandReader, NextCommand};
