//! Walks of bundles beside tasks that write the same nodes.

use crate::common::Pair;
use crate::platform::runtime;
use crate::schedules::explore;
use xtasking::{
    Context, Part, Runtime, Version, Versioned,
    arena::{Arena, Link, Written},
    bundle::{Bundle, Hop, Next, Walk},
    primitive::{OptimisticLatched, OptimisticSequenced, Sequencing, SpinLatch},
    task::LegalFor,
};

/// Two words that writers keep equal, and the next node.
struct Item {
    pair: Pair,
    next: Option<Link<Item>>,
}

impl Version for Item {}

impl Item {
    fn value(&self) -> Option<u64> {
        let (one, other) = (self.pair.0.get(), self.pair.1.get());
        (one == other).then_some(one)
    }

    fn increment(item: &Written<'_, Self>) {
        let value = item.value().expect("a writer sees no other writer");
        item.pair.0.set(value + 1, item.token());
        item.pair.1.set(value + 1, item.token());
    }
}

/// Reads one node and the next one, or increments both.
struct Twice<const SHORT: bool> {
    writes: bool,
}

impl<const SHORT: bool> Twice<SHORT> {
    fn hop(&self, item: &Item) -> Hop<Item, Option<u64>> {
        match item.next {
            Some(next) if self.writes => Hop::Write(next, Part::HEAD),
            Some(next) => Hop::Go(next, Part::HEAD),
            None => Hop::End(item.value()),
        }
    }
}

impl<const SHORT: bool> Walk for Twice<SHORT> {
    type Target = Item;
    type Output = Option<u64>;

    const ENDS_AT_ONCE: bool = SHORT;

    fn read(&self, _: Link<Item>, item: &Item) -> Hop<Item, Option<u64>> {
        match item.value() {
            Some(_) => self.hop(item),
            None => Hop::End(None),
        }
    }

    fn write(&mut self, _: Link<Item>, item: Written<'_, Item>, _: &mut Context) -> Hop<Item, Option<u64>> {
        Item::increment(&item);
        self.hop(&item)
    }
}

/// Three walks that read and three that write.
struct Walks<const SHORT: bool> {
    first: Link<Item>,
    begun: usize,
    seen: Vec<Option<u64>>,
}

impl<const SHORT: bool> Bundle for Walks<SHORT> {
    type Walk = Twice<SHORT>;

    fn next(&mut self, _: &mut Context) -> Next<Self::Walk> {
        let writes = self.begun % 2 == 0;
        self.begun += 1;
        let start = if writes { self.first.write().into() } else { self.first.read().into() };
        (self.begun <= 6).then_some((start, Twice { writes }))
    }

    fn done(&mut self, _: Self::Walk, outcome: Result<Option<u64>, xtasking::JoinError>, _: &mut Context) {
        self.seen.push(outcome.unwrap());
    }
}

/// Runs two bundles beside tasks that write the same two nodes.
fn beside_writers<const SHORT: bool, P: LegalFor<Versioned<Item>>>(rt: &Runtime, primitive: P) {
    const TASKS: u64 = 3;
    let arena = Arena::with_primitive(rt, primitive);
    let last = arena.alloc_outside(Item { pair: Pair::default(), next: None });
    let first = arena.alloc_outside(Item { pair: Pair::default(), next: Some(last) });
    let walks = || Walks::<SHORT> { first, begun: 0, seen: Vec::new() };
    let bundles = [0, 1].map(|core| rt.task(()).core(core).submit_bundle(walks()));
    let tasks: Vec<_> = (0..TASKS)
        .flat_map(|core| [first, last].map(|item| (core as u16, item)))
        .map(|(core, item)| rt.task(item.write()).core(core).submit(|item, _| Item::increment(&item)))
        .collect();
    tasks.into_iter().for_each(|task| task.join().unwrap());
    for bundle in bundles {
        let seen = bundle.join().unwrap().seen;
        assert_eq!(seen.len(), 6);
        assert!(seen.iter().all(Option::is_some), "a torn pair was accepted");
    }
    for item in [first, last] {
        let value = rt.task(item.read()).submit(|item, _| item.value()).join().unwrap();
        assert_eq!(value, Some(TASKS + 6), "a write was lost");
    }
}

fn beside_writers_of_any_primitive<const SHORT: bool>() {
    explore(|mut random| {
        let rt = runtime(2);
        match random.below(4) {
            0 => beside_writers::<SHORT, _>(&rt, OptimisticLatched),
            1 => beside_writers::<SHORT, _>(&rt, OptimisticSequenced),
            2 => beside_writers::<SHORT, _>(&rt, SpinLatch),
            _ => beside_writers::<SHORT, _>(&rt, Sequencing),
        }
    });
}

#[test]
fn walks_beside_writers_see_whole_states_and_lose_no_write() {
    beside_writers_of_any_primitive::<false>();
}

#[test]
fn short_walks_beside_writers_see_whole_states_and_lose_no_write() {
    beside_writers_of_any_primitive::<true>();
}
