//! Sessions that watch keys, and sessions that wait for them.

use super::{Keys, Waiting};

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
        // One that is kept gets this version when it is removed.
        let is_kept = self.is_kept(key) && !planted!("kept-key-watched");
        let watched = self.guests_at(key).guests_mut().watched.entry(key.into()).or_default();
        watched.sessions += 1;
        watched.version + u64::from(is_kept)
    }

    /// Ends the watching of a key by one session. Returns its version, which differs from the one
    /// before if the key has been changed or has expired.
    pub(crate) fn unwatch(&mut self, key: &[u8]) -> u64 {
        self.remove_if_expired(key);
        let is_kept = self.is_kept(key);
        let database = self.guests_at(key);
        let guests = database.guests_mut();
        let Some(watched) = guests.watched.get_mut(key) else { return 0 };
        let version = watched.version + u64::from(is_kept);
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
        all.insert(waiting.ticket, waiting);
    }

    /// Lets the commands of the sessions that wait for a key run again, without a change of it.
    pub(crate) fn wake_waiting(&mut self, key: &[u8]) {
        if !self.waiting(key).is_empty() {
            self.note_ready(key);
        }
    }

    /// Ends a session's wait for a key.
    pub(crate) fn stop_waiting(&mut self, key: &[u8], ticket: u64) {
        let database = self.guests_at(key);
        let Some(guests) = &mut database.guests else { return };
        let Some(all) = guests.waiting.get_mut(key) else { return };
        all.remove(&ticket);
        if all.is_empty() {
            guests.waiting.remove(key);
            database.drop_empty_guests();
        }
    }

    /// Returns the sessions that wait for a key, in order.
    pub(crate) fn waiting(&mut self, key: &[u8]) -> Vec<Waiting> {
        let guests = self.guests_at(key).guests.as_ref();
        let all = guests.and_then(|guests| guests.waiting.get(key));
        all.map_or_else(Vec::new, |all| all.values().copied().collect())
    }
}
