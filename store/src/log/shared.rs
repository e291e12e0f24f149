//! What the workers and the thread that writes share.

use super::lane::{Lane, Part};
use super::options::{Clock, PolicySource, SyncPolicy};
use super::waiting::{Dependence, Outcome, Waiter, Waiting};
use crate::command::Commands;
use crate::keyspace::Mark;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, Thread};
use std::time::Duration;
use std::{fmt, mem};
use xtasking::{Runtime, RuntimeHandle};

/// The longest time between two steps of the thread that writes.
const TICK: Duration = Duration::from_millis(100);

/// What the workers and the thread that writes share.
pub(super) struct Shared {
    lanes: Box<[Mutex<Lane>]>,
    /// The bytes that may wait in a lane.
    lane_limit: usize,
    /// The current epoch. A unit belongs to the one that is read while its lane is locked.
    ///
    /// Relaxed: the lock of a lane, and that of a shard, order all that matters. What is appended
    /// after an epoch's parts were taken from the lane belongs to a later epoch. What depends on a
    /// unit belongs to no earlier epoch than the unit.
    epoch: AtomicU64,
    /// All units up to this epoch were written.
    written: AtomicU64,
    /// All units up to this epoch are durable.
    durable: AtomicU64,
    /// Until then replies may be sent before their units are durable, by the clock.
    acknowledge_until: AtomicU64,
    policy: PolicySource,
    health: AtomicU8,
    /// Why nothing is written.
    error: Mutex<String>,
    /// The bytes of all segments.
    size: AtomicU64,
    is_asleep: AtomicBool,
    is_closing: AtomicBool,
    thread: OnceLock<Thread>,
    runtime: RuntimeHandle,
    clock: Clock,
}

/// Whether the log can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Health {
    /// It can.
    Fine,
    /// A write has failed. It is tried again.
    Retrying,
    /// A sync has failed. Nothing is tried any more, as the system may have dropped the data.
    Dead,
}

/// What an append has returned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Appended {
    /// The stamp and the epoch of the unit.
    pub mark: Mark,
    /// Whether so much waits to be written that the batch has to wait too.
    pub is_crowded: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics inside of these locks.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// Makes what they share after a recovery: all up to `last_epoch` is durable.
    pub fn new(backlog: usize, last_epoch: u64, clock: Clock, policy: PolicySource, rt: &Runtime) -> Self {
        let until = clock() + 1000;
        let lanes = rt.workers().max(1);
        Self {
            lanes: (0..lanes).map(|_| Mutex::default()).collect(),
            lane_limit: backlog / lanes,
            epoch: AtomicU64::new(last_epoch + 1),
            written: AtomicU64::new(last_epoch),
            durable: AtomicU64::new(last_epoch),
            acknowledge_until: AtomicU64::new(until),
            policy,
            health: AtomicU8::new(Health::Fine as u8),
            error: Mutex::default(),
            size: AtomicU64::new(0),
            is_asleep: AtomicBool::new(false),
            is_closing: AtomicBool::new(false),
            thread: OnceLock::new(),
            runtime: rt.handle(),
            clock,
        }
    }

    /// Returns the time in ms.
    pub fn now(&self) -> u64 {
        (self.clock)()
    }

    fn lane(&self, worker: usize) -> MutexGuard<'_, Lane> {
        lock(&self.lanes[worker % self.lanes.len()])
    }

    /// Appends a unit. Its task holds the shards that the unit changes, and no unit that it depends
    /// on has a stamp above `floor`.
    pub fn append(&self, worker: usize, floor: u64, commands: &Commands) -> Appended {
        let mut lane = self.lane(worker);
        // Relaxed: see the field.
        let epoch = self.epoch.load(Ordering::Relaxed);
        let stamp = lane.append(epoch, floor, commands);
        Appended { mark: Mark { stamp, epoch }, is_crowded: lane.len() > self.lane_limit }
    }

    /// Begins an epoch. Returns the number of the one that ends.
    pub fn close_epoch(&self) -> u64 {
        // Relaxed: see the field.
        self.epoch.fetch_add(1, Ordering::Relaxed)
    }

    /// Takes what was appended in epochs up to `closed`, which have ended.
    pub fn take(&self, closed: u64) -> Vec<Part> {
        let taken_from = if planted!("epoch-closed-early") { &self.lanes[1..] } else { &self.lanes[..] };
        taken_from.iter().flat_map(|lane| lock(lane).take(closed)).collect()
    }

    /// Notes that all units up to an epoch were written.
    pub fn set_written(&self, epoch: u64) {
        // Release pairs with the Acquire of `verdict`.
        self.written.store(epoch, Ordering::Release);
    }

    /// Notes that all units up to an epoch are durable, and that later ones were not appended
    /// before `since`.
    pub fn set_durable(&self, epoch: u64, since: u64) {
        // Relaxed: it bounds a time, and orders nothing.
        self.acknowledge_until.store(since + 1000, Ordering::Relaxed);
        // Release pairs with the Acquire of `verdict`.
        self.durable.store(epoch, Ordering::Release);
    }

    /// Returns how long replies may be sent before their units are durable.
    pub fn acknowledge_until(&self) -> u64 {
        self.acknowledge_until.load(Ordering::Relaxed)
    }

    /// Sets whether the log can be written, and why not.
    pub fn set_health(&self, health: Health, why: &str) {
        why.clone_into(&mut lock(&self.error));
        // Release pairs with the Acquire of `health`.
        self.health.store(health as u8, Ordering::Release);
    }

    pub fn health(&self) -> Health {
        // Acquire pairs with the Release of `set_health`.
        match self.health.load(Ordering::Acquire) {
            0 => Health::Fine,
            1 => Health::Retrying,
            _ => Health::Dead,
        }
    }

    /// Returns why nothing can be written, if so.
    pub fn error(&self) -> Option<String> {
        (self.health() != Health::Fine).then(|| lock(&self.error).clone())
    }

    pub fn policy(&self) -> SyncPolicy {
        (self.policy)()
    }

    pub fn size(&self) -> u64 {
        // Relaxed: a statistic.
        self.size.load(Ordering::Relaxed)
    }

    pub fn set_size(&self, size: u64) {
        self.size.store(size, Ordering::Relaxed);
    }

    /// Returns the number of bytes that were not written yet.
    pub fn backlog(&self) -> usize {
        self.lanes.iter().map(|lane| lock(lane).len()).sum()
    }

    /// Returns how a wait ends, if it need not begin or go on.
    pub fn verdict(&self, on: Dependence) -> Option<Outcome> {
        let policy = self.policy();
        // Acquire pairs with the Release of `set_durable` and `set_written`.
        let is_written = || self.written.load(Ordering::Acquire) >= on.epoch;
        if self.durable.load(Ordering::Acquire) >= on.epoch || policy == SyncPolicy::Never && is_written() {
            return Some(Outcome::Kept);
        }
        if self.health() != Health::Fine {
            return Some(if on.has_written { Outcome::Failed } else { Outcome::Kept });
        }
        let may_go = match policy {
            SyncPolicy::Always => false,
            SyncPolicy::Never => !on.is_crowded,
            SyncPolicy::EverySecond if !on.has_written => true,
            SyncPolicy::EverySecond => {
                (!on.is_crowded || is_written()) && self.now() < self.acknowledge_until()
            }
        };
        may_go.then_some(Outcome::Kept)
    }

    /// Lets a batch wait for what it depends on. Gives it back, with the outcome, if it need not.
    pub fn wait(
        &self,
        worker: usize,
        on: Dependence,
        waiter: Box<dyn Waiter>,
    ) -> Option<(Box<dyn Waiter>, Outcome)> {
        let mut lane = self.lane(worker);
        // Under the lock, under which waits are ended: what has come meanwhile is seen.
        if let Some(outcome) = self.verdict(on) {
            return Some((waiter, outcome));
        }
        lane.waiting.push(Waiting { on, waiter });
        drop(lane);
        self.wake();
        None
    }

    /// Ends the waits that may end, by a task for each lane.
    pub fn release(&self) {
        for lane in &self.lanes {
            let mut ended = Vec::new();
            let mut lane = lock(lane);
            for waiting in mem::take(&mut lane.waiting) {
                match self.verdict(waiting.on) {
                    Some(outcome) => ended.push((waiting.waiter, outcome)),
                    None => lane.waiting.push(waiting),
                }
            }
            drop(lane);
            // Without the lock, as they may be dropped.
            if !ended.is_empty() && !self.runtime.is_shutting_down() {
                self.runtime.task(()).spawn(move |(), cx| {
                    ended.into_iter().for_each(|(waiter, outcome)| waiter.go_on(outcome, cx));
                });
            }
        }
    }

    /// Drops the batches that wait, as the runtime ends.
    pub fn abandon(&self) {
        for lane in &self.lanes {
            let abandoned = mem::take(&mut lock(lane).waiting);
            // Without the lock.
            drop(abandoned);
        }
    }

    /// Says that the log is to end.
    pub fn close(&self) {
        // Release pairs with the Acquire of `is_closing`.
        self.is_closing.store(true, Ordering::Release);
        self.is_asleep.store(true, Ordering::Relaxed);
        self.wake();
    }

    pub fn is_closing(&self) -> bool {
        // Acquire pairs with the Release of `close`.
        self.is_closing.load(Ordering::Acquire)
    }

    /// Makes the calling thread the one that is woken.
    pub fn set_thread(&self) {
        self.thread.get_or_init(thread::current);
    }

    /// Wakes the thread that writes, if it sleeps.
    fn wake(&self) {
        // Relaxed: a sleeper sets the word before it locks the lanes to look for waits. So it sees
        // the wait, or its lock of the lane precedes the caller's, and the caller sees the word.
        if self.is_asleep.load(Ordering::Relaxed)
            && self.is_asleep.swap(false, Ordering::Relaxed)
            && let Some(thread) = self.thread.get()
        {
            thread.unpark();
        }
    }

    /// Lets the calling thread sleep for a tick, or until a batch waits.
    pub fn sleep(&self) {
        self.is_asleep.store(true, Ordering::Relaxed);
        let has_waiting = self.lanes.iter().any(|lane| !lock(lane).waiting.is_empty());
        if !has_waiting && !self.is_closing() {
            thread::park_timeout(TICK);
        }
        self.is_asleep.store(false, Ordering::Relaxed);
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (policy, health) = (self.policy(), self.health());
        f.debug_struct("Shared").field("policy", &policy).field("health", &health).finish_non_exhaustive()
    }
}
