//! Linearizability: for each key, concurrent operations have an order in which each takes effect at
//! one moment between its start and its end.

#[path = "../shared/histories.rs"]
mod histories;

use crate::common::*;
use crate::with_all_primitives;
use histories::{Chain, Choice, Event, Event::*, record};
use std::sync::Arc;
use xtasking::{Context, Promise, Versioned, primitive::OptimisticLatched, task::LegalFor};
use xtasking_index::{Client, Layout, Tree, Words, WriteMode, WriteOutcome};

/// Number and distance of the keys under test. The keys between them are inserted and removed all
/// the time.
const KEYS: u64 = 4;
const KEY_DISTANCE: u64 = 120;

fn choose(random: &mut Random) -> Choice {
    Choice { kind: random.below(9), key: random.below(KEYS) * KEY_DISTANCE, value: random.below(1000) }
}

/// Limit of a scan: it usually passes several keys under test, but seldom all.
const SCAN_LIMIT: usize = 2 * KEY_DISTANCE as usize;

/// The events of a scan: what it found of the keys under test that it passed. Each leaf is read
/// atomically, so a scan reads each key at one moment.
fn passed(from: u64, entries: &[(u64, u64)]) -> Vec<(u64, Event)> {
    assert!(entries.is_sorted_by_key(|entry| entry.0) && entries.iter().all(|entry| entry.0 >= from));
    let complete = entries.len() < SCAN_LIMIT;
    let end = if complete { KEYS * KEY_DISTANCE } else { entries[entries.len() - 1].0 + 1 };
    let value = |key| entries.iter().find(|entry| entry.0 == key).map(|entry| entry.1);
    (from..end).step_by(KEY_DISTANCE as usize).map(|key| (key, Got(value(key)))).collect()
}

/// Runs an operation from a plain thread.
fn by_client<L: Layout<Keys = Words>>(client: &Client<'_, u64, u64, L>, choice: Choice) -> Vec<(u64, Event)> {
    let Choice { kind, key, value } = choice;
    let event = match kind {
        0 | 1 => Got(client.get(key).unwrap()),
        2 => Inserted(value, client.insert(key, value).unwrap()),
        3 => Upserted(value, client.upsert(key, value).unwrap()),
        4 => Updated(value, client.update(key, value).unwrap()),
        5 => Modified(value, client.modify(key, move |there| there + value).unwrap()),
        6 => return passed(key, &client.scan(key, SCAN_LIMIT).unwrap()),
        _ => Removed(client.remove(key).unwrap()),
    };
    vec![(key, event)]
}

/// Runs a chain of operations by tasks.
fn advance<L: Layout<Keys = Words>>(tree: Tree<u64, u64, L>, chain: Box<Chain>, cx: &mut Context) {
    let Some((mut chain, Choice { kind, key, value }, begun)) = chain.begin(choose) else { return };
    let next = tree.clone();
    let end = move |events: Vec<_>, cx: &mut Context| {
        chain.end(&events, begun);
        advance(next, chain, cx);
    };
    let one = move |event| vec![(key, event)];
    match kind {
        0 | 1 => tree.get(cx, key, move |found, cx| end(one(Got(found)), cx)),
        2 => tree.insert(cx, key, value, move |new, cx| end(one(Inserted(value, new)), cx)),
        3 => tree.upsert(cx, key, value, move |old, cx| end(one(Upserted(value, old)), cx)),
        4 => tree.write(cx, key, value, WriteMode::Update, move |wrote, cx| {
            let old = if let WriteOutcome::Replaced(old) = wrote { Some(old) } else { None };
            end(one(Updated(value, old)), cx);
        }),
        5 => {
            let change = move |there| there + value;
            tree.modify(cx, key, change, move |old, cx| end(one(Modified(value, old)), cx));
        }
        6 => tree.scan(cx, key, SCAN_LIMIT, move |entries, cx| end(passed(key, &entries), cx)),
        _ => tree.remove(cx, key, move |old, cx| end(one(Removed(old)), cx)),
    }
}

/// Inserts and removes the keys between those under test, so that nodes split and merge around
/// them.
struct Churn<L: Layout<Keys = Words>> {
    tree: Tree<u64, u64, L>,
    order: Arc<Vec<u64>>,
    at: usize,
    rounds: u32,
    promise: Promise<()>,
}

impl<L: Layout<Keys = Words>> Churn<L> {
    fn advance(mut self: Box<Self>, cx: &mut Context) {
        if self.at == self.order.len() {
            (self.at, self.rounds) = (0, self.rounds - 1);
        }
        if self.rounds == 0 {
            return self.promise.fulfil(());
        }
        let key = self.order[self.at];
        self.at += 1;
        let tree = self.tree.clone();
        if self.rounds.is_multiple_of(2) {
            tree.insert(cx, key, key, move |new, cx| {
                assert!(new, "{key} exists already");
                self.advance(cx);
            });
        } else {
            tree.remove(cx, key, move |old, cx| {
                assert_eq!(old, Some(key));
                self.advance(cx);
            });
        }
    }
}

/// The number of chains that change the keys between those under test.
const CHURNS: usize = 3;

/// Records and checks one history.
fn one_history<L: Layout<Keys = Words>, P: LegalFor<Versioned<L>>>(
    primitive: P,
    setting: Setting,
    seed: u64,
) {
    let _blame = Blame((P::PRIMITIVE, L::NAME, setting, seed));
    let rt = setting.build();
    let tree = Tree::<u64, u64, L>::with_primitive(&rt, primitive);
    let mut random = Random(seed);
    let mut between: Vec<u64> = (0..KEYS * KEY_DISTANCE).filter(|key| key % KEY_DISTANCE != 0).collect();
    random.shuffle(&mut between);
    let churns: Vec<_> = (0..CHURNS)
        .map(|number| {
            let (promise, handle) = rt.promise();
            let order = between.iter().copied().skip(number).step_by(CHURNS).collect();
            let churn = Churn { tree: tree.clone(), order: Arc::new(order), at: 0, rounds: 4, promise };
            let churn = Box::new(churn);
            rt.task(()).core(number as u16).spawn(move |(), cx| churn.advance(cx));
            handle
        })
        .collect();
    let by_tasks = {
        let tree = tree.clone();
        move |chain, cx: &mut Context| advance(tree.clone(), chain, cx)
    };
    let by_threads = || {
        let client = tree.client(&rt);
        move |random: &mut Random| by_client(&client, choose(random))
    };
    record(&rt, setting, &mut random, by_tasks, by_threads);
    churns.into_iter().for_each(|churn| churn.join().expect("a chain of changes"));
    sound_after(rt, &tree);
}

fn histories<L: Layout<Keys = Words>, P: LegalFor<Versioned<L>> + Copy>(
    primitive: P,
    setting: Setting,
    seeds: u64,
) {
    for seed in 0..seeds.div_ceil(u64::from(PATIENCE)) {
        one_history::<L, P>(primitive, setting, seed + 100 * setting.seed());
    }
}

#[test]
fn histories_on_a_simulation_are_linearizable() {
    on_each(Setting::simulations(&[5]), |setting| {
        with_all_primitives!(histories::<Hinted512>(setting, 4));
        histories::<Sorted512, _>(OptimisticLatched, setting, 5);
    });
}

#[test]
fn histories_on_threads_are_linearizable() {
    on_each(Setting::threads(), |setting| {
        with_all_primitives!(histories::<Hinted512>(setting, 4));
        histories::<Sorted512, _>(OptimisticLatched, setting, 5);
        histories::<Sorted512, _>(xtasking::primitive::OptimisticSequenced, setting, 5);
    });
}
