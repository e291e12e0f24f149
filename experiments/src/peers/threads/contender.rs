//! The hand-written trees as contenders.

use super::limit::{Interleaving, get_all};
use super::{Nodes, OlcTree};
use crate::contenders::{Abilities, Contender, Entry, Layout, Settings};
use crate::peers::map::{ConcurrentMap, OnThreads};
use crate::ycsb::plan::{Plan, Request, Wrong};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use xtasking_index::node::{Layout as NodeLayout, words};
use xtasking_index::{Hinted, Sorted};

/// How the tree on plain threads is asked for.
pub const THREADS: Entry = Entry {
    name: "threads",
    about: "the same tree by hand: optimistic lock coupling on plain threads, huge pages",
    bytes_per_record: 28,
    abilities: Abilities::ALL,
    by_default: true,
    build: |settings| build(settings, false),
};

/// How the ceiling is asked for.
pub const LIMIT: Entry = Entry {
    name: "limit",
    about: "lookups interleaved by hand over the same nodes, without runtime or checks: the ceiling",
    bytes_per_record: 28,
    abilities: Abilities::LOOKUPS,
    by_default: false,
    build: |settings| build(settings, true),
};

fn build(settings: &Settings, limit: bool) -> Box<dyn Contender> {
    match (settings.layout.unwrap_or(Layout::Hinted), settings.node_size.unwrap_or(1024)) {
        (Layout::Hinted, 512) => boxed::<Hinted<{ words(512) }>>(limit),
        (Layout::Hinted, 2048) => boxed::<Hinted<{ words(2048) }>>(limit),
        (Layout::Hinted, 4096) => boxed::<Hinted<{ words(4096) }>>(limit),
        (Layout::Hinted, _) => boxed::<Hinted<{ words(1024) }>>(limit),
        (Layout::Sorted, 512) => boxed::<Sorted<{ words(512) }>>(limit),
        (Layout::Sorted, 2048) => boxed::<Sorted<{ words(2048) }>>(limit),
        (Layout::Sorted, 4096) => boxed::<Sorted<{ words(4096) }>>(limit),
        (Layout::Sorted, _) => boxed::<Sorted<{ words(1024) }>>(limit),
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

/// Loaded by plain threads like any map, read by interleaved lookups.
struct Limit<L: NodeLayout>(OnThreads<OlcTree<L>>);

/// Keys that are looked up in one go: enough for the pipeline to be full nearly all the time, few enough to stay in
/// the cache.
const AT_ONCE: usize = 4096;

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
            threads
                .into_iter()
                .try_for_each(|thread| thread.join().unwrap_or_else(|_| Err(Wrong::new("it panicked"))))
        })?;
        Ok(begin.elapsed())
    }

    fn verify(&mut self, plan: &Arc<Plan>) -> Result<(), Wrong> {
        self.0.verify(plan)
    }
}

/// Carries out the lookups of one worker.
fn look_up<T: Nodes>(tree: &T, plan: &Plan, worker: usize) -> Result<(), Wrong> {
    let (mut keys, mut found) = (Vec::with_capacity(AT_ONCE), vec![None; AT_ONCE]);
    let length = plan.length(worker);
    for first in (0..length).step_by(AT_ONCE) {
        keys.clear();
        keys.extend((first..length.min(first + AT_ONCE)).filter_map(
            |index| match plan.request(worker, index) {
                Request::Read { key } => Some(key),
                _ => None,
            },
        ));
        // SAFETY: this contender only loads and reads, one after the other.
        unsafe { get_all(tree, &keys, &mut found, Interleaving::default()) };
        for (offset, (&key, &value)) in keys.iter().zip(&found).enumerate() {
            plan.check_read(key, value).map_err(|wrong| wrong.at(worker, first + offset))?;
        }
    }
    Ok(())
}
