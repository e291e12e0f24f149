//! Values on the heap: each is dropped once, and not while it can be read.

use crate::common::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::SeqCst};
use xtasking::JoinError;
use xtasking::primitive::OptimisticLatched;
use xtasking_index::{OnHeap, Tree, Value, WriteMode, WriteOutcome};

/// A value that counts how many of its kind live.
#[derive(Debug)]
struct Counted {
    number: u64,
    /// The same number, unless the value was freed.
    check: Box<u64>,
    live: Arc<AtomicI64>,
}

impl Counted {
    fn new(number: u64, live: &Arc<AtomicI64>) -> Self {
        live.fetch_add(1, SeqCst);
        Self { number, check: Box::new(number), live: live.clone() }
    }

    fn number(&self) -> u64 {
        assert_eq!(self.number, *self.check);
        self.number
    }
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        Self::new(self.number(), &self.live)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.live.fetch_sub(1, SeqCst);
    }
}

impl Value for Counted {
    type Form = OnHeap;
}

fn settings() -> impl Iterator<Item = Setting> {
    Setting::threads().chain(Setting::simulations(&[1, 2]))
}

#[test]
fn each_value_is_dropped_once() {
    on_each(settings(), |setting| {
        let live = Arc::new(AtomicI64::new(0));
        let rt = setting.build();
        let tree = Tree::<u64, Counted>::new(&rt);
        let client = tree.client(&rt);
        let (mut map, mut random) = (BTreeMap::new(), Random(7));
        for round in 0..1500 / u64::from(PATIENCE) {
            let (key, new) = (random.below(200), Counted::new(round, &live));
            let number = |value: Option<Counted>| value.map(|value| value.number());
            match random.below(6) {
                0 => {
                    let is_new = !map.contains_key(&key);
                    map.entry(key).or_insert(round);
                    assert_eq!(client.insert(key, new).unwrap(), is_new);
                }
                1 => assert_eq!(number(client.upsert(key, new).unwrap()), map.insert(key, round)),
                2 => {
                    let old = map.get_mut(&key).map(|there| std::mem::replace(there, round));
                    assert_eq!(number(client.update(key, new).unwrap()), old);
                }
                3 => {
                    let old = map.get_mut(&key).map(|there| std::mem::replace(there, *there + 1));
                    let change = |value: Counted| Counted::new(value.number() + 1, &value.live);
                    assert_eq!(number(client.modify(key, change).unwrap()), old);
                }
                4 => assert_eq!(number(client.get(key).unwrap()), map.get(&key).copied()),
                _ => assert_eq!(number(client.remove(key).unwrap()), map.remove(&key)),
            }
        }
        let numbers = |entries: Vec<(u64, Counted)>| -> Vec<_> {
            entries.iter().map(|(key, value)| (*key, value.number())).collect()
        };
        assert_eq!(numbers(client.scan(0, usize::MAX).unwrap()), map.into_iter().collect::<Vec<_>>());
        assert!(live.load(SeqCst) > 0);
        drop((client, tree));
        drop(rt);
        assert_eq!(live.load(SeqCst), 0);
    });
}

#[test]
fn batches_and_bulk_loads_own_their_values() {
    on_each(settings(), |setting| {
        let live = Arc::new(AtomicI64::new(0));
        let rt = setting.build();
        let count = 1000 / u64::from(PATIENCE);
        let loaded = (0..count).map(|key| (2 * key, Counted::new(key, &live)));
        let tree = Tree::<u64, Counted>::bulk_load(&rt, OptimisticLatched, loaded);
        let client = tree.client(&rt);
        let entries: Vec<_> = (0..2 * count).map(|key| (key, Counted::new(key, &live))).collect();
        let is_new = client.insert_many(&entries).unwrap();
        assert!(is_new.iter().zip(0..).all(|(is_new, key)| *is_new == (key % 2 == 1)));
        let keys: Vec<u64> = (0..2 * count).collect();
        let values = client.get_many(&keys).unwrap();
        for (key, value) in (0..).zip(values) {
            let expected = if key % 2 == 1 { key } else { key / 2 };
            assert_eq!(value.unwrap().number(), expected);
        }
        let old = client.upsert_many(&entries).unwrap();
        assert!(old.iter().all(Option::is_some));
        let removed = client.remove_many(&keys[..count as usize]).unwrap();
        assert!(removed.iter().zip(0..).all(|(value, key)| value.as_ref().unwrap().number() == key));
        drop((entries, old, removed, client, tree));
        drop(rt);
        assert_eq!(live.load(SeqCst), 0);
    });
}

#[test]
fn replaced_values_are_freed_while_the_tree_is_used() {
    on_each(settings(), |setting| {
        let live = Arc::new(AtomicI64::new(0));
        let rt = setting.build();
        let tree = Tree::<u64, Counted>::new(&rt);
        let client = tree.client(&rt);
        let mut round = 0;
        let mut replace = || {
            client.upsert(round % 8, Counted::new(round, &live)).unwrap();
            round += 1;
            live.load(SeqCst)
        };
        (0..1000 / PATIENCE).for_each(|_| _ = replace());
        // A worker that is awake and has no core keeps what was retired until it runs again.
        eventually("all but a few of the replaced values are freed", || replace() < 100);
        drop((client, tree));
        drop(rt);
        assert_eq!(live.load(SeqCst), 0);
    });
}

#[test]
fn readers_find_whole_values_beside_writers() {
    let live = Arc::new(AtomicI64::new(0));
    let rt = xtasking::Runtime::builder().workers(2).build().unwrap();
    let tree = Tree::<String, Counted>::new(&rt);
    let over = AtomicBool::new(false);
    let keys: Vec<String> = (0..20).map(|key| format!("key {key}")).collect();
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let client = tree.client(&rt);
            let names: Vec<&str> = keys.iter().map(|key| &**key).collect();
            while !over.load(SeqCst) {
                for (name, at) in names.iter().zip(0..) {
                    let value = client.get(name).unwrap();
                    assert!(value.is_none_or(|value| value.number() % 20 == at));
                }
                let values = client.get_many(&names).unwrap();
                let whole =
                    |(value, at): (Option<Counted>, u64)| value.is_none_or(|value| value.number() % 20 == at);
                assert!(values.into_iter().zip(0..).all(whole));
                client.scan("", usize::MAX).unwrap().iter().for_each(|(_, value)| _ = value.number());
            }
        });
        let client = tree.client(&rt);
        for round in 0..100 / u64::from(PATIENCE) {
            for (key, at) in keys.iter().zip(0..) {
                match (round + at) % 3 {
                    0 => _ = client.remove(key).unwrap(),
                    _ => _ = client.upsert(key, Counted::new(20 * round + at, &live)).unwrap(),
                }
            }
        }
        over.store(true, SeqCst);
        reader.join().unwrap();
    });
    drop(tree);
    drop(rt);
    assert_eq!(live.load(SeqCst), 0);
}

#[test]
fn a_panic_in_a_change_leaks_no_value() {
    silence_tasks();
    on_each(settings(), |setting| {
        let live = Arc::new(AtomicI64::new(0));
        let rt = setting.build();
        let tree = Tree::<u64, Counted>::new(&rt);
        let client = tree.client(&rt);
        client.insert(1, Counted::new(1, &live)).unwrap();
        let error = client.modify(1, |_| panic!("in a test")).unwrap_err();
        assert!(matches!(error, JoinError::Poisoned | JoinError::Abandoned), "{error}");
        assert!(client.upsert(1, Counted::new(2, &live)).is_err());
        drop((client, tree));
        drop(rt);
        assert_eq!(live.load(SeqCst), 0);
    });
}

#[test]
fn a_load_by_all_workers_makes_each_value_once() {
    on_each(settings(), |setting| {
        let live = Arc::new(AtomicI64::new(0));
        let rt = setting.build();
        let entries: Vec<_> =
            (0..3000 / u64::from(PATIENCE)).map(|key| (key, Counted::new(key, &live))).collect();
        let tree = Tree::<u64, Counted>::load_sorted(&rt, OptimisticLatched, &entries).unwrap();
        assert_eq!(tree.client(&rt).count().unwrap(), entries.len() as u64);
        drop((entries, tree));
        drop(rt);
        assert_eq!(live.load(SeqCst), 0);
    });
}

/// A value whose copies or destructor panic, on demand.
struct Panicking {
    counted: Counted,
    in_copy: bool,
    in_drop: bool,
}

impl Clone for Panicking {
    fn clone(&self) -> Self {
        assert!(!self.in_copy, "provoked");
        Self { counted: self.counted.clone(), ..*self }
    }
}

impl Drop for Panicking {
    fn drop(&mut self) {
        assert!(!self.in_drop || std::thread::panicking(), "provoked");
    }
}

impl Value for Panicking {
    type Form = OnHeap;
}

#[test]
fn a_removed_value_whose_copy_panics_is_dropped() {
    silence_tasks();
    on_each(settings(), |setting| {
        let live = Arc::new(AtomicI64::new(0));
        let rt = setting.builder().on_failure(|_| ()).build().unwrap();
        let tree = Tree::<u64, Panicking>::new(&rt);
        let client = tree.client(&rt);
        let value = Panicking { counted: Counted::new(1, &live), in_copy: true, in_drop: false };
        assert!(client.insert(1, value).unwrap());
        assert!(client.remove(1).is_err());
        assert_eq!(client.count().unwrap(), 0, "the entry is removed");
        drop((client, tree));
        drop(rt);
        assert_eq!(live.load(SeqCst), 0);
    });
}

#[test]
fn a_destructor_that_panics_keeps_no_value_from_its_own() {
    silence_tasks();
    on_each(settings(), |setting| {
        let live = Arc::new(AtomicI64::new(0));
        let rt = setting.build();
        let value = |key| Panicking { counted: Counted::new(key, &live), in_copy: false, in_drop: key == 3 };
        let entries = (0..200).map(|key| (key, value(key)));
        drop(Tree::<u64, Panicking>::bulk_load(&rt, OptimisticLatched, entries));
        drop(rt);
        assert_eq!(live.load(SeqCst), 0);
    });
}

#[test]
#[should_panic = "is used in another runtime"]
fn a_tree_is_not_used_in_another_runtime() {
    let rts = [(); 2].map(|()| Setting::Simulation { cores: 1, seed: 1 }.build());
    let tree = Tree::<u64, u64>::new(&rts[0]);
    tree.get(&rts[1], 1, |_, _| ());
}

#[test]
fn an_outcome_has_the_values_that_it_names() {
    on_each(settings(), |setting| {
        let rt = setting.build();
        let tree = Tree::<u64, Arc<str>>::new(&rt);
        let write = |value: &str, mode| {
            let (promise, handle) = rt.promise();
            tree.write(&rt, 7, value.into(), mode, |outcome, _| promise.fulfil(outcome));
            handle.join().unwrap()
        };
        assert_eq!(write("one", WriteMode::Update), WriteOutcome::Missing);
        assert_eq!(write("two", WriteMode::Insert), WriteOutcome::Inserted);
        assert_eq!(write("three", WriteMode::Insert), WriteOutcome::Exists("two".into()));
        assert_eq!(write("four", WriteMode::Upsert), WriteOutcome::Replaced("two".into()));
        assert_eq!(write("five", WriteMode::Update), WriteOutcome::Replaced("four".into()));
    });
}
