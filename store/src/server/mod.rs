//! What all connections share.
//!
//! | file | contents |
//! |---|---|
//! | `registry` | [`Setting`]: which settings there are |
//! | `settings` | [`Settings`]: what CONFIG reads and sets |
//! | `ordered` | that of the databases in order |
//! | `percentiles` | the value of a setting of percentiles |
//! | `value_limits` | those of the sizes up to which values are compact |
//! | `persistence` | [`Persistence`]: what is known of snapshots |
//! | `memory` | [`Memory`]: how much memory keys take, and may take |
//! | `statistics` | [`Statistics`]: what INFO counts |
//! | `histogram` | the times of commands |
//! | `attention` | what requests have to heed that mostly is not there |
//! | `slow_log` | [`SlowLog`]: requests that took long |
//! | `latency` | [`LatencyMonitor`]: events that took long |
//! | `clients` | [`Clients`]: the connections, for CLIENT LIST |
//! | `channels` | [`Channels`]: those to which connections listen |
//! | `monitors` | sessions that follow all requests |
//! | `pause` | up to when requests are held |
//! | `users` | the file of users |
//! | `inbox` | the messages that wait for a connection |
//! | `notifications` | keyspace events as messages |
//! | `tracking` | client-side caching: sessions learn when keys that they have read change |

mod attention;
mod channels;
mod clients;
mod histogram;
mod inbox;
mod latency;
mod memory;
mod monitors;
mod notifications;
mod ordered;
mod pause;
mod percentiles;
mod persistence;
mod registry;
mod settings;
mod slow_log;
mod statistics;
mod tracking;
mod users;
mod value_limits;

pub(crate) use attention::{Attention, Reason};
pub use channels::Channels;
pub(crate) use channels::{Message, MessageHook, Published, Topic};
pub(crate) use clients::CloseHook;
pub(crate) use clients::Ended;
pub use clients::{ClientInfo, ClientMemory, ClientState, Clients, Unblock};
pub(crate) use histogram::{Histogram, longest_beside};
pub use latency::{LatencyEvent, LatencyMonitor};
pub use memory::Memory;
pub(crate) use memory::{KnownMemory, MemorySource, resident_bytes};
pub(crate) use monitors::Monitors;
pub(crate) use pause::{Pause, PauseScope};
pub(crate) use persistence::SaveResult;
pub use persistence::{Persistence, PersistenceStatus, SnapshotKind};
pub use registry::{Setting, SettingKind, SettingSpec};
pub use settings::{SettingError, Settings};
pub use slow_log::{SlowLog, SlowRequest};
pub(crate) use statistics::Times;
pub use statistics::{CommandCounts, KeyCounts, Statistics};
pub(crate) use tracking::{BroadcastChange, Invalidation, Tracker, Tracking, TrackingMode};

use crate::acl::Acl;
use crate::log::Log;
use std::fmt;
use std::sync::OnceLock;

/// The version of Redis whose replies the store gives.
pub const REDIS_VERSION: &str = "7.0.15";

/// If the slow log takes shorter requests, in microseconds, each request is measured by itself.
const SHORT_TIME: i64 = 1000;

/// What all connections share: settings, statistics, the list of clients.
#[derive(Debug)]
pub struct Server {
    /// What CONFIG reads and sets.
    pub settings: Settings,
    /// What INFO counts.
    pub statistics: Statistics,
    /// How much memory keys take, and may take.
    pub memory: Memory,
    /// Requests that took long.
    pub slow_log: SlowLog,
    /// Events that took long.
    pub latency: LatencyMonitor,
    /// The users and what they may do.
    pub(crate) acl: Acl,
    /// What requests have to heed at present.
    pub(crate) attention: Attention,
    /// Up to when requests are held.
    pub(crate) pause: Pause,
    /// The sessions that follow all requests.
    pub(crate) monitors: Monitors,
    /// The connections.
    pub clients: Clients,
    /// The channels to which they listen.
    pub channels: Channels,
    /// The sessions that track keys.
    pub(crate) tracking: Tracking,
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
    /// Notes what the settings mean for requests. It is called when they were set.
    pub(crate) fn heed_settings(&self) {
        let threshold = self.settings.number(Setting::SlowlogLogSlowerThan);
        self.attention.set(Reason::EXACT_TIMES, (0..SHORT_TIME).contains(&threshold));
    }

    /// Gives the default user the password of the setting `requirepass`. It is called when that was
    /// set.
    pub(crate) fn require_password(&self) {
        self.acl.require_password(|| self.settings.text(Setting::RequirePass));
    }

    /// Begins to end the program. Returns false if it has not said how.
    pub(crate) fn shut_down(&self, how: Shutdown) -> bool {
        self.on_shutdown.as_ref().map(|hook| hook.0(how)).is_some()
    }
}
