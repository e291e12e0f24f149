//! How an engine is made.

use super::Engine;
use super::blocked::Blocked;
use super::engine::{Clock, EffectsHook, Inner};
use crate::command::Effects;
use crate::keyspace::{Layout, Shard, Versions};
use crate::server::{Channels, Clients, CloseHook, MessageHook, Persistence, Server, Settings, Statistics};
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::time::{SystemTime, UNIX_EPOCH};
use xtasking::Runtime;
use xtasking::primitive::ReaderWriterLatch;

/// An engine under construction; made by [`Engine::builder`].
#[must_use = "an engine is made by `build`"]
pub struct Builder {
    shards: usize,
    databases: usize,
    seed: Option<u64>,
    clock: Clock,
    on_effects: Option<EffectsHook>,
    on_close: Option<CloseHook>,
    on_message: Option<MessageHook>,
    settings: Vec<(String, String)>,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            shards: 1024,
            databases: 16,
            seed: None,
            clock: Box::new(system_time),
            on_effects: None,
            on_close: None,
            on_message: None,
            settings: Vec::new(),
        }
    }
}

/// The system's time in ms since 1970.
fn system_time() -> u64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
}

impl Builder {
    /// Sets the number of shards, a power of two up to 131,072. Default: 1024. Commands on all keys
    /// take a task on all shards; commands on keys of one shard wait for each other.
    pub fn shards(mut self, shards: usize) -> Self {
        self.shards = shards;
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

    /// Makes the engine, with an empty keyspace.
    ///
    /// # Panics
    ///
    /// If the number of shards is no power of two, or above 131,072; or if there is no such setting
    /// or it does not take its value: check those that a user gives by
    /// [`Settings::check_initial`].
    pub fn build(self, rt: &Runtime) -> Engine {
        let seed = self.seed.unwrap_or_else(|| RandomState::new().hash_one(0));
        let layout = Layout::new(self.shards, seed);
        let shard = |_| {
            let object = rt.shared_reads(Shard::new(self.databases));
            // A command that panics leaves each key as before or as after one of its changes.
            object.pin(ReaderWriterLatch).keep_on_panic().build()
        };
        let settings = Settings::new(self.databases);
        for (name, value) in &self.settings {
            let set = settings.set(name, value);
            set.unwrap_or_else(|error| panic!("the setting {name} is not {value}: {error:?}"));
        }
        let server = Server {
            settings,
            statistics: Statistics::default(),
            clients: Clients::new(self.on_close),
            channels: Channels::new(self.on_message),
            persistence: Persistence::new((self.clock)()),
            started_at: (self.clock)(),
            run_id: run_id(self.seed),
            databases: self.databases,
            workers: rt.workers(),
        };
        Engine {
            inner: Arc::new(Inner {
                runtime: rt.handle(),
                shards: (0..self.shards).map(shard).collect(),
                layout,
                versions: Versions::default(),
                server,
                blocked: Blocked::default(),
                clock: self.clock,
                on_effects: self.on_effects,
                seed,
                next_session: AtomicU64::new(1),
                next_expiry: AtomicUsize::new(0),
            }),
        }
    }
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
