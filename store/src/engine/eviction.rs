//! Evicts keys when they take more memory than they may.

use super::Engine;
use super::batch::Batch;
use super::engine::Inner;
use super::room::needs_room;
use super::serve::serve_later;
use super::sweep::Sweep;
use super::turn::Turn;
use crate::command::{Command, note_event_since};
use crate::keyspace::{
    AccessClock, Candidate, CandidatePool, EvictionOrder, Garbage, HeldShards, Keys, Shard,
};
use crate::server::{KnownMemory, Setting};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;
use xtasking::task::Spawner;
use xtasking::{Context, Priority};

/// The attempts to evict a key that one task makes at most. Then another one goes on, after those
/// that wait for the worker.
const MOST_ATTEMPTS: usize = 1024;
/// How often a request is put off as others have reserved the room. Then it takes what there is: a
/// share that is not given back may delay requests, but not stop them.
const MOST_WAITS: u32 = 1 << 14;
/// Before the first key is evicted there are this many times as many samples as later.
const FIRST_SAMPLES: usize = 4;

/// Whether there is room for a command that takes memory.
#[derive(Debug)]
pub(super) enum Room {
    Made,
    /// No key can be evicted.
    Lacking,
    /// Another task is to go on with this.
    Pending(Box<Sweep>),
}

/// An attempt to evict a key.
enum Attempt {
    Evicted,
    /// The candidate was gone, or its shard was not free.
    Missed,
    /// The shards that were free have no candidate. This one was not, and may have some.
    Busy(usize),
    /// There is no candidate in any shard.
    Nothing,
}

/// What is still to be done for an eviction.
struct EvictionRest {
    /// The key, if sessions wait for it.
    ready: Vec<(usize, Box<[u8]>)>,
    garbage: Vec<Garbage>,
}

/// Keys being evicted by a task that holds no shards.
struct Eviction<'e> {
    inner: &'e Arc<Inner>,
    order: EvictionOrder,
    samples: usize,
    clock: AccessClock,
    now: u64,
    pool: CandidatePool,
    sweep: Box<Sweep>,
    /// The shard to look at next.
    next: usize,
}

impl Engine {
    /// Compares the memory of the process with what keys and values are counted to take, and spawns
    /// a task that evicts keys if that is more than the setting `maxmemory`. A timer is to call it
    /// ten times a second. Commands that add to keys evict too. It also spawns tasks that make the
    /// orders of keys which [`Settings::set`](crate::server::Settings::set) demands.
    ///
    /// ```
    /// use xtasking::Runtime;
    /// use xtasking_store::Engine;
    ///
    /// let rt = Runtime::builder().workers(2).build()?;
    /// let engine = Engine::builder()
    ///     .setting("maxmemory", "100kb")
    ///     .setting("maxmemory-policy", "allkeys-lru")
    ///     .build(&rt);
    /// let mut client = engine.client();
    /// for number in 0..5000 {
    ///     assert_eq!(client.run(["SET", &number.to_string(), &"v".repeat(40)])?, b"+OK\r\n");
    /// }
    /// engine.bound_memory(&rt);
    /// assert!(engine.server().memory.counted() <= 100 << 10);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn bound_memory<S: Spawner + Copy>(&self, spawner: S) {
        let (inner, server) = (&self.inner, &self.inner.server);
        // A program may have set which databases are in order.
        if inner.apply_memory_settings() | server.settings.take_order_due() {
            inner.visit_shards(spawner, |_| {});
        }
        if server.memory.limit() == 0 {
            return;
        }
        server.memory.measure(KnownMemory {
            clients: server.clients.len(),
            log_backlog: server.log.get().map_or(0, |log| log.backlog()),
            is_saving: server.persistence.status().begun_at.is_some(),
            unwritten: inner.versions.unwritten(),
        });
        if server.memory.room() < 0 && server.settings.eviction_order().is_some() && !self.inner.is_paused() {
            inner.begin_to_evict(spawner);
        }
    }
}

impl Inner {
    /// Lets the settings on memory have their effect. Returns true if the shards are to be counted.
    pub(super) fn apply_memory_settings(&self) -> bool {
        let settings = &self.server.settings;
        let number = |setting| settings.number(setting) as u32;
        self.versions.set_clock(match settings.counts_accesses() {
            false => AccessClock::TIME,
            true => AccessClock::counting(number(Setting::LfuLogFactor), number(Setting::LfuDecayTime)),
        });
        let is_count_due = self.server.memory.set_limit(settings.number(Setting::MaxMemory));
        if is_count_due {
            self.versions.set_counted();
        }
        is_count_due
    }

    /// Adds to the bytes of the keys what a task has changed, and to those of the tables that a
    /// snapshot still has to have. The task holds its shards.
    #[inline]
    pub(super) fn count_growth(&self, worker: usize, keys: &mut Keys<'_>) -> i64 {
        if let Some((count, bytes)) = keys.take_retired()
            && !planted!("retired-table-uncounted")
        {
            self.server.memory.add_retired(count, bytes);
        }
        if !keys.version_word().is_counted() {
            return 0;
        }
        let growth = keys.take_growth();
        self.server.memory.add(worker, growth);
        growth
    }

    /// Evicts keys until there is room. The task holds no shards. While CLIENT PAUSE is in force
    /// nothing is evicted, and nothing is refused for want of room.
    pub(super) fn make_room(self: &Arc<Self>, sweep: Box<Sweep>, cx: &mut Context) -> Room {
        if self.server.memory.room() >= 0 || self.is_paused() {
            return Room::Made;
        }
        match self.server.settings.eviction_order() {
            None => Room::Lacking,
            Some(order) => {
                let began = Instant::now();
                let room = Eviction::new(self, order, sweep).run(cx);
                note_event_since(&self.server, "eviction-cycle", self.now(), began);
                room
            }
        }
    }

    /// Spawns a task that evicts keys. Returns false if the one before it has not ended.
    pub(super) fn begin_to_evict<S: Spawner>(self: &Arc<Self>, spawner: S) -> bool {
        // Relaxed, as below: only their number matters.
        if self.cycles.is_evicting.swap(true, Ordering::Relaxed) {
            return false;
        }
        let inner = self.clone();
        spawner.task(()).spawn(move |(), cx| inner.evict_until_room(Box::default(), cx));
        true
    }

    /// Evicts keys until there is room, or none can go.
    fn evict_until_room(self: Arc<Self>, sweep: Box<Sweep>, cx: &mut Context) {
        match self.make_room(sweep, cx) {
            Room::Pending(sweep) => {
                let inner = self.clone();
                self.go_on_after(sweep, move |sweep, cx| inner.evict_until_room(sweep, cx), cx);
            }
            Room::Made | Room::Lacking => self.cycles.is_evicting.store(false, Ordering::Relaxed),
        }
    }

    /// Returns true if commands that write are refused or put off, so that they need no room.
    pub(super) fn delays_writes(&self) -> bool {
        self.refuses_writes() || self.versions.read().is_crowded() || self.is_paused()
    }

    /// Spawns a task that goes on, after one on the shard that the sweep awaits, if there is one.
    pub(super) fn go_on_after<F>(self: &Arc<Self>, mut sweep: Box<Sweep>, then: F, cx: &mut Context)
    where
        F: FnOnce(Box<Sweep>, &mut Context) + Send + 'static,
    {
        let Some(number) = sweep.take_awaited() else {
            return cx.task(()).priority(Priority::Normal).spawn(move |(), cx| then(sweep, cx));
        };
        let inner = self.clone();
        cx.task(self.shards[number].write()).priority(Priority::Normal).spawn(move |shard, cx| {
            inner.evict_of(number, shard, &mut sweep, cx);
            cx.task(()).priority(Priority::Normal).spawn(move |(), cx| then(sweep, cx));
        });
    }

    /// Evicts a key of a shard, or notes that none can be.
    fn evict_of(self: &Arc<Self>, number: usize, shard: &mut Shard, sweep: &mut Sweep, cx: &mut Context) {
        let Some(order) = self.server.settings.eviction_order() else { return };
        if self.server.memory.room() >= 0 || self.delays_writes() {
            return;
        }
        let (samples, clock) = (self.eviction_samples(), self.versions.clock());
        let mut pool = CandidatePool::default();
        let offered = shard.offer_candidates(number, samples, order, clock, self.now(), &mut pool);
        sweep.note(number, offered == 0, self.shards.len());
        if let Some(candidate) = pool.pop()
            && let Some(rest) = self.evict(HeldShards::written(number, shard), candidate, order, cx.worker())
        {
            self.end_eviction(rest, cx);
            sweep.forget();
        }
    }

    fn eviction_samples(&self) -> usize {
        self.server.settings.number(Setting::MaxMemorySamples) as usize
    }

    fn end_eviction(self: &Arc<Self>, rest: EvictionRest, cx: &mut Context) {
        self.free_later(rest.garbage, cx);
        serve_later(self, rest.ready, cx);
    }

    /// Evicts a candidate whose shard the task holds. Returns what is to be done afterwards; `None`
    /// if it was not evicted.
    fn evict(
        &self,
        held: HeldShards<'_>,
        candidate: Candidate,
        order: EvictionOrder,
        worker: usize,
    ) -> Option<EvictionRest> {
        // Inside of the shard: a pause begins before or after.
        if self.is_paused() {
            return None;
        }
        let mut keys = Keys::new(&self.layout, &self.versions, held);
        let database = candidate.database;
        keys.begin(database, self.now());
        let key = keys.evict(candidate, order)?;
        keys.note_change(&key);
        let mut effects = self.effects();
        effects.note_evicted(database, &key);
        effects.invalidate(&self.server, &mut keys, None);
        self.report(&effects);
        self.record(worker, &effects, &mut keys);
        self.count_growth(worker, &mut keys);
        self.server.memory.count_evicted();
        Some(EvictionRest { ready: keys.take_ready(), garbage: keys.take_garbage() })
    }
}

impl<'e> Eviction<'e> {
    fn new(inner: &'e Arc<Inner>, order: EvictionOrder, sweep: Box<Sweep>) -> Self {
        Self {
            inner,
            order,
            samples: inner.eviction_samples(),
            clock: inner.versions.clock(),
            now: inner.now(),
            pool: CandidatePool::default(),
            sweep,
            next: CandidatePool::random_below(inner.shards.len()),
        }
    }

    fn run(mut self, cx: &mut Context) -> Room {
        let memory = &self.inner.server.memory;
        let slack = memory.slack();
        let mut samples = self.samples.saturating_mul(FIRST_SAMPLES);
        for _ in 0..MOST_ATTEMPTS {
            if memory.room() >= slack || self.inner.delays_writes() {
                return Room::Made;
            }
            match self.attempt(samples, cx) {
                Attempt::Nothing => return self.end(|_| Room::Lacking),
                Attempt::Busy(number) => {
                    self.sweep.wait_for(number);
                    return self.end(Room::Pending);
                }
                Attempt::Evicted => self.sweep.forget(),
                Attempt::Missed => {}
            }
            samples = self.samples;
        }
        self.end(Room::Pending)
    }

    /// Returns what to do, unless there is room now.
    fn end(self, lacking: impl FnOnce(Box<Sweep>) -> Room) -> Room {
        if self.inner.server.memory.room() >= 0 { Room::Made } else { lacking(self.sweep) }
    }

    fn attempt(&mut self, samples: usize, cx: &mut Context) -> Attempt {
        let busy = self.look(samples, cx);
        let Some(candidate) = self.pool.pop() else {
            return busy.map_or(Attempt::Nothing, Attempt::Busy);
        };
        let (inner, order, number, worker) = (self.inner, self.order, candidate.shard, cx.worker());
        let evict = |shard: &mut _| inner.evict(HeldShards::written(number, shard), candidate, order, worker);
        match cx.task(inner.shards[number].write()).try_call(evict) {
            Ok(Some(rest)) => {
                inner.end_eviction(rest, cx);
                Attempt::Evicted
            }
            Ok(None) | Err(_) => Attempt::Missed,
        }
    }

    /// Looks at this many samples, or at all shards. Returns a shard that was not free, unless it
    /// had no candidate before.
    fn look(&mut self, samples: usize, cx: &mut Context) -> Option<usize> {
        let Self { inner, order, clock, now, pool, sweep, next, .. } = self;
        let (mut offered, mut busy, shards) = (0, None, inner.shards.len());
        for _ in 0..shards {
            if offered >= samples {
                break;
            }
            let number = *next;
            *next = (number + 1) % shards;
            let shard = cx.task(inner.shards[number].read());
            let most = samples - offered;
            let offer = |shard: &Shard| shard.offer_candidates(number, most, *order, *clock, *now, pool);
            if let Ok(found) = shard.try_call(offer) {
                sweep.note(number, found == 0, shards);
                offered += found;
            } else if !sweep.is_barren(number) {
                busy = Some(number);
            }
        }
        busy
    }
}

impl<'i> Turn<'i> {
    /// Returns true if there was room for a request when it began to wait for its shards, but is
    /// none now: others have had it before. The request has not to wait for anything else.
    pub(super) fn has_to_look_for_room(
        &self,
        inner: &Inner,
        command: Option<&'static Command>,
        batch: &Batch,
    ) -> bool {
        self.lacks_room()
            && !batch.lacks_memory
            && batch.waits_for_room < MOST_WAITS
            && command.is_some_and(|command| needs_room(command, &batch.session))
            && !inner.delays_writes()
            && !planted!("room-looked-for-once")
    }

    /// Makes room for a command that takes memory. If other tasks are to go on with that first,
    /// returns what they need.
    #[cold]
    pub(super) fn make_room(
        &mut self,
        inner: &'i Arc<Inner>,
        command: Option<&'static Command>,
        batch: &mut Batch,
        sweep: Option<Box<Sweep>>,
        cx: &mut Context,
    ) -> Option<Box<Sweep>> {
        if !command.is_some_and(|command| needs_room(command, &batch.session)) {
            return None;
        }
        // What evictions take is no time of the requests around them.
        self.measure();
        let room = inner.make_room(sweep.unwrap_or_default(), cx);
        self.lap();
        self.reserve_room(inner);
        let may_wait = batch.waits_for_room < MOST_WAITS;
        match room {
            // Tasks of other workers have reserved it, and are about to give some back.
            Room::Made if self.lacks_room() && may_wait && inner.server.memory.room() >= 0 => {
                batch.waits_for_room += 1;
                Some(Box::default())
            }
            Room::Made => None,
            Room::Lacking => {
                batch.lacks_memory = true;
                None
            }
            Room::Pending(sweep) => Some(sweep),
        }
    }
}
