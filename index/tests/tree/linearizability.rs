//! Linearizability: for each key, concurrent operations have an order in which each takes effect at
//! one moment between its start and its end.

use crate::common::*;
use crate::with_all_primitives;
use std::sync::Arc;
use xtasking::{Context, Promise, Runtime, Versioned, primitive::OptimisticLatched, task::LegalFor};
use xtasking_index::{Client, Layout, Tree, Words, WriteMode, WriteOutcome};
use xtasking_testing::history::{self, Clock, Span};

/// An operation on one key, and what it returned.
#[derive(Clone, Copy, Debug)]
enum Event {
    Got(Option<u64>),
    /// A scan has passed the key. Each leaf is read atomically, so a scan reads each key at one
    /// moment.
    Passed(Option<u64>),
    Inserted(u64, bool),
    Upserted(u64, Option<u64>),
    Updated(u64, Option<u64>),
    /// Added a number to the value.
    Modified(u64, Option<u64>),
    Removed(Option<u64>),
}

use Event::*;

impl history::Event for Event {
    /// The value of the key, if it exists.
    type State = Option<u64>;

    fn apply(&self, &before: &Option<u64>) -> Option<Option<u64>> {
        let (returned, after) = match *self {
            Got(found) | Passed(found) => (found == before, before),
            Inserted(value, new) => (new == before.is_none(), before.or(Some(value))),
            Upserted(value, old) => (old == before, Some(value)),
            Updated(value, old) => (old == before, before.map(|_| value)),
            Modified(number, old) => (old == before, before.map(|there| there.wrapping_add(number))),
            Removed(old) => (old == before, None),
        };
        returned.then_some(after)
    }

    fn is_read_only(&self) -> bool {
        matches!(self, Got(_) | Passed(_))
    }
}

/// The operations of a history, each with its key.
type History = Vec<(u64, Span<Event>)>;

/// Number and distance of the keys under test. The keys between them are inserted and removed all
/// the time.
const KEYS: u64 = 4;
const KEY_DISTANCE: u64 = 120;

/// A random operation.
#[derive(Clone, Copy)]
struct Choice {
    kind: u64,
    key: u64,
    value: u64,
}

fn choose(random: &mut Random) -> Choice {
    Choice { kind: random.below(9), key: random.below(KEYS) * KEY_DISTANCE, value: random.below(1000) }
}

/// The events of an operation on one key.
fn one(key: u64, event: Event) -> Vec<(u64, Event)> {
    vec![(key, event)]
}

/// Limit of a scan: it usually passes several keys under test, but seldom all.
const SCAN_LIMIT: usize = 2 * KEY_DISTANCE as usize;

/// The events of a scan: what it found of the keys under test that it passed.
fn passed(from: u64, entries: &[(u64, u64)]) -> Vec<(u64, Event)> {
    assert!(entries.is_sorted_by_key(|entry| entry.0) && entries.iter().all(|entry| entry.0 >= from));
    let complete = entries.len() < SCAN_LIMIT;
    let end = if complete { KEYS * KEY_DISTANCE } else { entries[entries.len() - 1].0 + 1 };
    let value = |key| entries.iter().find(|entry| entry.0 == key).map(|entry| entry.1);
    (from..end).step_by(KEY_DISTANCE as usize).map(|key| (key, Passed(value(key)))).collect()
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
    one(key, event)
}

/// A chain of operations that records its history.
struct Chain<L: Layout<Keys = Words>> {
    tree: Tree<u64, u64, L>,
    random: Random,
    left: u32,
    clock: Clock,
    history: History,
    promise: Promise<History>,
}

impl<L: Layout<Keys = Words>> Chain<L> {
    fn advance(mut self: Box<Self>, cx: &mut Context) {
        if self.left == 0 {
            let Self { promise, history, .. } = *self;
            return promise.fulfil(history);
        }
        self.left -= 1;
        let Choice { kind, key, value } = choose(&mut self.random);
        let tree = self.tree.clone();
        let begun = self.clock.tick();
        let end = move |events: Vec<_>, cx: &mut Context| self.end(&events, begun, cx);
        let one = move |event| one(key, event);
        match kind {
            0 | 1 => tree.get(cx, key, move |found, cx| end(one(Got(found)), cx)),
            2 => tree.insert(cx, key, value, move |new, cx| end(one(Inserted(value, new)), cx)),
            3 => tree.upsert(cx, key, value, move |old, cx| end(one(Upserted(value, old)), cx)),
            4 => tree.write(cx, key, value, WriteMode::Update, move |wrote, cx| {
                let old = if let WriteOutcome::Replaced(old) = wrote { Some(old) } else { None };
                end(one(Updated(value, old)), cx);
            }),
            5 => tree.modify(
                cx,
                key,
                move |there| there + value,
                move |old, cx| end(one(Modified(value, old)), cx),
            ),
            6 => tree.scan(cx, key, SCAN_LIMIT, move |entries, cx| end(passed(key, &entries), cx)),
            _ => tree.remove(cx, key, move |old, cx| end(one(Removed(old)), cx)),
        }
    }

    fn end(mut self: Box<Self>, events: &[(u64, Event)], begun: u64, cx: &mut Context) {
        let ended = self.clock.tick();
        self.history.extend(events.iter().map(|&(key, event)| (key, Span { event, begun, ended })));
        self.advance(cx);
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

/// Number of chains on the keys under test, and of those that change the keys between them.
const CHAINS: u32 = 5;
const CHURNS: usize = 3;

/// Records and checks one history of tasks and, unless it is a simulation, of plain threads.
fn one_history<L: Layout<Keys = Words>, P: LegalFor<Versioned<L>>>(
    primitive: P,
    setting: Setting,
    seed: u64,
) {
    let _blame = Blame((P::PRIMITIVE, L::NAME, setting, seed));
    let rt = setting.build();
    let tree = Tree::<u64, u64, L>::with_primitive(&rt, primitive);
    let clock = Clock::default();
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
    let chains: Vec<_> = (0..CHAINS)
        .map(|number| {
            let (promise, handle) = rt.promise();
            let random = Random(random.word());
            let (tree, clock) = (tree.clone(), clock.clone());
            let chain = Box::new(Chain { tree, random, left: 32, clock, history: Vec::new(), promise });
            rt.task(()).core(number as u16).spawn(move |(), cx| chain.advance(cx));
            handle
        })
        .collect();
    let mut history =
        if setting.is_simulation() { History::new() } else { by_threads(&rt, &tree, &clock, seed) };
    for chain in chains {
        history.extend(chain.join().expect("a chain of tasks"));
    }
    churns.into_iter().for_each(|churn| churn.join().expect("a chain of changes"));
    history::check(history, &None);
    sound_after(rt, &tree);
}

/// Runs operations from two plain threads.
fn by_threads<L: Layout<Keys = Words>>(
    rt: &Runtime,
    tree: &Tree<u64, u64, L>,
    clock: &Clock,
    seed: u64,
) -> History {
    let by_thread = |number| {
        let client = tree.client(rt);
        let mut random = Random(seed * 2 + number);
        let mut own = History::new();
        for _ in 0..24 {
            let choice = choose(&mut random);
            let begun = clock.tick();
            let events = by_client(&client, choice);
            let ended = clock.tick();
            own.extend(events.into_iter().map(|(key, event)| (key, Span { event, begun, ended })));
        }
        own
    };
    side_by_side((0..2).map(|number| move || by_thread(number))).concat()
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
