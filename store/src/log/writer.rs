//! Writes what the workers have appended.

use super::base::{self, NewBase};
use super::lane::{Part, merge};
use super::options::SyncPolicy;
use super::segments::{Batch, Segments};
use super::shared::{Health, Shared};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::Arc;
use xtasking_storage::Disk;

/// The time after which a write that has failed is tried again, in ms.
const RETRY: u64 = 1000;
/// The time between two syncs under `everysec`, in ms. With the time that a sync takes it should be
/// less than a second.
const SYNC_PERIOD: u64 = 500;

/// What is done with a log, whatever its disk.
pub(super) trait Flush: Send {
    /// Writes what was appended, syncs it if that is due, and ends waits.
    fn step(&mut self);

    /// Writes and syncs all that was appended.
    fn finish(&mut self) -> io::Result<()>;

    /// Begins a segment, and returns its first epoch.
    fn rotate(&mut self) -> io::Result<u64>;

    /// Removes the segments that have no epoch from `epoch` on, and the bases that stand for less.
    fn remove_before(&mut self, epoch: u64) -> io::Result<()>;

    /// Begins a base.
    fn create_base(&mut self) -> io::Result<Box<dyn NewBase>>;
}

/// In place of the writer of a log that was closed.
pub(super) struct Closed;

impl Flush for Closed {
    fn step(&mut self) {}

    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn rotate(&mut self) -> io::Result<u64> {
        Err(io::Error::other("the log is closed"))
    }

    fn remove_before(&mut self, _: u64) -> io::Result<()> {
        Err(io::Error::other("the log is closed"))
    }

    fn create_base(&mut self) -> io::Result<Box<dyn NewBase>> {
        Err(io::Error::other("the log is closed"))
    }
}

/// Writes what the workers have appended.
pub(super) struct Writer<D: Disk> {
    shared: Arc<Shared>,
    segments: Segments<D>,
    segment_limit: u64,
    /// What could not be written yet.
    pending: VecDeque<Batch>,
    /// Units up to this epoch are pending, or written.
    collected: u64,
    /// When the epoch after it began.
    opened_at: u64,
    /// When to try again a write that has failed.
    retry_at: u64,
    /// When to try again to begin a segment.
    rotate_at: u64,
    /// When the last sync began.
    synced_at: u64,
    /// Kept as long as the log is used.
    _lock: D::Lock,
}

impl<D: Disk> Writer<D> {
    pub fn new(shared: Arc<Shared>, segments: Segments<D>, segment_limit: u64, lock: D::Lock) -> Self {
        let now = shared.now();
        let collected = segments.current.before();
        shared.set_size(segments.size());
        Self {
            shared,
            segments,
            segment_limit,
            pending: VecDeque::new(),
            collected,
            opened_at: now,
            retry_at: 0,
            rotate_at: 0,
            synced_at: now,
            _lock: lock,
        }
    }

    /// Ends the epoch, and makes batches of what was appended in it.
    fn collect(&mut self, now: u64) {
        // The time is read before the epoch begins.
        self.opened_at = now;
        self.collected = self.shared.close_epoch();
        let mut by_epoch = BTreeMap::<u64, Vec<Part>>::new();
        for part in self.shared.take(self.collected) {
            by_epoch.entry(part.epoch).or_default().push(part);
        }
        for (epoch, parts) in by_epoch {
            let mut batch = Batch::new(epoch);
            merge(&parts, &mut batch.bytes);
            self.pending.push_back(batch);
        }
    }

    fn write(&mut self) -> io::Result<()> {
        while let Some(batch) = self.pending.front_mut() {
            self.segments.current.append(batch)?;
            self.pending.pop_front();
        }
        self.shared.set_size(self.segments.size());
        self.shared.set_written(self.collected);
        Ok(())
    }

    /// Collects and writes. Returns false if it has failed, or is not yet to be tried again.
    fn collect_and_write(&mut self, now: u64) -> bool {
        if self.shared.health() == Health::Dead || now < self.retry_at {
            return false;
        }
        if self.pending.is_empty() {
            self.collect(now);
        }
        match self.write() {
            Ok(()) => {
                self.retry_at = 0;
                if self.shared.health() == Health::Retrying {
                    self.shared.set_health(Health::Fine, "");
                }
                true
            }
            Err(error) => {
                self.retry_at = now + RETRY;
                self.shared.set_health(Health::Retrying, &error.to_string());
                false
            }
        }
    }

    /// Makes durable what was written. After an error nothing is tried any more.
    fn sync(&mut self, now: u64) -> io::Result<()> {
        self.synced_at = now;
        if self.segments.current.is_dirty()
            && let Err(error) = self.segments.current.sync()
        {
            let health = if planted!("failed-sync-repeated") { Health::Retrying } else { Health::Dead };
            self.shared.set_health(health, &format!("a sync has failed, restart the store: {error}"));
            return Err(error);
        }
        self.shared.set_durable(self.collected, self.opened_at);
        Ok(())
    }

    fn is_sync_due(&self, now: u64) -> bool {
        let is_late = now >= self.synced_at + SYNC_PERIOD || now >= self.shared.acknowledge_until();
        // What needs no sync is durable at once.
        !self.segments.current.is_dirty()
            || match self.shared.policy() {
                SyncPolicy::Always => true,
                SyncPolicy::EverySecond => is_late,
                SyncPolicy::Never => false,
            }
    }

    /// Begins a segment after all that was collected; it was written.
    fn begin_segment(&mut self, now: u64) -> io::Result<u64> {
        self.sync(now)?;
        let first = self.collected + 1;
        self.segments.begin(first)?;
        self.shared.set_size(self.segments.size());
        Ok(first)
    }

    /// Returns the error after a step that has failed.
    fn failure(&self) -> io::Error {
        io::Error::other(self.shared.error().unwrap_or_default())
    }
}

impl<D: Disk + Clone + 'static> Flush for Writer<D> {
    fn step(&mut self) {
        let now = self.shared.now();
        if self.collect_and_write(now) {
            if planted!("released-before-sync") {
                self.shared.set_durable(self.collected, now);
                self.shared.release();
            }
            let is_synced = !self.is_sync_due(now) || self.sync(now).is_ok();
            self.shared.release();
            let is_full = self.segments.current.len >= self.segment_limit && now >= self.rotate_at;
            if is_synced && is_full && self.begin_segment(now).is_err() {
                // If there is no room for another segment, this one grows.
                self.rotate_at = now + RETRY;
            }
        }
        // Those that cannot go on by a step learn of it.
        self.shared.release();
    }

    fn finish(&mut self) -> io::Result<()> {
        let now = self.shared.now();
        self.retry_at = 0;
        // Twice if something was pending: then later units were not collected.
        for _ in 0..1 + usize::from(!self.pending.is_empty()) {
            if !self.collect_and_write(now) {
                self.shared.release();
                return Err(self.failure());
            }
        }
        let synced = self.sync(now);
        self.shared.release();
        synced
    }

    fn rotate(&mut self) -> io::Result<u64> {
        self.finish()?;
        let begun = self.begin_segment(self.shared.now());
        self.shared.release();
        begun
    }

    fn remove_before(&mut self, epoch: u64) -> io::Result<()> {
        let removed = self.segments.remove_before(epoch);
        self.shared.set_size(self.segments.size());
        removed
    }

    fn create_base(&mut self) -> io::Result<Box<dyn NewBase>> {
        base::create(self.segments.disk.clone())
    }
}
