//! Linearizability: for each key, concurrent operations have an order in which each takes effect at
//! one moment between its start and its end. Other keys come meanwhile, so that buckets are split.

use xtasking::{Context, Promise, Runtime};
use xtasking_index::{HashMap, MapClient};
use xtasking_testing::history::{self, Clock, Span};
use xtasking_testing::*;

/// An operation on one key, and what it returned.
#[derive(Clone, Copy, Debug)]
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

impl history::Event for Event {
    /// The value of the key, if it exists.
    type State = Option<u64>;

    fn apply(&self, &before: &Option<u64>) -> Option<Option<u64>> {
        let (returned, after) = match *self {
            Got(found) => (found == before, before),
            Inserted(value, new) => (new == before.is_none(), before.or(Some(value))),
            Upserted(value, old) => (old == before, Some(value)),
            Updated(value, old) => (old == before, before.map(|_| value)),
            Modified(number, old) => (old == before, before.map(|there| there.wrapping_add(number))),
            Removed(old) => (old == before, None),
        };
        returned.then_some(after)
    }

    fn is_read_only(&self) -> bool {
        matches!(self, Got(_))
    }
}

/// The operations of a history, each with its key.
type History = Vec<(u64, Span<Event>)>;

/// The keys under test are below this; those that only make the map grow are not.
const KEYS: u64 = 4;

/// A random operation.
#[derive(Clone, Copy)]
struct Choice {
    kind: u64,
    key: u64,
    value: u64,
}

fn choose(random: &mut Random) -> Choice {
    Choice { kind: random.below(8), key: random.below(KEYS), value: random.below(1000) }
}

/// Runs an operation from a plain thread.
fn by_client(client: &MapClient<'_, u64, u64>, Choice { kind, key, value }: Choice) -> Event {
    match kind {
        0 | 1 => Got(client.get(key).unwrap()),
        2 => Inserted(value, client.insert(key, value).unwrap()),
        3 => Upserted(value, client.upsert(key, value).unwrap()),
        4 => Updated(value, client.update(key, value).unwrap()),
        5 => Modified(value, client.modify(key, move |there| there + value).unwrap()),
        _ => Removed(client.remove(key).unwrap()),
    }
}

/// A chain of operations that records its history.
struct Chain {
    map: HashMap<u64, u64>,
    random: Random,
    left: u32,
    clock: Clock,
    history: History,
    promise: Promise<History>,
}

impl Chain {
    fn advance(mut self: Box<Self>, cx: &mut Context) {
        if self.left == 0 {
            let Self { promise, history, .. } = *self;
            return promise.fulfil(history);
        }
        self.left -= 1;
        let Choice { kind, key, value } = choose(&mut self.random);
        let map = self.map.clone();
        let begun = self.clock.tick();
        let end = move |event, cx: &mut Context| self.end(key, event, begun, cx);
        match kind {
            0 | 1 => map.get(cx, key, move |found, cx| end(Got(found), cx)),
            2 => map.insert(cx, key, value, move |new, cx| end(Inserted(value, new), cx)),
            3 => map.upsert(cx, key, value, move |old, cx| end(Upserted(value, old), cx)),
            4 => map.update(cx, key, value, move |old, cx| end(Updated(value, old), cx)),
            5 => {
                let change = move |there| there + value;
                map.modify(cx, key, change, move |old, cx| end(Modified(value, old), cx));
            }
            _ => map.remove(cx, key, move |old, cx| end(Removed(old), cx)),
        }
    }

    fn end(mut self: Box<Self>, key: u64, event: Event, begun: u64, cx: &mut Context) {
        let ended = self.clock.tick();
        self.history.push((key, Span { event, begun, ended }));
        self.advance(cx);
    }
}

/// Inserts keys one after the other, so that buckets get chains and are split.
struct Filler {
    map: HashMap<u64, u64>,
    next: u64,
    left: u32,
    promise: Promise<()>,
}

impl Filler {
    fn advance(mut self: Box<Self>, cx: &mut Context) {
        if self.left == 0 {
            return self.promise.fulfil(());
        }
        self.left -= 1;
        let (map, key) = (self.map.clone(), self.next);
        self.next += 1;
        map.insert(cx, key, key, move |new, cx| {
            assert!(new, "{key} exists already");
            self.advance(cx);
        });
    }
}

/// The number of chains on the keys under test, and of those that add others.
const CHAINS: u32 = 5;
const FILLERS: u64 = 3;

/// Records and checks one history of tasks and, unless it is a simulation, of plain threads.
fn one_history(setting: Setting, seed: u64) {
    let _blame = Blame((setting, seed));
    let rt = setting.build();
    let map = HashMap::<u64, u64>::new(&rt);
    let clock = Clock::default();
    let mut random = Random(seed);
    let fillers: Vec<_> = (0..FILLERS)
        .map(|number| {
            let (promise, handle) = rt.promise();
            let filler = Filler { map: map.clone(), next: (1 + number) << 32, left: 400, promise };
            let filler = Box::new(filler);
            rt.task(()).core(number as u16).spawn(move |(), cx| filler.advance(cx));
            handle
        })
        .collect();
    let chains: Vec<_> = (0..CHAINS)
        .map(|number| {
            let (promise, handle) = rt.promise();
            let random = Random(random.word());
            let (map, clock) = (map.clone(), clock.clone());
            let chain = Box::new(Chain { map, random, left: 32, clock, history: Vec::new(), promise });
            rt.task(()).core(number as u16).spawn(move |(), cx| chain.advance(cx));
            handle
        })
        .collect();
    let mut history =
        if setting.is_simulation() { History::new() } else { by_threads(&rt, &map, &clock, seed) };
    for chain in chains {
        history.extend(chain.join().expect("a chain of tasks"));
    }
    fillers.into_iter().for_each(|filler| filler.join().expect("a chain of insertions"));
    history::check(history, &None);
}

/// Runs operations from two plain threads.
fn by_threads(rt: &Runtime, map: &HashMap<u64, u64>, clock: &Clock, seed: u64) -> History {
    let by_thread = |number| {
        let client = map.client(rt);
        let mut random = Random(seed * 2 + number);
        let mut own = History::new();
        for _ in 0..24 {
            let choice = choose(&mut random);
            let begun = clock.tick();
            let event = by_client(&client, choice);
            let ended = clock.tick();
            own.push((choice.key, Span { event, begun, ended }));
        }
        own
    };
    side_by_side((0..2).map(|number| move || by_thread(number))).concat()
}

#[test]
fn histories_are_linearizable() {
    on_each(Setting::simulations(&[5, 6]).chain(Setting::threads()), |setting| {
        (0..8 / u64::from(PATIENCE).min(4))
            .for_each(|seed| one_history(setting, seed + 100 * setting.seed()));
    });
}
