//! Ranges that are read at one moment.
//!
//! A writer counts up some counters in turns, each in a leaf of its own as a rule. At every moment
//! the ones that had their turn are one ahead of the others. A read of different moments would find
//! others, and two reads that overlap in time could not be ordered.

use crate::common::*;
use crate::{with_all_primitives, with_primitives};
use std::ops::Bound::{Excluded, Included, Unbounded};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use xtasking::{Context, Promise, Runtime, Versioned, primitive::OptimisticLatched, task::LegalFor};
use xtasking_index::{Client, Layout, SnapshotError, Tree, Words};

/// The counters, and the distance of their keys. Other keys between them come and go.
const COUNTERS: u64 = 5;
const DISTANCE: u64 = 10;
/// All keys are below this. Leaves split when they are full, at 24 entries: so there are at most 4.
const KEYS: u64 = COUNTERS * DISTANCE;

/// The keys of the counters, in the order of their turns.
fn turns(is_descending: bool) -> Vec<u64> {
    let mut keys: Vec<u64> = (0..COUNTERS).map(|counter| counter * DISTANCE).collect();
    if is_descending {
        keys.reverse();
    }
    keys
}

/// Checks what a snapshot has found, and returns the number of turns that were over.
fn turns_over(found: &[(u64, u64)], is_descending: bool) -> u64 {
    assert!(found.is_sorted_by(|one, next| one.0 < next.0), "keys are in strict order");
    let mut counters: Vec<u64> =
        found.iter().filter(|entry| entry.0 % DISTANCE == 0).map(|entry| entry.1).collect();
    assert_eq!(counters.len() as u64, COUNTERS, "a counter is missing in {found:?}");
    if is_descending {
        counters.reverse();
    }
    let (first, last) = (counters[0], counters[counters.len() - 1]);
    assert!(
        counters.is_sorted_by(|one, next| one >= next) && first - last <= 1,
        "the counters {counters:?} are of different moments"
    );
    counters.iter().sum()
}

fn tree_of<L: Layout<Keys = Words>, P: LegalFor<Versioned<L>>>(
    rt: &Runtime,
    primitive: P,
) -> Tree<u64, u64, L> {
    Tree::bulk_load(rt, primitive, turns(false).into_iter().map(|key| (key, 0)))
}

/// The chain that counts: one counter after the other.
struct Counting<L: Layout<Keys = Words>> {
    tree: Tree<u64, u64, L>,
    turns: Vec<u64>,
    turn: usize,
    most: usize,
    done: Promise<()>,
}

impl<L: Layout<Keys = Words>> Counting<L> {
    fn advance(mut self: Box<Self>, cx: &mut Context) {
        if self.turn == self.most {
            return self.done.fulfil(());
        }
        let key = self.turns[self.turn % self.turns.len()];
        self.turn += 1;
        let tree = self.tree.clone();
        tree.modify(cx, key, |counter| counter + 1, move |_, cx| self.advance(cx));
    }
}

/// The chain that adds and removes the other keys, so that leaves are split and merged.
struct Churn<L: Layout<Keys = Words>> {
    tree: Tree<u64, u64, L>,
    keys: Vec<u64>,
    at: usize,
    rounds: usize,
    done: Promise<()>,
}

impl<L: Layout<Keys = Words>> Churn<L> {
    fn advance(mut self: Box<Self>, cx: &mut Context) {
        if self.at == self.keys.len() * self.rounds {
            return self.done.fulfil(());
        }
        let (round, key) = (self.at / self.keys.len(), self.keys[self.at % self.keys.len()]);
        self.at += 1;
        let tree = self.tree.clone();
        if round.is_multiple_of(2) {
            tree.insert(cx, key, 0, move |_, cx| self.advance(cx));
        } else {
            tree.remove(cx, key, move |_, cx| self.advance(cx));
        }
    }
}

/// Tasks take snapshots beside both chains.
fn tasks_see_one_moment<L: Layout<Keys = Words>, P: LegalFor<Versioned<L>> + Copy>(
    primitive: P,
    setting: Setting,
) {
    for is_descending in [false, true] {
        let _blame = Blame((P::PRIMITIVE, L::NAME, setting, is_descending));
        let rt = setting.build();
        let tree = tree_of::<L, P>(&rt, primitive);
        let ((counted, counting), (churned, churning)) = (rt.promise(), rt.promise());
        let most = 400;
        let chain = Box::new(Counting {
            tree: tree.clone(),
            turns: turns(is_descending),
            turn: 0,
            most,
            done: counted,
        });
        rt.task(()).spawn(move |(), cx| chain.advance(cx));
        let keys = (0..KEYS).filter(|key| key % DISTANCE != 0).collect();
        let chain = Box::new(Churn { tree: tree.clone(), keys, at: 0, rounds: 10, done: churned });
        rt.task(()).spawn(move |(), cx| chain.advance(cx));
        let mut before = 0;
        for _ in 0..40 {
            let ((one, first), (two, second)) = (rt.promise(), rt.promise());
            tree.snapshot(&rt, ..KEYS, |found, _| one.fulfil(found));
            tree.snapshot(&rt, .., |found, _| two.fulfil(found));
            let found = [first, second].map(|found| found.join().unwrap().unwrap());
            let over = found.map(|found| turns_over(&found, is_descending));
            assert!(over.iter().all(|&over| over >= before), "a snapshot is older than the one before it");
            before = over[0].max(over[1]);
        }
        counting.join().unwrap();
        churning.join().unwrap();
        let found = tree.client(&rt).snapshot(..).unwrap();
        assert_eq!(turns_over(&found, is_descending), most as u64);
        sound_after(rt, &tree);
    }
}

#[test]
fn tasks_take_snapshots_beside_changes() {
    let settings = [Setting::Threads { workers: 2 }].into_iter().chain(Setting::simulations(&[1, 2, 3]));
    on_each(settings, |setting| {
        with_all_primitives!(tasks_see_one_moment::<Hinted512>(setting));
        tasks_see_one_moment::<Sorted512, _>(OptimisticLatched, setting);
    });
}

/// Takes snapshots until the changes are over.
fn read<L: Layout<Keys = Words>>(
    client: &Client<'_, u64, u64, L>,
    is_descending: bool,
    over: &AtomicBool,
    reads: &AtomicU64,
) {
    let mut before = 0;
    while !over.load(SeqCst) {
        let turns = turns_over(&client.snapshot(..).unwrap(), is_descending);
        assert!(turns >= before, "a snapshot is older than the one before it");
        before = turns;
        reads.fetch_add(1, SeqCst);
    }
}

/// Threads take snapshots beside threads that change the tree.
fn threads_see_one_moment<L: Layout<Keys = Words>, P: LegalFor<Versioned<L>> + Copy>(
    primitive: P,
    workers: usize,
) {
    for is_descending in [false, true] {
        let _watched = watchdog();
        let _blame = Blame((P::PRIMITIVE, L::NAME, workers, is_descending));
        let rt = Setting::Threads { workers }.build();
        let tree = tree_of::<L, P>(&rt, primitive);
        let client = tree.client(&rt);
        let (over, reads) = (AtomicBool::new(false), AtomicU64::new(0));
        let (client_there, over_there, reads_there) = (&client, &over, &reads);
        let mut bodies: Vec<Box<dyn FnOnce() + Send + '_>> = (0..2)
            .map(|_| -> Box<dyn FnOnce() + Send> {
                Box::new(move || read(client_there, is_descending, over_there, reads_there))
            })
            .collect();
        bodies.push(Box::new(move || {
            for _ in 0..60 {
                for key in turns(is_descending) {
                    client_there.modify(key, |counter| counter + 1).unwrap();
                }
            }
            eventually("the readers get on", || reads_there.load(SeqCst) > 20);
            over_there.store(true, SeqCst);
        }));
        bodies.push(Box::new(move || {
            let entries: Vec<_> = (0..KEYS).filter(|key| key % DISTANCE != 0).map(|key| (key, 0)).collect();
            let keys: Vec<_> = entries.iter().map(|entry| entry.0).collect();
            while !over_there.load(SeqCst) {
                client_there.insert_many(&entries).unwrap();
                client_there.remove_many(&keys).unwrap();
            }
        }));
        side_by_side(bodies);
        sound_after(rt, &tree);
    }
}

#[test]
fn threads_take_snapshots_beside_changes() {
    for workers in [1, 2] {
        with_all_primitives!(threads_see_one_moment::<Hinted512>(workers));
        threads_see_one_moment::<Sorted512, _>(OptimisticLatched, workers);
    }
}

/// A snapshot has the entries of its range and no other ones.
fn ranges_agree<L: Layout<Keys = Words>, P: LegalFor<Versioned<L>>>(primitive: P, setting: Setting) {
    let _blame = Blame((P::PRIMITIVE, L::NAME, setting));
    let rt = setting.build();
    let tree = Tree::<u64, u64, L>::with_primitive(&rt, primitive);
    let client = tree.client(&rt);
    assert_eq!(client.snapshot(..).unwrap(), []);
    let entries: Vec<_> = (0..60).map(|key| (key * 2, key)).chain([(u64::MAX, 7)]).collect();
    client.insert_many(&entries).unwrap();
    for range in [
        (Unbounded, Unbounded),
        (Included(10), Excluded(50)),
        (Excluded(10), Included(50)),
        (Included(11), Included(11)),
        (Included(118), Unbounded),
        (Excluded(u64::MAX), Unbounded),
        (Unbounded, Excluded(0)),
        (Included(50), Included(10)),
    ] {
        let all = client.scan_range(range, usize::MAX).unwrap();
        assert_eq!(client.snapshot(range).unwrap(), all, "{range:?}");
    }
    sound_after(rt, &tree);
}

#[test]
fn a_snapshot_has_the_entries_of_its_range() {
    let settings = [Setting::Threads { workers: 2 }, Setting::Simulation { cores: 2, seed: 5 }];
    on_each(settings.into_iter(), |setting| {
        with_all_primitives!(ranges_agree::<Hinted512>(setting));
        ranges_agree::<Sorted512, _>(OptimisticLatched, setting);
    });
}

/// Tasks hold a thousand leaves, and no more.
fn bounded<L: Layout<Keys = Words>, P: LegalFor<Versioned<L>>>(primitive: P, setting: Setting) {
    let rt = setting.build();
    let tree = Tree::<u64, u64, L>::bulk_load(&rt, primitive, (0..40_000).map(|key| (key, key)));
    let take = |range: std::ops::Range<u64>| {
        let (promise, found) = rt.promise();
        tree.snapshot(&rt, range, |found, _| promise.fulfil(found));
        found.join().unwrap()
    };
    assert!(matches!(take(0..40_000), Err(SnapshotError::TooManyLeaves)));
    assert_eq!(take(100..10_000).unwrap(), (100..10_000).map(|key| (key, key)).collect::<Vec<_>>());
    sound_after(rt, &tree);
}

#[test]
fn a_snapshot_of_too_many_leaves_is_refused() {
    let settings = [Setting::Threads { workers: 2 }, Setting::Simulation { cores: 2, seed: 5 }];
    on_each(settings.into_iter(), |setting| {
        with_primitives!([OptimisticLatched, Sequencing], bounded::<Hinted512>(setting));
    });
    assert!(SnapshotError::TooManyLeaves.to_string().contains("more leaves than"));
}

/// If writers interfere again and again, a task holds all leaves.
#[test]
fn threads_take_large_snapshots() {
    let _watched = watchdog();
    for is_descending in [false, true] {
        let rt = Setting::Threads { workers: 2 }.build();
        let keys = 4000;
        let tree =
            Tree::<u64, u64, Hinted512>::bulk_load(&rt, OptimisticLatched, (0..keys).map(|key| (key, 0)));
        let client = tree.client(&rt);
        let mut counters: Vec<u64> = (0..keys).step_by(100).collect();
        if is_descending {
            counters.reverse();
        }
        // The counters that were counted last are one ahead of the others.
        let check = |found: &[(u64, u64)]| {
            assert!(found.iter().map(|entry| entry.0).eq(0..keys));
            let counts: Vec<u64> = counters.iter().map(|&key| found[key as usize].1).collect();
            assert!(
                counts.is_sorted_by(|one, next| one >= next) && counts[0] - counts[counts.len() - 1] <= 1,
                "the counters {counts:?} are of different moments"
            );
        };
        let over = AtomicBool::new(false);
        side_by_side([
            Box::new(|| {
                while !over.load(SeqCst) {
                    check(&client.snapshot(..).unwrap());
                }
            }) as Box<dyn FnOnce() + Send + '_>,
            Box::new(|| {
                for _ in 0..20 {
                    for &key in &counters {
                        client.modify(key, |counter| counter + 1).unwrap();
                    }
                }
                over.store(true, SeqCst);
            }),
        ]);
        let found = client.snapshot(..).unwrap();
        check(&found);
        assert!(counters.iter().all(|&key| found[key as usize].1 == 20));
        sound_after(rt, &tree);
    }
}

#[test]
fn a_half_written_leaf_spoils_a_snapshot() {
    silence_tasks();
    let settings = [Setting::Threads { workers: 2 }, Setting::Simulation { cores: 2, seed: 1 }];
    on_each(settings.into_iter(), |setting| {
        let rt = setting.builder().on_failure(|_| ()).build().unwrap();
        let tree =
            Tree::<u64, u64, Hinted512>::bulk_load(&rt, OptimisticLatched, (0..100).map(|key| (key, key)));
        let client = tree.client(&rt);
        assert!(client.modify(50, |_| panic!("provoked")).is_err());
        assert!(matches!(client.snapshot(..), Err(SnapshotError::Failed(_))));
        assert_eq!(client.snapshot(..2).unwrap(), [(0, 0), (1, 1)], "other leaves are sound");
    });
}
