//! Single lookups by hand, in the same tree without the runtime.

use crate::peers::threads::{OlcTree, limit};
use crate::tasks::lookups::{Node, keys, measure, value};
use crate::tasks::stage::Stage;
use std::time::Duration;
use xtasking_harness::failure::Wrong;

/// A plain thread looks keys up, one at a time, without any check of versions.
pub(in crate::tasks) fn get<const IN_TURN: bool>(stage: &Stage, lookups: u64) -> Result<Duration, Wrong> {
    let tree = OlcTree::<Node>::new();
    (0..keys(lookups)).for_each(|key| _ = tree.insert(key, value(key)));
    measure::<IN_TURN>(lookups, stage.seed, |key| {
        // SAFETY: no thread changes the tree after it was filled.
        unsafe { limit::get(&tree, key) }
    })
}
