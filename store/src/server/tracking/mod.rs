//! Client-side caching: sessions that track keys learn when these change.
//!
//! | file | contents |
//! |---|---|
//! | `tracker` | [`Tracker`]: how a session tracks keys |
//! | `table` | which sessions have read which keys |
//! | `send` | the messages to them |
//!
//! # Why no change is lost
//!
//! A command notes the keys that it has read in the table while its task holds their shards; a
//! command that changes a key takes the readers from the table while its task holds the key's shard
//! alone. So a reader is noted before the next change looks for it. If it noted the key before it
//! holds the shard, a change in between would take the note, and the reader would get the new value
//! without one.
//!
//! Messages lie in the inbox of their session from inside of the change's hold on. A session that
//! tracks writes them before each of its requests, inside of the hold of that: so a message comes
//! after the replies with the old value, and before those with the new one.

mod send;
mod table;
mod tracker;

pub(crate) use send::{BroadcastChange, Invalidation};
pub(crate) use tracker::{Tracker, TrackingMode};

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use table::ReaderTable;

/// The sessions that track keys, and what they have read.
#[derive(Debug, Default)]
pub(crate) struct Tracking {
    table: ReaderTable,
    trackers: RwLock<Trackers>,
}

#[derive(Debug, Default)]
struct Trackers {
    by_session: BTreeMap<u64, Arc<Tracker>>,
    /// Those that get all changes of keys with a prefix.
    by_prefix: BTreeMap<Box<[u8]>, BTreeMap<u64, Arc<Tracker>>>,
}

impl Trackers {
    fn remove(&mut self, session: u64) -> bool {
        let Some(tracker) = self.by_session.remove(&session) else { return false };
        for prefix in tracker.prefixes() {
            if let Some(trackers) = self.by_prefix.get_mut(prefix) {
                trackers.remove(&session);
                if trackers.is_empty() {
                    self.by_prefix.remove(prefix);
                }
            }
        }
        true
    }
}

impl Tracking {
    fn read(&self) -> RwLockReadGuard<'_, Trackers> {
        // Nothing panics inside.
        self.trackers.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Trackers> {
        self.trackers.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a session track keys, in place of how it did before. `note` is told inside of the lock
    /// that there are sessions that track.
    pub(crate) fn begin(&self, tracker: &Arc<Tracker>, note: impl FnOnce(bool)) {
        let session = tracker.session();
        let mut trackers = self.write();
        trackers.remove(session);
        for prefix in tracker.prefixes() {
            trackers.by_prefix.entry(prefix.into()).or_default().insert(session, tracker.clone());
        }
        trackers.by_session.insert(session, tracker.clone());
        note(true);
    }

    /// Ends the tracking of a session. `note` is told inside of the lock if no session tracks any
    /// more. Its keys stay in the table until they change or the last tracker ends.
    pub(crate) fn end(&self, session: u64, note: impl FnOnce(bool)) {
        let mut trackers = self.write();
        if trackers.remove(session) && (trackers.by_session.is_empty() || planted!("last-tracker-assumed")) {
            note(false);
            let notes = self.table.clear();
            // Many keys take long to drop, and changes wait for the lock.
            drop(trackers);
            drop(notes);
        }
    }

    /// Notes that a session has read a key. Its task holds the key's shard.
    fn note_read(&self, key: &[u8], session: u64) {
        if self.table.note(key, session) {
            let trackers = self.read();
            self.table.retain(key, |session| trackers.by_session.contains_key(&session));
        }
    }

    /// Returns how a session tracks keys, if it does.
    pub(crate) fn get(&self, session: u64) -> Option<Arc<Tracker>> {
        self.read().by_session.get(&session).cloned()
    }

    /// Returns the number of sessions that track, and of the prefixes by which they do.
    pub(crate) fn sessions(&self) -> (usize, usize) {
        let trackers = self.read();
        (trackers.by_session.len(), trackers.by_prefix.len())
    }

    /// Returns the number of keys in the table, and of the pairs of a key and a session.
    pub(crate) fn keys(&self) -> (usize, usize) {
        (self.table.keys(), self.table.readers())
    }
}
