//! Sessions that watch keys, and sessions that wait for them.

use super::{Keys, Waiting};
use std::ops::Bound;

impl Keys<'_> {
    fn guests_at(&mut self, key: &[u8]) -> &mut super::shard::Database {
        let at = self.position(self.layout().hash(key));
        let at = at.expect("the task holds the shards of the keys that sessions watch or wait for");
        let database = self.database();
        &mut self.held_mut()[at].databases[database]
    }

    /// Begins to watch a key. Returns its version.
    pub(crate) fn watch(&mut self, key: &[u8]) -> u64 {
        // An expired key is missing from the beginning, and its end is no change.
        self.remove_if_expired(key);
        let is_kept = self.is_kept(key) && !planted!("kept-key-watched");
        let watched = self.guests_at(key).guests_mut().watched.entry(key.into()).or_default();
        watched.sessions += 1;
        watched.note_state(is_kept);
        watched.version
    }

    /// Ends the watching of a key by one session. Returns its version, which differs from the one
    /// before if the key has been changed or has expired.
    pub(crate) fn unwatch(&mut self, key: &[u8]) -> u64 {
        self.remove_if_expired(key);
        let is_kept = self.is_kept(key);
        let database = self.guests_at(key);
        let guests = database.guests_mut();
        let Some(watched) = guests.watched.get_mut(key) else { return 0 };
        watched.note_state(is_kept);
        let version = watched.version;
        watched.sessions -= 1;
        if planted!("watch-ends-for-all") {
            watched.version = 0;
        }
        if watched.sessions == 0 {
            guests.watched.remove(key);
            database.drop_empty_guests();
        }
        version
    }

    /// Lets a session wait for a key.
    pub(crate) fn wait(&mut self, key: &[u8], waiting: Waiting) {
        let all = self.guests_at(key).guests_mut().waiting.entry(key.into()).or_default();
        // One that names a key twice waits once.
        if all.by_ticket.insert(waiting.ticket, waiting).is_none() {
            all.heeding += usize::from(waiting.heeds_removal);
        }
    }

    /// Lets the commands of the sessions that wait for a key run again, without a change of it.
    pub(crate) fn wake_waiting(&mut self, key: &[u8]) {
        if self.next_waiting(key, None, false).is_some() {
            self.note_ready(key);
        }
    }

    /// Ends a session's wait for a key.
    pub(crate) fn stop_waiting(&mut self, key: &[u8], ticket: u64) {
        let database = self.guests_at(key);
        let Some(guests) = &mut database.guests else { return };
        let Some(all) = guests.waiting.get_mut(key) else { return };
        let ended = all.by_ticket.remove(&ticket);
        all.heeding -= usize::from(ended.is_some_and(|waiting| waiting.heeds_removal));
        if all.by_ticket.is_empty() {
            guests.waiting.remove(key);
            database.drop_empty_guests();
        }
    }

    /// Returns the session that waits for a key next after the one with a ticket; or the next one
    /// that heeds the removal of the key, if only those are wanted.
    pub(crate) fn next_waiting(
        &mut self,
        key: &[u8],
        after: Option<u64>,
        heeds_removal: bool,
    ) -> Option<Waiting> {
        let all = self.guests_at(key).guests.as_ref()?.waiting.get(key)?;
        if heeds_removal && all.heeding == 0 {
            return None;
        }
        let is_wanted = |waiting: &&Waiting| waiting.heeds_removal || !heeds_removal;
        if planted!("waits-out-of-order") {
            let before = all.by_ticket.range(..after.unwrap_or(u64::MAX)).rev();
            return before.map(|(_, waiting)| waiting).find(is_wanted).copied();
        }
        let first = after.map_or(Bound::Unbounded, Bound::Excluded);
        let rest = all.by_ticket.range((first, Bound::Unbounded));
        rest.map(|(_, waiting)| waiting).find(is_wanted).copied()
    }
}
