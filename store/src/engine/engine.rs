//! The engine of a store.

use super::batch::{Batch, Completion, Finished};
use super::blocked::Blocked;
use super::cost;
use super::plan::Shards;
use super::serve::serve_later;
use super::{Builder, Client};
use crate::command::{Effects, note_event_since};
use crate::keyspace::{HeldShards, Keys, Layout, Shard, Versions};
use crate::log::Log;
use crate::resp::Requests;
use crate::server::{Server, Unblock};
use crate::session::Session;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use xtasking::task::{ReadOrWrite, Spawner};
use xtasking::{Context, Object, Priority, Runtime, RuntimeHandle, Shared};

/// Follows the effects of commands, unit by unit.
pub(super) type EffectsHook = Box<dyn Fn(&Effects) + Send + Sync>;
/// Follows where events are looked for.
#[cfg(test)]
pub(super) type PollHook = Box<dyn Fn(&Inner, &mut Context) + Send + Sync>;
/// Returns the time in ms since 1970.
pub(super) type Clock = Box<dyn Fn() -> u64 + Send + Sync>;

/// Runs requests on a keyspace. A clone is another handle to the same.
///
/// Tasks count the uses of the handle that their requests came by. If each connection has a clone
/// of its own, workers do not contend for that count.
///
/// It is freed with its last handle although sessions wait for keys or the end of a pause, unless
/// the [completion](super::Completion) of one of them owns a handle of the engine. A completion
/// that owns a handle of the [log](Self::log) keeps the log open until what it waits for is
/// written.
///
/// ```
/// use xtasking::Runtime;
/// use xtasking_store::{Engine, resp::Requests};
///
/// let rt = Runtime::builder().workers(2).build()?;
/// let engine = Engine::builder().build(&rt);
/// let mut requests = Requests::one(["SET", "greeting", "hello"]);
/// requests.push(["STRLEN", "greeting"]);
/// let (done, replies) = rt.promise();
/// engine.submit(&rt, engine.session("127.0.0.1:50000"), requests, move |finished, _cx| {
///     done.fulfil(finished.replies)
/// });
/// assert_eq!(replies.join()?, b"+OK\r\n:5\r\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Engine {
    pub(super) inner: InnerHandle,
    handles: HandlesHandle,
}

/// Counts as [`InnerHandle`] does.
type HandlesHandle = Arc<Arc<EngineHandles>>;

/// What the handles of an engine have, and its tasks have not.
struct EngineHandles(Arc<Inner>);

impl Drop for EngineHandles {
    /// Drops the requests of sessions that wait for keys, or for the end of a pause: they have the
    /// engine, as it has them. Requests that are under way end instead of waiting.
    fn drop(&mut self) {
        if !planted!("waits-outlive-engine") {
            drop(self.0.blocked.abandon());
        }
    }
}

/// What the tasks of one handle hold: a clone counts at the handle, not at what all handles share.
/// Else each turn of each worker would write the one count of all.
pub(super) type InnerHandle = Arc<Arc<Inner>>;

/// What the handles of an engine share.
pub(super) struct Inner {
    pub(super) runtime: RuntimeHandle,
    pub(super) shards: Vec<Object<Shared<Shard>>>,
    pub(super) layout: Layout,
    pub(super) versions: Versions,
    pub(super) server: Server,
    pub(super) blocked: Blocked,
    pub(super) clock: Clock,
    pub(super) on_effects: Option<EffectsHook>,
    /// Is called where events are looked for.
    #[cfg(test)]
    pub(super) on_poll: std::sync::OnceLock<PollHook>,
    pub(super) seed: u64,
    /// After which time a session lets others have their turn; `None` in a simulation.
    pub(super) turn_time: Option<Duration>,
    pub(super) cycles: Cycles,
}

/// Words that change while the engine runs, apart from those that each request reads.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Cycles {
    pub(super) next_session: AtomicU64,
    /// The shard at which the next cycle of expiry begins.
    pub(super) next_expiry: AtomicUsize,
    /// True while a task of the timer evicts keys.
    pub(super) is_evicting: AtomicBool,
}

impl Default for Cycles {
    fn default() -> Self {
        Self {
            next_session: AtomicU64::new(1),
            next_expiry: AtomicUsize::new(0),
            is_evicting: AtomicBool::new(false),
        }
    }
}

/// The entries of each database and shard that one cycle of expiry looks at.
const ENTRIES_OF_CYCLE: usize = 200;

impl Engine {
    pub(super) fn new(inner: Inner) -> Self {
        let inner = Arc::new(inner);
        let handles = Arc::new(EngineHandles(inner.clone()));
        Self { inner: Arc::new(inner), handles: Arc::new(handles) }
    }

    /// Begins an engine.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Opens a session for a client at this address, and lists it among the clients.
    pub fn session(&self, address: &str) -> Box<Session> {
        // Relaxed: only the number has to be one of its own.
        let id = self.inner.cycles.next_session.fetch_add(1, Ordering::Relaxed);
        let now = self.inner.now();
        let server = &self.inner.server;
        let client = server.clients.open(id, address, server.acl.default_account().name(), now);
        let seed = self.inner.seed ^ id.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        server.statistics.count_connection();
        Box::new(Session::new(client, &server.acl, seed))
    }

    /// Returns the same handle once more, for what belongs to the same connection.
    pub(crate) fn share(&self) -> Self {
        Self { inner: self.inner.clone(), handles: self.handles.clone() }
    }

    /// Opens a session for a thread that waits for its replies.
    pub fn client(&self) -> Client {
        Client::new(self.clone(), self.session(""))
    }

    /// Runs requests of a session, in order, and passes the session with the replies to `then`. It
    /// is a task that calls `then`, perhaps inside of shards: it should only hand the replies over.
    ///
    /// `spawner` is the runtime, or the context of a task; in a task see also [`run`](Self::run).
    pub fn submit<S, F>(&self, spawner: S, session: Box<Session>, requests: Requests, then: F)
    where
        S: Spawner,
        F: FnOnce(Finished, &mut Context) + Send + 'static,
    {
        let batch = Batch::new(self.inner.clone(), session, requests, Box::new(then));
        batch.launch(spawner);
    }

    /// Runs requests as [`submit`](Self::submit) does, from inside a task: as long as their keys
    /// are free they run at once. If all do, it returns the session with the replies, and `then`
    /// is [dismissed](Completion::dismiss).
    pub fn run(
        &self,
        cx: &mut Context,
        session: Box<Session>,
        requests: Requests,
        then: impl Completion,
    ) -> Option<Finished> {
        let batch = Batch::new(self.inner.clone(), session, requests, Box::new(then)).advance(cx)?;
        let (finished, then) = batch.into_finished();
        then.dismiss();
        Some(finished)
    }

    /// Ends a session that is not under way. It watches no keys and listens to no channel any more,
    /// and is not listed.
    pub fn close<S: Spawner>(&self, spawner: S, mut session: Box<Session>) {
        self.inner.server.clients.close(session.id());
        session.stop_listening(&self.inner.server);
        if session.tracking.take().is_some() {
            self.end_tracking(session.id());
        }
        session.transaction = None;
        session.is_in_dialogue = false;
        if !session.watched.is_empty() {
            // Else nothing would run.
            session.is_closing = false;
            session.is_leaving = true;
            self.submit(spawner, session, Requests::one(["UNWATCH"]), |_, _| {});
        }
    }

    /// Ends the tracking of keys by a session.
    pub(crate) fn end_tracking(&self, session: u64) {
        self.inner.server.tracking.end(session, |is_tracked| self.inner.versions.set_tracked(is_tracked));
    }

    /// Ends the wait of a blocked session. Returns false if the session is not blocked. With
    /// [`Unblock::Close`] a session that is not blocked ends at the first request that would wait.
    pub fn unblock<S: Spawner>(&self, spawner: S, session: u64, how: Unblock) -> bool {
        self.inner.unblock(spawner, session, how)
    }

    /// Ends the waits of blocked sessions whose time has come, and a pause. A timer is to call it,
    /// every few milliseconds. Returns the time of the next deadline in ms since 1970, if there is
    /// one.
    pub fn end_waits<S: Spawner + Copy>(&self, spawner: S) -> Option<u64> {
        self.inner.end_pause_if_over(spawner);
        self.inner.end_waits(spawner)
    }

    /// Drops the requests of sessions that wait for keys or for the disk, as the runtime ends:
    /// nothing will serve them.
    pub(crate) fn abandon_waits(&self) {
        drop(self.inner.blocked.abandon());
        if let Some(log) = self.log() {
            log.abandon();
        }
    }

    /// Spawns tasks that remove expired keys, in some of the shards. A timer is to call it ten
    /// times a second; each shard has its turn about once a second.
    pub fn remove_expired<S: Spawner + Copy>(&self, spawner: S) {
        let server = &self.inner.server;
        if !server.settings.expires_actively() || self.inner.refuses_writes() || server.has_pause() {
            return;
        }
        let shards = self.inner.shards.len();
        let count = shards.div_ceil(10);
        // Relaxed: the cycles need not agree on more than the number.
        let first = self.inner.cycles.next_expiry.fetch_add(count, Ordering::Relaxed);
        for number in (0..count).map(|offset| (first + offset) % shards) {
            let inner = self.inner.clone();
            spawner.task(self.inner.shards[number].write()).spawn(move |shard, cx| {
                inner.remove_expired(number, shard, cx);
            });
        }
    }

    /// Returns what all sessions share.
    pub fn server(&self) -> &Server {
        &self.inner.server
    }

    /// Returns the log, if the engine has one.
    pub fn log(&self) -> Option<&Log> {
        self.inner.server.log.get()
    }

    /// Returns the runtime.
    pub fn runtime(&self) -> &Runtime {
        &self.inner.runtime
    }

    /// Returns the time in ms since 1970, by the engine's clock.
    pub fn now(&self) -> u64 {
        self.inner.now()
    }
}

impl Inner {
    pub(super) fn now(&self) -> u64 {
        (self.clock)()
    }

    /// Removes some expired keys of a shard.
    fn remove_expired(self: &Arc<Self>, number: usize, shard: &mut Shard, cx: &mut Context) {
        // Inside of the shard: a pause begins before or after.
        if self.is_paused() {
            return;
        }
        let began = Instant::now();
        let mut keys = Keys::new(&self.layout, &self.versions, HeldShards::written(number, shard));
        keys.begin(0, self.now());
        keys.remove_some_expired(ENTRIES_OF_CYCLE);
        let mut effects = self.effects();
        let expired = keys.take_expired();
        self.server.statistics.count_keys(cx.worker(), keys.take_counts());
        for expired in expired {
            effects.note_expired(expired.database, &expired.key);
        }
        effects.invalidate(&self.server, &mut keys, None);
        self.report(&effects);
        self.record(cx.worker(), &effects, &mut keys);
        self.count_growth(cx.worker(), &mut keys);
        self.free_later(keys.take_garbage(), cx);
        serve_later(self, keys.take_ready(), cx);
        note_event_since(&self.server, "expire-cycle", keys.now(), began);
    }

    /// Spawns a task on shards. Others may wait for it, so it is as urgent as any request.
    pub(super) fn spawn_on<S, F>(&self, spawner: S, shards: Shards, body: F)
    where
        S: Spawner,
        F: FnOnce(HeldShards<'_>, &mut Context) + Send + 'static,
    {
        let task = spawner.task(self.accesses(&shards)).priority(Priority::Normal);
        task.cost(cost::of_shards(&shards)).spawn(move |views, cx| {
            body(HeldShards::of(&shards, views), cx);
        });
    }

    /// Returns the accesses to shards.
    pub(super) fn accesses(&self, shards: &Shards) -> Vec<ReadOrWrite<'_, Shared<Shard>>> {
        let access = |&(number, writes): &(usize, bool)| -> ReadOrWrite<'_, _> {
            let object = &self.shards[number];
            if writes { object.write().into() } else { object.read().into() }
        };
        shards.iter().map(access).collect()
    }

    /// Returns an empty collection of effects.
    pub(super) fn effects(&self) -> Effects {
        let is_followed = self.on_effects.is_some();
        Effects::new(is_followed || self.server.log.get().is_some(), is_followed || self.server.notifies())
            .recording_insertions(self.server.notifies_of_new_keys())
            .recording_misses(self.server.notifies_of_missing_keys())
    }

    /// Passes effects to those that follow them: sessions, and a function.
    pub(super) fn report(&self, effects: &Effects) {
        if !effects.broadcasts().is_empty() {
            self.server.broadcast(effects.broadcasts());
        }
        if effects.is_empty() {
            return;
        }
        if self.server.notifies() {
            effects.events.iter().for_each(|event| self.server.notify(event));
        }
        if let Some(follow) = &self.on_effects {
            follow(effects);
        }
    }
}

impl Clone for Engine {
    fn clone(&self) -> Self {
        Self { inner: Arc::new(Arc::clone(&self.inner)), handles: Arc::new(Arc::clone(&self.handles)) }
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("shards", &self.inner.shards.len()).finish_non_exhaustive()
    }
}
