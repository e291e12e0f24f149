//! Threads that read the tree themselves, beside tasks that change it and free its nodes.

use crate::common::*;
use crate::with_all_primitives;
use std::sync::Arc;
use xtasking::{JoinError, Runtime, Versioned, primitive::OptimisticLatched, task::LegalFor};
use xtasking_index::{Client, Layout, Tree, Words};

/// Every 50th key stays in the tree.
const STAYS: u64 = 50;
/// The keys are below this.
const KEYS: u64 = 1500;
/// More nodes than the entries ever need; the rest is for nodes that wait to be freed.
const MAX_NODES: usize = 3000;

/// The value of a key in a round: readers can tell which entries belong together.
fn value(key: u64, round: u64) -> u64 {
    key << 32 | round
}

/// Adds and removes all keys but those that stay, several times. Returns the most nodes at once.
fn change<L: Layout<Keys = Words>>(rt: &Runtime, tree: &Tree<u64, u64, L>, rounds: u64, seed: u64) -> usize {
    let client = tree.client(rt);
    let mut random = Random(seed);
    let mut keys: Vec<u64> = (0..KEYS).filter(|key| !key.is_multiple_of(STAYS)).collect();
    let mut most = 0;
    for round in 0..rounds {
        random.shuffle(&mut keys);
        let entries = keys.iter().map(|&key| (key, value(key, round))).collect::<Vec<_>>();
        assert!(client.insert_many(&entries).unwrap().into_iter().all(|new| new));
        most = most.max(tree.memory().live);
        random.shuffle(&mut keys);
        let gone = client.remove_many(&keys).unwrap();
        assert!(gone.iter().zip(&keys).all(|(gone, &key)| *gone == Some(value(key, round))));
    }
    most
}

/// Looks keys up, and scans.
fn read<L: Layout<Keys = Words>>(client: &Client<'_, u64, u64, L>, random: &mut Random) {
    for _ in 0..50 {
        let key = random.below(KEYS);
        match client.get(key).unwrap() {
            Some(found) => assert_eq!(found >> 32, key, "a lookup found another key's value"),
            None => assert!(!key.is_multiple_of(STAYS), "a lookup missed {key}"),
        }
    }
    let from = random.below(KEYS);
    let limit = random.below(200) as usize;
    let found = client.scan(from, limit).unwrap();
    assert!(found.len() <= limit && found.is_sorted_by(|one, next| one.0 < next.0));
    assert!(found.iter().all(|&(key, value)| key >= from && value >> 32 == key));
    let end = if found.len() < limit { KEYS } else { found.last().map_or(from, |last| last.0 + 1) };
    let stay = |key: &u64| key.is_multiple_of(STAYS);
    let passed = found.into_iter().map(|(key, _)| key).filter(stay);
    assert!(passed.eq((from..end).filter(stay)), "a scan missed a key");
}

/// Several threads share one client, beside batches that run on the workers.
fn beside_changes<L: Layout<Keys = Words>, P: LegalFor<Versioned<L>>>(primitive: P, workers: usize) {
    let _watched = watchdog();
    let _blame = Blame((P::PRIMITIVE, L::NAME, workers));
    let rt = Setting::Threads { workers }.build();
    let stay = (0..KEYS).step_by(STAYS as usize).map(|key| (key, value(key, 0)));
    let tree = Tree::<u64, u64, L>::bulk_load(&rt, primitive, stay);
    let client = tree.client(&rt);
    // The readers take most of the time, so a few rounds are enough.
    let rounds = if PATIENCE == 1 { 4 } else { 2 };
    let changes = || change(&rt, &tree, rounds, workers as u64);
    let most = beside_readers(3, 10, |random| read(&client, random), changes);
    assert!(most < MAX_NODES, "{most} nodes wait to be freed");
    let stay = KEYS.div_ceil(STAYS);
    assert_eq!(client.count().unwrap(), stay);
    let nodes = stay as usize + 12;
    eventually("the removed nodes are freed", || tree.memory().live <= nodes);
    let report = sound_after(rt, &tree);
    assert_eq!((report.entries, report.nodes), (stay, tree.memory().live as u64));
}

#[test]
fn threads_read_beside_tasks_that_change_the_tree() {
    for workers in [1, 2, 4] {
        with_all_primitives!(beside_changes::<Hinted512>(workers));
        beside_changes::<Sorted512, _>(OptimisticLatched, workers);
    }
}

/// Leaves a leaf half-written.
fn half_written<L: Layout<Keys = Words>, P: LegalFor<Versioned<L>>>(primitive: P, setting: Setting) {
    let _blame = Blame((P::PRIMITIVE, L::NAME, setting));
    let rt = setting.builder().on_failure(|_| ()).build().unwrap();
    let tree = Tree::<u64, u64, L>::bulk_load(&rt, primitive, (0..1000).map(|key| (key, key)));
    let client = tree.client(&rt);
    assert!(client.modify(500, |_| panic!("provoked")).is_err());
    for key in [499, 500] {
        let read = client.get(key);
        assert!(matches!(read, Err(JoinError::Poisoned | JoinError::Abandoned)), "{read:?}");
    }
    assert!(matches!(client.scan(0, 1000), Err(JoinError::Poisoned | JoinError::Abandoned)));
    assert!(matches!(client.count(), Err(JoinError::Poisoned | JoinError::Abandoned)));
    assert_eq!(client.get(0).unwrap(), Some(0), "other leaves are sound");
    assert_eq!(client.scan(0, 3).unwrap(), [(0, 0), (1, 1), (2, 2)]);
    assert_eq!(client.scan(5, 0).unwrap(), []);
}

#[test]
fn a_half_written_leaf_is_reported() {
    silence_tasks();
    on_each(
        [Setting::Threads { workers: 2 }, Setting::Simulation { cores: 2, seed: 1 }].into_iter(),
        |setting| {
            with_all_primitives!(half_written::<Hinted512>(setting));
        },
    );
}

#[test]
fn reading_in_a_task_is_refused() {
    for setting in [Setting::Threads { workers: 2 }, Setting::Simulation { cores: 2, seed: 1 }] {
        let _watched = watchdog();
        let rt = Arc::new(setting.build());
        let tree = Tree::<u64, u64, Hinted512>::new(&rt);
        assert!(tree.client(&rt).insert(1, 1).unwrap());
        let (inner, own) = (tree.clone(), rt.clone());
        let refused = rt.task(()).submit(move |(), _| {
            let client = inner.client(&own);
            matches!(client.get(1), Err(JoinError::WouldBlock))
                && matches!(client.scan(0, 9), Err(JoinError::WouldBlock))
                && matches!(client.count(), Err(JoinError::WouldBlock))
        });
        assert!(refused.join().unwrap());
        assert_eq!(tree.client(&rt).get(1).unwrap(), Some(1));
    }
}
