//! Loads a file of Redis: the caller reads it, tasks on the shards make values of it.

use super::Engine;
use super::engine::Inner;
use super::parcel::{FileFacts, Parcel, Skipped};
use crate::keyspace::Keys;
use crate::rdb::{RdbError, RdbErrorKind, RdbReader, RecordView, SizeHint};
use std::collections::VecDeque;
use std::io::Read;
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use xtasking::{Handle, JoinError, Runtime};

/// A task gets records of about this many bytes: fewer if there are many shards, so that the
/// records that wait for a task take little memory.
const BYTES_OF_TASK: usize = 8 * 1024;
const BYTES_OF_ALL_SHARDS: usize = 16 << 20;
/// Bytes of records that tasks may have at a time, as much as caches hold. When they have more, the
/// reader waits until they have half of it.
const BYTES_UNDER_WAY: usize = 4 << 20;
/// Bytes that the log may still have to write.
const BYTES_OF_LOG: usize = 32 << 20;
/// The progress is told when this many bytes more were read.
const BYTES_BETWEEN_REPORTS: u64 = 1 << 20;
/// The keys for which tables are made beforehand, over all databases: a file may say any number.
const MOST_PREPARED: u64 = 1 << 26;
/// The least number of keys for which a table has room.
const LEAST_PREPARED: u64 = 128;

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

/// As long as this lives no snapshot is due: it would have a part of the file.
pub(super) struct Loading<'e>(&'e Inner);

impl<'e> Loading<'e> {
    pub(super) fn begin(inner: &'e Inner) -> Self {
        inner.server.persistence.note_loading(true);
        Self(inner)
    }
}

impl Drop for Loading<'_> {
    fn drop(&mut self) {
        self.0.server.persistence.note_loading(false);
    }
}

/// Makes the orders that databases lack when a load ends, also by a panic.
struct OrderGuard<'e>(&'e Arc<Inner>, &'e Runtime);

impl OrderGuard<'_> {
    fn end(self) -> Result<(), JoinError> {
        let Self(inner, rt) = *ManuallyDrop::new(self);
        inner.make_orders(rt)
    }
}

impl Drop for OrderGuard<'_> {
    fn drop(&mut self) {
        // An error says that the runtime has ended: then nothing reads them.
        _ = self.0.make_orders(self.1);
    }
}

/// A load under way.
struct Loader<'e> {
    inner: &'e Arc<Inner>,
    facts: FileFacts,
    /// One for each shard.
    parcels: Vec<Parcel>,
    bytes_of_task: usize,
    /// The tasks under way with the bytes that they have, the oldest first.
    tasks: VecDeque<(usize, Handle<Result<Skipped, RdbError>>)>,
    bytes_under_way: usize,
    /// The keys for which tables may still be made beforehand.
    preparable: u64,
    progress: LoadProgress,
}

impl Engine {
    /// Loads a file of Redis into an engine. The calling thread reads it, and tasks decode the
    /// values and insert them, on all workers. Keys that have expired are left out. If the engine
    /// has a log, it gets them too. `tell` is called again and again with the progress.
    ///
    /// If the engine has no keys yet, databases that are to be in order are so when all keys are
    /// there: meanwhile RANGE gets an error.
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
        let mut reader = RdbReader::new(file)?;
        self.order_at_once(|| self.load_records(&mut reader, self.now(), &mut tell))
    }

    /// Loads keys into an engine. If it has none yet, the orders of its databases are made when all
    /// are there, which takes less time than to insert each. They are there after each load: also
    /// after one that begins while another one has dropped them, and ends before that.
    pub(super) fn order_at_once<R>(&self, load: impl FnOnce() -> Result<R, RdbError>) -> Result<R, RdbError> {
        let (inner, rt) = (&self.inner, self.runtime());
        let interrupted = |error| RdbError::new(0, RdbErrorKind::Runtime(error));
        // A worker is refused before anything is changed.
        rt.task(()).submit(|(), _| ()).join().map_err(interrupted)?;
        let own = Arc::clone(inner);
        let dropped = inner.on_shards(rt, 0..inner.shards.len(), move |held, _| {
            Keys::new(&own.layout, &own.versions, held).drop_empty_orders()
        });
        dropped.join().map_err(interrupted)?;
        let guard = OrderGuard(inner, rt);
        let loaded = load();
        // Also after an error.
        let made = guard.end();
        loaded.and_then(|loaded| made.map(|()| loaded).map_err(interrupted))
    }

    /// Loads a file in which keys that have expired are loaded too: what follows it says what
    /// became of them.
    pub(super) fn load_base(
        &self,
        reader: &mut RdbReader<impl Read>,
        tell: &mut dyn FnMut(LoadProgress),
    ) -> Result<LoadProgress, RdbError> {
        self.load_records(reader, 0, tell)
    }

    /// Loads a file. What has expired before a time is left out.
    fn load_records(
        &self,
        reader: &mut RdbReader<impl Read>,
        expires_before: u64,
        tell: &mut dyn FnMut(LoadProgress),
    ) -> Result<LoadProgress, RdbError> {
        let _loading = Loading::begin(&self.inner);
        let facts = FileFacts { expires_before, now: self.now(), sizes: Arc::default() };
        let mut loader = Loader::new(&self.inner, facts);
        let read = loader.read(reader, tell);
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
    fn new(inner: &'e Arc<Inner>, facts: FileFacts) -> Self {
        Self {
            inner,
            facts,
            parcels: inner.shards.iter().map(|_| Parcel::default()).collect(),
            bytes_of_task: (BYTES_OF_ALL_SHARDS / inner.shards.len()).clamp(256, BYTES_OF_TASK),
            tasks: VecDeque::new(),
            bytes_under_way: 0,
            preparable: MOST_PREPARED,
            progress: LoadProgress::default(),
        }
    }

    /// Reads all records, and gives them to tasks.
    fn read(
        &mut self,
        reader: &mut RdbReader<impl Read>,
        tell: &mut dyn FnMut(LoadProgress),
    ) -> Result<(), RdbError> {
        let mut told = 0;
        while let Some(record) = reader.next_in_place()? {
            self.take(&record)?;
            self.progress.bytes = reader.offset();
            if reader.has_hints() {
                self.note_sizes(reader.take_hints());
            }
            if reader.offset() - told >= BYTES_BETWEEN_REPORTS {
                told = reader.offset();
                tell(self.progress);
            }
        }
        Ok(())
    }

    /// Notes how many keys each shard will have.
    fn note_sizes(&mut self, hints: Vec<SizeHint>) {
        let databases = self.inner.server.databases;
        let shards = self.inner.shards.len() as u64;
        let sizes = hints.iter().filter_map(|hint| {
            let database = usize::try_from(hint.database).ok().filter(|number| *number < databases)?;
            let keys = hint.keys.div_ceil(shards).min(self.preparable / shards);
            self.preparable = self.preparable.saturating_sub(keys.max(LEAST_PREPARED) * shards);
            Some((database, keys as usize))
        });
        self.facts.sizes = sizes.collect();
    }

    /// Takes a record.
    fn take(&mut self, record: &RecordView<'_>) -> Result<(), RdbError> {
        let database = usize::try_from(record.database).ok();
        let database = database.filter(|database| *database < self.inner.server.databases);
        let kind = || RdbErrorKind::Database(record.database);
        let database = database.ok_or_else(|| RdbError::new(record.offset, kind()))?;
        self.progress.keys += 1;
        let hash = self.inner.layout.hash(record.key);
        let shard = self.inner.layout.shard_of(hash);
        let parcel = &mut self.parcels[shard];
        parcel.add(hash, database, record, self.bytes_of_task);
        if parcel.len() >= self.bytes_of_task {
            self.send(shard);
            self.wait_for_tasks()?;
        }
        Ok(())
    }

    /// Waits for the oldest tasks when too many bytes are under way.
    fn wait_for_tasks(&mut self) -> Result<(), RdbError> {
        if self.bytes_under_way > BYTES_UNDER_WAY {
            while self.bytes_under_way > BYTES_UNDER_WAY / 2 {
                self.wait_for_oldest()?;
            }
        }
        self.inner.wait_for_log();
        Ok(())
    }

    /// Gives the records for a shard to a task.
    fn send(&mut self, number: usize) {
        let parcel = std::mem::take(&mut self.parcels[number]);
        let bytes = parcel.len();
        let (inner, facts) = (self.inner.clone(), self.facts.clone());
        let object = &self.inner.shards[number];
        let task = self.inner.runtime.task(object.write());
        let handle = task.submit(move |shard, cx| inner.insert(number, shard, &parcel, &facts, cx));
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
            if !self.parcels[number].is_empty() {
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

impl Inner {
    /// Waits until the log has written most of what it was given, or cannot.
    pub(super) fn wait_for_log(&self) {
        let Some(log) = self.server.log.get() else { return };
        while log.backlog() > BYTES_OF_LOG && log.error().is_none() {
            log.flush();
            thread::sleep(Duration::from_millis(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xtasking::Runtime;

    /// Any number of keys may stand in a file of a few bytes.
    #[test]
    fn hints_make_room_for_a_bounded_number_of_keys() {
        const SHARDS: usize = 1024;
        let rt = Runtime::builder().workers(1).build().expect("a runtime");
        let engine = Engine::builder().shards(SHARDS).databases(64).build(&rt);
        let facts = FileFacts { expires_before: 0, now: 0, sizes: Arc::default() };
        for keys in [1, 1 << 20, 1 << 24, 1 << 60, u64::MAX] {
            let mut loader = Loader::new(&engine.inner, facts.clone());
            let mut total = 0;
            for database in 0..64 {
                loader.note_sizes(vec![SizeHint { database, keys }; 3]);
                total += loader.facts.sizes.iter().map(|(_, keys)| keys * SHARDS).sum::<usize>() as u64;
            }
            assert!(total <= MOST_PREPARED, "{keys}: {total}");
            let is_hint_of_a_file = keys == 1 << 20;
            assert!(!is_hint_of_a_file || total >= MOST_PREPARED / 2, "{total}");
        }
    }
}
