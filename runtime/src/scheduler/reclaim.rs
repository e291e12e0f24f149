//! The epochs of a worker, and the objects that it frees once no task can reach them.
//!
//! `memory/epoch.rs` has the protocol.

use super::RuntimeState;
use crate::memory::{Epochs, Ledger, OFFLINE, Reclaim, Retired, slot};
use crate::monitor::WorkerCounters;
use crate::sync::{Padded, Relaxed, SeqCst};
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use core::ptr::NonNull;

/// Objects freed between two tasks. The rest waits for the next time.
const RECLAIM_BATCH: usize = 64;
/// Advances of the epoch that settle all garbage if no other worker is awake.
const ADVANCES_TO_SETTLE: usize = 3;

/// A worker's part in the epochs, with its garbage.
pub(super) struct EpochState {
    ledger: Arc<Padded<Ledger>>,
    /// The epoch that was announced last. Operations begin in it.
    epoch: u64,
    /// Retired objects, the oldest first.
    retired: VecDeque<Retired>,
}

impl EpochState {
    pub fn new(ledger: Arc<Padded<Ledger>>) -> Self {
        Self { ledger, epoch: 0, retired: VecDeque::new() }
    }

    /// Returns the slot of the epoch in which an operation begins now.
    #[inline(always)]
    pub fn slot(&self) -> u8 {
        slot(self.epoch)
    }

    #[inline(always)]
    pub fn ledger(&self) -> &Ledger {
        &self.ledger.0
    }

    /// Announces the current epoch.
    #[inline(always)]
    pub fn announce(&mut self, epochs: &Epochs) {
        self.epoch = epochs.announce(&self.ledger.0, self.epoch);
    }

    /// Takes the worker out of the epochs while it sleeps.
    pub fn go_offline(&mut self, epochs: &Epochs) {
        epochs.go_offline(&self.ledger.0);
        self.epoch = OFFLINE;
    }

    /// Frees an object once no task can reach it any more.
    ///
    /// # Safety
    ///
    /// The object is unlinked: no operation that begins from now on finds it. `owner` can free it.
    pub unsafe fn retire(&mut self, object: NonNull<u8>, owner: Arc<dyn Reclaim>, epochs: &Epochs) {
        let epoch = if planted!("node-freed-at-once") { 0 } else { epochs.retirement() };
        self.retired.push_back(Retired { epoch, object, owner });
    }

    /// Returns true if there are objects to free.
    #[inline(always)]
    pub fn has_garbage(&self, shared: &RuntimeState) -> bool {
        !self.retired.is_empty() || shared.has_orphans.load(Relaxed)
    }

    /// Advances the epoch if possible, and frees some of what is settled then. Only between tasks.
    #[cold]
    pub fn reclaim(&mut self, shared: &RuntimeState, worker: usize, counters: &WorkerCounters) {
        if shared.has_orphans.swap(false, Relaxed) {
            let orphans = shared.orphans.lock().as_mut().map(core::mem::take);
            let before = self.retired.len();
            self.retired.extend(orphans.into_iter().flatten());
            counters.adopted.add((self.retired.len() - before) as u64);
        }
        self.announce(&shared.epochs);
        shared.epochs.advance(shared.ledgers());
        self.announce(&shared.epochs);
        let settled = shared.epochs.settled();
        // Orphans may be older than the objects before them. They wait a little longer.
        let mut last: Option<Arc<dyn Reclaim>> = None;
        for _ in 0..RECLAIM_BATCH.max(self.retired.len() / 2) {
            match self.retired.pop_front() {
                Some(retired) if retired.epoch <= settled => {
                    // SAFETY: its epoch is settled, and the caller is the worker of that index.
                    let owner = unsafe { retired.free(Some(worker)) };
                    counters.reclaimed.add(1);
                    if !last.as_ref().is_some_and(|last| Arc::ptr_eq(last, &owner)) {
                        // SAFETY: the caller is the worker of that index.
                        last.replace(owner).inspect(|last| unsafe { last.after_reclaim(worker) });
                    }
                }
                Some(retired) => {
                    self.retired.push_front(retired);
                    break;
                }
                None => break,
            }
        }
        // SAFETY: the caller is the worker of that index.
        last.inspect(|last| unsafe { last.after_reclaim(worker) });
    }

    /// Frees what can be freed, and leaves the rest to the workers that are awake. Before sleeping.
    pub fn leave_garbage(&mut self, shared: &RuntimeState, worker: usize, counters: &WorkerCounters) {
        for _ in 0..ADVANCES_TO_SETTLE {
            while self.has_garbage(shared) {
                let before = self.retired.len();
                self.reclaim(shared, worker, counters);
                if self.retired.len() >= before.max(1) {
                    break;
                }
            }
        }
        if !self.retired.is_empty() {
            self.abandon_garbage(shared, counters);
        }
    }

    /// Leaves the retired objects to the other workers.
    pub fn abandon_garbage(&mut self, shared: &RuntimeState, counters: &WorkerCounters) {
        counters.abandoned.add(self.retired.len() as u64);
        shared.adopt(self.retired.drain(..));
    }
}

impl RuntimeState {
    /// Takes over retired objects, for any worker to free.
    pub(crate) fn adopt(&self, retired: impl Iterator<Item = Retired>) {
        let mut orphans = self.orphans.lock();
        if let Some(orphans) = &mut *orphans {
            orphans.extend(retired);
            // SeqCst, with `Worker::fall_asleep`: either the last worker to fall asleep sees this,
            // or `wake_for_garbage` sees that all sleep.
            self.has_orphans.store(true, SeqCst);
        } else {
            drop(orphans);
            // SAFETY: no run queue is left, so no task is that could reach the objects.
            retired.for_each(|retired| _ = unsafe { retired.free(None) });
        }
    }

    /// Wakes a worker to free orphans if all workers sleep: `worker`, or the next one that sleeps
    /// if that is not driven now.
    pub(crate) fn wake_for_garbage(&self, worker: usize) {
        if !planted!("garbage-left-to-sleepers") && self.awake.0.load(SeqCst) == 0 {
            let mut all = (worker..self.slots.len()).chain(0..worker);
            if let Some(asleep) = all.find(|&queue| self.slots[queue].asleep.0.load(SeqCst)) {
                self.wake(asleep);
            }
        }
    }
}
