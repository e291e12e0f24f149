//! Scans and iterators, also beside the growth of the map.

use std::collections::HashMap as Model;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use xtasking::Runtime;
use xtasking_index::{HashMap, MapClient, ScanPosition};
use xtasking_testing::*;

/// Scans the whole map in steps of some sizes.
fn scan_all(client: &MapClient<'_, u64, u64>, mut step: impl FnMut() -> usize) -> Vec<(u64, u64)> {
    let (mut all, mut next) = (Vec::new(), Some(ScanPosition::default()));
    while let Some(from) = next {
        let limit = step();
        let (entries, position) = client.scan(from, limit).unwrap();
        assert!(entries.len() <= limit && (entries.len() == limit || position.is_none()));
        all.extend(entries);
        next = position;
    }
    all
}

#[test]
fn scans_of_any_step_return_each_entry_once() {
    on_each(Setting::simulations(&[1]).chain(Setting::threads()), |setting| {
        let rt = setting.build();
        for keys in [0, 1, 63, 64, 65, 1000] {
            let map = HashMap::<u64, u64>::new(&rt);
            let client = map.client(&rt);
            let entries: Vec<_> = (0..keys).map(|key| (key << 40 | key, key)).collect();
            client.insert_many(&entries).unwrap();
            let mut random = Random(keys);
            for step in [1, 2, 7, 100, 5000] {
                let mut all = scan_all(&client, || step);
                all.sort_unstable();
                assert_eq!(all, entries);
            }
            let mut all = scan_all(&client, || 1 + random.below(20) as usize);
            all.sort_unstable();
            assert_eq!(all, entries);
            // A scan of nothing stays where it is.
            let (none, position) = client.scan(ScanPosition::default(), 0).unwrap();
            assert!(none.is_empty() && position == Some(ScanPosition::default()));
        }
    });
}

/// Checks a scan: each entry that stays once, and others at most once.
fn check(found: Vec<(u64, u64)>, stays: u64) {
    let mut seen = Model::new();
    for (key, value) in found {
        assert_eq!(value, key + 1);
        assert!(seen.insert(key, value).is_none(), "{key} was returned twice");
    }
    assert!((0..stays).all(|key| seen.contains_key(&key)), "an entry was not returned");
}

/// The map grows between the steps of a scan.
#[test]
fn a_scan_passes_each_entry_once_while_the_map_grows() {
    on_each(Setting::simulations(&[1, 2]).chain(Setting::threads()), |setting| {
        let rt = setting.build();
        let map = HashMap::<u64, u64>::new(&rt);
        let client = map.client(&rt);
        let stays: Vec<_> = (0..500).map(|key| (key, key + 1)).collect();
        client.insert_many(&stays).unwrap();
        let before = map.memory().buckets;
        let (mut all, mut next, mut added) = (Vec::new(), Some(ScanPosition::default()), 500);
        while let Some(from) = next {
            let (entries, position) = client.scan(from, 20).unwrap();
            all.extend(entries);
            next = position;
            if added < 8000 {
                let more: Vec<_> = (added..added + 200).map(|key| (key, key + 1)).collect();
                client.insert_many(&more).unwrap();
                added += 200;
            }
        }
        check(all, 500);
        let has_grown = || map.memory().buckets > 2 * before;
        if setting.is_simulation() {
            assert!(has_grown(), "the map did not grow");
        } else {
            eventually("the map grows", has_grown);
        }
    });
}

/// Adds entries, and removes all but those that stay, while other threads iterate.
fn churn(rt: &Runtime, map: &HashMap<u64, u64>, stays: u64) {
    let client = map.client(rt);
    for round in 0..12 {
        let keys: Vec<_> = (stays..stays + 1000 + 500 * round).collect();
        let entries: Vec<_> = keys.iter().map(|&key| (key, key + 1)).collect();
        client.insert_many(&entries).unwrap();
        client.remove_many(&keys).unwrap();
    }
}

#[test]
fn iterators_of_threads_pass_each_entry_once_beside_changes() {
    on_each(Setting::threads(), |setting| {
        let rt = setting.build();
        let map = HashMap::<u64, u64>::new(&rt);
        let stays: Vec<_> = (0..300).map(|key| (key, key + 1)).collect();
        map.client(&rt).insert_many(&stays).unwrap();
        let over = AtomicBool::new(false);
        let (rt, map, over) = (&rt, &map, &over);
        let iterate = move || {
            let client = map.client(rt);
            while !over.load(SeqCst) {
                check(client.iter().collect::<Result<_, _>>().unwrap(), 300);
                assert!(client.count().unwrap() >= 300);
            }
        };
        let change = move || {
            churn(rt, map, 300);
            over.store(true, SeqCst);
        };
        let bodies: [Box<dyn FnOnce() + Send + '_>; 2] = [Box::new(iterate), Box::new(change)];
        side_by_side(bodies);
        assert_eq!(map.client(rt).count().unwrap(), 300);
    });
}
