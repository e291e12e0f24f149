//! Takes snapshots: of one moment, beside the work.
//!
//! A task that holds all shards for reading begins the new version of the keyspace. Then some tasks
//! go from shard to shard and save what no task has saved before it changed it; see
//! `keyspace::versions`. They have a low priority, and are short: requests go before. After one
//! that has waited long some have that of requests, so that a busy worker does not starve them. A
//! thread writes the file. When much waits to be written, the tasks that visit are spawned by that
//! thread, and when very much does, so are those that write.

use super::Engine;
use super::batch::Batch;
use super::engine::Inner;
use crate::command::{Command, CommandError, Flags, SnapshotRequest, resolve};
use crate::keyspace::{Entry, Garbage, HeldShards, Keys, SavedPart, Shard, Waiting};
use crate::rdb::put_record;
use crate::server::{SaveResult, Server, Setting, SnapshotKind, Unblock};
use crate::session::Session;
use crate::snapshot::{SnapshotFile, SnapshotOutput, SnapshotTarget};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use xtasking::task::Spawner;
use xtasking::{Context, Priority};

/// Bytes that one task saves, before another one goes on: a thousand small records, which take some
/// 100 µs.
pub(super) const BYTES_OF_TASK: usize = 32 * 1024;
/// The room for the bytes that one task saves, which end with a whole segment.
const ROOM_OF_TASK: usize = BYTES_OF_TASK + BYTES_OF_TASK / 4;
/// Bytes to be written from which on the tasks that visit wait. The thread that writes them may
/// share a core with a worker, which then waits about a millisecond for it.
pub(super) const MOST_PENDING: usize = 1 << 20;

/// After a task that visits has waited longer than this, the next ones have a normal priority.
const LONGEST_WAIT: Duration = Duration::from_millis(5);
/// The number of those.
const URGENT_PARTS: u32 = 32;

impl Engine {
    /// Takes a snapshot and waits for it, as SAVE does. A snapshot that is taken already is waited
    /// for first.
    ///
    /// The settings `dir` and `dbfilename` name the file. It is replaced when the new one is
    /// complete and synced.
    ///
    /// # Errors
    ///
    /// If the file cannot be written, the thread is a worker, or the runtime ends.
    pub fn save(&self) -> io::Result<()> {
        self.take_snapshot(SnapshotKind::File)
    }

    /// Makes the log shorter and waits for that, as BGREWRITEAOF does without waiting: a snapshot
    /// becomes the base of the log, and stands for all that was logged before its moment.
    ///
    /// # Errors
    ///
    /// If there is no log, the base cannot be written, the thread is a worker, or the runtime ends.
    /// The log is as it was then, or has both.
    pub fn rewrite_log(&self) -> io::Result<()> {
        if self.log().is_none() {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "the store has no log"));
        }
        self.take_snapshot(SnapshotKind::Base)
    }

    fn take_snapshot(&self, kind: SnapshotKind) -> io::Result<()> {
        if !self.runtime().may_block() {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "a worker does not wait for a snapshot"));
        }
        loop {
            let is_begun = self.inner.server.persistence.begin(kind, self.now());
            let (promise, handle) = self.runtime().promise();
            let waiter = Box::new(move |result: &SaveResult| promise.fulfil(result.clone()));
            let is_waiting = self.inner.server.persistence.wait(waiter).is_ok();
            if is_begun {
                self.inner.start_snapshot(kind, self.runtime());
            }
            if is_waiting {
                let result = handle.join().map_err(io::Error::other)?;
                if is_begun {
                    return result.map_err(io::Error::other);
                }
            }
        }
    }

    /// Refuses commands that write, from now on: the store ends. A snapshot that is begun after
    /// this has all changes that were acknowledged.
    pub fn refuse_writes(&self) {
        self.inner.server.persistence.note_ending();
        self.inner.versions.set_suspect();
    }

    /// Accepts commands that write again, as the store does not end.
    pub fn accept_writes(&self) {
        self.inner.server.persistence.note_going_on();
    }

    /// Begins a snapshot if one is due by the setting `save`, or a base of the log if that has
    /// grown much. A timer is to call it.
    pub fn save_if_due<S: Spawner>(&self, spawner: S) {
        let Inner { server, .. } = &**self.inner;
        let points = server.settings.text(Setting::Save);
        let (changes, now) = (server.statistics.changes(), self.now());
        let kind = if server.persistence.is_due(&points, changes, now) {
            SnapshotKind::File
        } else if self.is_base_due(now) {
            SnapshotKind::Base
        } else {
            return;
        };
        if server.persistence.begin(kind, now) {
            self.inner.start_snapshot(kind, spawner);
        }
    }

    /// Returns true if the log has grown so much that a base is due.
    fn is_base_due(&self, now: u64) -> bool {
        let Server { settings, persistence, .. } = &self.inner.server;
        let percent = settings.number(Setting::AutoAofRewritePercentage) as u64;
        let least = settings.number(Setting::AutoAofRewriteMinSize) as u64;
        let log = self.log().filter(|log| log.error().is_none());
        log.is_some_and(|log| persistence.is_base_due(log.size(), percent, least, now))
    }
}

/// Ends a snapshot that was not begun, if it is dropped with its task.
struct StartGuard(Option<Arc<Inner>>);

impl Drop for StartGuard {
    fn drop(&mut self) {
        if let Some(inner) = self.0.take() {
            inner.end_snapshot(Err("the runtime has ended".to_owned()));
        }
    }
}

impl Inner {
    /// Begins a snapshot, of which the server has noted that it begins.
    pub(super) fn start_snapshot<S: Spawner>(self: &Arc<Self>, kind: SnapshotKind, spawner: S) {
        let all = (0..self.shards.len()).map(|shard| (shard, false)).collect();
        let mut guard = StartGuard(Some(self.clone()));
        self.spawn_on(spawner, all, move |held, _| {
            if let Some(inner) = guard.0.take() {
                inner.begin_snapshot(kind, &held);
            }
        });
    }

    /// Begins the snapshot at this moment: the task holds all shards.
    fn begin_snapshot(self: Arc<Self>, kind: SnapshotKind, held: &HeldShards<'_>) {
        let sizes = |database| {
            let counts = held.iter().map(|shard| shard.counts(database));
            counts.fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1))
        };
        let settings = &self.server.settings;
        let target = match self.server.log.get().filter(|_| kind == SnapshotKind::Base) {
            // What was changed before this moment is in earlier epochs.
            Some(log) => SnapshotTarget::Base { log: log.clone(), epoch: log.begin_epoch() },
            None => SnapshotTarget::File {
                folder: PathBuf::from(settings.text(Setting::Dir)),
                name: settings.text(Setting::DbFileName),
            },
        };
        let file = SnapshotFile {
            target,
            begun_at: self.now(),
            sizes: (0..self.server.databases).map(sizes).collect(),
        };
        let (output, receiver) = SnapshotOutput::new();
        let output = Arc::new(output);
        let (inner, written) = (self.clone(), output.clone());
        let spawned = thread::Builder::new().name("xtasking-save".to_owned()).spawn(move || {
            let note = |pending| inner.versions.note_pending(pending);
            let result = file.write(&receiver, &written, note);
            inner.end_snapshot(result.map_err(|error| error.to_string()));
            // Nothing more is sent after this end; what was is done.
            SnapshotOutput::finish(&receiver);
        });
        if let Err(error) = spawned {
            return self.end_snapshot(Err(error.to_string()));
        }
        let version = self.versions.begin(output.clone());
        self.server.persistence.note_moment(self.server.statistics.changes());
        Visit::begin(self, output, version);
    }

    /// Ends the snapshot, and tells what has waited for it.
    fn end_snapshot(&self, result: SaveResult) {
        self.versions.end(result.is_err());
        let is_base = self.server.persistence.status().kind == SnapshotKind::Base && result.is_ok();
        if let Some(log) = self.server.log.get().filter(|_| is_base) {
            self.server.persistence.note_log_size(log.size());
        }
        if self.server.persistence.status().is_ending {
            self.versions.set_suspect();
        }
        for waiter in self.server.persistence.end(self.now(), &result) {
            waiter(&result);
        }
    }

    /// Ends the wait of a session when the snapshot that it has asked for has ended.
    pub(super) fn serve_saved(self: &Arc<Self>, request: SnapshotRequest, waits: Waiting) {
        let inner = self.clone();
        let waiter = move |result: &SaveResult| match (request, result) {
            (SnapshotRequest::Reload, Ok(())) => inner.reload(waits),
            (_, result) => inner.end_wait(&*inner.runtime, waits, Unblock::Saved(result.is_ok())),
        };
        if let Err(waiter) = self.server.persistence.wait(Box::new(waiter)) {
            waiter(&Err("no snapshot is taken".to_owned()));
        }
    }

    /// Makes all values anew from the bytes that they have in a file, and ends the wait for that.
    fn reload(self: &Arc<Self>, waits: Waiting) {
        let all = (0..self.shards.len()).map(|shard| (shard, true)).collect();
        let inner = self.clone();
        self.spawn_on(&*self.runtime, all, move |held, cx| {
            let mut keys = Keys::new(&inner.layout, &inner.versions, held);
            keys.begin(0, inner.now());
            let reloaded = keys.reload(inner.server.databases, &inner.server.settings.value_limits());
            inner.count_growth(cx.worker(), &mut keys);
            inner.free_later(keys.take_garbage(), cx);
            inner.end_wait(&*inner.runtime, waits, Unblock::Saved(reloaded.is_ok()));
        });
    }

    /// Lets a batch that is to write go on when what waits to be written has been.
    pub(super) fn put_off(self: &Arc<Self>, batch: Box<Batch>) {
        let inner = self.clone();
        if let Err(launch) = self.versions.when_written(move || batch.launch(&*inner.runtime)) {
            launch();
        }
    }

    /// Checks whether a command may run although the last snapshot has failed, or the store ends.
    /// A transaction that writes is aborted if it may not.
    #[cold]
    pub(super) fn check_saving(&self, command: &Command, session: &mut Session) -> Result<(), CommandError> {
        if let Some(transaction) = session.transaction.as_mut().filter(|_| command.name == "exec") {
            let requests = &transaction.requests;
            let refusal = |index| {
                resolve(requests.args(index)).ok().and_then(|command| self.check_saving_of(command).err())
            };
            if let Some(refusal) = (0..requests.len()).find_map(refusal) {
                transaction.refusal = Some(refusal);
            }
        }
        self.check_saving_of(command)
    }

    fn check_saving_of(&self, command: &Command) -> Result<(), CommandError> {
        let (status, settings) = (self.server.persistence.status(), &self.server.settings);
        if status.is_ending && command.flags.has(Flags::WRITE) {
            return Err(CommandError::fixed("ERR the server is shutting down"));
        }
        let stops = status.has_failed
            && settings.number(Setting::StopWritesOnBgsaveError) != 0
            && !settings.text(Setting::Save).is_empty();
        match stops && (command.flags.has(Flags::WRITE) || command.name == "ping") {
            true => Err(CommandError::UNSAVED),
            false => Ok(()),
        }
    }
}

/// The tasks that go from shard to shard.
pub(super) struct Visit {
    inner: Arc<Inner>,
    output: Arc<SnapshotOutput>,
    version: u32,
    /// The next shard that none of them visits yet.
    next_shard: AtomicUsize,
    /// How many of them still go.
    visitors: AtomicUsize,
    is_complete: AtomicBool,
}

impl Drop for Visit {
    /// The runtime drops its tasks when it ends: then the file is not complete.
    fn drop(&mut self) {
        self.output.end(*self.is_complete.get_mut());
    }
}

impl Visit {
    pub(super) fn begin(inner: Arc<Inner>, output: Arc<SnapshotOutput>, version: u32) {
        let visitors = inner.shards.len().min(inner.server.workers);
        let visit = Arc::new(Self {
            inner,
            output,
            version,
            next_shard: AtomicUsize::new(visitors),
            visitors: AtomicUsize::new(visitors),
            is_complete: AtomicBool::new(false),
        });
        // From the runtime, so that each worker has one of them.
        (0..visitors).for_each(|shard| visit.clone().spawn(&*visit.inner.runtime, shard, 0));
    }

    /// Spawns a task that saves a part of a shard. This many parts, from that one on, have a normal
    /// priority.
    fn spawn<S: Spawner>(self: Arc<Self>, spawner: S, shard: usize, urgent: u32) {
        let inner = self.inner.clone();
        let is_urgent = urgent > 0 || planted!("visits-before-requests");
        let priority = if is_urgent { Priority::Normal } else { Priority::Low };
        let task = spawner.task(inner.shards[shard].write()).priority(priority);
        let spawned_at = Instant::now();
        task.spawn(move |held, cx| {
            let urgent = match urgent.checked_sub(1) {
                Some(left) => left,
                // A simulation has no such time.
                None if self.inner.turn_time.is_some() && spawned_at.elapsed() > LONGEST_WAIT => URGENT_PARTS,
                None => 0,
            };
            self.visit(shard, held, urgent, cx);
        });
    }

    /// Saves a part of a shard, and lets another task go on.
    fn visit(self: Arc<Self>, number: usize, shard: &mut Shard, urgent: u32, cx: &mut Context) {
        let mut garbage = Vec::new();
        let is_done = if self.output.has_failed() {
            garbage = shard.take_retired();
            true
        } else {
            self.save(shard, &mut garbage)
        };
        // The snapshot lets these tables go.
        let released: i64 = garbage.iter().map(Garbage::bytes).sum();
        self.inner.server.memory.add_retired(-(garbage.len() as i64), -released);
        self.inner.free_later(garbage, cx);
        // Relaxed: only the number has to be another one.
        let next = if is_done { self.next_shard.fetch_add(1, Ordering::Relaxed) } else { number };
        if next >= self.inner.shards.len() {
            // Release and Acquire pair with each other: the last one has the others' shards behind
            // it.
            if self.visitors.fetch_sub(1, Ordering::AcqRel) == 1 {
                // Relaxed: the last drop of an `Arc` comes after it.
                self.is_complete.store(true, Ordering::Relaxed);
            }
        } else if self.output.pending() > MOST_PENDING && !planted!("visitors-never-wait") {
            let output = self.output.clone();
            output.then(move || {
                let inner = self.inner.clone();
                self.spawn(&*inner.runtime, next, urgent);
            });
        } else {
            // Requests that have come meanwhile do not wait for the next part.
            let inner = self.inner.clone();
            inner.poll_events_before(move |cx| self.spawn(cx, next, urgent), cx);
        }
    }

    /// Saves a part of a shard. Returns true if that was the last one.
    fn save(&self, shard: &mut Shard, garbage: &mut Vec<Garbage>) -> bool {
        let (mut bytes, mut database, mut saved) = (Vec::with_capacity(ROOM_OF_TASK), 0, 0);
        let is_done = shard.visit_unsaved(self.version, &self.inner.layout, garbage, |origin, part| {
            if origin != database {
                self.output.send(database, std::mem::take(&mut bytes));
                database = origin;
            }
            saved += match part {
                SavedPart::Entries(entries) => {
                    let (before, put) = (bytes.len(), |entry: &Entry| {
                        put_record(&mut bytes, entry.key(), entry.value(), entry.expires_at());
                    });
                    entries.for_each(put);
                    bytes.len() - before
                }
                SavedPart::Begun(part) => {
                    self.output.note_begun(part);
                    part
                }
                SavedPart::Record { chunks, last, begun } => {
                    self.output.send_all(database, chunks, begun);
                    last
                }
            };
            saved < BYTES_OF_TASK
        });
        self.output.send(database, bytes);
        is_done
    }
}
