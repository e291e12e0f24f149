//! A tree beside the tasks: one thread fills and empties it and knows at each moment what must be in it.

use super::vigil::Vigil;
use crate::ycsb::distribution::Random;
use crate::ycsb::plan::Wrong;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use xtasking::{JoinError, OptimisticLatched, OptimisticSequenced, Runtime, Sequencing, SpinLatch};
use xtasking_index::{Hinted, Tree, node::words};

/// Small nodes split and merge often.
pub(super) type Grove = Tree<u64, u64, Hinted<{ words(512) }>>;

/// A tree with one of the primitives.
pub(super) fn plant(rt: &Runtime, random: &mut Random) -> Grove {
    match random.below(4) {
        0 => Tree::with_primitive(rt, OptimisticLatched),
        1 => Tree::with_primitive(rt, OptimisticSequenced),
        2 => Tree::with_primitive(rt, SpinLatch),
        _ => Tree::with_primitive(rt, Sequencing),
    }
}

/// Keys are below this: few enough that operations meet.
const KEYS: u64 = 4000;

/// Does some batches of operations, each checked against an ordered map.
pub(super) fn tend(rt: &Runtime, tree: &Grove, mut random: Random, vigil: &Vigil) -> Result<(), Wrong> {
    let client = tree.client(rt);
    let mut model = BTreeMap::new();
    let lost = |error: JoinError| Wrong::new(format!("an operation on the tree failed: {error}"));
    for _ in 0..2 + random.below(10) {
        vigil.alive();
        // One operation a key: those of a batch overtake each other.
        let step = 1 + random.below(8);
        let first = random.below(step);
        let keys: Vec<u64> = (first..KEYS).step_by(step as usize).collect();
        match random.below(3) {
            0 => {
                let entries: Vec<_> = keys.into_iter().map(|key| (key, random.below(1 << 40))).collect();
                let before = client.upsert_many(entries.clone()).map_err(lost)?;
                for ((key, value), before) in entries.into_iter().zip(before) {
                    same(key, before, model.insert(key, value))?;
                }
            }
            1 => {
                let found = client.get_many(keys.clone()).map_err(lost)?;
                for (key, found) in keys.into_iter().zip(found) {
                    same(key, found, model.get(&key).copied())?;
                }
            }
            _ => {
                let removed = client.remove_many(keys.clone()).map_err(lost)?;
                for (key, removed) in keys.into_iter().zip(removed) {
                    same(key, removed, model.remove(&key))?;
                }
            }
        }
    }
    let entries = client.scan(0, KEYS as usize + 1).map_err(lost)?;
    if !entries.into_iter().eq(model.iter().map(|(&key, &value)| (key, value))) {
        return Err(Wrong::new("a scan of the tree does not give what is in it"));
    }
    empty(rt, tree, model, vigil)
}

fn same(key: u64, found: Option<u64>, expected: Option<u64>) -> Result<(), Wrong> {
    if found == expected {
        return Ok(());
    }
    Err(Wrong::new(format!("key {key} of the tree gave {found:?} instead of {expected:?}")))
}

/// Nodes that an empty tree may still have: merges that met others leave some, as the tree's own tests say.
const LEFT: usize = 100;
/// How long freed nodes may take to be free.
const SETTLES: Duration = Duration::from_secs(30);

/// Removes everything; the nodes must be freed.
fn empty(rt: &Runtime, tree: &Grove, model: BTreeMap<u64, u64>, vigil: &Vigil) -> Result<(), Wrong> {
    let client = tree.client(rt);
    client.remove_many(model.into_keys().collect()).map_err(|error| Wrong::new(error.to_string()))?;
    let end = Instant::now() + SETTLES;
    while tree.memory().live > LEFT {
        vigil.alive();
        if Instant::now() > end {
            return Err(Wrong::new(format!("an empty tree still has {} nodes", tree.memory().live)));
        }
        // A runtime without tasks frees what is left.
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// Checks a tree after its runtime was drained, with so many entries.
#[allow(unsafe_code, reason = "the checker asks for a promise that nobody changes the tree")]
pub(super) fn inspect(tree: &Grove, entries: u64) -> Result<(), Wrong> {
    // SAFETY: the runtime is gone, so nothing changes the tree.
    let report = unsafe { tree.check() };
    if report.defects.is_empty() && report.unseparated == 0 && report.entries == entries {
        return Ok(());
    }
    Err(Wrong::new(format!("a tree of {entries} entries is broken: {report:?}")))
}
