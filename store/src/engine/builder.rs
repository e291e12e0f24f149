//! How an engine is made.

use super::Engine;
use super::blocked::Blocked;
use super::engine::{Clock, Cycles, EffectsHook, Inner};
use crate::acl::Acl;
use crate::command::Effects;
use crate::keyspace::{Layout, Shard, Versions};
use crate::log::{Log, OpenError, Options, PolicySource, Replay};
use crate::rdb::RdbReader;
use crate::server::{
    Attention, Channels, Clients, CloseHook, LatencyMonitor, Memory, MemorySource, MessageHook, Monitors,
    Pause, Persistence, Server, Setting, Settings, Shutdown, ShutdownHook, SlowLog, Statistics, Tracking,
    resident_bytes,
};
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use xtasking::Runtime;
use xtasking::primitive::ReaderWriterLatch;
use xtasking_storage::Disk;

/// The time after which a session lets others have their turn: a small part of what a client waits
/// for anyway, and hundreds of ordinary requests.
const LONGEST_TURN: Duration = Duration::from_micros(500);

/// An engine under construction; made by [`Engine::builder`].
#[must_use = "an engine is made by `build`"]
pub struct Builder {
    shards: Option<usize>,
    databases: usize,
    seed: Option<u64>,
    clock: Clock,
    on_effects: Option<EffectsHook>,
    on_close: Option<CloseHook>,
    on_message: Option<MessageHook>,
    on_shutdown: Option<ShutdownHook>,
    settings: Vec<(String, String)>,
    users: Vec<String>,
    memory: MemorySource,
    log: Option<LogSource>,
}

/// The shards of an engine by default, so that commands on ten keys of sixteen workers rarely meet.
const SHARDS_PER_WORKER: usize = 256;
const LEAST_SHARDS: usize = 1024;
const MOST_SHARDS: usize = 1 << 16;

/// Opens the log of an engine: replays it, and syncs as a function says.
type LogSource = Box<dyn FnOnce(&Runtime, PolicySource, Replay<'_>) -> Result<Log, OpenError> + Send>;

impl Default for Builder {
    fn default() -> Self {
        Self {
            shards: None,
            databases: 16,
            seed: None,
            clock: Box::new(system_time),
            on_effects: None,
            on_close: None,
            on_message: None,
            on_shutdown: None,
            settings: Vec::new(),
            users: Vec::new(),
            memory: Box::new(resident_bytes),
            log: None,
        }
    }
}

/// The system's time in ms since 1970.
fn system_time() -> u64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
}

impl Builder {
    /// Sets the number of shards, a power of two up to 131,072. Default: 1024, or 256 for each
    /// worker if that is more, as commands on keys of one shard wait for each other. Commands on
    /// all keys take a task on all shards.
    pub fn shards(mut self, shards: usize) -> Self {
        self.shards = Some(shards);
        self
    }

    /// Sets the number of databases. Default: 16.
    pub fn databases(mut self, databases: usize) -> Self {
        self.databases = databases.max(1);
        self
    }

    /// Sets the seed of the hash function and of the sessions' random numbers. Default: a random
    /// one, so that clients cannot choose keys that collide. For simulations.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Sets a setting of the registry, as a line of `redis.conf` does.
    pub fn setting(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.settings.push((name.into(), value.into()));
        self
    }

    /// Adds a user: its name and rules, as a line `user` of `redis.conf` has them.
    pub fn user(mut self, line: impl Into<String>) -> Self {
        self.users.push(line.into());
        self
    }

    /// Sets the clock: a function that returns the time in ms since 1970. Default: the system's.
    pub fn clock(mut self, clock: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        self.clock = Box::new(clock);
        self
    }

    /// Sets a function that follows the effects of commands. It is called for each command or
    /// transaction that changed something, while its task holds the shards: so it sees the changes
    /// of each key in order.
    pub fn on_effects(mut self, follow: impl Fn(&Effects) + Send + Sync + 'static) -> Self {
        self.on_effects = Some(Box::new(follow));
        self
    }

    /// Sets a function that closes the connection of a session: CLIENT KILL calls it.
    pub fn on_close(mut self, close: impl Fn(u64) + Send + Sync + 'static) -> Self {
        self.on_close = Some(Box::new(close));
        self
    }

    /// Sets a function that is told that messages wait for a session: take them by
    /// [`Session::take_messages`](crate::session::Session::take_messages), at once or, if the
    /// session is under way, when it is back.
    pub fn on_message(mut self, tell: impl Fn(u64) + Send + Sync + 'static) -> Self {
        self.on_message = Some(Box::new(tell));
        self
    }

    /// Sets a function that begins to end the program: SHUTDOWN calls it, and says how. Default:
    /// SHUTDOWN is refused.
    pub fn on_shutdown(mut self, end: impl Fn(Shutdown) + Send + Sync + 'static) -> Self {
        self.on_shutdown = Some(ShutdownHook(Box::new(end)));
        self
    }

    /// Sets a function that returns the memory of the process in bytes, if that is known. Default:
    /// what the system tells, on Linux. It is called by
    /// [`Engine::bound_memory`], and for INFO and MEMORY.
    pub fn process_memory(mut self, source: impl Fn() -> Option<u64> + Send + Sync + 'static) -> Self {
        self.memory = Box::new(source);
        self
    }

    /// Sets a disk for the log of the store: what commands change is written there, as the setting
    /// `appendfsync` says, and replayed when an engine is opened on the disk again. Default: none.
    ///
    /// ```
    /// use xtasking::Runtime;
    /// use xtasking_storage::{Disk, SimulatedDisk};
    /// use xtasking_store::{Engine, log};
    ///
    /// let mut disk = SimulatedDisk::new(1);
    /// let rt = Runtime::builder().workers(2).build()?;
    /// let builder = Engine::builder().setting("appendfsync", "always");
    /// let engine = builder.log(disk.clone(), log::Options::default()).open(&rt)?;
    /// assert_eq!(engine.client().run(["SET", "key", "kept"])?, b"+OK\r\n");
    /// disk.cut_power();
    /// # drop(engine);
    ///
    /// disk.restart();
    /// let engine = Engine::builder().log(disk, log::Options::default()).open(&rt)?;
    /// assert_eq!(engine.client().run(["GET", "key"])?, b"$4\r\nkept\r\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn log<D: Disk + Clone + 'static>(mut self, disk: D, options: Options) -> Self {
        self.log = Some(Box::new(move |rt, policy, replay| Log::open(&disk, options, rt, policy, replay)));
        self
    }

    /// Makes the engine, with an empty keyspace, or with what its log has.
    ///
    /// # Panics
    ///
    /// As [`open`](Self::open), and where that fails.
    pub fn build(self, rt: &Runtime) -> Engine {
        self.open(rt).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Makes the engine, with an empty keyspace, or with what its log has. With a log it waits for
    /// tasks.
    ///
    /// # Errors
    ///
    /// If the log cannot be opened: another process uses it, the disk fails, or a file is corrupt.
    /// If there is no such setting, or it does not take its value. If the users cannot be made.
    ///
    /// # Panics
    ///
    /// If the number of shards is no power of two, or above 131,072.
    pub fn open(self, rt: &Runtime) -> Result<Engine, OpenError> {
        let seed = self.seed.unwrap_or_else(|| RandomState::new().hash_one(0));
        let shards = self.shards.unwrap_or_else(|| default_shards(rt.workers()));
        let layout = Layout::new(shards, seed);
        let settings = Settings::new(self.databases);
        for (name, value) in &self.settings {
            let set = settings.set(name, value);
            set.map_err(|error| OpenError::Setting(error.text(name, value)))?;
        }
        let has_log = self.log.is_some();
        if !has_log && settings.number(Setting::AppendOnly) != 0 {
            return Err(OpenError::NoDisk);
        }
        settings.store_number(Setting::AppendOnly as usize, has_log.into());
        let is_limited = settings.number(Setting::MaxMemory) > 0;
        let ordered = settings.ordered_databases();
        settings.take_order_due();
        let shard = |_| {
            let mut shard = Shard::new(self.databases);
            // Keys of a log are replayed without an order: it is made of all of them at once.
            shard.set_ordered(|database| ordered[database] && !has_log);
            if is_limited {
                shard.begin_to_count();
            }
            // A command that panics leaves each key as before or as after one of its changes.
            rt.shared_reads(shard).pin(ReaderWriterLatch).keep_on_panic().build()
        };
        let server = Server {
            settings,
            log: OnceLock::new(),
            on_shutdown: self.on_shutdown,
            statistics: Statistics::default(),
            memory: Memory::new(self.memory, rt.workers()),
            slow_log: SlowLog::default(),
            latency: LatencyMonitor::default(),
            acl: Acl::default(),
            attention: Attention::default(),
            pause: Pause::default(),
            monitors: Monitors::default(),
            clients: Clients::new(self.on_close),
            channels: Channels::new(self.on_message),
            tracking: Tracking::default(),
            persistence: Persistence::new((self.clock)()),
            started_at: (self.clock)(),
            run_id: run_id(self.seed),
            databases: self.databases,
            workers: rt.workers(),
        };
        server.heed_settings();
        server.require_password();
        server.make_users(&self.users).map_err(OpenError::Users)?;
        let engine = Engine::new(Inner {
            runtime: rt.handle(),
            shards: (0..shards).map(shard).collect(),
            layout,
            versions: Versions::default(),
            server,
            blocked: Blocked::default(),
            clock: self.clock,
            on_effects: self.on_effects,
            #[cfg(test)]
            on_poll: OnceLock::new(),
            seed,
            turn_time: (!rt.is_simulated()).then_some(LONGEST_TURN),
            cycles: Cycles::default(),
        });
        engine.inner.apply_memory_settings();
        if let Some(open) = self.log {
            let (inner, mut has_changes, mut has_orders) = (&engine.inner, false, false);
            let replay = Replay {
                base: &mut |file| {
                    let mut file = RdbReader::new(file)?;
                    engine.load_base(&mut file, &mut |_| {}).map(drop).map_err(Into::into)
                },
                units: &mut |units| {
                    has_changes = true;
                    inner.replay(rt, units, &mut has_orders)
                },
            };
            // What was logged is replayed, whatever is allowed now.
            let settings = &inner.server.settings;
            let longest = settings.number(Setting::ProtoMaxBulkLen);
            settings.store_number(Setting::ProtoMaxBulkLen as usize, i64::MAX);
            let log = open(rt, settings.sync_policy(), replay)?;
            settings.store_number(Setting::ProtoMaxBulkLen as usize, longest);
            inner.end_replay(rt, has_changes).map_err(|_| OpenError::Interrupted)?;
            inner.server.persistence.note_log_size(log.size());
            inner.server.log.get_or_init(|| log);
        }
        Ok(engine)
    }
}

/// The number of shards for a number of workers.
fn default_shards(workers: usize) -> usize {
    let shards = (workers * SHARDS_PER_WORKER).max(LEAST_SHARDS).next_power_of_two();
    shards.min(MOST_SHARDS)
}

/// Forty hexadecimal digits that do not tell the seed of the hash function.
fn run_id(seed: Option<u64>) -> String {
    let random = RandomState::new();
    let word = |index: u64| seed.unwrap_or_else(|| random.hash_one(index)).wrapping_mul(2 * index + 1);
    let digits: String = (0..3).map(|index| format!("{:016x}", word(index))).collect();
    digits[..40].to_owned()
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("Builder");
        text.field("shards", &self.shards).field("databases", &self.databases).finish_non_exhaustive()
    }
}
