//! A contender: each lookup is an optimistic walk, and each insert a write, as tasks of their own.

use super::super::super::contender::{Contender, Entry};
use super::lanes::{self, Share};
use super::table::RuntimeWithTable;
use crate::tables::Bucket;
use crate::tables::bucket_search::Found;
use std::sync::Arc;
use std::time::{Duration, Instant};
use xtasking::arena::{Link, Modify, Step, Visit, Written};
use xtasking::{Context, Part, Promise};
use xtasking_harness::failure::Wrong;
use xtasking_harness::lineup::start_own;

/// The contender's entry.
pub(in super::super) const ENTRY: Entry = Entry {
    name: "xtasking-visits",
    about: "XTasking, a task for each operation, on an array of versioned buckets",
    is_parallel: true,
    start: |settings| Ok(Box::new(Visits { workers: settings.workers, map: None })),
    more: (),
};

struct Visits {
    workers: usize,
    map: Option<RuntimeWithTable>,
}

impl Contender for Visits {
    fn load(&mut self, keys: &Arc<[u64]>) -> Result<(Duration, usize), Wrong> {
        // Ends an earlier runtime first.
        self.map = None;
        let rt = start_own(self.workers).map_err(|failure| Wrong::new(failure.to_string()))?;
        let (map, making) = RuntimeWithTable::make(rt, keys.len());
        let began = Instant::now();
        let new = lanes::run(&map, self.workers, keys, |share, promise, cx| {
            Box::new(InsertLane { share, new: 0, promise }).go_on(cx);
        })?;
        let time = making + began.elapsed();
        self.map = Some(map);
        Ok((time, new.into_iter().sum()))
    }

    fn look_up(&mut self, keys: &Arc<[u64]>, found: &mut Vec<Option<u64>>) -> Result<Duration, Wrong> {
        let map = self.map.as_ref().ok_or_else(|| Wrong::new("the map is not loaded"))?;
        let began = Instant::now();
        let results = lanes::run(map, self.workers, keys, |share, promise, cx| {
            let found = Vec::with_capacity(share.len());
            Box::new(LookupLane { share, found, promise }).go_on(cx);
        })?;
        found.clear();
        results.iter().for_each(|lane| found.extend_from_slice(lane));
        Ok(began.elapsed())
    }
}

/// A lane of lookups.
struct LookupLane {
    share: Share,
    found: Vec<Option<u64>>,
    promise: Promise<Vec<Option<u64>>>,
}

impl LookupLane {
    /// Begins the next lookup, or ends the lane.
    fn go_on(mut self: Box<Self>, cx: &mut Context) {
        let Some((key, _)) = self.share.next() else {
            return self.promise.fulfil(self.found);
        };
        let bucket = self.share.table.first(key);
        cx.task(bucket.read()).begin_operation().visit(Lookup { key, lane: self });
    }
}

/// The lookup of a key.
struct Lookup {
    key: u64,
    lane: Box<LookupLane>,
}

impl Visit for Lookup {
    type Target = Bucket;
    type Output = Option<u64>;

    #[inline(always)]
    fn read(&self, at: Link<Bucket>, bucket: &Bucket) -> Step<Bucket, Option<u64>> {
        match bucket.find(self.key) {
            Found::Value(value) => Step::End(Some(value)),
            Found::Missing => Step::End(None),
            Found::Full => Step::Go(self.lane.share.table.next(at), Part::HEAD),
        }
    }

    fn then(mut self, found: Option<u64>, cx: &mut Context) {
        self.lane.found.push(found);
        self.lane.go_on(cx);
    }
}

/// A lane of inserts.
struct InsertLane {
    share: Share,
    /// The number of keys that were new.
    new: usize,
    promise: Promise<usize>,
}

impl InsertLane {
    /// Begins the next insert, or ends the lane.
    fn go_on(mut self: Box<Self>, cx: &mut Context) {
        let Some((key, index)) = self.share.next() else {
            return self.promise.fulfil(self.new);
        };
        let bucket = self.share.table.first(key);
        cx.task(bucket.write()).begin_operation().modify(Insert { key, value: index as u64, lane: self });
    }
}

/// The insert of a key.
struct Insert {
    key: u64,
    value: u64,
    lane: Box<InsertLane>,
}

impl Modify for Insert {
    type Target = Bucket;
    /// Whether the key was new; or the next bucket, if this one is full.
    type Output = Result<bool, Link<Bucket>>;

    #[inline(always)]
    fn write(&mut self, at: Link<Bucket>, bucket: Written<'_, Bucket>, _: &mut Context) -> Self::Output {
        let inserted = bucket.insert(self.key, self.value, bucket.token());
        inserted.ok_or_else(|| self.lane.share.table.next(at))
    }

    fn then(mut self, inserted: Self::Output, cx: &mut Context) {
        match inserted {
            Ok(is_new) => {
                self.lane.new += usize::from(is_new);
                self.lane.go_on(cx);
            }
            Err(next) => cx.task(next.write()).modify(self),
        }
    }
}
