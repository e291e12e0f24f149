//! Access to the map from plain threads: calls that return when the operation is done.
//!
//! The calling thread reads by itself, and waits for tasks that change entries or run batches.

use super::handle::HashMap;
use super::scan::{EntryCounter, Progress, ScanPosition, ScanResult};
use super::{lookup, scan};
use crate::batch::{Request, Response};
use crate::caller::Caller;
use crate::key_value::WordKey;
use crate::node::WriteMode;
use crate::value::WordValue;
use crate::write_outcome::WriteOutcome;
use std::vec::IntoIter;

use xtasking::{JoinError, Primitive, Runtime, task::PanicPayload, task::Spawner};

impl<K: WordKey, V: WordValue> HashMap<K, V> {
    /// Returns a client for plain threads.
    ///
    /// # Panics
    ///
    /// Panics if the map belongs to another runtime.
    pub fn client<'a>(&self, rt: &'a Runtime) -> MapClient<'a, K, V> {
        assert!(self.runtime() == rt.runtime(), "a client must be created for the runtime of its map");
        MapClient { map: self.clone(), caller: Caller::new(rt, Primitive::OptimisticLatched) }
    }
}

/// Access to a map from plain threads; made by [`HashMap::client`].
///
/// [`get`](Self::get), [`scan`](Self::scan) and [`count`](Self::count) read on the calling thread,
/// beside the tasks that change the map, and wait for nothing as a rule. In a
/// [`Simulation`](xtasking::platform::Simulation) these calls wait for a task. Every other call
/// does so anywhere.
///
/// Use the batches for speed: each worker runs them as one task with many walks in flight, some of
/// which fetch buckets while others run.
///
/// What is removed is freed only after the calls that began before. So a scan of many entries keeps
/// in memory the chains that are replaced meanwhile; the iterator and the count do not.
///
/// # Errors
///
/// Every call fails
/// - with [`JoinError::WouldBlock`] on a worker of the same runtime, which cannot wait for its own
///   work (use the map's own operations there),
/// - with [`JoinError::Abandoned`] or [`JoinError::OutOfMemory`] if there was no memory for a task
///   of the operation. In this case a change may have been made nonetheless; the map stays
///   consistent.
pub struct MapClient<'a, K, V> {
    map: HashMap<K, V>,
    caller: Caller<'a>,
}

impl<K: WordKey, V: WordValue> MapClient<'_, K, V> {
    /// Looks up `key`.
    #[inline]
    pub fn get(&self, key: K) -> Result<Option<V>, JoinError> {
        if self.caller.reads_in_place() {
            let (buckets, hash) = (self.map.root.peek().buckets, self.map.hash(key));
            let value = self.caller.read(|reader| lookup::get(reader, buckets, hash))?;
            return Ok(value.map(V::from_word));
        }
        self.caller.run(|rt, promise| self.map.get(rt, key, |value, _| promise.fulfil(value)))
    }

    /// Adds an entry. Returns false if the key exists; then nothing is changed.
    pub fn insert(&self, key: K, value: V) -> Result<bool, JoinError> {
        self.caller.run(|rt, promise| self.map.insert(rt, key, value, |new, _| promise.fulfil(new)))
    }

    /// Adds an entry or replaces its value. Returns the old value.
    pub fn upsert(&self, key: K, value: V) -> Result<Option<V>, JoinError> {
        self.caller.run(|rt, promise| self.map.upsert(rt, key, value, |old, _| promise.fulfil(old)))
    }

    /// Replaces the value of an existing key. Returns the old value.
    pub fn update(&self, key: K, value: V) -> Result<Option<V>, JoinError> {
        self.caller.run(|rt, promise| self.map.update(rt, key, value, |old, _| promise.fulfil(old)))
    }

    /// Atomically changes the value of an existing key. Returns the old value.
    ///
    /// # Errors
    ///
    /// [`JoinError::Panicked`] if `change` panics. The entry stays as it is.
    pub fn modify(
        &self,
        key: K,
        change: impl FnOnce(V) -> V + Send + 'static,
    ) -> Result<Option<V>, JoinError> {
        let modified = self.caller.run(|rt, promise| {
            self.map.try_modify(rt, key, change, |modified, _| promise.fulfil(modified));
        })?;
        modified.map_err(|payload| JoinError::Panicked(PanicPayload::new(payload)))
    }

    /// Removes an entry. Returns the old value.
    pub fn remove(&self, key: K) -> Result<Option<V>, JoinError> {
        self.caller.run(|rt, promise| self.map.remove(rt, key, |old, _| promise.fulfil(old)))
    }

    /// Returns up to `limit` entries from a position on, and the position where a further scan goes
    /// on; see [`HashMap::scan`].
    pub fn scan(&self, from: ScanPosition, limit: usize) -> Result<ScanResult<K, V>, JoinError> {
        if self.caller.reads_in_place() {
            let progress = Progress::new(from, self.map.collector(limit));
            let buckets = self.map.root.peek().buckets;
            let progress =
                self.caller.read(|reader| scan::in_place(reader, buckets, progress, usize::MAX))?;
            let (collector, next) = progress.finish();
            return Ok((collector.into_entries(), next));
        }
        self.caller.run(|rt, promise| {
            self.map.scan(rt, from, limit, |entries, next, _| promise.fulfil((entries, next)));
        })
    }

    /// Returns an iterator over all entries, in no meaningful order, which [scans](Self::scan) some
    /// hundred of them at a time. It yields an error at most once, as its last item.
    pub fn iter(&self) -> MapIter<'_, K, V> {
        MapIter { client: self, scanned: Vec::new().into_iter(), next: Some(ScanPosition::default()) }
    }

    /// Counts the entries; see [`HashMap::count`].
    pub fn count(&self) -> Result<u64, JoinError> {
        if self.caller.reads_in_place() {
            let mut progress = Progress::new(ScanPosition::default(), EntryCounter::default());
            let buckets = self.map.root.peek().buckets;
            // Memory that is retired meanwhile is kept for one of these steps only.
            while progress.hash().is_some() {
                progress =
                    self.caller.read(|reader| scan::in_place(reader, buckets, progress, COUNTED_AT_ONCE))?;
            }
            return Ok(progress.finish().0.0);
        }
        self.caller.run(|rt, promise| self.map.count(rt, |count, _| promise.fulfil(count)))
    }

    /// Looks up many keys. The results are in the order of the keys.
    pub fn get_many(&self, keys: &[K]) -> Result<Vec<Option<V>>, JoinError> {
        self.map.get_many(self.caller.runtime(), keys)
    }

    /// Adds many entries, each like [`insert`](Self::insert), in any order.
    pub fn insert_many(&self, entries: &[(K, V)]) -> Result<Vec<bool>, JoinError> {
        let is_new = |wrote: WriteOutcome<V>| wrote.is_inserted();
        self.map.write_many(self.caller.runtime(), entries, WriteMode::Insert, is_new)
    }

    /// Adds or replaces many entries, each like [`upsert`](Self::upsert), in any order.
    pub fn upsert_many(&self, entries: &[(K, V)]) -> Result<Vec<Option<V>>, JoinError> {
        self.map.write_many(self.caller.runtime(), entries, WriteMode::Upsert, WriteOutcome::replaced)
    }

    /// Runs operations of all kinds, in any order. The responses are in the order of the requests.
    pub fn request_many(&self, requests: &[Request<K, V>]) -> Result<Vec<Response<V>>, JoinError> {
        self.map.request_many(self.caller.runtime(), requests)
    }

    /// Removes many entries, each like [`remove`](Self::remove), in any order.
    pub fn remove_many(&self, keys: &[K]) -> Result<Vec<Option<V>>, JoinError> {
        self.map.remove_many(self.caller.runtime(), keys)
    }
}

/// An iterator over the entries of a map, for plain threads; made by [`MapClient::iter`].
///
/// It returns each entry that exists all along exactly once, and others at most once.
#[must_use = "iterators do nothing unless they are consumed"]
pub struct MapIter<'c, K, V> {
    client: &'c MapClient<'c, K, V>,
    /// What is left of the last scan.
    scanned: IntoIter<(K, V)>,
    /// Where the next scan begins; `None` if there is none.
    next: Option<ScanPosition>,
}

/// Buckets that are counted by one reader.
const COUNTED_AT_ONCE: usize = 1024;
/// Entries of one scan of an iterator.
const SCANNED_AT_ONCE: usize = 256;

impl<K: WordKey, V: WordValue> Iterator for MapIter<'_, K, V> {
    type Item = Result<(K, V), JoinError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(entry) = self.scanned.next() {
                return Some(Ok(entry));
            }
            match self.client.scan(self.next.take()?, SCANNED_AT_ONCE) {
                Ok((entries, next)) => (self.scanned, self.next) = (entries.into_iter(), next),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}
