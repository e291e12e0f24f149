//! A contender: each operation is a walk, and each worker carries its walks in one task.

use super::super::super::contender::{Contender, Entry};
use super::table::RuntimeWithTable;
use crate::tables::walks::{Insert, Lookup};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};
use xtasking::bundle::each;
use xtasking_harness::failure::Wrong;
use xtasking_harness::lineup::start_own;

/// The contender's entry.
pub(in super::super) const ENTRY: Entry = Entry {
    name: "xtasking-walks",
    about: "XTasking, a bundle of walks for each worker, on an array of versioned buckets",
    is_parallel: true,
    start: |settings| Ok(Box::new(Walks { workers: settings.workers, map: None })),
    more: (),
};

struct Walks {
    workers: usize,
    map: Option<RuntimeWithTable>,
}

impl Contender for Walks {
    fn load(&mut self, keys: &Arc<[u64]>) -> Result<(Duration, usize), Wrong> {
        // Ends an earlier runtime first.
        self.map = None;
        let rt = start_own(self.workers).map_err(|failure| Wrong::new(failure.to_string()))?;
        let (map, making) = RuntimeWithTable::make(rt, keys.len());
        let (table, new) = (map.table(), AtomicUsize::new(0));
        let began = Instant::now();
        let inserted = map.runtime().task_scope(|scope| {
            let values = scope.shares(0..keys.len() as u64);
            for ((task, keys), (_, values)) in scope.shares(&keys[..]).zip(values) {
                let total = &new;
                let inserts = keys
                    .iter()
                    .zip(values)
                    .map(move |(&key, value)| (table.first(key).write(), Insert { table, key, value }));
                let bundle = each(inserts, move |_, is_new, _| {
                    total.fetch_add(usize::from(is_new.unwrap_or(false)), Relaxed);
                });
                task.bundle(bundle);
            }
        });
        inserted.map_err(|error| Wrong::new(error.to_string()))?;
        let time = making + began.elapsed();
        self.map = Some(map);
        Ok((time, new.into_inner()))
    }

    fn look_up(&mut self, keys: &Arc<[u64]>, found: &mut Vec<Option<u64>>) -> Result<Duration, Wrong> {
        let map = self.map.as_ref().ok_or_else(|| Wrong::new("the map is not loaded"))?;
        let table = map.table();
        let began = Instant::now();
        let looked_up = map.runtime().task_scope(|scope| {
            for ((task, keys), (_, found)) in scope.shares(&keys[..]).zip(scope.shares(&mut found[..])) {
                let lookups = keys.iter().zip(found).map(move |(&key, found)| {
                    (table.first(key).read(), Lookup { table, key, context: found })
                });
                let bundle = each(lookups, |lookup, value, _| *lookup.context = value.unwrap_or(None));
                task.bundle(bundle);
            }
        });
        looked_up.map_err(|error| Wrong::new(error.to_string()))?;
        Ok(began.elapsed())
    }
}
