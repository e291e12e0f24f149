//! Loads a file of Redis: the caller reads it, tasks on the shards make values of it.

use super::Engine;
use super::engine::Inner;
use crate::command::Effects;
use crate::keyspace::{HeldShards, Keys, Shard};
use crate::rdb::{RdbError, RdbErrorKind, RdbReader, Record, decode_value};
use std::collections::VecDeque;
use std::io::Read;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use xtasking::{Context, Handle};

/// A task gets records of about this many bytes.
const BYTES_OF_TASK: usize = 16 * 1024;
/// Bytes of records that tasks may have at a time. They bound the memory beside the store's own.
const BYTES_UNDER_WAY: usize = 32 << 20;
/// The progress is told when this many bytes more were read.
const BYTES_BETWEEN_REPORTS: u64 = 1 << 20;

/// How far a file is loaded, and what it had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoadProgress {
    /// Bytes of the file that were read.
    pub bytes: u64,
    /// Keys that were read, those that had expired included.
    pub keys: u64,
    /// Keys that were not loaded, as they have expired.
    pub expired: u64,
    /// Keys that were not loaded, as their collections have no elements.
    pub empty: u64,
    /// Libraries of functions that were skipped.
    pub functions: u64,
}

/// Records for one task.
#[derive(Debug, Default)]
struct Parcel {
    heads: Vec<Head>,
    /// Keys and values, one after the other.
    bytes: Vec<u8>,
}

/// A record of a [`Parcel`] without its key and value.
#[derive(Debug)]
struct Head {
    database: usize,
    key: usize,
    value: usize,
    /// The number of the value's type.
    code: u8,
    /// Where the value is in the file.
    offset: u64,
    expires_at: Option<u64>,
    idle_seconds: Option<u64>,
}

/// What a task has not loaded: expired and empty keys.
type Skipped = (u64, u64);

/// As long as this lives no snapshot is due: it would have a part of the file.
struct Loading<'e>(&'e Inner);

impl<'e> Loading<'e> {
    fn begin(inner: &'e Inner) -> Self {
        inner.server.persistence.note_loading(true);
        Self(inner)
    }
}

impl Drop for Loading<'_> {
    fn drop(&mut self) {
        self.0.server.persistence.note_loading(false);
    }
}

/// A load under way.
struct Loader<'e> {
    inner: &'e Arc<Inner>,
    /// What has expired then is left out. In ms since 1970.
    now: u64,
    /// One for each shard.
    parcels: Vec<Parcel>,
    /// The tasks under way with the bytes that they have, the oldest first.
    tasks: VecDeque<(usize, Handle<Result<Skipped, RdbError>>)>,
    bytes_under_way: usize,
    progress: LoadProgress,
}

impl Engine {
    /// Loads a file of Redis into an engine. The calling thread reads it, and tasks decode the
    /// values and insert them, on all workers. Keys that have expired are left out. If the engine
    /// has a log, it gets them too. `tell` is called again and again with the progress.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, is malformed, or has what the store does not have; if a key is
    /// there already; or if the thread is a worker, or the runtime ends. Part of the keys may have
    /// been loaded then.
    ///
    /// ```
    /// use xtasking::Runtime;
    /// use xtasking_store::Engine;
    /// use xtasking_store::rdb::RdbWriter;
    /// use xtasking_store::value::{StringValue, Value};
    ///
    /// let mut writer = RdbWriter::new(Vec::new());
    /// writer.select(0)?;
    /// writer.record(b"greeting", &Value::String(StringValue::new(b"hello")), None)?;
    /// let file = writer.finish()?;
    ///
    /// let rt = Runtime::builder().workers(2).build()?;
    /// let engine = Engine::builder().build(&rt);
    /// assert_eq!(engine.load(&file[..], |_| {})?.keys, 1);
    /// assert_eq!(engine.client().run(["GET", "greeting"])?, b"$5\r\nhello\r\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn load(
        &self,
        file: impl Read,
        mut tell: impl FnMut(LoadProgress),
    ) -> Result<LoadProgress, RdbError> {
        self.load_at(file, Some(self.now()), &mut tell)
    }

    /// Loads the base of a log. Keys that have expired are loaded too: the log says what became of
    /// them.
    pub(super) fn load_base(&self, file: impl Read) -> Result<(), RdbError> {
        self.load_at(file, None, &mut |_| {}).map(drop)
    }

    /// Loads a file. What has expired at a time is left out.
    fn load_at(
        &self,
        file: impl Read,
        now: Option<u64>,
        tell: &mut dyn FnMut(LoadProgress),
    ) -> Result<LoadProgress, RdbError> {
        let mut reader = RdbReader::new(file)?;
        let _loading = Loading::begin(&self.inner);
        let mut loader = Loader::new(&self.inner, now);
        let (mut record, mut told) = (Record::default(), 0);
        let read = loop {
            match reader.next(&mut record) {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(error) => break Err(error),
            }
            if let Err(error) = loader.take(&record) {
                break Err(error);
            }
            loader.progress.bytes = reader.offset();
            if reader.offset() - told >= BYTES_BETWEEN_REPORTS {
                told = reader.offset();
                tell(loader.progress);
            }
        };
        // All tasks are waited for, also after an error.
        let loaded = loader.finish();
        read.and(loaded)?;
        loader.progress.bytes = reader.offset();
        loader.progress.functions = reader.skipped_functions();
        let LoadProgress { keys, expired, empty, .. } = loader.progress;
        self.inner.server.persistence.note_load(keys - expired - empty, expired);
        tell(loader.progress);
        Ok(loader.progress)
    }
}

impl<'e> Loader<'e> {
    fn new(inner: &'e Arc<Inner>, now: Option<u64>) -> Self {
        Self {
            inner,
            now: now.unwrap_or(0),
            parcels: inner.shards.iter().map(|_| Parcel::default()).collect(),
            tasks: VecDeque::new(),
            bytes_under_way: 0,
            progress: LoadProgress::default(),
        }
    }

    /// Takes a record. Waits for the oldest tasks when too many bytes are under way.
    fn take(&mut self, record: &Record) -> Result<(), RdbError> {
        let database = usize::try_from(record.database).ok();
        let database = database.filter(|database| *database < self.inner.server.databases);
        let kind = RdbErrorKind::Database(record.database);
        let database = database.ok_or_else(|| RdbError::new(record.offset, kind))?;
        self.progress.keys += 1;
        let shard = self.inner.layout.shard(&record.key);
        self.parcels[shard].add(database, record);
        if self.parcels[shard].bytes.len() >= BYTES_OF_TASK {
            self.send(shard);
        }
        while self.bytes_under_way > BYTES_UNDER_WAY {
            self.wait_for_oldest()?;
        }
        self.wait_for_log();
        Ok(())
    }

    /// Waits until the log has written most of what it was given, or cannot.
    fn wait_for_log(&self) {
        let Some(log) = self.inner.server.log.get() else { return };
        while log.backlog() > BYTES_UNDER_WAY && log.error().is_none() {
            log.flush();
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Gives the records for a shard to a task.
    fn send(&mut self, number: usize) {
        let parcel = std::mem::take(&mut self.parcels[number]);
        let bytes = parcel.bytes.len();
        let (inner, now) = (self.inner.clone(), self.now);
        let object = &self.inner.shards[number];
        let task = self.inner.runtime.task(object.write());
        let handle = task.submit(move |shard, cx| inner.insert(number, shard, &parcel, now, cx));
        self.tasks.push_back((bytes, handle));
        self.bytes_under_way += bytes;
    }

    fn wait_for_oldest(&mut self) -> Result<(), RdbError> {
        let Some((bytes, handle)) = self.tasks.pop_front() else { return Ok(()) };
        self.bytes_under_way -= bytes;
        let joined = handle.join();
        let (expired, empty) =
            joined.map_err(|error| RdbError::new(self.progress.bytes, RdbErrorKind::Runtime(error)))??;
        self.progress.expired += expired;
        self.progress.empty += empty;
        Ok(())
    }

    /// Gives out all that is left, and waits for all tasks. Returns the first error.
    fn finish(&mut self) -> Result<(), RdbError> {
        for number in 0..self.parcels.len() {
            if !self.parcels[number].heads.is_empty() {
                self.send(number);
            }
        }
        let mut result = Ok(());
        while !self.tasks.is_empty() {
            result = result.and(self.wait_for_oldest());
        }
        result
    }
}

impl Parcel {
    fn add(&mut self, database: usize, record: &Record) {
        self.heads.push(Head {
            database,
            key: record.key.len(),
            value: record.bytes.len(),
            code: record.code,
            offset: record.offset,
            expires_at: record.expires_at,
            idle_seconds: record.idle_seconds,
        });
        self.bytes.extend_from_slice(&record.key);
        self.bytes.extend_from_slice(&record.bytes);
    }
}

impl Inner {
    /// Inserts records into a shard. The log gets them as RESTORE does.
    fn insert(
        &self,
        number: usize,
        shard: &mut Shard,
        parcel: &Parcel,
        now: u64,
        cx: &Context,
    ) -> Result<Skipped, RdbError> {
        let mut effects = Effects::new(self.server.log.get().is_some(), false);
        let mut keys = Keys::new(&self.layout, &self.versions, HeldShards::written(number, shard));
        let inserted = self.insert_all(&mut keys, parcel, now, &mut effects);
        // Also after an error, for those before it.
        self.record(cx.worker(), &effects, &mut keys);
        self.count_growth(cx.worker(), &mut keys);
        inserted
    }

    /// Inserts records, up to the first that is not accepted.
    fn insert_all(
        &self,
        keys: &mut Keys<'_>,
        parcel: &Parcel,
        now: u64,
        effects: &mut Effects,
    ) -> Result<Skipped, RdbError> {
        let limits = self.server.settings.value_limits();
        let (mut rest, mut skipped) = (&parcel.bytes[..], (0, 0));
        for head in &parcel.heads {
            let (key, others) = rest.split_at(head.key);
            let (value, others) = others.split_at(head.value);
            rest = others;
            let value = decode_value(head.code, value, head.offset, &limits)?;
            let Some(value) = value else {
                skipped.1 += 1;
                continue;
            };
            if head.expires_at.is_some_and(|at| at < now) {
                skipped.0 += 1;
                continue;
            }
            keys.begin(head.database, now);
            let effect = effects.commands.len();
            effects.restore(head.database, key, &value, head.expires_at);
            if !keys.insert_new(key, value, head.expires_at) {
                effects.commands.truncate(effect);
                return Err(RdbError::new(head.offset, RdbErrorKind::DuplicateKey(key.into())));
            }
            if let Some(idle) = head.idle_seconds {
                keys.set_idle_seconds(key, idle);
            }
        }
        Ok(skipped)
    }
}
