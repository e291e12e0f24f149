//! Histories of operations on single keys of a map from words to words: what tasks and plain
//! threads record, and what explains it.

use xtasking::{Context, Promise, Runtime};
use xtasking_testing::history::{self, Clock, Span};
use xtasking_testing::{Random, Setting, side_by_side};

/// An operation on one key, and what it returned.
#[derive(Clone, Copy, Debug)]
pub enum Event {
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

/// A random operation.
#[derive(Clone, Copy)]
pub struct Choice {
    pub kind: u64,
    pub key: u64,
    pub value: u64,
}

/// A chain of operations, each of which begins when the one before has ended.
pub struct Chain {
    random: Random,
    left: u32,
    clock: Clock,
    history: History,
    promise: Promise<History>,
}

impl Chain {
    /// Begins the next operation, at the moment that is returned with it. After the last one the
    /// chain ends.
    pub fn begin(mut self: Box<Self>, choose: fn(&mut Random) -> Choice) -> Option<(Box<Self>, Choice, u64)> {
        if self.left == 0 {
            let Self { promise, history, .. } = *self;
            promise.fulfil(history);
            return None;
        }
        self.left -= 1;
        let choice = choose(&mut self.random);
        let begun = self.clock.tick();
        Some((self, choice, begun))
    }

    /// Notes what the operation that began at that moment has seen and done.
    pub fn end(&mut self, events: &[(u64, Event)], begun: u64) {
        let ended = self.clock.tick();
        self.history.extend(events.iter().map(|&(key, event)| (key, Span { event, begun, ended })));
    }
}

/// The number of chains.
const CHAINS: u32 = 5;

/// Records a history of chains, which `advance` begins, and, unless it is a simulation, of two
/// plain threads, each of which calls what `threads` returns for each operation. Checks that there
/// is an order that explains it.
pub fn record<T: FnMut(&mut Random) -> Vec<(u64, Event)>>(
    rt: &Runtime,
    setting: Setting,
    random: &mut Random,
    advance: impl Fn(Box<Chain>, &mut Context) + Clone + Send + 'static,
    threads: impl Fn() -> T + Sync,
) {
    let clock = Clock::default();
    let chains: Vec<_> = (0..CHAINS)
        .map(|number| {
            let (promise, handle) = rt.promise();
            let random = Random(random.word());
            let chain = Chain { random, left: 32, clock: clock.clone(), history: History::new(), promise };
            let (chain, advance) = (Box::new(chain), advance.clone());
            rt.task(()).core(number as u16).spawn(move |(), cx| advance(chain, cx));
            handle
        })
        .collect();
    let seeds = [random.word(), random.word()];
    let by_thread = &|seed| {
        let (mut operation, mut random, mut own) = (threads(), Random(seed), History::new());
        for _ in 0..24 {
            let begun = clock.tick();
            let events = operation(&mut random);
            let ended = clock.tick();
            own.extend(events.into_iter().map(|(key, event)| (key, Span { event, begun, ended })));
        }
        own
    };
    let mut history = if setting.is_simulation() {
        History::new()
    } else {
        side_by_side(seeds.map(|seed| move || by_thread(seed))).concat()
    };
    for chain in chains {
        history.extend(chain.join().expect("a chain of tasks"));
    }
    history::check(history, &None);
}
