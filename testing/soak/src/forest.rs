//! Fills and empties a tree from one thread, which knows its expected content at each moment.

use super::watchdog::Watchdog;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use xtasking::{
    JoinError, Runtime,
    primitive::{OptimisticLatched, OptimisticSequenced, Sequencing, SpinLatch},
};
use xtasking_harness::failure::Wrong;
use xtasking_harness::random::Random;
use xtasking_index::{HintedNode, Tree, node::words};

/// Small nodes, which split and merge often.
pub(super) type SoakTree = Tree<u64, u64, HintedNode<{ words(512) }>>;

/// Creates a tree with one of the primitives. Returns true if it is a sequenced one.
pub(super) fn create_tree(rt: &Runtime, random: &mut Random) -> (SoakTree, bool) {
    match random.below(4) {
        0 => (Tree::with_primitive(rt, OptimisticLatched), false),
        1 => (Tree::with_primitive(rt, OptimisticSequenced), true),
        2 => (Tree::with_primitive(rt, SpinLatch), false),
        _ => (Tree::with_primitive(rt, Sequencing), true),
    }
}

/// Keys are below this bound: few enough that operations collide.
const KEYS: u64 = 4000;

/// Runs batches of operations, each checked against an ordered map.
pub(super) fn exercise(
    rt: &Runtime,
    tree: &SoakTree,
    mut random: Random,
    watchdog: &Watchdog,
) -> Result<(), Wrong> {
    let client = tree.client(rt);
    let mut model = BTreeMap::new();
    let lost = |error: JoinError| Wrong::new(format!("an operation on the tree failed: {error}"));
    for _ in 0..2 + random.below(10) {
        watchdog.alive();
        // One operation for each key: those of a batch may overtake each other.
        let step = 1 + random.below(8);
        let first = random.below(step);
        let keys: Vec<u64> = (first..KEYS).step_by(step as usize).collect();
        match random.below(3) {
            0 => {
                let entries: Vec<_> = keys.into_iter().map(|key| (key, random.below(1 << 40))).collect();
                let before = client.upsert_many(&entries).map_err(lost)?;
                for ((key, value), before) in entries.into_iter().zip(before) {
                    same(key, before, model.insert(key, value))?;
                }
            }
            1 => {
                let found = client.get_many(&keys).map_err(lost)?;
                for (key, found) in keys.into_iter().zip(found) {
                    same(key, found, model.get(&key).copied())?;
                }
            }
            _ => {
                let removed = client.remove_many(&keys).map_err(lost)?;
                for (key, removed) in keys.into_iter().zip(removed) {
                    same(key, removed, model.remove(&key))?;
                }
            }
        }
    }
    let entries = client.scan(0, KEYS as usize + 1).map_err(lost)?;
    if !entries.into_iter().eq(model.iter().map(|(&key, &value)| (key, value))) {
        return Err(Wrong::new("a scan of the tree returned wrong entries"));
    }
    empty(rt, tree, model, watchdog)
}

fn same(key: u64, found: Option<u64>, expected: Option<u64>) -> Result<(), Wrong> {
    if found == expected {
        return Ok(());
    }
    Err(Wrong::new(format!("key {key} of the tree returned {found:?}; expected {expected:?}")))
}

/// Nodes that an empty tree may retain: some merges are skipped because of other operations, as the
/// tree's own tests show.
const MAX_RETAINED_NODES: usize = 100;
/// Time limit until freed nodes are reclaimed, also on a busy machine.
const RECLAIM_LIMIT: Duration = Duration::from_secs(300);

/// Removes everything; the nodes must be freed.
fn empty(rt: &Runtime, tree: &SoakTree, model: BTreeMap<u64, u64>, watchdog: &Watchdog) -> Result<(), Wrong> {
    let client = tree.client(rt);
    client
        .remove_many(&model.into_keys().collect::<Vec<_>>())
        .map_err(|error| Wrong::new(error.to_string()))?;
    let end = Instant::now() + RECLAIM_LIMIT;
    while tree.memory().live > MAX_RETAINED_NODES {
        watchdog.alive();
        if Instant::now() > end {
            return Err(Wrong::new(format!("an empty tree still has {} nodes", tree.memory().live)));
        }
        // A runtime without tasks reclaims the rest.
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// Checks a tree of `entries` entries, after its runtime was drained.
#[allow(unsafe_code, reason = "the checker requires that the tree does not change")]
pub(super) fn inspect(tree: &SoakTree, entries: u64) -> Result<(), Wrong> {
    // SAFETY: the runtime has ended, so no task changes the tree.
    let report = unsafe { tree.check() };
    if report.defects.is_empty() && report.unseparated == 0 && report.entries == entries {
        return Ok(());
    }
    Err(Wrong::new(format!("a tree of {entries} entries is broken: {report:?}")))
}
