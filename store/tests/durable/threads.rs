//! Threads that write side by side, the log's own thread, and a power cut in any operation.

use super::{open, run};
use std::collections::HashSet;
use xtasking_storage::{Faults, SimulatedDisk};
use xtasking_store::log::Options;
use xtasking_store::resp::Requests;
use xtasking_testing::{Random, Setting, side_by_side, watchdog};

const THREADS: u64 = 4;

/// Writes until a reply is an error. Returns what was acknowledged.
fn write(engine: &xtasking_store::Engine, thread: u64, round: u32) -> Vec<String> {
    let (mut client, mut acknowledged) = (engine.client(), Vec::new());
    let mut random = Random(thread);
    for number in 0..100_000 {
        let element = format!("{round}.{thread}.{number}");
        let mut requests = Requests::one(["MULTI"]);
        // To several shards, in any order.
        let lists = [random.below(16), random.below(16)];
        for list in lists {
            requests.push(["RPUSH", &format!("list:{list}"), &element]);
        }
        requests.push(["RPUSH", "all", &element]);
        requests.push(["EXEC"]);
        let replies = client.run_all(requests).expect("replies");
        if replies.windows(2).any(|pair| pair == b"\n-") || replies.starts_with(b"-") {
            return acknowledged;
        }
        acknowledged.push(element);
    }
    panic!("the disk has not failed")
}

fn elements(reply: &str) -> Vec<String> {
    reply.split("\r\n").skip(2).step_by(2).map(str::to_owned).collect()
}

#[test]
fn threads_lose_nothing_in_a_power_cut_and_no_order() {
    let rt = Setting::Threads { workers: 3 }.build();
    let mut disk = SimulatedDisk::new(1);
    let mut random = Random(1);
    let mut acknowledged = HashSet::new();
    for round in 0..20u32 {
        let _watched = watchdog();
        let engine = open(&rt, &disk, Options::default().segment_bytes(20_000)).expect("a log");
        let mut client = engine.client();
        let all = elements(&run(&mut client, "LRANGE all 0 -1"));
        let found: HashSet<_> = all.iter().cloned().collect();
        let lost: Vec<_> = acknowledged.difference(&found).collect();
        assert!(lost.is_empty(), "round {round}: {lost:?}");
        let in_lists: usize =
            (0..16).map(|list| elements(&run(&mut client, &format!("LRANGE list:{list} 0 -1"))).len()).sum();
        assert_eq!(in_lists, 2 * all.len(), "round {round}: no transaction is there in part");
        for thread in 0..THREADS {
            let own = format!("{}.{thread}.", round.saturating_sub(1));
            let own = all.iter().filter_map(|element| element.strip_prefix(&own));
            assert!(own.map(|number| number.parse::<u64>().unwrap()).is_sorted());
        }
        disk.set_faults(Faults { power_cut: Some(random.below(60)), ..Faults::default() });
        let new = side_by_side((0..THREADS).map(|thread| {
            let engine = &engine;
            move || write(engine, thread, round)
        }));
        acknowledged.extend(new.into_iter().flatten());
        drop(client);
        // It fails, as there is no power.
        _ = engine.log().unwrap().close();
        disk.restart();
    }
}
