//! Histories of operations that overlap, and a search for an order of them, key by key, in which each takes effect at
//! one moment between its beginning and its end.

mod common;

use common::*;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;
use xtasking::{Context, LegalFor, OptimisticLatched, Promise, Runtime, Versioned};
use xtasking_index::{Client, Layout, Tree, Write, Wrote};

/// An operation on one key, and what it returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Got(Option<u64>),
    Inserted(u64, bool),
    Upserted(u64, Option<u64>),
    Updated(u64, Option<u64>),
    /// Added a number to the value.
    Modified(u64, Option<u64>),
    Removed(Option<u64>),
}

use Event::*;

impl Event {
    /// What the key holds afterwards; `None` if the operation cannot have returned this when the key held `before`.
    fn apply(self, before: Option<u64>) -> Option<Option<u64>> {
        let (returned, after) = match self {
            Got(found) => (found == before, before),
            Inserted(value, new) => (new == before.is_none(), before.or(Some(value))),
            Upserted(value, old) => (old == before, Some(value)),
            Updated(value, old) => (old == before, before.map(|_| value)),
            Modified(number, old) => (old == before, before.map(|there| there.wrapping_add(number))),
            Removed(old) => (old == before, None),
        };
        returned.then_some(after)
    }
}

/// An operation in a history: begun and ended at these ticks of a clock that all share.
#[derive(Clone, Copy, Debug)]
struct Span {
    key: u64,
    event: Event,
    begun: u64,
    ended: u64,
}

/// Whether the operations on one key, which held nothing at first, can be put into an order that explains them (Wing
/// and Gong 1993, with a memory of what was tried: Lowe 2017).
fn is_linearizable(spans: &[Span]) -> bool {
    assert!(spans.len() <= 128, "a history of one key is short");
    let mut tried = HashSet::new();
    search(spans, 0, None, &mut tried)
}

fn search(spans: &[Span], done: u128, state: Option<u64>, tried: &mut HashSet<(u128, Option<u64>)>) -> bool {
    let left = || spans.iter().enumerate().filter(|(at, _)| done >> at & 1 == 0);
    // Whatever comes next must have begun before any of those that are left had ended.
    let Some(first_end) = left().map(|(_, span)| span.ended).min() else { return true };
    if !tried.insert((done, state)) {
        return false;
    }
    left().filter(|(_, span)| span.begun < first_end).any(|(at, span)| {
        span.event.apply(state).is_some_and(|after| search(spans, done | 1 << at, after, tried))
    })
}

/// Checks a history, key by key.
fn check(history: &[Span]) {
    let mut keys: Vec<u64> = history.iter().map(|span| span.key).collect();
    keys.sort_unstable();
    keys.dedup();
    for key in keys {
        let mut spans: Vec<Span> = history.iter().copied().filter(|span| span.key == key).collect();
        spans.sort_unstable_by_key(|span| span.begun);
        assert!(is_linearizable(&spans), "no order explains the operations on {key}: {spans:#?}");
    }
}

#[test]
fn the_search_tells_good_from_bad() {
    let span = |event, begun, ended| Span { key: 0, event, begun, ended };
    // Overlapping, so that the lookup may come after the insertion.
    let good = [span(Inserted(7, true), 0, 5), span(Got(Some(7)), 1, 2), span(Removed(Some(7)), 6, 7)];
    assert!(is_linearizable(&good));
    // A lookup that ended before the insertion began.
    assert!(!is_linearizable(&[span(Got(Some(7)), 0, 1), span(Inserted(7, true), 2, 3)]));
    // A value that comes back after it was seen to be gone.
    let stale = [
        span(Inserted(7, true), 0, 1),
        span(Removed(Some(7)), 2, 9),
        span(Got(None), 3, 4),
        span(Got(Some(7)), 5, 6),
    ];
    assert!(!is_linearizable(&stale));
    // Two that both believe to be the first.
    assert!(!is_linearizable(&[span(Inserted(1, true), 0, 9), span(Inserted(2, true), 0, 9)]));
    // A lost update.
    let lost =
        [span(Inserted(0, true), 0, 1), span(Modified(1, Some(0)), 2, 9), span(Modified(1, Some(0)), 2, 9)];
    assert!(!is_linearizable(&lost));
}

/// Keys under test, far apart: keys of others lie between them, coming and going.
const KEYS: u64 = 4;
const APART: u64 = 120;

/// A step of a lane, chosen by chance.
#[derive(Clone, Copy)]
struct Choice {
    kind: u64,
    key: u64,
    value: u64,
}

fn choose(random: &mut Random) -> Choice {
    Choice { kind: random.below(8), key: random.below(KEYS) * APART, value: random.below(1000) }
}

/// By a plain thread.
fn by_client<L: Layout>(client: &Client<'_, u64, u64, L>, choice: Choice) -> Event {
    let Choice { kind, key, value } = choice;
    match kind {
        0 | 1 => Got(client.get(key).unwrap()),
        2 => Inserted(value, client.insert(key, value).unwrap()),
        3 => Upserted(value, client.upsert(key, value).unwrap()),
        4 => Updated(value, client.update(key, value).unwrap()),
        5 => Modified(value, client.modify(key, move |there| there + value).unwrap()),
        _ => Removed(client.remove(key).unwrap()),
    }
}

/// A lane of tasks that writes down what it does.
struct Lane<L: Layout> {
    tree: Tree<u64, u64, L>,
    random: Random,
    left: u32,
    clock: Arc<AtomicU64>,
    history: Vec<Span>,
    promise: Promise<Vec<Span>>,
}

impl<L: Layout> Lane<L> {
    fn go(mut self: Box<Self>, cx: &mut Context) {
        if self.left == 0 {
            let Self { promise, history, .. } = *self;
            return promise.fulfil(history);
        }
        self.left -= 1;
        let Choice { kind, key, value } = choose(&mut self.random);
        let tree = self.tree.clone();
        let begun = self.clock.fetch_add(1, SeqCst);
        let end = move |event, cx: &mut Context| self.end(key, event, begun, cx);
        match kind {
            0 | 1 => tree.get(cx, key, move |found, cx| end(Got(found), cx)),
            2 => tree.insert(cx, key, value, move |new, cx| end(Inserted(value, new), cx)),
            3 => tree.upsert(cx, key, value, move |old, cx| end(Upserted(value, old), cx)),
            4 => tree.write(cx, key, value, Write::Update, move |wrote, cx| {
                let old = if let Wrote::Replaced(old) = wrote { Some(old) } else { None };
                end(Updated(value, old), cx);
            }),
            5 => {
                tree.modify(cx, key, move |there| there + value, move |old, cx| end(Modified(value, old), cx))
            }
            _ => tree.remove(cx, key, move |old, cx| end(Removed(old), cx)),
        }
    }

    fn end(mut self: Box<Self>, key: u64, event: Event, begun: u64, cx: &mut Context) {
        let ended = self.clock.fetch_add(1, SeqCst);
        self.history.push(Span { key, event, begun, ended });
        self.go(cx);
    }
}

/// Inserts and removes the keys between those under test, again and again: nodes split and merge around them.
struct Churn<L: Layout> {
    tree: Tree<u64, u64, L>,
    order: Arc<Vec<u64>>,
    at: usize,
    rounds: u32,
    promise: Promise<()>,
}

impl<L: Layout> Churn<L> {
    fn go(mut self: Box<Self>, cx: &mut Context) {
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
                assert!(new, "{key} was there already");
                self.go(cx);
            });
        } else {
            tree.remove(cx, key, move |old, cx| {
                assert_eq!(old, Some(key));
                self.go(cx);
            });
        }
    }
}

/// How many lanes each round has: of tasks that work on the keys, and of those that churn around them.
const LANES: u32 = 5;
const CHURNS: usize = 3;

/// One history, by tasks and (where there are threads) plain threads at once.
fn one_history<L: Layout, P: LegalFor<Versioned<L>>>(primitive: P, setting: Setting, seed: u64) {
    let _blame = Blame((P::PRIMITIVE, L::NAME, setting, seed));
    let rt = setting.build();
    let tree = Tree::<u64, u64, L>::with_primitive(&rt, primitive);
    let clock = Arc::new(AtomicU64::new(0));
    let mut random = Random(seed);
    let mut between: Vec<u64> = (0..KEYS * APART).filter(|key| key % APART != 0).collect();
    random.shuffle(&mut between);
    let churns: Vec<_> = (0..CHURNS)
        .map(|number| {
            let (promise, handle) = rt.promise();
            let order = between.iter().copied().skip(number).step_by(CHURNS).collect();
            let churn = Churn { tree: tree.clone(), order: Arc::new(order), at: 0, rounds: 4, promise };
            let churn = Box::new(churn);
            rt.task(()).core(number as u16).spawn(move |(), cx| churn.go(cx));
            handle
        })
        .collect();
    let lanes: Vec<_> = (0..LANES)
        .map(|number| {
            let (promise, handle) = rt.promise();
            let random = Random(random.word());
            let (tree, clock) = (tree.clone(), clock.clone());
            let lane = Box::new(Lane { tree, random, left: 32, clock, history: Vec::new(), promise });
            rt.task(()).core(number as u16).spawn(move |(), cx| lane.go(cx));
            handle
        })
        .collect();
    let history = Mutex::new(Vec::new());
    if !setting.is_simulation() {
        by_threads(&rt, &tree, &clock, &history, seed);
    }
    let mut history = history.into_inner().unwrap();
    for lane in lanes {
        history.extend(lane.join().expect("a lane of tasks"));
    }
    churns.into_iter().for_each(|churn| churn.join().expect("a lane of changes"));
    check(&history);
    sound_after(rt, &tree);
}

/// Two plain threads that take part.
fn by_threads<L: Layout>(
    rt: &Runtime,
    tree: &Tree<u64, u64, L>,
    clock: &AtomicU64,
    history: &Mutex<Vec<Span>>,
    seed: u64,
) {
    thread::scope(|scope| {
        for number in 0..2 {
            scope.spawn(move || {
                let client = tree.client(rt);
                let mut random = Random(seed * 2 + number);
                let mut own = Vec::new();
                for _ in 0..24 {
                    let choice = choose(&mut random);
                    let begun = clock.fetch_add(1, SeqCst);
                    let event = by_client(&client, choice);
                    let ended = clock.fetch_add(1, SeqCst);
                    own.push(Span { key: choice.key, event, begun, ended });
                }
                history.lock().unwrap().extend(own);
            });
        }
    });
}

fn histories<L: Layout, P: LegalFor<Versioned<L>> + Copy>(primitive: P, setting: Setting, seeds: u64) {
    for seed in 0..seeds {
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
        histories::<Sorted512, _>(xtasking::OptimisticSequenced, setting, 5);
    });
}
