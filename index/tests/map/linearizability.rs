//! Linearizability: for each key, concurrent operations have an order in which each takes effect at
//! one moment between its start and its end. Other keys come meanwhile, so that buckets are split.

#[path = "../shared/histories.rs"]
mod histories;

use histories::{Chain, Choice, Event, Event::*, record};
use xtasking::{Context, Promise};
use xtasking_index::{HashMap, MapClient};
use xtasking_testing::*;

/// The keys under test are below this; those that only make the map grow are not.
const KEYS: u64 = 4;

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

/// Runs a chain of operations by tasks.
fn advance(map: HashMap<u64, u64>, chain: Box<Chain>, cx: &mut Context) {
    let Some((mut chain, Choice { kind, key, value }, begun)) = chain.begin(choose) else { return };
    let next = map.clone();
    let end = move |event, cx: &mut Context| {
        chain.end(&[(key, event)], begun);
        advance(next, chain, cx);
    };
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

/// The number of chains that add other keys.
const FILLERS: u64 = 3;

/// Records and checks one history.
fn one_history(setting: Setting, seed: u64) {
    let _blame = Blame((setting, seed));
    let rt = setting.build();
    let map = HashMap::<u64, u64>::new(&rt);
    let fillers: Vec<_> = (0..FILLERS)
        .map(|number| {
            let (promise, handle) = rt.promise();
            let filler = Filler { map: map.clone(), next: (1 + number) << 32, left: 400, promise };
            let filler = Box::new(filler);
            rt.task(()).core(number as u16).spawn(move |(), cx| filler.advance(cx));
            handle
        })
        .collect();
    let by_tasks = {
        let map = map.clone();
        move |chain, cx: &mut Context| advance(map.clone(), chain, cx)
    };
    let by_threads = || {
        let client = map.client(&rt);
        move |random: &mut Random| {
            let choice = choose(random);
            vec![(choice.key, by_client(&client, choice))]
        }
    };
    record(&rt, setting, &mut Random(seed), by_tasks, by_threads);
    fillers.into_iter().for_each(|filler| filler.join().expect("a chain of insertions"));
}

#[test]
fn histories_are_linearizable() {
    on_each(Setting::simulations(&[5, 6]).chain(Setting::threads()), |setting| {
        (0..8 / u64::from(PATIENCE).min(4))
            .for_each(|seed| one_history(setting, seed + 100 * setting.seed()));
    });
}
