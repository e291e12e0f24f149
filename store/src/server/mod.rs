//! What all connections share.
//!
//! | file | contents |
//! |---|---|
//! | `settings` | [`Settings`]: what CONFIG reads and sets |
//! | `value_limits` | those of the sizes up to which values are compact |
//! | `persistence` | [`Persistence`]: what is known of snapshots |
//! | `memory` | [`Memory`]: how much memory keys take, and may take |
//! | `statistics` | [`Statistics`]: what INFO counts |
//! | `clients` | [`Clients`]: the connections, for CLIENT LIST |
//! | `channels` | [`Channels`]: those to which connections listen |
//! | `inbox` | the messages that wait for a connection |
//! | `notifications` | keyspace events as messages |

mod channels;
mod clients;
mod inbox;
mod memory;
mod notifications;
mod persistence;
mod settings;
mod statistics;
mod value_limits;

pub use channels::Channels;
pub(crate) use channels::{MessageHook, Topic};
pub(crate) use clients::CloseHook;
pub(crate) use clients::Ended;
pub use clients::{ClientInfo, ClientState, Clients, Unblock};
pub use memory::Memory;
pub(crate) use memory::{KnownMemory, MemorySource, resident_bytes};
pub(crate) use persistence::SaveResult;
pub use persistence::{Persistence, PersistenceStatus, SnapshotKind};
pub use settings::{Setting, SettingError, SettingKind, SettingSpec, Settings};
pub use statistics::{CommandCounts, KeyCounts, Statistics};

use crate::log::Log;
use std::fmt;
use std::sync::OnceLock;

/// The version of Redis whose replies the store gives.
pub const REDIS_VERSION: &str = "7.0.15";

/// What all connections share: settings, statistics, the list of clients.
#[derive(Debug)]
pub struct Server {
    /// What CONFIG reads and sets.
    pub settings: Settings,
    /// What INFO counts.
    pub statistics: Statistics,
    /// How much memory keys take, and may take.
    pub memory: Memory,
    /// The connections.
    pub clients: Clients,
    /// The channels to which they listen.
    pub channels: Channels,
    /// The snapshots.
    pub persistence: Persistence,
    /// When the store began, in ms since 1970.
    pub started_at: u64,
    /// Forty hexadecimal digits that tell this run from others.
    pub run_id: String,
    /// The number of databases.
    pub databases: usize,
    /// The number of workers of the runtime.
    pub workers: usize,
    /// What is changed is written there, unless it is empty.
    pub(crate) log: OnceLock<Log>,
    /// What SHUTDOWN does.
    pub(crate) on_shutdown: Option<ShutdownHook>,
}

/// Ends the program.
pub(crate) struct ShutdownHook(pub(crate) Box<dyn Fn(Shutdown) + Send + Sync>);

/// How a client wants the program to end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shutdown {
    /// Whether a snapshot is taken before.
    pub snapshot: LastSnapshot,
    /// Whether it ends even if the snapshot fails: SHUTDOWN FORCE.
    pub is_forced: bool,
}

/// Whether the program takes a snapshot before it ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LastSnapshot {
    /// If there are save points: SHUTDOWN.
    #[default]
    AsSet,
    /// In any case: SHUTDOWN SAVE.
    Yes,
    /// In no case: SHUTDOWN NOSAVE.
    No,
}

impl fmt::Debug for ShutdownHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ShutdownHook")
    }
}

impl Server {
    /// Begins to end the program. Returns false if it has not said how.
    pub(crate) fn shut_down(&self, how: Shutdown) -> bool {
        self.on_shutdown.as_ref().map(|hook| hook.0(how)).is_some()
    }
}
