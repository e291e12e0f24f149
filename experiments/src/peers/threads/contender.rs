//! Makes the hand-written trees contenders.

use super::limit::{Interleaving, get_all};
use super::{Nodes, OlcTree};
use crate::peers::map::{ConcurrentMap, OnThreads};
use crate::ycsb::contender::{Abilities, Contender, ContenderProfile, Entry};
use crate::ycsb::settings::{ContenderSettings, Layout};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use xtasking_harness::failure::Wrong;
use xtasking_index::node::{Layout as NodeLayout, words};
use xtasking_index::{HintedNode, SortedNode};
use xtasking_ycsb::plan::{Plan, Request};

/// The entry of the tree on plain threads.
pub const THREADS: Entry = Entry {
    name: "threads",
    about: "the same tree without the runtime: optimistic lock coupling on plain threads, huge pages",
    is_parallel: true,
    start: |settings| Ok(build(&settings, false)),
    more: ContenderProfile { bytes_per_record: 28, abilities: Abilities::ALL, is_default: true },
};

/// The entry of the upper bound.
pub const LIMIT: Entry = Entry {
    name: "limit",
    about: "interleaved lookups in the same nodes, without runtime or checks: the upper bound",
    is_parallel: true,
    start: |settings| Ok(build(&settings, true)),
    more: ContenderProfile { bytes_per_record: 28, abilities: Abilities::LOOKUPS, is_default: false },
};

fn build(settings: &ContenderSettings, limit: bool) -> Box<dyn Contender> {
    match (settings.layout.unwrap_or(Layout::Hinted), settings.node_size.unwrap_or(1024)) {
        (Layout::Hinted, 512) => boxed::<HintedNode<{ words(512) }>>(limit),
        (Layout::Hinted, 2048) => boxed::<HintedNode<{ words(2048) }>>(limit),
        (Layout::Hinted, 4096) => boxed::<HintedNode<{ words(4096) }>>(limit),
        (Layout::Hinted, _) => boxed::<HintedNode<{ words(1024) }>>(limit),
        (Layout::Sorted, 512) => boxed::<SortedNode<{ words(512) }>>(limit),
        (Layout::Sorted, 2048) => boxed::<SortedNode<{ words(2048) }>>(limit),
        (Layout::Sorted, 4096) => boxed::<SortedNode<{ words(4096) }>>(limit),
        (Layout::Sorted, _) => boxed::<SortedNode<{ words(1024) }>>(limit),
    }
}

fn boxed<L: NodeLayout>(limit: bool) -> Box<dyn Contender> {
    let threads = OnThreads::new(OlcTree::<L>::new());
    if limit { Box::new(Limit(threads)) } else { Box::new(threads) }
}

impl<L: NodeLayout> ConcurrentMap for OlcTree<L> {
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
struct Limit<L: NodeLayout>(OnThreads<OlcTree<L>>);

/// Keys of one call of [`get_all`]: enough to keep the pipeline full most of the time, and few
/// enough for the cache.
const KEYS_PER_CALL: usize = 4096;

impl<L: NodeLayout> Contender for Limit<L> {
    fn load(&mut self, plan: &Arc<Plan>) -> Result<Duration, Wrong> {
        self.0.run(plan)
    }

    fn run(&mut self, plan: &Arc<Plan>) -> Result<Duration, Wrong> {
        let (tree, plan) = (self.0.map(), &**plan);
        let begin = Instant::now();
        thread::scope(|scope| {
            let threads: Vec<_> =
                (0..plan.workers()).map(|worker| scope.spawn(move || look_up(tree, plan, worker))).collect();
            threads.into_iter().try_for_each(|thread| {
                thread.join().unwrap_or_else(|_| Err(Wrong::new("a worker thread panicked")))
            })
        })?;
        Ok(begin.elapsed())
    }

    fn verify(&mut self, plan: &Arc<Plan>) -> Result<(), Wrong> {
        self.0.verify(plan)
    }
}

/// Runs the lookups of one worker.
fn look_up<T: Nodes>(tree: &T, plan: &Plan, worker: usize) -> Result<(), Wrong> {
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
        unsafe { get_all(tree, &keys, &mut values, Interleaving::default()) };
        for (offset, (&key, &value)) in keys.iter().zip(&values).enumerate() {
            plan.check_read(key, value).map_err(|wrong| wrong.at(worker, first + offset))?;
        }
    }
    Ok(())
}
