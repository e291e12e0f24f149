//! Dividing the keys of a turn among workers, and collecting the results.
//!
//! A *lane* carries out the operations of its share of keys, one after another. Each worker has
//! many lanes, so that many operations are in flight.

use super::table::RuntimeWithTable;
use crate::tables::versioned::Table;
use std::ops::Range;
use std::sync::Arc;
use xtasking::{Context, Promise};
use xtasking_harness::failure::Wrong;

/// Lanes of a worker: enough to hide the fetches of both prefetch distances.
const LANES_PER_WORKER: usize = 64;

/// The share of a lane.
pub(super) struct Share {
    /// The table.
    pub(super) table: Table,
    keys: Arc<[u64]>,
    /// The indexes of the keys whose operations have not begun.
    rest: Range<usize>,
}

impl Share {
    /// Returns the number of keys that are left.
    pub(super) fn len(&self) -> usize {
        self.rest.len()
    }

    /// Takes the next key, with its index among all keys.
    #[inline(always)]
    pub(super) fn next(&mut self) -> Option<(u64, usize)> {
        let index = self.rest.next()?;
        Some((self.keys[index], index))
    }
}

/// Runs `begin` for each lane, on the lane's worker, and returns what the lanes have promised, in
/// the order of their keys.
pub(super) fn run<R: Send + 'static>(
    map: &RuntimeWithTable,
    workers: usize,
    keys: &Arc<[u64]>,
    begin: fn(Share, Promise<R>, &mut Context),
) -> Result<Vec<R>, Wrong> {
    let lanes = workers * LANES_PER_WORKER;
    let border = |lane: usize| keys.len() * lane / lanes;
    let start = |lane: usize| {
        let (promise, handle) = map.runtime().promise();
        let share = Share { table: map.table(), keys: keys.clone(), rest: border(lane)..border(lane + 1) };
        let core = (lane / LANES_PER_WORKER) as u16;
        map.runtime().task(()).core(core).spawn(move |(), cx| begin(share, promise, cx));
        handle
    };
    let handles: Vec<_> = (0..lanes).map(start).collect();
    let results = handles.into_iter().map(|handle| handle.join());
    results.collect::<Result<_, _>>().map_err(|error| Wrong::new(error.to_string()))
}
