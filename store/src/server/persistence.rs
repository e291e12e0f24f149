//! What the server knows of its snapshots.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Whether a snapshot was taken; why not.
pub(crate) type SaveResult = Result<(), String>;
/// What waits for the end of a snapshot.
pub(crate) type SaveWaiter = Box<dyn FnOnce(&SaveResult) + Send>;

/// The time after a snapshot that has failed in which none is due, in ms.
const PAUSE_AFTER_FAILURE: u64 = 5000;

/// What a snapshot is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SnapshotKind {
    /// A file of its own: BGSAVE.
    #[default]
    File,
    /// The base of the log, which makes the log shorter: BGREWRITEAOF.
    Base,
}

/// The snapshots of a store, as INFO shows them.
pub struct Persistence(Mutex<State>);

#[derive(Default)]
struct State {
    status: PersistenceStatus,
    /// Changes at the moment of the snapshot that is taken.
    changes_of_running: u64,
    waiting: Vec<SaveWaiter>,
    ended_at: u64,
    is_loading: bool,
}

/// The state of the snapshots. Times are in ms since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PersistenceStatus {
    /// When the snapshot was begun that is taken now.
    pub begun_at: Option<u64>,
    /// What that snapshot is for.
    pub kind: SnapshotKind,
    /// Whether the last base of the log could not be written.
    pub base_has_failed: bool,
    /// How long the last base took, in ms.
    pub last_base_duration: Option<u64>,
    /// The bytes of the log after the last base, or at the start.
    pub log_size: u64,
    /// When the last one that succeeded was done; the start of the store before any.
    pub last_save: u64,
    /// Whether the last one has failed.
    pub has_failed: bool,
    /// How long the last one took, in ms.
    pub last_duration: Option<u64>,
    /// How many have succeeded.
    pub saves: u64,
    /// The changes of keys that the last one has, counted from the start of the store.
    pub saved_changes: u64,
    /// Whether commands that write are refused, as the store ends.
    pub is_ending: bool,
    /// How many keys were loaded from a file.
    pub loaded_keys: u64,
    /// How many keys of a file were left out, as they had expired.
    pub expired_keys: u64,
}

impl Persistence {
    pub(crate) fn new(now: u64) -> Self {
        let status = PersistenceStatus { last_save: now, ..PersistenceStatus::default() };
        Self(Mutex::new(State { status, ..State::default() }))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics inside of the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the state.
    pub fn status(&self) -> PersistenceStatus {
        self.lock().status
    }

    /// Notes that a snapshot begins. Returns false if one is taken already.
    pub(crate) fn begin(&self, kind: SnapshotKind, now: u64) -> bool {
        let mut state = self.lock();
        let is_free = state.status.begun_at.is_none();
        if is_free {
            state.status.begun_at = Some(now);
            state.status.kind = kind;
        }
        is_free
    }

    /// Adds what waits for the end of the snapshot that is taken. Gives it back if there is none.
    pub(crate) fn wait(&self, waiter: SaveWaiter) -> Result<(), SaveWaiter> {
        let mut state = self.lock();
        if state.status.begun_at.is_none() {
            return Err(waiter);
        }
        state.waiting.push(waiter);
        Ok(())
    }

    /// Notes how many changes the snapshot has that is taken.
    pub(crate) fn note_moment(&self, changes: u64) {
        self.lock().changes_of_running = changes;
    }

    /// Notes the end of the snapshot. Returns what has waited for it.
    pub(crate) fn end(&self, now: u64, result: &SaveResult) -> Vec<SaveWaiter> {
        let mut state = self.lock();
        let changes = state.changes_of_running;
        state.ended_at = now;
        let status = &mut state.status;
        let duration = status.begun_at.take().map(|begun| now.saturating_sub(begun));
        if status.kind == SnapshotKind::Base {
            (status.last_base_duration, status.base_has_failed) = (duration, result.is_err());
            return std::mem::take(&mut state.waiting);
        }
        (status.last_duration, status.has_failed) = (duration, result.is_err());
        if result.is_ok() {
            status.last_save = now;
            status.saves += 1;
            status.saved_changes = changes;
        }
        std::mem::take(&mut state.waiting)
    }

    /// Notes the bytes of the log, from which its growth is counted.
    pub(crate) fn note_log_size(&self, bytes: u64) {
        self.lock().status.log_size = bytes;
    }

    /// Returns true if the log has grown by this many percent, and to `least` bytes, since its last
    /// base.
    pub(crate) fn is_base_due(&self, bytes: u64, percent: u64, least: u64, now: u64) -> bool {
        let state = self.lock();
        let status = &state.status;
        let is_pause = status.base_has_failed && now < state.ended_at + PAUSE_AFTER_FAILURE;
        let grown = bytes.saturating_sub(status.log_size);
        status.begun_at.is_none()
            && !is_pause
            && percent > 0
            && bytes >= least
            && grown.saturating_mul(100) >= status.log_size.saturating_mul(percent)
    }

    /// Notes that a file was loaded.
    pub(crate) fn note_load(&self, keys: u64, expired: u64) {
        let status = &mut self.lock().status;
        status.loaded_keys += keys;
        status.expired_keys += expired;
    }

    /// Notes that commands that write are refused from now on.
    pub(crate) fn note_ending(&self) {
        self.lock().status.is_ending = true;
    }

    /// Notes that they are not.
    pub(crate) fn note_going_on(&self) {
        self.lock().status.is_ending = false;
    }

    /// Notes that a file is being loaded, or that it has been: meanwhile no snapshot is due.
    pub(crate) fn note_loading(&self, is_loading: bool) {
        self.lock().is_loading = is_loading;
    }

    /// Returns true if a snapshot is due by one of the save points: there were enough changes.
    pub(crate) fn is_due(&self, points: &str, changes: u64, now: u64) -> bool {
        let state = self.lock();
        let status = &state.status;
        if state.is_loading
            || status.begun_at.is_some()
            || status.has_failed && now < state.ended_at + PAUSE_AFTER_FAILURE
        {
            return false;
        }
        let (unsaved, elapsed) = (changes - status.saved_changes, now.saturating_sub(status.last_save));
        save_points(points)
            .into_iter()
            .flatten()
            .any(|(seconds, least)| unsaved >= least && elapsed > seconds * 1000)
    }
}

/// Reads pairs of seconds and changes; `None` if the text is malformed.
pub(super) fn save_points(text: &str) -> Option<Vec<(u64, u64)>> {
    let numbers: Option<Vec<u64>> = text.split_whitespace().map(|word| word.parse().ok()).collect();
    let numbers = numbers.filter(|numbers| numbers.len().is_multiple_of(2))?;
    let pairs = numbers.chunks(2).map(|pair| (pair[0], pair[1]));
    pairs.map(|pair| (1..=u64::from(u32::MAX)).contains(&pair.0).then_some(pair)).collect()
}

impl fmt::Debug for Persistence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Persistence").field(&self.status()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshots_are_due_by_changes_and_time() {
        let persistence = Persistence::new(10_000);
        let points = "60 100 10 1000";
        assert!(!persistence.is_due("", 1_000_000, 1_000_000));
        assert!(!persistence.is_due(points, 999, 21_000));
        assert!(persistence.is_due(points, 1000, 21_000));
        assert!(!persistence.is_due(points, 99, 71_000));
        assert!(persistence.is_due(points, 100, 71_000));
        assert!(persistence.begin(SnapshotKind::File, 71_000));
        assert!(!persistence.begin(SnapshotKind::File, 71_000) && !persistence.is_due(points, 100, 71_000));
        persistence.note_moment(150);
        persistence.end(72_000, &Err("full".to_owned()));
        assert!(persistence.status().has_failed);
        assert!(!persistence.is_due(points, 200, 76_000), "too early after a failure");
        assert!(persistence.is_due(points, 200, 77_000) && persistence.begin(SnapshotKind::File, 77_000));
        persistence.note_moment(180);
        persistence.end(78_000, &Ok(()));
        assert_eq!((persistence.status().last_save, persistence.status().saved_changes), (78_000, 180));
        assert!(!persistence.is_due(points, 279, 1_000_000));
        assert!(persistence.is_due(points, 280, 1_000_000));
    }

    #[test]
    fn save_points_are_pairs() {
        assert_eq!(save_points(" 900 1  300 10 "), Some(vec![(900, 1), (300, 10)]));
        assert_eq!(save_points(""), Some(Vec::new()));
        for wrong in ["900", "900 x", "0 1", "-1 1", "900 1 300"] {
            assert_eq!(save_points(wrong), None, "{wrong}");
        }
    }
}
