//! Makes the hand-written trees contenders.

use super::limit::{Interleaving, get_all};
use super::{Nodes, OlcTree};
use crate::peers::map::{ConcurrentMap, OnThreads, run_on_threads};
use crate::ycsb::contender::{Abilities, Contender, ContenderProfile, Entry};
use crate::ycsb::settings::{ContenderSettings, Layout};
use std::sync::Arc;
use std::time::Duration;
use xtasking_harness::failure::Wrong;
use xtasking_index::node::{Layout as NodeLayout, words};
use xtasking_index::{HintedNode, SortedNode, Words};
use xtasking_ycsb::plan::{Plan, Request};

/// The entry of the tree on plain threads.
pub const THREADS: Entry = Entry {
    name: "threads",
    about: "the same tree without the runtime: optimistic lock coupling on plain threads, huge pages",
    is_parallel: true,
    start: |settings| Ok(build(&settings, None)),
    more: ContenderProfile { bytes_per_record: 28, abilities: Abilities::ALL, is_default: true },
};

/// The entry of the upper bound.
pub const LIMIT: Entry = Entry {
    name: "limit",
    about: "interleaved lookups in the same nodes, without runtime or checks, in batches of the best size: \
            the upper bound",
    is_parallel: true,
    start: |settings| {
        let batches = settings.batches.clone().unwrap_or_else(|| Interleaving::BATCHES.to_vec());
        Ok(build(&settings, Some(batches)))
    },
    more: ContenderProfile { bytes_per_record: 28, abilities: Abilities::LOOKUPS, is_default: false },
};

/// Builds a tree, to be called as any map or, with sizes of batches, by interleaved lookups.
fn build(settings: &ContenderSettings, batches: Option<Vec<usize>>) -> Box<dyn Contender> {
    match (settings.layout.unwrap_or(Layout::Hinted), settings.node_size.unwrap_or(1024)) {
        (Layout::Hinted, 512) => boxed::<HintedNode<{ words(512) }>>(batches),
        (Layout::Hinted, 2048) => boxed::<HintedNode<{ words(2048) }>>(batches),
        (Layout::Hinted, 4096) => boxed::<HintedNode<{ words(4096) }>>(batches),
        (Layout::Hinted, _) => boxed::<HintedNode<{ words(1024) }>>(batches),
        (Layout::Sorted, 512) => boxed::<SortedNode<{ words(512) }>>(batches),
        (Layout::Sorted, 2048) => boxed::<SortedNode<{ words(2048) }>>(batches),
        (Layout::Sorted, 4096) => boxed::<SortedNode<{ words(4096) }>>(batches),
        (Layout::Sorted, _) => boxed::<SortedNode<{ words(1024) }>>(batches),
    }
}

fn boxed<L: NodeLayout<Keys = Words>>(batches: Option<Vec<usize>>) -> Box<dyn Contender> {
    let threads = OnThreads::new(OlcTree::<L>::new());
    match batches {
        Some(batches) => Box::new(Limit { threads, batches }),
        None => Box::new(threads),
    }
}

impl<L: NodeLayout<Keys = Words>> ConcurrentMap for OlcTree<L> {
    fn get(&self, key: u64) -> Option<u64> {
        Self::get(self, key)
    }

    fn insert(&self, key: u64, value: u64) -> bool {
        Self::insert(self, key, value)
    }

    fn update(&self, key: u64, value: u64) -> bool {
        Self::update(self, key, value).is_some()
    }

    fn scan(&self, from: u64, limit: usize, entries: &mut Vec<(u64, u64)>) {
        Self::scan(self, from, limit, entries);
    }

    fn count(&self) -> u64 {
        self.len() as u64
    }
}

/// Loads with plain threads like any map, and reads by interleaved lookups.
struct Limit<L: NodeLayout<Keys = Words>> {
    threads: OnThreads<OlcTree<L>>,
    /// The sizes of batches to try; not empty.
    batches: Vec<usize>,
}

/// Keys of one call of [`get_all`]: enough to keep the pipeline full most of the time, and few
/// enough for the cache.
const KEYS_PER_CALL: usize = 4096;

impl<L: NodeLayout<Keys = Words>> Contender for Limit<L> {
    fn load(&mut self, plan: &Arc<Plan>) -> Result<Duration, Wrong> {
        self.threads.run(plan)
    }

    /// Runs the plan with each size of a batch and number of cached levels. Returns the shortest
    /// time: an upper bound must not depend on a choice that suits another machine or another tree.
    fn run(&mut self, plan: &Arc<Plan>) -> Result<Duration, Wrong> {
        let times = Interleaving::ways(&self.batches).map(|how| self.look_up_all(plan, how));
        let times = times.collect::<Result<Vec<_>, _>>()?;
        Ok(times.into_iter().min().expect("there is a way to interleave"))
    }

    fn verify(&mut self, plan: &Arc<Plan>) -> Result<(), Wrong> {
        self.threads.verify(plan)
    }
}

impl<L: NodeLayout<Keys = Words>> Limit<L> {
    /// Runs the lookups of all workers, and returns their time.
    fn look_up_all(&self, plan: &Plan, how: Interleaving) -> Result<Duration, Wrong> {
        run_on_threads(plan.workers(), |worker| look_up(self.threads.map(), plan, worker, how))
    }
}

/// Runs the lookups of one worker.
fn look_up<T: Nodes>(tree: &T, plan: &Plan, worker: usize, how: Interleaving) -> Result<(), Wrong> {
    let (mut keys, mut values) = (Vec::with_capacity(KEYS_PER_CALL), vec![None; KEYS_PER_CALL]);
    let length = plan.length(worker);
    for first in (0..length).step_by(KEYS_PER_CALL) {
        keys.clear();
        keys.extend((first..length.min(first + KEYS_PER_CALL)).filter_map(|index| {
            match plan.request(worker, index) {
                Request::Read { key } => Some(key),
                _ => None,
            }
        }));
        // SAFETY: `get_all` requires that the tree does not change; this contender never loads and
        // reads at the same time.
        unsafe { get_all(tree, &keys, &mut values, how) };
        for (offset, (&key, &value)) in keys.iter().zip(&values).enumerate() {
            plan.check_read(key, value).map_err(|wrong| wrong.at(worker, first + offset))?;
        }
    }
    Ok(())
}
