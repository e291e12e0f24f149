//! Fuzzes operations on a tree, in a simulation, against the standard library's ordered map.
//!
//! Operations follow each other, but the structure changes that they start continue meanwhile.
//! Those of a batch or of a mixture, which have different keys, are in flight together. In the end
//! every invariant of the tree must hold.

#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use std::collections::BTreeMap;
use xtasking::platform::Simulation;
use xtasking::{
    Runtime, Shutdown, Versioned,
    primitive::{OptimisticLatched, OptimisticSequenced, ReaderWriterLatch, Sequencing, SpinLatch},
    task::LegalFor,
};
use xtasking_index::node::words;
use xtasking_index::{HintedNode, Layout, SortedNode, Tree, Words};

/// Both layouts, in the smallest nodes, which split and merge soonest.
#[derive(Arbitrary, Clone, Copy, Debug)]
enum Nodes {
    Hinted,
    Sorted,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Primitive {
    OptimisticLatched,
    OptimisticSequenced,
    SpinLatch,
    ReaderWriterLatch,
    Sequencing,
}

/// Few keys, and such that both ends of their range are reached.
#[derive(Arbitrary, Clone, Copy, Debug)]
enum Key {
    Low(u16),
    High(u16),
    Any(u64),
}

impl Key {
    fn word(self) -> u64 {
        match self {
            Self::Low(low) => low.into(),
            Self::High(high) => u64::MAX - u64::from(high),
            Self::Any(word) => word,
        }
    }
}

/// A run of different keys, so that a few bytes of input make a tree of several levels.
#[derive(Arbitrary, Clone, Copy, Debug)]
struct Run {
    first: Key,
    step: u8,
    length: u8,
    /// Whether the last key comes first.
    descending: bool,
}

impl Run {
    fn keys(self) -> Vec<u64> {
        let step = u64::from(self.step) + 1;
        let key = |index: u64| self.first.word().wrapping_add(index * step);
        let mut keys: Vec<_> = (0..2 * u64::from(self.length)).map(key).collect();
        if self.descending {
            keys.reverse();
        }
        keys
    }
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Operation {
    Get(Key),
    Insert(Key, u16),
    Upsert(Key, u16),
    Update(Key, u16),
    Modify(Key, u16),
    Remove(Key),
    Scan(Key, u16),
    Count,
    GetMany(Run),
    InsertMany(Run, u16),
    UpsertMany(Run, u16),
    RemoveMany(Run),
    /// Looks up, inserts, replaces and removes in turn, all in flight at once.
    Mixture(Run, u16),
    /// Checks the tree in between.
    Check,
}

#[derive(Arbitrary, Debug)]
struct Input {
    nodes: Nodes,
    primitive: Primitive,
    cores: u8,
    seed: u16,
    /// The initial content of the tree.
    initial: Option<Run>,
    operations: Vec<Operation>,
}

type Map = BTreeMap<u64, u64>;

/// Runs one operation on both.
fn apply_to_both<L: Layout<Keys = Words>>(
    rt: &Runtime,
    tree: &Tree<u64, u64, L>,
    map: &mut Map,
    operation: Operation,
) {
    let client = tree.client(rt);
    match operation {
        Operation::Get(key) => {
            assert_eq!(client.get(key.word()).unwrap(), map.get(&key.word()).copied());
        }
        Operation::Insert(key, value) => {
            let new = !map.contains_key(&key.word());
            map.entry(key.word()).or_insert(value.into());
            assert_eq!(client.insert(key.word(), value.into()).unwrap(), new);
        }
        Operation::Upsert(key, value) => {
            let old = map.insert(key.word(), value.into());
            assert_eq!(client.upsert(key.word(), value.into()).unwrap(), old);
        }
        Operation::Update(key, value) => {
            let old = map.get_mut(&key.word()).map(|there| std::mem::replace(there, value.into()));
            assert_eq!(client.update(key.word(), value.into()).unwrap(), old);
        }
        Operation::Modify(key, value) => {
            let change = move |there: u64| there ^ u64::from(value);
            let old = map.get_mut(&key.word()).map(|there| std::mem::replace(there, change(*there)));
            assert_eq!(client.modify(key.word(), change).unwrap(), old);
        }
        Operation::Remove(key) => {
            assert_eq!(client.remove(key.word()).unwrap(), map.remove(&key.word()));
        }
        Operation::Scan(from, limit) => {
            let (from, limit) = (from.word(), limit.into());
            assert_eq!(client.scan(from, limit).unwrap(), entries(map.range(from..).take(limit)));
        }
        Operation::Count => assert_eq!(client.count().unwrap(), map.len() as u64),
        Operation::GetMany(run) => {
            let expected: Vec<_> = run.keys().iter().map(|key| map.get(key).copied()).collect();
            assert_eq!(client.get_many(&run.keys()).unwrap(), expected);
        }
        Operation::InsertMany(run, value) => {
            let expected: Vec<_> = run.keys().iter().map(|key| !map.contains_key(key)).collect();
            run.keys().iter().for_each(|key| _ = map.entry(*key).or_insert(value.into()));
            let entries = run.keys().iter().map(|key| (*key, value.into())).collect::<Vec<_>>();
            assert_eq!(client.insert_many(&entries).unwrap(), expected);
        }
        Operation::UpsertMany(run, value) => {
            let expected: Vec<_> = run.keys().iter().map(|key| map.insert(*key, value.into())).collect();
            let entries = run.keys().iter().map(|key| (*key, value.into())).collect::<Vec<_>>();
            assert_eq!(client.upsert_many(&entries).unwrap(), expected);
        }
        Operation::RemoveMany(run) => {
            let expected: Vec<_> = run.keys().iter().map(|key| map.remove(key)).collect();
            assert_eq!(client.remove_many(&run.keys()).unwrap(), expected);
        }
        Operation::Mixture(run, value) => run_mixture(rt, tree, map, &run.keys(), value.into()),
        Operation::Check => {
            // SAFETY: `check` requires that no task changes the tree; a simulation runs tasks only
            // while its only thread waits.
            let report = unsafe { tree.check() };
            assert_eq!((report.defects, report.entries), (Vec::new(), map.len() as u64));
        }
    }
}

/// Starts an operation on each key before it waits for the first. Each returns the value before.
fn run_mixture<L: Layout<Keys = Words>>(
    rt: &Runtime,
    tree: &Tree<u64, u64, L>,
    map: &mut Map,
    keys: &[u64],
    value: u64,
) {
    let started: Vec<_> = keys
        .iter()
        .enumerate()
        .map(|(index, &key)| {
            let (promise, before) = rt.promise();
            let expected = map.get(&key).copied();
            match index % 4 {
                0 => tree.get(rt, key, |there, _| promise.fulfil(there)),
                1 => {
                    map.entry(key).or_insert(value);
                    // The callback only reports whether the key was new.
                    tree.insert(rt, key, value, move |new, _| promise.fulfil(expected.filter(|_| !new)));
                }
                2 => {
                    map.insert(key, value);
                    tree.upsert(rt, key, value, |old, _| promise.fulfil(old));
                }
                _ => {
                    map.remove(&key);
                    tree.remove(rt, key, |old, _| promise.fulfil(old));
                }
            }
            (before, expected)
        })
        .collect();
    for (before, expected) in started {
        assert_eq!(before.join().unwrap(), expected);
    }
}

fn entries<'a>(of: impl Iterator<Item = (&'a u64, &'a u64)>) -> Vec<(u64, u64)> {
    of.map(|(&key, &value)| (key, value)).collect()
}

fn run_and_compare<L: Layout<Keys = Words>, P: LegalFor<Versioned<L>>>(input: &Input, primitive: P) {
    let cores = 1 + usize::from(input.cores % 8);
    let platform = Simulation::new(cores, input.seed.into());
    let rt = Runtime::builder().platform(platform).build().expect("a runtime of a few workers");
    let mut map: Map = input.initial.iter().flat_map(|run| run.keys()).map(|key| (key, !key)).collect();
    let tree = match input.initial {
        Some(_) => Tree::<u64, u64, L>::bulk_load(&rt, primitive, entries(map.iter())),
        None => Tree::with_primitive(&rt, primitive),
    };
    for &operation in &input.operations {
        apply_to_both(&rt, &tree, &mut map, operation);
    }
    assert_eq!(tree.client(&rt).scan(0, usize::MAX).unwrap(), entries(map.iter()));
    rt.shutdown(Shutdown::Drain);
    // SAFETY: `check` requires that no task changes the tree; the runtime has ended.
    let report = unsafe { tree.check() };
    assert_eq!((report.defects, report.unseparated), (Vec::new(), 0));
    assert_eq!(report.entries, map.len() as u64);
}

fn on_nodes<L: Layout<Keys = Words>>(input: &Input) {
    match input.primitive {
        Primitive::OptimisticLatched => run_and_compare::<L, _>(input, OptimisticLatched),
        Primitive::OptimisticSequenced => run_and_compare::<L, _>(input, OptimisticSequenced),
        Primitive::SpinLatch => run_and_compare::<L, _>(input, SpinLatch),
        Primitive::ReaderWriterLatch => run_and_compare::<L, _>(input, ReaderWriterLatch),
        Primitive::Sequencing => run_and_compare::<L, _>(input, Sequencing),
    }
}

fuzz_target!(|input: Input| match input.nodes {
    Nodes::Hinted => on_nodes::<HintedNode<{ words(512) }>>(&input),
    Nodes::Sorted => on_nodes::<SortedNode<{ words(512) }>>(&input),
});
