//! Evicts keys when they take more memory than they may.

use super::Engine;
use super::batch::Batch;
use super::engine::Inner;
use super::room::needs_room;
use super::turn::Turn;
use crate::command::Command;
use crate::keyspace::{AccessClock, Candidate, CandidatePool, EvictionOrder, HeldShards, Keys, Shard};
use crate::server::{KnownMemory, Setting};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use xtasking::Context;
use xtasking::task::Spawner;

/// The most attempts to evict a key in one task, so that it is not long.
const MOST_ATTEMPTS: usize = 1024;
/// Before the first key is evicted there are this many times as many samples as later.
const FIRST_SAMPLES: usize = 4;

/// Whether there is room for a command that takes memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    Made,
    /// No key can be evicted.
    Lacking,
    /// Another task is to go on.
    Pending,
}

/// An attempt to evict a key.
enum Attempt {
    Evicted,
    /// A shard was not free, or the candidate was gone.
    Missed,
    /// There is no candidate in any shard.
    Nothing,
}

/// Keys being evicted by a task that holds no shards.
struct Eviction<'e> {
    inner: &'e Inner,
    order: EvictionOrder,
    samples: usize,
    clock: AccessClock,
    now: u64,
    pool: CandidatePool,
    /// The shard to look at next.
    next: usize,
}

impl Engine {
    /// Compares the memory of the process with what keys and values are counted to take, and spawns
    /// a task that evicts keys if that is more than the setting `maxmemory`. A timer is to call it
    /// ten times a second. Commands that add to keys evict too.
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
        if inner.apply_memory_settings() {
            inner.count_memory(spawner, None);
        }
        if server.memory.limit() == 0 {
            return;
        }
        server.memory.measure(KnownMemory {
            clients: server.clients.len(),
            log_backlog: server.log.get().map_or(0, |log| log.backlog()),
            is_saving: server.persistence.status().begun_at.is_some(),
        });
        if server.memory.room() < 0 && server.settings.eviction_order().is_some() {
            let inner = inner.clone();
            spawner.task(()).spawn(move |(), cx| _ = inner.make_room(cx));
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

    /// Counts the bytes of all shards, by a task for each. Then a batch goes on.
    pub(super) fn count_memory<S: Spawner + Copy>(self: &Arc<Self>, spawner: S, batch: Option<Box<Batch>>) {
        let rest = Arc::new((AtomicUsize::new(self.shards.len()), Mutex::new(batch)));
        for shard in &self.shards {
            let (inner, rest) = (self.clone(), rest.clone());
            spawner.task(shard.write()).spawn(move |shard, cx| {
                inner.server.memory.add(cx.worker(), shard.begin_to_count());
                // AcqRel: the last task sees what all others have counted.
                if rest.0.fetch_sub(1, Ordering::AcqRel) == 1 {
                    let batch = rest.1.lock().unwrap_or_else(PoisonError::into_inner).take();
                    batch.into_iter().for_each(|batch| batch.go_on(cx));
                }
            });
        }
    }

    /// Adds to the bytes of the keys what a task has changed.
    #[inline]
    pub(super) fn count_growth(&self, worker: usize, keys: &mut Keys<'_>) -> i64 {
        if !keys.version_word().is_counted() {
            return 0;
        }
        let growth = keys.take_growth();
        self.server.memory.add(worker, growth);
        growth
    }

    /// Evicts keys until there is room. The task holds no shards.
    pub(super) fn make_room(&self, cx: &mut Context) -> Room {
        if self.server.memory.room() >= 0 {
            return Room::Made;
        }
        let Some(order) = self.server.settings.eviction_order() else { return Room::Lacking };
        // Commands that write are refused, or put off.
        if self.refuses_writes() || self.versions.read().is_crowded() {
            return Room::Made;
        }
        Eviction::new(self, order).run(cx)
    }

    /// Evicts a candidate whose shard the task holds.
    fn evict(&self, held: HeldShards<'_>, candidate: Candidate, order: EvictionOrder, worker: usize) -> bool {
        let mut keys = Keys::new(&self.layout, &self.versions, held);
        let database = candidate.database;
        keys.begin(database, self.now());
        let Some(key) = keys.evict(candidate, order) else { return false };
        keys.note_change(&key);
        let mut effects = self.effects();
        effects.note_evicted(database, &key);
        self.report(&effects);
        self.record(worker, &effects, &mut keys);
        self.count_growth(worker, &mut keys);
        self.server.memory.count_evicted();
        true
    }
}

impl<'e> Eviction<'e> {
    fn new(inner: &'e Inner, order: EvictionOrder) -> Self {
        let clock = inner.versions.clock();
        let samples = inner.server.settings.number(Setting::MaxMemorySamples) as usize;
        Self {
            inner,
            order,
            samples,
            clock,
            now: inner.now(),
            pool: CandidatePool::default(),
            next: CandidatePool::random_below(inner.shards.len()),
        }
    }

    fn run(mut self, cx: &mut Context) -> Room {
        let memory = &self.inner.server.memory;
        let slack = memory.slack();
        let mut samples = self.samples.saturating_mul(FIRST_SAMPLES);
        for _ in 0..MOST_ATTEMPTS {
            if memory.room() >= slack {
                return Room::Made;
            }
            if let Attempt::Nothing = self.attempt(samples, cx) {
                return if memory.room() >= 0 { Room::Made } else { Room::Lacking };
            }
            samples = self.samples;
        }
        if memory.room() >= 0 { Room::Made } else { Room::Pending }
    }

    fn attempt(&mut self, samples: usize, cx: &mut Context) -> Attempt {
        let are_all_free = self.look(samples, cx);
        let Some(candidate) = self.pool.pop() else {
            return if are_all_free { Attempt::Nothing } else { Attempt::Missed };
        };
        let (inner, order, number, worker) = (self.inner, self.order, candidate.shard, cx.worker());
        let evict = |shard: &mut _| inner.evict(HeldShards::written(number, shard), candidate, order, worker);
        match cx.task(inner.shards[number].write()).try_call(evict) {
            Ok(true) => Attempt::Evicted,
            Ok(false) | Err(_) => Attempt::Missed,
        }
    }

    /// Looks at this many samples, or at all shards. Returns true if all that it came to were free.
    fn look(&mut self, samples: usize, cx: &mut Context) -> bool {
        let Self { inner, order, clock, now, pool, next, .. } = self;
        let (mut offered, mut are_all_free) = (0, true);
        for _ in 0..inner.shards.len() {
            if offered >= samples {
                break;
            }
            let number = *next;
            *next = (number + 1) % inner.shards.len();
            let shard = cx.task(inner.shards[number].read());
            let most = samples - offered;
            let offer = |shard: &Shard| shard.offer_candidates(number, most, *order, *clock, *now, pool);
            let looked = shard.try_call(offer);
            are_all_free &= looked.is_ok();
            offered += looked.unwrap_or(0);
        }
        are_all_free
    }
}

impl Turn {
    /// Makes room for a command that takes memory. Returns false if it has to wait for that.
    #[cold]
    pub(super) fn make_room(
        &mut self,
        inner: &Inner,
        command: Option<&'static Command>,
        batch: &mut Batch,
        cx: &mut Context,
    ) -> bool {
        if !command.is_some_and(|command| needs_room(command, &batch.session)) {
            return true;
        }
        let room = inner.make_room(cx);
        self.note_room(inner.server.memory.room());
        batch.lacks_memory = room == Room::Lacking;
        room != Room::Pending
    }
}
