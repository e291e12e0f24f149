//! What a command changed, for those that follow: a log, and listeners to keyspace events.

use super::Commands;
use crate::keyspace::{ChangedKey, Keys};
use crate::rdb::dump;
use crate::resp::Args;
use crate::server::{BroadcastChange, Server, SnapshotKind};
use crate::value::Value;

/// Kinds of keyspace events, as the setting `notify-keyspace-events` tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventClass {
    /// `g`: commands on keys of any type.
    Generic,
    /// `$`: commands on strings.
    String,
    /// `l`: commands on lists.
    List,
    /// `s`: commands on sets.
    Set,
    /// `h`: commands on hashes.
    Hash,
    /// `z`: commands on sorted sets.
    SortedSet,
    /// `t`: commands on streams.
    Stream,
    /// `x`: a key has expired.
    Expired,
    /// `e`: a key was evicted.
    Evicted,
    /// `n`: a key was inserted.
    New,
    /// `m`: a key that was to be read is missing.
    Missed,
}

/// A keyspace event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its kind.
    pub class: EventClass,
    /// Its name, as `lpush`.
    pub name: &'static str,
    /// The database.
    pub database: usize,
    /// The key.
    pub key: Box<[u8]>,
}

/// What a command wants a snapshot for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SnapshotRequest {
    /// It only begins it.
    Begin(SnapshotKind),
    /// The session waits for its end.
    Wait,
    /// Then all values are made anew from their bytes, and the session waits for that.
    Reload,
}

impl SnapshotRequest {
    /// Returns what the snapshot is for.
    pub(crate) fn kind(self) -> SnapshotKind {
        match self {
            Self::Begin(kind) => kind,
            Self::Wait | Self::Reload => SnapshotKind::File,
        }
    }
}

/// What a command changed, or all commands of a transaction.
#[derive(Debug, Default)]
pub struct Effects {
    /// The commands to replay. They are one unit.
    pub commands: Commands,
    /// The events, in order.
    pub events: Vec<Event>,
    changes: u64,
    records_commands: bool,
    records_events: bool,
    records_insertions: bool,
    records_misses: bool,
    /// Set if the running command has said what is to be replayed.
    is_replaced: bool,
    /// The changes, and the commands to replay, before the running command.
    before: (u64, usize),
    /// The events before it.
    events_before: usize,
    /// Whether the pause is to end.
    ends_pause: bool,
    /// What a snapshot is to begin for.
    snapshot: Option<SnapshotRequest>,
    /// Set if settings were changed.
    has_new_settings: bool,
    /// Set if orders of keys are to be made or dropped, as the settings say.
    are_orders_due: bool,
    /// The changes for sessions that get all those of keys with a prefix.
    broadcasts: Vec<BroadcastChange>,
}

impl Effects {
    /// Begins to collect commands, or events, or both. Changes are always counted.
    pub(crate) fn new(records_commands: bool, records_events: bool) -> Self {
        Self { records_commands, records_events, ..Self::default() }
    }

    /// Returns true if commands are collected.
    #[inline]
    pub(crate) fn records_commands(&self) -> bool {
        self.records_commands
    }

    /// Sets whether there are events of new keys.
    pub(crate) fn recording_insertions(mut self, are_wanted: bool) -> Self {
        self.records_insertions = are_wanted;
        self
    }

    /// Sets whether there are events of missing keys.
    pub(crate) fn recording_misses(mut self, are_wanted: bool) -> Self {
        self.records_misses = are_wanted;
        self
    }

    /// Returns true if there are events of missing keys.
    #[inline]
    pub(crate) fn records_misses(&self) -> bool {
        self.records_misses
    }

    /// Returns true if there are events of new keys.
    #[inline]
    pub(crate) fn records_insertions(&self) -> bool {
        self.records_insertions
    }

    /// Returns the number of changes.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Returns true if nothing was noted since it was made or cleared.
    pub(crate) fn is_untouched(&self) -> bool {
        let is_told = self.snapshot.is_some() || self.ends_pause;
        let is_due = self.has_new_settings || self.are_orders_due;
        self.changes == 0 && self.is_empty() && self.broadcasts.is_empty() && !is_told && !is_due
    }

    /// Notes that settings were changed.
    pub(super) fn note_settings(&mut self) {
        self.has_new_settings = true;
    }

    /// Demands the orders of keys that the settings say, before the reply.
    pub(super) fn note_orders_due(&mut self) {
        self.are_orders_due = true;
    }

    /// Returns true if orders of keys are to be made or dropped.
    pub(crate) fn are_orders_due(&self) -> bool {
        self.are_orders_due
    }

    /// Returns true if settings were changed.
    pub(crate) fn has_new_settings(&self) -> bool {
        self.has_new_settings
    }

    /// Asks for a snapshot, which the server has noted to begin.
    pub(super) fn request_snapshot(&mut self, request: SnapshotRequest) {
        self.snapshot = Some(request);
    }

    /// Asks for the end of the pause.
    pub(super) fn request_unpause(&mut self) {
        self.ends_pause = true;
    }

    /// Returns true if the pause is to end.
    pub(crate) fn ends_pause(&self) -> bool {
        self.ends_pause
    }

    /// Returns what a snapshot is to begin for, if one is.
    pub(crate) fn snapshot(&self) -> Option<SnapshotRequest> {
        self.snapshot
    }

    /// Begins a command.
    pub(crate) fn begin_command(&mut self) {
        self.is_replaced = false;
        self.before = (self.changes, self.commands.len());
        self.events_before = self.events.len();
    }

    /// Ends a command: it is replayed as it is if it changed something and said nothing else.
    pub(crate) fn end_command(&mut self, database: usize, args: Args<'_>) {
        if self.records_commands && !self.is_replaced && self.changes > self.before.0 {
            self.commands.push(database, args.iter());
        }
    }

    pub(super) fn note_change(&mut self, class: EventClass, name: &'static str, database: usize, key: &[u8]) {
        self.changes += 1;
        if self.records_events {
            self.events.push(Event { class, name, database, key: key.into() });
        }
    }

    /// Notes that a key was inserted.
    pub(super) fn note_insertion(&mut self, database: usize, key: Box<[u8]>) {
        self.events.push(Event { class: EventClass::New, name: "new", database, key });
    }

    /// Notes that a key which was to be read is missing.
    pub(super) fn note_missed(&mut self, database: usize, key: Box<[u8]>) {
        self.events.push(Event { class: EventClass::Missed, name: "keymiss", database, key });
    }

    /// Counts changes of no single key, as of FLUSHALL.
    pub(super) fn count_changes(&mut self, changes: usize) {
        self.changes += changes as u64;
    }

    pub(super) fn replay<A: AsRef<[u8]>>(&mut self, database: usize, args: impl IntoIterator<Item = A>) {
        self.is_replaced = true;
        if self.records_commands {
            self.commands.push(database, args);
        }
    }

    /// Notes that a key has got a value from a file.
    pub(crate) fn restore(&mut self, database: usize, key: &[u8], value: &Value, expires_at: Option<u64>) {
        if self.records_commands {
            // None is 0, and so a time before 1970 is not.
            let expires_at = expires_at.map_or(0, |at| at.max(1)).to_string();
            let args = [b"RESTORE", key, expires_at.as_bytes(), &dump(value), b"ABSTTL"];
            self.commands.push(database, args);
        }
    }

    /// Notes that a key was removed because it had expired. That is replayed, and told, before the
    /// command.
    pub(crate) fn note_expired(&mut self, database: usize, key: &[u8]) {
        if self.records_commands {
            self.commands.insert(self.before.1, database, [&b"DEL"[..], key]);
            self.before.1 += 1;
        }
        if self.records_events {
            let class = EventClass::Expired;
            let event = Event { class, name: "expired", database, key: key.into() };
            self.events.insert(self.events_before, event);
            self.events_before += 1;
        }
    }

    /// Notes that a key was removed because there is too little memory.
    pub(crate) fn note_evicted(&mut self, database: usize, key: &[u8]) {
        if self.records_commands && !planted!("evicted-key-not-logged") {
            self.commands.push(database, [&b"DEL"[..], key]);
        }
        if self.records_events {
            let class = EventClass::Evicted;
            self.events.push(Event { class, name: "evicted", database, key: key.into() });
        }
    }

    /// Tells the sessions that track keys what was changed: at once those that have read it, and by
    /// [`broadcasts`](Self::broadcasts) the others. `own` is the session that has changed it. The
    /// task still holds the shards.
    #[inline]
    pub(crate) fn invalidate(&mut self, server: &Server, keys: &mut Keys<'_>, own: Option<u64>) {
        let Some(touched) = keys.take_touched() else { return };
        server.invalidate(&touched.keys, own);
        if server.broadcasts() {
            let change = |touched: ChangedKey| (touched.key, own.filter(|_| !touched.has_expired));
            self.broadcasts.extend(touched.keys.into_iter().map(change));
        }
        if touched.are_all {
            server.invalidate_all(own);
        }
    }

    /// Returns the changes for sessions that get all those of keys with a prefix.
    pub(crate) fn broadcasts(&self) -> &[BroadcastChange] {
        &self.broadcasts
    }

    /// Forgets what was collected, for the next unit.
    pub(crate) fn clear(&mut self) {
        self.commands.clear();
        self.events.clear();
        self.broadcasts.clear();
        self.changes = 0;
        (self.before, self.events_before) = ((0, 0), 0);
        self.snapshot = None;
        self.ends_pause = false;
        self.has_new_settings = false;
        self.are_orders_due = false;
    }

    /// Returns true if there is nothing to tell.
    pub(crate) fn is_empty(&self) -> bool {
        self.commands.is_empty() && self.events.is_empty()
    }
}
