//! Batches and bundles with operations of all kinds.

#[path = "../shared/oracle.rs"]
mod oracle;

use oracle::{requests, respond, shuffled};
use std::collections::BTreeMap;
use xtasking_index::{HashMap, Request, Response, WriteMode, WriteOutcome};
use xtasking_testing::{Random, Setting, watchdog};

/// The map grows meanwhile.
#[test]
fn batches_agree_with_an_ordered_map() {
    let _watched = watchdog();
    for setting in [Setting::Threads { workers: 2 }, Setting::Simulation { cores: 3, seed: 1 }] {
        let rt = setting.build();
        let map = HashMap::<u64, u64>::new(&rt);
        let client = map.client(&rt);
        let (mut expected, mut random) = (BTreeMap::new(), Random(5));
        for _ in 0..4 {
            let keys = shuffled(&mut random, 4_000);
            let batch = requests(&mut random, &keys, |_, value| value);
            let responses: Vec<_> = batch.iter().map(|request| respond(&mut expected, *request)).collect();
            assert_eq!(client.request_many(&batch).unwrap(), responses);
        }
        let mut entries: Vec<_> = client.iter().map(|entry| entry.unwrap()).collect();
        entries.sort_unstable();
        assert_eq!(entries, expected.into_iter().collect::<Vec<_>>());
    }
}

/// Bundles that tasks spawn, beside each other. The bundle keeps the map.
#[test]
fn bundles_pass_each_tag_once() {
    let _watched = watchdog();
    for setting in [Setting::Threads { workers: 2 }, Setting::Simulation { cores: 3, seed: 2 }] {
        let rt = setting.build();
        let map = HashMap::<u64, u64>::new(&rt);
        let inserts = |part: u64| {
            let inserts = (0..2_000).map(move |number| {
                let key = number * 2 + part;
                (Request::Write(key, !key, WriteMode::Insert), key)
            });
            map.requests(inserts, |key, response, _| {
                assert_eq!(response.unwrap(), Response::Write(WriteOutcome::Inserted), "{key}");
            })
        };
        let handles = [0, 1].map(|part| rt.task(()).core(part as u16).submit_bundle(inserts(part)));
        handles.into_iter().for_each(|handle| drop(handle.join().unwrap()));
        let mut seen = vec![0; 5_000];
        rt.task_scope(|scope| {
            let gets = map.gets((0..5_000).map(|key| (key, key)), |key, value, _| {
                assert_eq!(value.unwrap(), (key < 4_000).then_some(!key));
                seen[key as usize] += 1;
            });
            drop(map);
            scope.task(()).bundle(gets);
        })
        .unwrap();
        assert!(seen.iter().all(|times| *times == 1));
    }
}

/// Writes of all modes, each mode by a bundle, beside growth of the map.
#[test]
fn bundles_of_writes_agree_with_an_ordered_map() {
    let _watched = watchdog();
    for setting in [Setting::Threads { workers: 2 }, Setting::Simulation { cores: 3, seed: 3 }] {
        let rt = setting.build();
        let map = HashMap::<u64, u64>::new(&rt);
        let (mut expected, mut random) = (BTreeMap::new(), Random(6));
        for mode in [WriteMode::Update, WriteMode::Insert, WriteMode::Upsert, WriteMode::Update] {
            let keys = shuffled(&mut random, 6_000);
            let entries: Vec<_> = keys.iter().step_by(2).map(|&key| (key, random.below(1 << 20))).collect();
            let mut outcomes: Vec<Option<WriteOutcome<u64>>> = vec![None; entries.len()];
            rt.task_scope(|scope| {
                let shares = entries.chunks(1_000).zip(outcomes.chunks_mut(1_000));
                for (core, (entries, outcomes)) in shares.enumerate() {
                    let writes =
                        map.writes(entries.iter().copied().zip(outcomes), mode, |place, outcome, _| {
                            assert_eq!(place.replace(outcome.unwrap()), None);
                        });
                    scope.task(()).core(core as u16).bundle(writes);
                }
            })
            .unwrap();
            for ((key, value), outcome) in entries.into_iter().zip(outcomes) {
                let response = respond(&mut expected, Request::Write(key, value, mode));
                assert_eq!(response, Response::Write(outcome.unwrap()), "{key}");
            }
        }
        let mut entries: Vec<_> = map.client(&rt).iter().map(|entry| entry.unwrap()).collect();
        entries.sort_unstable();
        assert_eq!(entries, expected.into_iter().collect::<Vec<_>>());
    }
}
