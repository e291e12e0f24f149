//! Many operations at once, from tasks and from plain threads, with an oracle for each of those who begin them.

use crate::common::*;
use crate::with_all_primitives;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use xtasking::{Context, Handle, JoinError, LegalFor, OptimisticLatched, Promise, Runtime, Versioned};
use xtasking_index::{Layout, Tree, Write, Wrote, carry};

/// One of many sequences of operations. Its keys are its own, so that it knows what each operation must find; they
/// lie between the keys of others, so that all share the nodes.
struct Lane<L: Layout> {
    tree: Tree<u64, u64, L>,
    random: Random,
    /// The lane's keys are those that leave this remainder.
    number: u64,
    lanes: u64,
    keys: u64,
    left: u32,
    entries: BTreeMap<u64, u64>,
    promise: Promise<BTreeMap<u64, u64>>,
}

impl<L: Layout> AsRef<Tree<u64, u64, L>> for Box<Lane<L>> {
    fn as_ref(&self) -> &Tree<u64, u64, L> {
        &self.tree
    }
}

impl<L: Layout> Lane<L> {
    /// Begins the next operation; its continuation comes back here.
    fn go(mut self: Box<Self>, cx: &mut Context) {
        if self.left == 0 {
            let Self { promise, entries, .. } = *self;
            return promise.fulfil(entries);
        }
        self.left -= 1;
        let (lanes, number) = (self.lanes, self.number);
        let key = self.random.below(self.keys) * lanes + number;
        let value = self.random.word();
        // First mostly insertions, then mostly removals, then again.
        let growing = (self.left / 100).is_multiple_of(2);
        match self.random.below(10) {
            0 | 1 => carry(self).get(cx, key, move |lane, found, cx| {
                assert_eq!(found, lane.entries.get(&key).copied(), "get {key}");
                lane.go(cx);
            }),
            2 => self.tree.clone().modify(
                cx,
                key,
                move |there| there ^ value,
                move |old, cx| {
                    let there =
                        self.entries.get_mut(&key).map(|there| std::mem::replace(there, *there ^ value));
                    assert_eq!(old, there, "modify {key}");
                    self.go(cx);
                },
            ),
            3 => carry(self).scan(cx, key, 40, move |lane, found, cx| {
                assert!(found.is_sorted_by(|one, next| one.0 < next.0), "a scan is out of order");
                assert!(found.len() <= 40 && found.first().is_none_or(|first| first.0 >= key));
                let end = if found.len() < 40 { u64::MAX } else { found[39].0 + 1 };
                let own: Vec<_> = found.into_iter().filter(|(key, _)| key % lanes == number).collect();
                let expected: Vec<_> =
                    lane.entries.range(key..end).map(|(&key, &value)| (key, value)).collect();
                assert_eq!(own, expected, "scan from {key}");
                lane.go(cx);
            }),
            4 => carry(self).write(cx, key, value, Write::Update, move |mut lane, wrote, cx| {
                let expected = match lane.entries.get_mut(&key) {
                    Some(there) => Wrote::Replaced(std::mem::replace(there, value)),
                    None => Wrote::Missing,
                };
                assert_eq!(wrote, expected, "update {key}");
                lane.go(cx);
            }),
            5 => carry(self).write(cx, key, value, Write::Upsert, move |mut lane, wrote, cx| {
                let old = lane.entries.insert(key, value);
                assert_eq!(wrote, old.map_or(Wrote::Inserted, Wrote::Replaced), "upsert {key}");
                lane.go(cx);
            }),
            _ if growing => carry(self).write(cx, key, value, Write::Insert, move |mut lane, wrote, cx| {
                let expected = lane.entries.get(&key).map_or(Wrote::Inserted, |&there| Wrote::Exists(there));
                lane.entries.entry(key).or_insert(value);
                assert_eq!(wrote, expected, "insert {key}");
                lane.go(cx);
            }),
            _ => {
                // One that is there, if there is any: nodes are to become empty.
                let key = self.entries.range(key..).next().map_or(key, |(&key, _)| key);
                carry(self).remove(cx, key, move |mut lane, old, cx| {
                    assert_eq!(old, lane.entries.remove(&key), "remove {key}");
                    lane.go(cx);
                });
            }
        }
    }
}

/// Starts a lane on one of the workers.
fn start<L: Layout>(
    rt: &Runtime,
    tree: &Tree<u64, u64, L>,
    (number, lanes): (u64, u64),
    (keys, left): (u64, u32),
    seed: u64,
) -> Handle<BTreeMap<u64, u64>> {
    let (promise, handle) = rt.promise();
    let random = Random(seed * 1000 + number);
    let lane =
        Lane { tree: tree.clone(), random, number, lanes, keys, left, entries: BTreeMap::new(), promise };
    let lane = Box::new(lane);
    rt.task(()).core(number as u16).spawn(move |(), cx| lane.go(cx));
    handle
}

/// Many lanes of tasks.
fn lanes<L: Layout, P: LegalFor<Versioned<L>>>(primitive: P, setting: Setting, lanes: u64, each: u32) {
    let _blame = Blame((P::PRIMITIVE, L::NAME, setting));
    let rt = setting.build();
    let tree = Tree::<u64, u64, L>::with_primitive(&rt, primitive);
    let handles: Vec<_> =
        (0..lanes).map(|number| start(&rt, &tree, (number, lanes), (60, each), setting.seed())).collect();
    let mut all = BTreeMap::new();
    for handle in handles {
        all.extend(handle.join().expect("a lane of tasks"));
    }
    let all: Vec<_> = all.into_iter().collect();
    assert_eq!(tree.client(&rt).scan(0, usize::MAX).unwrap(), all);
    let report = sound_after(rt, &tree);
    assert_eq!(report.entries, all.len() as u64);
}

#[test]
fn lanes_of_tasks_find_what_they_left() {
    on_each(Setting::simulations(&[1]), |setting| {
        with_all_primitives!(lanes::<Hinted512>(setting, 13, 150));
        lanes::<Sorted512, _>(OptimisticLatched, setting, 13, 150);
    });
    on_each(Setting::threads(), |setting| {
        with_all_primitives!(lanes::<Hinted512>(setting, 24, 220));
        lanes::<Sorted512, _>(xtasking::OptimisticSequenced, setting, 24, 220);
        lanes::<Sorted1024, _>(OptimisticLatched, setting, 24, 220);
    });
}

/// Plain threads with batches of their own keys, beside lanes of tasks with theirs.
fn threads_and_tasks<L: Layout, P: LegalFor<Versioned<L>>>(primitive: P, workers: usize) {
    const THREADS: u64 = 3;
    const STRIPES: u64 = 16;
    let setting = Setting::Threads { workers };
    let _blame = Blame((P::PRIMITIVE, L::NAME, setting));
    let rt = setting.build();
    let tree = Tree::<u64, u64, L>::with_primitive(&rt, primitive);
    let handles: Vec<_> = (THREADS..STRIPES)
        .map(|number| start(&rt, &tree, (number, STRIPES), (200, 150), workers as u64))
        .collect();
    let mut all = BTreeMap::new();
    let (shared_rt, shared_tree) = (&rt, &tree);
    let threads = (0..THREADS).map(|number| move || batches(shared_rt, shared_tree, number, STRIPES));
    side_by_side(threads).into_iter().for_each(|map| all.extend(map));
    for handle in handles {
        all.extend(handle.join().expect("a lane of tasks"));
    }
    let all: Vec<_> = all.into_iter().collect();
    assert_eq!(tree.client(&rt).scan(0, usize::MAX).unwrap(), all);
    sound_after(rt, &tree);
}

/// What one plain thread does: batches and single operations on its stripe of keys.
fn batches<L: Layout>(
    rt: &Runtime,
    tree: &Tree<u64, u64, L>,
    number: u64,
    stripes: u64,
) -> BTreeMap<u64, u64> {
    let client = tree.client(rt);
    let mut random = Random(number);
    let mut map = BTreeMap::new();
    for round in 0..4 {
        let mut keys: Vec<u64> = (0..200).map(|key| key * stripes + number).collect();
        random.shuffle(&mut keys);
        let entries: Vec<_> = keys[..150].iter().map(|&key| (key, key + round)).collect();
        let new: Vec<_> = entries.iter().map(|(key, _)| !map.contains_key(key)).collect();
        entries.iter().for_each(|&(key, value)| _ = map.entry(key).or_insert(value));
        assert_eq!(client.insert_many(entries.clone()).unwrap(), new);
        let old: Vec<_> = entries.iter().map(|&(key, value)| map.insert(key, value + 1)).collect();
        let entries = entries.iter().map(|&(key, value)| (key, value + 1)).collect();
        assert_eq!(client.upsert_many(entries).unwrap(), old);
        let found: Vec<_> = keys.iter().map(|key| map.get(key).copied()).collect();
        assert_eq!(client.get_many(keys.clone()).unwrap(), found);
        for &key in &keys[..10] {
            assert_eq!(client.get(key).unwrap(), map.get(&key).copied());
            assert_eq!(client.remove(key).unwrap(), map.remove(&key));
        }
        random.shuffle(&mut keys);
        keys.truncate(if round % 2 == 0 { 200 } else { 120 });
        let gone: Vec<_> = keys.iter().map(|key| map.remove(key)).collect();
        assert_eq!(client.remove_many(keys).unwrap(), gone);
    }
    map
}

#[test]
fn a_client_in_a_task_would_block() {
    for setting in [Setting::Threads { workers: 2 }, Setting::Simulation { cores: 2, seed: 1 }] {
        let _watched = watchdog();
        let rt = Arc::new(setting.build());
        let tree = Tree::<u64, u64, Hinted512>::new(&rt);
        let (inner, runtime) = (tree.clone(), rt.clone());
        let refused = rt.task(()).submit(move |(), _| {
            let client = inner.client(&runtime);
            let one = matches!(client.insert(1, 1), Err(JoinError::WouldBlock));
            one && matches!(client.insert_many(vec![(1, 1), (2, 2)]), Err(JoinError::WouldBlock))
        });
        assert!(refused.join().unwrap());
        assert_eq!(tree.client(&rt).scan(0, usize::MAX).unwrap(), [], "nothing was begun");
    }
}

#[test]
fn plain_threads_and_tasks_share_a_tree() {
    for workers in [1, 2, 4, 8] {
        let _watched = watchdog();
        with_all_primitives!(threads_and_tasks::<Hinted512>(workers));
        threads_and_tasks::<Sorted512, _>(OptimisticLatched, workers);
    }
}

/// Increments of a few keys that all want: each must count, and see a value that no other one saw.
fn counters<L: Layout, P: LegalFor<Versioned<L>>>(primitive: P, setting: Setting) {
    const KEYS: u64 = 3;
    const EACH: u64 = 60;
    let _blame = Blame((P::PRIMITIVE, L::NAME, setting));
    let rt = setting.build();
    let tree = Tree::<u64, u64, L>::with_primitive(&rt, primitive);
    for key in 0..KEYS {
        tree.client(&rt).insert(key * 1000, 0).unwrap();
    }
    // Beside them others insert and remove, so that the leaves change shape.
    let others: Vec<_> =
        (1..8).map(|number| start(&rt, &tree, (number, 8), (400, 200), setting.seed())).collect();
    let handles: Vec<(u64, Handle<u64>)> = (0..KEYS * EACH)
        .map(|count| {
            let (promise, handle) = rt.promise();
            let (tree, key) = (tree.clone(), count % KEYS);
            rt.task(()).core(count as u16).spawn(move |(), cx| {
                let then = |old: Option<u64>, _: &mut Context| promise.fulfil(old.expect("a counter"));
                tree.modify(cx, key * 1000, |count| count + 1, then);
            });
            (key, handle)
        })
        .collect();
    let mut seen = vec![Vec::new(); KEYS as usize];
    for (key, handle) in handles {
        seen[key as usize].push(handle.join().expect("an increment"));
    }
    for (key, mut seen) in seen.into_iter().enumerate() {
        seen.sort_unstable();
        assert_eq!(seen, (0..EACH).collect::<Vec<_>>(), "increments of {key} were lost");
        assert_eq!(tree.client(&rt).get(key as u64 * 1000).unwrap(), Some(EACH));
    }
    others.into_iter().for_each(|handle| drop(handle.join().expect("a lane")));
    sound_after(rt, &tree);
}

#[test]
fn no_increment_is_lost() {
    on_each(Setting::threads().chain(Setting::simulations(&[3])), |setting| {
        with_all_primitives!(counters::<Hinted512>(setting));
        counters::<Sorted512, _>(OptimisticLatched, setting);
    });
}

/// Stops those who repeat something until they are told.
#[derive(Clone, Default)]
struct Stop(Arc<AtomicBool>);

impl Stop {
    fn now(&self) {
        self.0.store(true, SeqCst);
    }
    fn is_now(&self) -> bool {
        self.0.load(SeqCst)
    }
}

/// The order in which keys come and go.
#[derive(Clone, Copy, Debug)]
enum Order {
    Ascending,
    Descending,
    Random,
}

/// Keys come and go in some order, to empty and back, between keys that stay; readers must always find those.
fn readers_beside<L: Layout, P: LegalFor<Versioned<L>>>(primitive: P, workers: usize, order: Order) {
    const KEYS: u64 = 700;
    const STAYS: u64 = 61;
    let _blame = Blame((P::PRIMITIVE, L::NAME, workers, order));
    let rt = Setting::Threads { workers }.build();
    let tree = Tree::<u64, u64, L>::with_primitive(&rt, primitive);
    let stable: Vec<u64> = (0..KEYS).step_by(STAYS as usize).collect();
    let entries = stable.iter().map(|&key| (key, key)).collect();
    assert!(tree.client(&rt).insert_many(entries).unwrap().into_iter().all(|new| new));
    let mut others: Vec<u64> = (0..KEYS).filter(|key| key % STAYS != 0).collect();
    match order {
        Order::Ascending => {}
        Order::Descending => others.reverse(),
        Order::Random => Random(workers as u64).shuffle(&mut others),
    }
    let stop = Stop::default();
    thread::scope(|scope| {
        let reader = scope.spawn(|| read_stable(&rt, &tree, &stable, &stop));
        // A failure here must stop the readers, too.
        let client = tree.client(&rt);
        let changes = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for _ in 0..2 {
                let entries: Vec<_> = others.iter().map(|&key| (key, key)).collect();
                assert!(client.insert_many(entries).unwrap().into_iter().all(|new| new));
                let gone = client.remove_many(others.clone()).unwrap();
                assert!(gone.iter().zip(&others).all(|(gone, &key)| *gone == Some(key)));
            }
        }));
        stop.now();
        reader.join().unwrap();
        changes.unwrap();
    });
    assert_eq!(tree.client(&rt).count().unwrap(), stable.len() as u64);
    let gone = tree.client(&rt).remove_many(stable.clone()).unwrap();
    assert!(gone.iter().zip(&stable).all(|(gone, &key)| *gone == Some(key)));
    assert_eq!(tree.client(&rt).count().unwrap(), 0);
    let report = sound_after(rt, &tree);
    assert_eq!(report.entries, 0);
}

/// Looks for the stable keys by lookups, batches, scans and counts.
fn read_stable<L: Layout>(rt: &Runtime, tree: &Tree<u64, u64, L>, stable: &[u64], stop: &Stop) {
    let client = tree.client(rt);
    let mut random = Random(7);
    while !stop.is_now() {
        let first = random.below(stable.len() as u64) as usize;
        assert_eq!(client.get(stable[first]).unwrap(), Some(stable[first]));
        let found = client.get_many(stable.to_vec()).unwrap();
        assert!(found.iter().zip(stable).all(|(found, &key)| *found == Some(key)), "a lookup missed a key");
        let scanned = client.scan(stable[first], usize::MAX).unwrap();
        assert!(scanned.is_sorted_by(|one, next| one.0 < next.0), "a scan is out of order");
        assert!(scanned.iter().all(|(key, value)| key == value), "a scan took up another key's value");
        let seen: Vec<u64> =
            scanned.into_iter().map(|(key, _)| key).filter(|key| stable.binary_search(key).is_ok()).collect();
        assert_eq!(seen, stable[first..], "a scan missed a key");
        assert!(client.count().unwrap() >= stable.len() as u64, "a count missed a key");
    }
}

#[test]
fn readers_always_find_what_stays() {
    for workers in [1, 2, 4, 8] {
        let _watched = watchdog();
        for order in [Order::Ascending, Order::Descending, Order::Random] {
            readers_beside::<Hinted512, _>(OptimisticLatched, workers, order);
            readers_beside::<Sorted512, _>(xtasking::OptimisticSequenced, workers, order);
        }
        with_all_primitives!(readers_beside::<Hinted512>(workers, Order::Random));
        readers_beside::<Hinted1024, _>(OptimisticLatched, workers, Order::Descending);
    }
}
