//! Many concurrent operations, from tasks and from plain threads, each checked by its caller's own
//! model.

use crate::common::*;
use crate::with_all_primitives;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use xtasking::{
    Context, Handle, JoinError, Promise, Runtime, Versioned, primitive::OptimisticLatched, task::LegalFor,
};
use xtasking_index::{Layout, Tree, Words, WriteMode, WriteOutcome, with_state};

/// One of many concurrent chains of operations. Each has its own keys, so that it knows what every
/// operation must find. The keys lie between those of other chains, so that all chains share the
/// nodes.
struct Chain<L: Layout<Keys = Words>> {
    tree: Tree<u64, u64, L>,
    random: Random,
    /// The chain has the keys that leave this remainder.
    number: u64,
    chains: u64,
    keys: u64,
    left: u32,
    entries: BTreeMap<u64, u64>,
    promise: Promise<BTreeMap<u64, u64>>,
}

impl<L: Layout<Keys = Words>> AsRef<Tree<u64, u64, L>> for Box<Chain<L>> {
    fn as_ref(&self) -> &Tree<u64, u64, L> {
        &self.tree
    }
}

impl<L: Layout<Keys = Words>> Chain<L> {
    /// Starts the next operation, whose continuation returns here.
    fn advance(mut self: Box<Self>, cx: &mut Context) {
        if self.left == 0 {
            let Self { promise, entries, .. } = *self;
            return promise.fulfil(entries);
        }
        self.left -= 1;
        let (chains, number) = (self.chains, self.number);
        let key = self.random.below(self.keys) * chains + number;
        let value = self.random.word();
        // Phases of mostly insertions alternate with phases of mostly removals.
        let growing = (self.left / 100).is_multiple_of(2);
        match self.random.below(10) {
            0 | 1 => with_state(self).get(cx, key, move |chain, found, cx| {
                assert_eq!(found, chain.entries.get(&key).copied(), "get {key}");
                chain.advance(cx);
            }),
            2 => self.tree.clone().modify(
                cx,
                key,
                move |there| there ^ value,
                move |old, cx| {
                    let there =
                        self.entries.get_mut(&key).map(|there| std::mem::replace(there, *there ^ value));
                    assert_eq!(old, there, "modify {key}");
                    self.advance(cx);
                },
            ),
            3 => with_state(self).scan(cx, key, 40, move |chain, found, cx| {
                assert!(found.is_sorted_by(|one, next| one.0 < next.0), "a scan is out of order");
                assert!(found.len() <= 40 && found.first().is_none_or(|first| first.0 >= key));
                let end = if found.len() < 40 { u64::MAX } else { found[39].0 + 1 };
                let own: Vec<_> = found.into_iter().filter(|(key, _)| key % chains == number).collect();
                let expected: Vec<_> =
                    chain.entries.range(key..end).map(|(&key, &value)| (key, value)).collect();
                assert_eq!(own, expected, "scan from {key}");
                chain.advance(cx);
            }),
            4 => with_state(self).write(cx, key, value, WriteMode::Update, move |mut chain, wrote, cx| {
                let expected = match chain.entries.get_mut(&key) {
                    Some(there) => WriteOutcome::Replaced(std::mem::replace(there, value)),
                    None => WriteOutcome::Missing,
                };
                assert_eq!(wrote, expected, "update {key}");
                chain.advance(cx);
            }),
            5 => with_state(self).write(cx, key, value, WriteMode::Upsert, move |mut chain, wrote, cx| {
                let old = chain.entries.insert(key, value);
                assert_eq!(wrote, old.map_or(WriteOutcome::Inserted, WriteOutcome::Replaced), "upsert {key}");
                chain.advance(cx);
            }),
            _ if growing => {
                with_state(self).write(cx, key, value, WriteMode::Insert, move |mut chain, wrote, cx| {
                    let expected = chain
                        .entries
                        .get(&key)
                        .map_or(WriteOutcome::Inserted, |&there| WriteOutcome::Exists(there));
                    chain.entries.entry(key).or_insert(value);
                    assert_eq!(wrote, expected, "insert {key}");
                    chain.advance(cx);
                })
            }
            _ => {
                // Prefers an existing key, so that nodes become empty.
                let key = self.entries.range(key..).next().map_or(key, |(&key, _)| key);
                with_state(self).remove(cx, key, move |mut chain, old, cx| {
                    assert_eq!(old, chain.entries.remove(&key), "remove {key}");
                    chain.advance(cx);
                });
            }
        }
    }
}

/// Starts a chain on one of the workers.
fn start<L: Layout<Keys = Words>>(
    rt: &Runtime,
    tree: &Tree<u64, u64, L>,
    (number, chains): (u64, u64),
    (keys, left): (u64, u32),
    seed: u64,
) -> Handle<BTreeMap<u64, u64>> {
    let (promise, handle) = rt.promise();
    let random = Random(seed * 1000 + number);
    let chain =
        Chain { tree: tree.clone(), random, number, chains, keys, left, entries: BTreeMap::new(), promise };
    let chain = Box::new(chain);
    rt.task(()).core(number as u16).spawn(move |(), cx| chain.advance(cx));
    handle
}

/// Many concurrent chains.
fn chains<L: Layout<Keys = Words>, P: LegalFor<Versioned<L>>>(
    primitive: P,
    setting: Setting,
    chains: u64,
    each: u32,
) {
    let _blame = Blame((P::PRIMITIVE, L::NAME, setting));
    let rt = setting.build();
    let tree = Tree::<u64, u64, L>::with_primitive(&rt, primitive);
    let handles: Vec<_> =
        (0..chains).map(|number| start(&rt, &tree, (number, chains), (60, each), setting.seed())).collect();
    let mut all = BTreeMap::new();
    for handle in handles {
        all.extend(handle.join().expect("a chain of tasks"));
    }
    let all: Vec<_> = all.into_iter().collect();
    assert_eq!(tree.client(&rt).scan(0, usize::MAX).unwrap(), all);
    let report = sound_after(rt, &tree);
    assert_eq!(report.entries, all.len() as u64);
}

#[test]
fn chains_of_tasks_find_their_own_writes() {
    on_each(Setting::simulations(&[1]), |setting| {
        with_all_primitives!(chains::<Hinted512>(setting, 13, 150));
        chains::<Sorted512, _>(OptimisticLatched, setting, 13, 150);
    });
    on_each(Setting::threads(), |setting| {
        with_all_primitives!(chains::<Hinted512>(setting, 24, 220));
        chains::<Sorted512, _>(xtasking::primitive::OptimisticSequenced, setting, 24, 220);
        chains::<Sorted1024, _>(OptimisticLatched, setting, 24, 220);
    });
}

/// Plain threads with batches of their own keys, concurrent with chains of tasks with theirs.
fn threads_and_tasks<L: Layout<Keys = Words>, P: LegalFor<Versioned<L>>>(primitive: P, workers: usize) {
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
        all.extend(handle.join().expect("a chain of tasks"));
    }
    let all: Vec<_> = all.into_iter().collect();
    assert_eq!(tree.client(&rt).scan(0, usize::MAX).unwrap(), all);
    sound_after(rt, &tree);
}

/// Runs batches and single operations on one thread's own keys.
fn batches<L: Layout<Keys = Words>>(
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
        assert_eq!(client.insert_many(&entries).unwrap(), new);
        let old: Vec<_> = entries.iter().map(|&(key, value)| map.insert(key, value + 1)).collect();
        let entries = entries.iter().map(|&(key, value)| (key, value + 1)).collect::<Vec<_>>();
        assert_eq!(client.upsert_many(&entries).unwrap(), old);
        let found: Vec<_> = keys.iter().map(|key| map.get(key).copied()).collect();
        assert_eq!(client.get_many(&keys).unwrap(), found);
        for &key in &keys[..10] {
            assert_eq!(client.get(key).unwrap(), map.get(&key).copied());
            assert_eq!(client.remove(key).unwrap(), map.remove(&key));
        }
        random.shuffle(&mut keys);
        keys.truncate(if round % 2 == 0 { 200 } else { 120 });
        let gone: Vec<_> = keys.iter().map(|key| map.remove(key)).collect();
        assert_eq!(client.remove_many(&keys).unwrap(), gone);
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
            one && matches!(client.insert_many(&[(1, 1), (2, 2)]), Err(JoinError::WouldBlock))
        });
        assert!(refused.join().unwrap());
        assert_eq!(tree.client(&rt).scan(0, usize::MAX).unwrap(), [], "no operation was started");
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

/// Concurrent increments of a few keys: each must count, and each must see a different old value.
fn counters<L: Layout<Keys = Words>, P: LegalFor<Versioned<L>>>(primitive: P, setting: Setting) {
    const KEYS: u64 = 3;
    const EACH: u64 = 60;
    let _blame = Blame((P::PRIMITIVE, L::NAME, setting));
    let rt = setting.build();
    let tree = Tree::<u64, u64, L>::with_primitive(&rt, primitive);
    for key in 0..KEYS {
        tree.client(&rt).insert(key * 1000, 0).unwrap();
    }
    // Other chains insert and remove entries meanwhile, so that leaves split and merge.
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
    others.into_iter().for_each(|handle| drop(handle.join().expect("a chain")));
    sound_after(rt, &tree);
}

#[test]
fn no_increment_is_lost() {
    on_each(Setting::threads().chain(Setting::simulations(&[3])), |setting| {
        with_all_primitives!(counters::<Hinted512>(setting));
        counters::<Sorted512, _>(OptimisticLatched, setting);
    });
}

/// A flag that ends the readers' loops.
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

/// The order in which keys are inserted and removed.
#[derive(Clone, Copy, Debug)]
enum Order {
    Ascending,
    Descending,
    Random,
}

/// Inserts and removes keys in some order between keys that stay; concurrent readers must always
/// find the latter.
fn readers_beside<L: Layout<Keys = Words>, P: LegalFor<Versioned<L>>>(
    primitive: P,
    workers: usize,
    order: Order,
) {
    const KEYS: u64 = 700;
    const STAYS: u64 = 61;
    let _blame = Blame((P::PRIMITIVE, L::NAME, workers, order));
    let rt = Setting::Threads { workers }.build();
    let tree = Tree::<u64, u64, L>::with_primitive(&rt, primitive);
    let stable: Vec<u64> = (0..KEYS).step_by(STAYS as usize).collect();
    let entries = stable.iter().map(|&key| (key, key)).collect::<Vec<_>>();
    assert!(tree.client(&rt).insert_many(&entries).unwrap().into_iter().all(|new| new));
    let mut others: Vec<u64> = (0..KEYS).filter(|key| key % STAYS != 0).collect();
    match order {
        Order::Ascending => {}
        Order::Descending => others.reverse(),
        Order::Random => Random(workers as u64).shuffle(&mut others),
    }
    let stop = Stop::default();
    thread::scope(|scope| {
        let reader = scope.spawn(|| read_stable(&rt, &tree, &stable, &stop));
        // A failure here must also stop the reader.
        let client = tree.client(&rt);
        let changes = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for _ in 0..if PATIENCE == 1 { 2 } else { 1 } {
                let entries: Vec<_> = others.iter().map(|&key| (key, key)).collect();
                assert!(client.insert_many(&entries).unwrap().into_iter().all(|new| new));
                let gone = client.remove_many(&others).unwrap();
                assert!(gone.iter().zip(&others).all(|(gone, &key)| *gone == Some(key)));
            }
        }));
        stop.now();
        reader.join().unwrap();
        changes.unwrap();
    });
    assert_eq!(tree.client(&rt).count().unwrap(), stable.len() as u64);
    let gone = tree.client(&rt).remove_many(&stable).unwrap();
    assert!(gone.iter().zip(&stable).all(|(gone, &key)| *gone == Some(key)));
    assert_eq!(tree.client(&rt).count().unwrap(), 0);
    let report = sound_after(rt, &tree);
    assert_eq!(report.entries, 0);
}

/// Looks for the stable keys by lookups, batches, scans and counts.
fn read_stable<L: Layout<Keys = Words>>(rt: &Runtime, tree: &Tree<u64, u64, L>, stable: &[u64], stop: &Stop) {
    let client = tree.client(rt);
    let mut random = Random(7);
    while !stop.is_now() {
        let first = random.below(stable.len() as u64) as usize;
        assert_eq!(client.get(stable[first]).unwrap(), Some(stable[first]));
        let found = client.get_many(stable).unwrap();
        assert!(found.iter().zip(stable).all(|(found, &key)| *found == Some(key)), "a lookup missed a key");
        let scanned = client.scan(stable[first], usize::MAX).unwrap();
        assert!(scanned.is_sorted_by(|one, next| one.0 < next.0), "a scan is out of order");
        assert!(scanned.iter().all(|(key, value)| key == value), "a scan returned another key's value");
        let seen: Vec<u64> =
            scanned.into_iter().map(|(key, _)| key).filter(|key| stable.binary_search(key).is_ok()).collect();
        assert_eq!(seen, stable[first..], "a scan missed a key");
        assert!(client.count().unwrap() >= stable.len() as u64, "a count missed a key");
    }
}

#[test]
fn readers_always_find_stable_keys() {
    for workers in [1, 2, 4, 8] {
        let _watched = watchdog();
        for order in [Order::Ascending, Order::Descending, Order::Random] {
            readers_beside::<Hinted512, _>(OptimisticLatched, workers, order);
            readers_beside::<Sorted512, _>(xtasking::primitive::OptimisticSequenced, workers, order);
        }
        with_all_primitives!(readers_beside::<Hinted512>(workers, Order::Random));
        readers_beside::<Hinted1024, _>(OptimisticLatched, workers, Order::Descending);
    }
}
