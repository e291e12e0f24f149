//! Batches and bundles with operations of all kinds.

#[path = "../shared/oracle.rs"]
mod oracle;

use crate::common::*;
use crate::{with_all_primitives, with_primitives};
use oracle::{requests, respond, shuffled};
use std::collections::BTreeMap;
use xtasking::Runtime;
use xtasking::task::LegalFor;
use xtasking::{JoinError, Versioned};
use xtasking_index::{Layout, Request, Response, Tree, Words, WriteMode, WriteOutcome};

fn agree<L, P>(primitive: P, rt: &Runtime, rounds: usize)
where
    L: Layout<Keys = Words>,
    P: LegalFor<Versioned<L>>,
{
    let tree = Tree::<u64, u64, L>::with_primitive(rt, primitive);
    let client = tree.client(rt);
    let (mut map, mut random) = (BTreeMap::new(), Random(rounds as u64));
    for _ in 0..rounds {
        let keys = shuffled(&mut random, 3_000);
        let batch = requests(&mut random, &keys, |_, value| value);
        let expected: Vec<_> = batch.iter().map(|request| respond(&mut map, *request)).collect();
        assert_eq!(client.request_many(&batch).unwrap(), expected);
    }
    assert_eq!(client.scan(0, usize::MAX).unwrap(), map.into_iter().collect::<Vec<_>>());
}

#[test]
fn batches_agree_with_an_ordered_map() {
    let _watched = watchdog();
    for setting in [Setting::Threads { workers: 2 }, Setting::Simulation { cores: 3, seed: 1 }] {
        let rt = setting.build();
        with_all_primitives!(agree::<Hinted512>(&rt, 3));
        with_primitives!([OptimisticLatched, Sequencing], agree::<Sorted1024>(&rt, 3));
        rt.shutdown(xtasking::Shutdown::Drain);
    }
}

/// The values are on the heap: each is dropped once, also those of refused writes.
#[test]
fn batches_own_their_values() {
    let _watched = watchdog();
    let rt = Setting::Threads { workers: 2 }.build();
    let tree = Tree::<u64, String>::new(&rt);
    let client = tree.client(&rt);
    let (mut map, mut random) = (BTreeMap::new(), Random(7));
    for _ in 0..4 {
        let keys = shuffled(&mut random, 2_000);
        let batch = requests(&mut random, &keys, |key, value| format!("{key} has {value}"));
        let expected: Vec<_> = batch.iter().map(|request| respond(&mut map, request.clone())).collect();
        assert_eq!(client.request_many(&batch).unwrap(), expected);
    }
    assert_eq!(client.scan(0, usize::MAX).unwrap(), map.into_iter().collect::<Vec<_>>());
}

/// A request to an empty tree, whose topmost node is a leaf.
#[test]
fn each_kind_finds_a_topmost_leaf() {
    let rt = Setting::Threads { workers: 1 }.build();
    let tree = Tree::<u64, u64>::new(&rt);
    let client = tree.client(&rt);
    assert_eq!(client.request_many(&[Request::Get(1)]).unwrap(), [Response::Get(None)]);
    assert_eq!(client.request_many(&[Request::Remove(1)]).unwrap(), [Response::Remove(None)]);
    let put = Request::Write(1, 2, WriteMode::Upsert);
    assert_eq!(client.request_many(&[put]).unwrap(), [Response::Write(WriteOutcome::Inserted)]);
    assert_eq!(client.request_many(&[Request::Get(1)]).unwrap(), [Response::Get(Some(2))]);
    assert_eq!(client.request_many(&[]).unwrap(), []);
}

/// Bundles that tasks spawn, beside each other and beside growth of the tree. The bundle keeps the
/// tree.
#[test]
fn bundles_pass_each_tag_once() {
    let simulated = Setting::Simulation { cores: 3, seed: 2 };
    on_each(Setting::threads().chain([simulated]), |setting| {
        let rt = setting.build();
        let tree = Tree::<u64, u64, Hinted512>::new(&rt);
        let handles: Vec<_> = (0..4u64)
            .map(|part| {
                let inserts = (0..2_000).map(move |number| {
                    let key = number * 4 + part;
                    (Request::Write(key, !key, WriteMode::Insert), key)
                });
                let check = |key: u64, response: Result<Response<u64>, JoinError>, _: &mut _| {
                    assert_eq!(response.unwrap(), Response::Write(WriteOutcome::Inserted), "{key}");
                };
                rt.task(()).core(part as u16).submit_bundle(tree.requests(inserts, check))
            })
            .collect();
        handles.into_iter().for_each(|handle| drop(handle.join().unwrap()));
        let mut seen = vec![0; 9_000];
        rt.task_scope(|scope| {
            let keys = (0..9_000).map(|key| (key, key));
            let count = |key: u64, value: Result<Option<u64>, JoinError>, _: &mut _| {
                assert_eq!(value.unwrap(), (key < 8_000).then_some(!key));
                seen[key as usize] += 1;
            };
            let gets = tree.gets(keys, count);
            drop(tree);
            scope.task(()).bundle(gets);
        })
        .unwrap();
        assert!(seen.iter().all(|times| *times == 1));
    });
}
