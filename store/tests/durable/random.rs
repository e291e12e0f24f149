//! Random commands, whose log is replayed: the keys are those of before.

use super::drawn::{Draw, builder, contents};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use xtasking::Runtime;
use xtasking_storage::SimulatedDisk;
use xtasking_store::Engine;
use xtasking_store::log::Options;
use xtasking_store::resp::Requests;
use xtasking_testing::{Random, side_by_side, watchdog};

const BEGIN: u64 = 1_000_000_000;
const STARTS: u64 = 3;

fn open(rt: &Runtime, disk: &SimulatedDisk, time: &Arc<AtomicU64>) -> Engine {
    let clock = time.clone();
    let builder = builder().clock(move || clock.load(Ordering::SeqCst));
    builder.log(disk.clone(), Options::default()).open(rt).expect("a log")
}

/// Clients that draw commands, side by side.
fn change(engine: &Engine, time: &AtomicU64, seed: u64, several: u64) {
    side_by_side((0..2).map(|client| {
        move || {
            let mut draw = Draw { random: Random(seed * 2 + client), several };
            let mut client = engine.client();
            for _ in 0..600 {
                let mut requests = Requests::default();
                draw.unit().iter().for_each(|line| requests.push(line.split(' ')));
                let replies = client.run_all(requests).expect("replies");
                let replies = String::from_utf8_lossy(&replies);
                let is_wrong = |wrong: &&str| replies.contains(wrong);
                assert!(!["-ERR unknown", "-ERR syntax", "wrong number"].iter().any(is_wrong), "{replies}");
                time.fetch_add(draw.random.below(10), Ordering::SeqCst);
                if draw.chance(2) {
                    engine.remove_expired(engine.runtime());
                }
            }
        }
    }));
}

#[test]
fn a_replay_gives_the_keys_of_before() {
    let rt = Runtime::builder().workers(4).build().expect("a runtime");
    let mut most = 0;
    for seed in 0..12 {
        let _watched = watchdog();
        let (disk, time) = (SimulatedDisk::new(seed), Arc::new(AtomicU64::new(BEGIN)));
        // Few changes of several keys are replayed between those of one, many one after the other.
        let several = [2, 6, 40, 400][seed as usize % 4];
        let mut expected = Vec::new();
        for start in 0..STARTS {
            let engine = open(&rt, &disk, &time);
            assert_eq!(contents(&engine), expected, "seed {seed}, start {start}");
            change(&engine, &time, seed * STARTS + start, several);
            if start == 1 && seed % 2 == 0 {
                engine.rewrite_log().expect("a base");
                change(&engine, &time, seed + 1000, several);
            }
            expected = contents(&engine);
            most = most.max(expected.len());
            engine.log().expect("a log").close().expect("it is written");
        }
    }
    assert!(most > 50, "{most} keys");
}
