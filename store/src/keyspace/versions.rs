//! The version of the keyspace: a snapshot begins a new one.
//!
//! Each segment of a table has the version of the last task that has changed it. A task reads the
//! version once it holds all its shards. Before it changes a segment of an older version it saves
//! what is there, and the segment becomes one of its own version. Large values among that are saved
//! later, in parts, but before they change: see `large_saves`. So a snapshot has all changes of
//! the tasks that read the version before it, and none of those that read its own: it is of one
//! moment, as tasks hold their shards until they end.

use super::access::SharedClock;
use super::{AccessClock, Entry};
use crate::rdb::put_record;
use crate::snapshot::SnapshotOutput;
use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Set while a snapshot is taken.
const SAVING: u32 = 1;
/// Set while more is waiting to be written than should be.
const CROWDED: u32 = 2;
/// Set when commands that write are perhaps refused, as the last snapshot has failed.
const SUSPECT: u32 = 4;
/// Set once it is counted how much memory keys take.
const COUNTED: u32 = 8;
/// Set while sessions track keys.
const TRACKED: u32 = 16;
/// Flags that neither the begin nor the end of a snapshot changes.
const KEPT: u32 = COUNTED | TRACKED;
/// The version is in the bits above.
const FLAGS: u32 = 5;

/// Bytes to be written from which on tasks that write are put off.
pub(crate) const CROWD: usize = 32 << 20;

/// Bytes for which there is room at first when a segment is saved: mostly enough.
const ROOM_OF_SEGMENT: usize = 4 << 10;

/// The version of the keyspace, and where a snapshot goes.
#[derive(Default)]
pub(crate) struct Versions {
    word: AtomicU32,
    output: Mutex<Option<Arc<SnapshotOutput>>>,
    /// Beside the word, which each task reads too.
    clock: SharedClock,
}

/// What a task reads of the version once it holds its shards.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct VersionWord(u32);

impl VersionWord {
    /// Returns the version.
    #[inline]
    pub(super) fn version(self) -> u32 {
        self.0 >> FLAGS
    }

    /// Returns true if a snapshot is taken.
    pub(super) fn is_saving(self) -> bool {
        self.0 & SAVING != 0
    }

    /// Returns true if more is waiting to be written than should be.
    #[inline]
    pub(crate) fn is_crowded(self) -> bool {
        self.0 & CROWDED != 0
    }

    /// Returns true if some shards are counted.
    #[inline]
    pub(crate) fn is_counted(self) -> bool {
        self.0 & COUNTED != 0
    }

    /// Returns true if sessions track keys, so that changes are noted for them.
    #[inline]
    pub(super) fn is_tracked(self) -> bool {
        self.0 & TRACKED != 0
    }

    /// Sets whether sessions track keys.
    pub(super) fn set_tracked(&mut self, is_tracked: bool) {
        self.0 = self.0 & !TRACKED | if is_tracked { TRACKED } else { 0 };
    }

    /// Returns true if commands that write are perhaps refused.
    #[inline]
    pub(crate) fn is_suspect(self) -> bool {
        self.0 & SUSPECT != 0
    }
}

impl Versions {
    fn output(&self) -> MutexGuard<'_, Option<Arc<SnapshotOutput>>> {
        // Nothing panics inside of the lock.
        self.output.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what is noted of accesses.
    #[inline]
    pub(crate) fn clock(&self) -> AccessClock {
        self.clock.get()
    }

    /// Sets what is noted of accesses from now on.
    pub(crate) fn set_clock(&self, clock: AccessClock) {
        self.clock.set(clock);
    }

    /// Returns the version. The caller holds its shards.
    #[inline]
    pub(crate) fn read(&self) -> VersionWord {
        // Acquire pairs with the Release of `begin`: with the version its output is there. A task
        // that gets a shard after another one reads no older version than that one did.
        let word = VersionWord(self.word.load(Ordering::Acquire));
        if planted!("version-read-early") && word.is_saving() {
            return VersionWord(word.0 - (1 << FLAGS));
        }
        word
    }

    /// Begins a new version, whose predecessor is saved to this output. Returns it.
    ///
    /// # Panics
    ///
    /// If a snapshot is taken: two would miss records of each other.
    pub(crate) fn begin(&self, output: Arc<SnapshotOutput>) -> u32 {
        let before = self.output().replace(output);
        assert!(before.is_none(), "one snapshot is taken at a time");
        let next =
            |word: u32| Some(((word >> FLAGS).wrapping_add(1) << FLAGS) | word & (SUSPECT | KEPT) | SAVING);
        // Release pairs with the Acquire of `read`. Snapshots begin one after the other.
        let word = self.word.fetch_update(Ordering::Release, Ordering::Relaxed, next);
        (word.unwrap_or_else(|word| word) >> FLAGS).wrapping_add(1) & (u32::MAX >> FLAGS)
    }

    /// Ends the snapshot. After one that has failed tasks look whether they are refused.
    pub(crate) fn end(&self, has_failed: bool) {
        *self.output() = None;
        let kept = |word: u32| word >> FLAGS << FLAGS | word & KEPT;
        let next = |word: u32| Some(kept(word) | if has_failed { SUSPECT } else { 0 });
        // Relaxed: what a task does that still reads the old flags is right as well.
        _ = self.word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
    }

    /// Lets tasks look whether they are refused.
    pub(crate) fn set_suspect(&self) {
        // Relaxed: a task that reads a version that is begun after this reads it too.
        self.word.fetch_or(SUSPECT, Ordering::Relaxed);
    }

    /// Notes that shards are counted from now on, each from when a task has counted it. The tasks
    /// that have it later read this flag.
    pub(crate) fn set_counted(&self) {
        // Relaxed: the runtime's way from that task to the next one of the shard orders it.
        self.word.fetch_or(COUNTED, Ordering::Relaxed);
    }

    /// Sets whether sessions track keys. What a session reads after this, in shards that it holds
    /// then, is changed by tasks that read the flag.
    pub(crate) fn set_tracked(&self, is_tracked: bool) {
        // Relaxed: a task that holds a shard after the session has read there reads no older flag.
        match is_tracked {
            true => self.word.fetch_or(TRACKED, Ordering::Relaxed),
            false => self.word.fetch_and(!TRACKED, Ordering::Relaxed),
        };
    }

    /// Returns true if a snapshot is taken whose file can still be written. After a task has found
    /// that it cannot, the later tasks of its shards find so too.
    pub(super) fn has_use_for_records(&self) -> bool {
        self.output().as_ref().is_some_and(|output| !output.has_failed())
    }

    /// Saves entries of a database.
    pub(super) fn save<'e>(&self, database: usize, entries: impl Iterator<Item = &'e Entry>) {
        let mut bytes = Vec::with_capacity(ROOM_OF_SEGMENT);
        entries.for_each(|entry| put_record(&mut bytes, entry.key(), entry.value(), entry.expires_at()));
        self.save_record(database, vec![bytes], 0);
    }

    /// Saves bytes of records of a database, of which this many were noted as begun.
    pub(super) fn save_record(&self, database: usize, chunks: Vec<Vec<u8>>, begun: usize) {
        let bytes: usize = chunks.iter().map(Vec::len).sum();
        let output = self.output();
        let Some(output) = output.as_ref().filter(|output| !output.has_failed()) else { return };
        if output.pending() + bytes > CROWD {
            // Relaxed, as the flag orders nothing. It is set before the bytes are on their way, so
            // that the thread that writes them clears it again; and inside of the lock, so that
            // `end` does.
            self.word.fetch_or(CROWDED, Ordering::Relaxed);
        }
        output.send_all(database, chunks, begun);
    }

    /// Notes how many bytes are still to be written.
    pub(crate) fn note_pending(&self, pending: usize) {
        if pending < CROWD / 2 && self.read().is_crowded() {
            // Relaxed: see `save`.
            self.word.fetch_and(!CROWDED, Ordering::Relaxed);
        }
    }

    /// Returns how many bytes the snapshot has that are not written yet.
    pub(crate) fn unwritten(&self) -> usize {
        self.output().as_ref().map_or(0, |output| output.unwritten())
    }

    /// Lets a function be called when all that was saved so far has been written. Gives it back if
    /// no snapshot is taken.
    pub(crate) fn when_written<F: FnOnce() + Send + 'static>(&self, call: F) -> Result<(), F> {
        // Inside of the lock, so that it is sent before `end`.
        match &*self.output() {
            Some(output) => {
                output.then(call);
                Ok(())
            }
            None => Err(call),
        }
    }
}

impl fmt::Debug for Versions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Versions").field("word", &self.read()).finish_non_exhaustive()
    }
}
