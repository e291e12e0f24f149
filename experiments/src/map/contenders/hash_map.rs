//! The hash map of the crate `xtasking-index`: called by a bundle for each worker, or by one thread
//! in batches.

use super::super::contender::{Contender, Entry};
use std::sync::Arc;
use std::time::{Duration, Instant};
use xtasking::fork::zip;
use xtasking::{JoinError, Runtime};
use xtasking_harness::failure::Wrong;
use xtasking_harness::lineup::start_own;
use xtasking_index::{HashMap, WriteMode};

pub(super) const ENTRY: Entry = Entry {
    name: "xtasking",
    about: "xtasking_index::HashMap, a bundle of operations for each worker",
    is_parallel: true,
    start: |settings| Ok(boxed(settings.workers, true, Way::Bundles)),
    more: (),
};

/// The same, without room for the records at first.
pub(super) const GROWING: Entry = Entry {
    name: "xtasking-growing",
    about: "the same, made empty: it grows while records are inserted",
    is_parallel: true,
    start: |settings| Ok(boxed(settings.workers, false, Way::Bundles)),
    more: (),
};

/// The same, called by one thread.
pub(super) const BATCHES: Entry = Entry {
    name: "xtasking-batches",
    about: "the same, by its client: one thread, in batches of 64 Ki operations",
    is_parallel: true,
    start: |settings| Ok(boxed(settings.workers, true, Way::Batches)),
    more: (),
};

/// The operations of a batch: results stay in the cache, and to begin a batch takes little beside
/// it.
const BATCH: usize = 64 << 10;

#[derive(Clone, Copy)]
enum Way {
    Bundles,
    Batches,
}

struct OnRuntime {
    workers: usize,
    /// The map is made with room for all records.
    has_room: bool,
    way: Way,
    /// The map is dropped before its runtime.
    map: Option<(HashMap<u64, u64>, Runtime)>,
}

fn boxed(workers: usize, has_room: bool, way: Way) -> Box<dyn Contender> {
    Box::new(OnRuntime { workers, has_room, way, map: None })
}

fn failed(error: JoinError) -> Wrong {
    Wrong::new(error.to_string())
}

impl Contender for OnRuntime {
    fn load(&mut self, keys: &Arc<[u64]>) -> Result<(Duration, usize), Wrong> {
        // Ends an earlier runtime first.
        self.map = None;
        let rt = start_own(self.workers).map_err(|failure| Wrong::new(failure.to_string()))?;
        let began = Instant::now();
        let map = HashMap::with_capacity(&rt, if self.has_room { keys.len() } else { 0 });
        let new = match self.way {
            Way::Bundles => insert_by_bundles(&map, &rt, keys)?,
            Way::Batches => insert_by_batches(&map, &rt, keys)?,
        };
        let time = began.elapsed();
        self.map = Some((map, rt));
        Ok((time, new))
    }

    fn look_up(&mut self, keys: &Arc<[u64]>, found: &mut Vec<Option<u64>>) -> Result<Duration, Wrong> {
        let (map, rt) = self.map.as_ref().ok_or_else(|| Wrong::new("the map is not loaded"))?;
        let began = Instant::now();
        match self.way {
            Way::Bundles => look_up_by_bundles(map, rt, keys, found)?,
            Way::Batches => look_up_by_batches(map, rt, keys, found)?,
        }
        Ok(began.elapsed())
    }
}

/// Returns the number of keys that were new.
fn insert_by_bundles(map: &HashMap<u64, u64>, rt: &Runtime, keys: &[u64]) -> Result<usize, Wrong> {
    let mut counts: Vec<Result<usize, JoinError>> = (0..rt.workers()).map(|_| Ok(0)).collect();
    rt.task_scope(|scope| {
        for ((task, share), count) in scope.shares(0..keys.len()).zip(&mut counts) {
            let entries = share.map(|index| ((keys[index], index as u64), ()));
            task.bundle(map.writes(entries, WriteMode::Upsert, |(), outcome, _| {
                match (outcome, &mut *count) {
                    (Ok(outcome), Ok(new)) => *new += usize::from(outcome.is_inserted()),
                    (Err(error), count) => *count = Err(error),
                    (Ok(_), Err(_)) => {}
                }
            }));
        }
    })
    .map_err(failed)?;
    counts.into_iter().sum::<Result<_, _>>().map_err(failed)
}

fn look_up_by_bundles(
    map: &HashMap<u64, u64>,
    rt: &Runtime,
    keys: &[u64],
    found: &mut [Option<u64>],
) -> Result<(), Wrong> {
    let mut failures: Vec<Option<JoinError>> = (0..rt.workers()).map(|_| None).collect();
    rt.task_scope(|scope| {
        for ((task, share), failure) in scope.shares(zip(keys, found)).zip(&mut failures) {
            let gets = share.into_iter().map(|(&key, place)| (key, place));
            task.bundle(map.gets(gets, |place, value, _| match value {
                Ok(value) => *place = value,
                Err(error) => *failure = Some(error),
            }));
        }
    })
    .map_err(failed)?;
    failures.into_iter().flatten().next().map_or(Ok(()), |error| Err(failed(error)))
}

/// Returns the number of keys that were new.
fn insert_by_batches(map: &HashMap<u64, u64>, rt: &Runtime, keys: &[u64]) -> Result<usize, Wrong> {
    let (client, mut new) = (map.client(rt), 0);
    let mut entries = Vec::with_capacity(BATCH);
    for (batch, number) in keys.chunks(BATCH).zip(0..) {
        entries.clear();
        entries.extend(batch.iter().copied().zip((number * BATCH) as u64..));
        let old = client.upsert_many(&entries).map_err(failed)?;
        new += old.iter().filter(|old| old.is_none()).count();
    }
    Ok(new)
}

fn look_up_by_batches(
    map: &HashMap<u64, u64>,
    rt: &Runtime,
    keys: &[u64],
    found: &mut [Option<u64>],
) -> Result<(), Wrong> {
    let client = map.client(rt);
    for (keys, found) in keys.chunks(BATCH).zip(found.chunks_mut(BATCH)) {
        found.copy_from_slice(&client.get_many(keys).map_err(failed)?);
    }
    Ok(())
}
