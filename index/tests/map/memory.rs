//! Memory: the size of a map follows its entries, chains that are not needed are freed, and a
//! dropped map frees everything.

#[path = "../shared/pages.rs"]
mod counted;

use counted::{CountedPages, Counting};
use std::sync::Arc;
use xtasking::platform::Simulation;
use xtasking::{Runtime, Shutdown};
use xtasking_index::HashMap;
use xtasking_testing::*;

/// Lets tasks run that advance the epochs.
fn pass(rt: &Runtime) {
    (0..200).for_each(|_| rt.task(()).submit(|(), _| ()).join().unwrap());
}

/// Waits until a condition holds: in a simulation tasks run only while a thread waits.
fn settles(rt: &Runtime, what: &str, condition: impl Fn() -> bool) {
    if rt.is_simulated() {
        pass(rt);
        assert!(condition(), "{what}");
    } else {
        eventually(what, condition);
    }
}

#[test]
fn the_number_of_buckets_follows_the_entries() {
    on_each(Setting::simulations(&[1]).chain(Setting::threads()), |setting| {
        let rt = setting.build();
        let map = HashMap::<u64, u64>::new(&rt);
        let client = map.client(&rt);
        assert_eq!(map.memory().buckets, 64);
        const BATCH: u64 = 2000;
        let keys = (40_000 / u64::from(PATIENCE)).next_multiple_of(BATCH);
        for first in (0..keys).step_by(BATCH as usize) {
            let entries: Vec<_> = (first..first + BATCH).map(|key| (key, key)).collect();
            client.insert_many(&entries).unwrap();
        }
        settles(&rt, "the map grows until it has enough buckets, and few chains", || {
            let memory = map.memory();
            memory.buckets >= keys as usize * 2 / 5 && memory.nodes <= memory.buckets / 3
        });
        let memory = map.memory();
        assert!(memory.buckets <= keys as usize, "{memory:?} for {keys} keys");
        let least = memory.buckets * 64;
        // Workers take memory for nodes ahead.
        assert!((least..4 * least + (16 << 20)).contains(&memory.bytes), "{memory:?}");
    });
}

/// The sample counts what is removed as well, so a map whose entries come and go does not grow.
#[test]
fn a_map_whose_entries_come_and_go_keeps_its_size() {
    on_each(Setting::simulations(&[2]).chain(Setting::threads()), |setting| {
        let rt = setting.build();
        let map = HashMap::<u64, u64>::with_capacity(&rt, 6000);
        let buckets = map.memory().buckets;
        assert_eq!(buckets, 4000);
        let client = map.client(&rt);
        for round in 0..30u64 {
            let keys: Vec<_> = (0..2000).map(|key| key + round * 1_000_000).collect();
            let entries: Vec<_> = keys.iter().map(|&key| (key, round)).collect();
            assert!(client.insert_many(&entries).unwrap().into_iter().all(|new| new));
            assert!(client.remove_many(&keys).unwrap().into_iter().all(|old| old == Some(round)));
        }
        assert_eq!(map.memory().buckets, buckets);
        settles(&rt, "the chains of removed entries are freed", || map.memory().nodes == 0);
    });
}

#[test]
fn chains_are_freed_when_the_map_has_grown_and_when_it_is_emptied() {
    on_each(Setting::simulations(&[3]).chain(Setting::threads()), |setting| {
        let rt = setting.build();
        let map = HashMap::<u64, u64>::new(&rt);
        let client = map.client(&rt);
        let keys: Vec<_> = (0..5000).collect();
        let entries: Vec<_> = keys.iter().map(|&key| (key, key)).collect();
        client.insert_many(&entries).unwrap();
        settles(&rt, "few chains are left", || map.memory().nodes < 1000);
        // Values in chains are replaced by new nodes.
        for round in 1..10 {
            let entries: Vec<_> = keys.iter().map(|&key| (key, key + round)).collect();
            let old = client.upsert_many(&entries).unwrap();
            assert!(old.into_iter().zip(0..).all(|(old, key)| old == Some(key + round - 1)));
        }
        settles(&rt, "old nodes are freed", || map.memory().nodes < 1000);
        client.remove_many(&keys).unwrap();
        settles(&rt, "all chains are freed", || map.memory().nodes == 0);
        assert_eq!(client.count().unwrap(), 0);
    });
}

#[test]
fn a_dropped_map_releases_its_memory() {
    let _watched = watchdog();
    let pages = Arc::new(CountedPages::default());
    let platform = Counting { simulation: Simulation::new(2, 1), pages: pages.clone() };
    let rt = Runtime::builder().platform(platform).build().unwrap();
    let fill = |map: &HashMap<u64, u64>| {
        let entries: Vec<_> = (0..20_000).map(|key| (key, key)).collect();
        assert_eq!(map.client(&rt).insert_many(&entries).unwrap().len(), 20_000);
    };
    let (taken, discarded) = (|| pages.taken(), || pages.discarded());
    // The first map warms the runtime's heaps up.
    let begin = taken();
    let first = HashMap::new(&rt);
    fill(&first);
    let bytes = first.memory().bytes;
    assert!(bytes > 20_000 * 16, "the entries take memory");
    assert!(taken() >= begin + bytes, "buckets come from the platform's pages");
    drop(first);
    pass(&rt);
    assert!(discarded() >= bytes, "the buckets were not freed");
    let (before, given_back) = (taken(), discarded());
    let map = HashMap::new(&rt);
    fill(&map);
    assert_eq!(taken(), before, "addresses are used again");
    // Pending operations keep the buckets alive; when they have run, the buckets are freed.
    map.get(&rt, 1, |value, _| assert_eq!(value, Some(1)));
    drop(map);
    assert_eq!(discarded(), given_back, "a lookup is still pending");
    pass(&rt);
    assert!(discarded() >= given_back + bytes, "the buckets were not freed");
}

/// The map is dropped while it grows, and while operations have not begun.
#[test]
fn what_has_not_begun_keeps_a_dropped_map() {
    let _watched = watchdog();
    for seed in 0..100 / u64::from(PATIENCE) {
        let rt = Setting::Simulation { cores: 2, seed }.build();
        let map = HashMap::<u64, u64>::new(&rt);
        let entries: Vec<_> = (0..2000).map(|key| (key, key)).collect();
        map.client(&rt).insert_many(&entries).unwrap();
        let (promise, found) = rt.promise();
        map.get(&rt, 1000, |value, _| promise.fulfil(value));
        (2000..2400).for_each(|key| map.insert(&rt, key, key, |new, _| assert!(new)));
        drop(map);
        pass(&rt);
        assert_eq!(found.join().unwrap(), Some(1000));
    }
}

#[test]
fn a_map_outlives_its_runtime() {
    let _watched = watchdog();
    let rt = Setting::Simulation { cores: 2, seed: 9 }.build();
    let map = HashMap::<u64, u64>::new(&rt);
    assert!(map.client(&rt).insert(1, 2).unwrap());
    rt.shutdown(Shutdown::Drain);
    assert_eq!(map.memory().buckets, 64);
    drop(map);
}
