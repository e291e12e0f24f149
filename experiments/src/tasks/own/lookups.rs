//! Single lookups by a client of the tree.

use super::Stage;
use crate::tasks::lookups::{Node, keys, measure, value};
use std::time::Duration;
use xtasking::primitive::OptimisticLatched;
use xtasking_harness::failure::Wrong;
use xtasking_index::Tree;

/// A plain thread looks keys up, one at a time.
pub(in crate::tasks) fn get<const IN_TURN: bool>(stage: &Stage, lookups: u64) -> Result<Duration, Wrong> {
    let entries = (0..keys(lookups)).map(|key| (key, value(key)));
    let tree = Tree::<u64, u64, Node>::bulk_load(&stage.own, OptimisticLatched, entries);
    let client = tree.client(&stage.own);
    measure::<IN_TURN>(lookups, stage.seed, |key| client.get(key).ok().flatten())
}
