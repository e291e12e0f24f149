//! The hash map of the crate `xtasking-index`, by the batches of its client.

use super::super::contender::{Contender, Entry};
use std::sync::Arc;
use std::time::{Duration, Instant};
use xtasking::Runtime;
use xtasking_harness::failure::Wrong;
use xtasking_harness::lineup::start_own;
use xtasking_index::HashMap;

pub(super) const ENTRY: Entry = Entry {
    name: "xtasking",
    about: "xtasking_index::HashMap, in batches of 64 Ki operations",
    is_parallel: true,
    start: |settings| Ok(Box::new(Batches { workers: settings.workers, has_room: true, map: None })),
    more: (),
};

/// The same, without room for the records at first.
pub(super) const GROWING: Entry = Entry {
    name: "xtasking-growing",
    about: "the same, made empty: it grows while records are inserted",
    is_parallel: true,
    start: |settings| Ok(Box::new(Batches { workers: settings.workers, has_room: false, map: None })),
    more: (),
};

/// The operations of a batch: results stay in the cache, and to begin a batch takes little beside
/// it.
const BATCH: usize = 64 << 10;

struct Batches {
    workers: usize,
    /// The map is made with room for all records.
    has_room: bool,
    /// The map is dropped before its runtime.
    map: Option<(HashMap<u64, u64>, Runtime)>,
}

impl Contender for Batches {
    fn load(&mut self, keys: &Arc<[u64]>) -> Result<(Duration, usize), Wrong> {
        // Ends an earlier runtime first.
        self.map = None;
        let rt = start_own(self.workers).map_err(|failure| Wrong::new(failure.to_string()))?;
        let began = Instant::now();
        let map = HashMap::with_capacity(&rt, if self.has_room { keys.len() } else { 0 });
        let (client, mut new) = (map.client(&rt), 0);
        let mut entries = Vec::with_capacity(BATCH);
        for (batch, number) in keys.chunks(BATCH).zip(0..) {
            entries.clear();
            entries.extend(batch.iter().copied().zip((number * BATCH) as u64..));
            let old = client.upsert_many(&entries).map_err(|error| Wrong::new(error.to_string()))?;
            new += old.iter().filter(|old| old.is_none()).count();
        }
        let time = began.elapsed();
        drop(client);
        self.map = Some((map, rt));
        Ok((time, new))
    }

    fn look_up(&mut self, keys: &Arc<[u64]>, found: &mut Vec<Option<u64>>) -> Result<Duration, Wrong> {
        let (map, rt) = self.map.as_ref().ok_or_else(|| Wrong::new("the map is not loaded"))?;
        let client = map.client(rt);
        let began = Instant::now();
        for (keys, found) in keys.chunks(BATCH).zip(found.chunks_mut(BATCH)) {
            let values = client.get_many(keys).map_err(|error| Wrong::new(error.to_string()))?;
            found.copy_from_slice(&values);
        }
        Ok(began.elapsed())
    }
}
