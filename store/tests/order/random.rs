//! Random commands by seeds. KEYS, which goes through the hash tables, is the model.

use super::{all_keys, builder, bulks, check, run};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use xtasking_store::engine::Client;
use xtasking_store::resp::Requests;
use xtasking_testing::{Random, Setting, on_each, side_by_side};

/// Keys of few different letters: some are prefixes of others.
fn key(random: &mut Random) -> String {
    let prefix =
        ["", "sensor:7:", "a-long-prefix-that-all-of-these-keys-have-in-common:"][random.below(3) as usize];
    let len = 1 + random.below(3);
    let letters = (0..len).map(|_| ["a", "b", "c", "~"][random.below(4) as usize]);
    letters.fold(prefix.to_owned(), |key, letter| key + letter)
}

fn command(random: &mut Random) -> String {
    let (one, two) = (key(random), key(random));
    let database = random.below(3);
    match random.below(100) {
        0..25 => format!("SET {one} value"),
        25..30 => format!("SET {one} {}", "v".repeat(random.below(300) as usize + 1)),
        30..35 => format!("SET {one} value PX {}", 1 + random.below(3000)),
        35..40 => format!("DEL {one} {two}"),
        40..44 => format!("RENAME {one} {two}"),
        44..48 => format!("COPY {one} {two} DB {database} REPLACE"),
        48..52 => format!("MOVE {one} {database}"),
        52..56 => format!("APPEND {one} more"),
        56..60 => format!("INCR {one}"),
        60..64 => format!("RPUSH {one} element"),
        64..67 => format!("LPOP {one}"),
        67..71 => format!("PEXPIRE {one} {}", random.below(3000)),
        71..74 => format!("PERSIST {one}"),
        74..76 => format!("GETDEL {one}"),
        76..79 => format!("MSET {one} 1 {two} 2"),
        79..81 => format!("SUNIONSTORE {one} {two}"),
        81..83 => format!("SETRANGE {one} 200 x"),
        83..85 => format!("SWAPDB {} {database}", random.below(3)),
        85 => "FLUSHDB".to_owned(),
        86..93 => format!("SELECT {database}"),
        93..95 => format!("RANGEDEL [{one} ({two} LIMIT {}", random.below(4)),
        95 => format!("RANGEDEL PREFIX {one}"),
        96 => ["CONFIG SET ordered-databases 0", "CONFIG SET ordered-databases all"]
            [random.below(2) as usize]
            .to_owned(),
        _ => format!("EXISTS {one}"),
    }
}

/// Compares ranges with the keys that KEYS finds, if the database is one of those in order.
fn compare(client: &mut Client, random: &mut Random, is_ordered: bool) {
    let range = run(client, "RANGE - +");
    let is_refused = range.starts_with("-ERR the keys of this database are not in order");
    assert_eq!(is_refused, !is_ordered, "{range}");
    if is_refused {
        return;
    }
    let all = all_keys(client);
    assert_eq!(bulks(&range), all);
    let (from, to) = (key(random), key(random));
    let (with_from, with_to) = (random.percent(50), random.percent(50));
    let is_in = |key: &&String| {
        (if with_from { **key >= from } else { **key > from })
            && (if with_to { **key <= to } else { **key < to })
    };
    let found: Vec<String> = all.iter().filter(is_in).cloned().collect();
    let bounds =
        format!("{}{from} {}{to}", if with_from { "[" } else { "(" }, if with_to { "[" } else { "(" });
    assert_eq!(bulks(&run(client, &format!("RANGE {bounds}"))), found, "{bounds}");
    let limit = random.below(5) as usize;
    let last: Vec<_> = found.iter().rev().take(limit).cloned().collect();
    assert_eq!(bulks(&run(client, &format!("RANGE {bounds} REV LIMIT {limit}"))), last);
    // Page by page.
    let (mut pages, mut after) = (Vec::new(), String::new());
    loop {
        let page = bulks(&run(client, &format!("RANGE {bounds} LIMIT 3{after}")));
        let Some(last) = page.last() else { break };
        after = format!(" AFTER {last}");
        pages.extend(page);
    }
    assert_eq!(pages, found);
    let prefixed: Vec<_> = all.iter().filter(|key| key.starts_with(&from)).cloned().collect();
    assert_eq!(bulks(&run(client, &format!("RANGE PREFIX {from}"))), prefixed);
    // It counts keys that have expired and were not removed. Some may be removed meanwhile.
    let mut number = |line: &str| run(client, line).trim_end()[1..].parse::<usize>().expect("a number");
    let expired = number("DBSIZE") - all.len();
    let count = number(&format!("RANGECOUNT {bounds}"));
    assert!((found.len()..=found.len() + expired).contains(&count), "{count} of {}", found.len());
}

#[test]
fn ranges_are_those_of_the_keys() {
    let seeds: Vec<u64> = (0..6).collect();
    on_each(Setting::threads().chain(Setting::simulations(&seeds)), |setting| {
        let (rt, time) = (setting.build(), Arc::new(AtomicU64::new(1_000_000)));
        let clock = time.clone();
        let engine = builder().clock(move || clock.load(Ordering::SeqCst)).build(&rt);
        let (mut client, mut random) = (engine.client(), Random(setting.seed()));
        // Which databases are in order, and which one is selected.
        let (mut ordered, mut selected) = ([true, false, true], 0);
        for step in 0..1500 {
            let command = command(&mut random);
            if let Some(database) = command.strip_prefix("SELECT ") {
                selected = database.parse().expect("a number");
            } else if let Some(databases) = command.strip_prefix("CONFIG SET ordered-databases ") {
                let named = |number: usize| databases == "all" || databases == number.to_string();
                ordered = [0, 1, 2].map(named);
            }
            let reply = run(&mut client, &command);
            assert!(!reply.starts_with("-ERR syntax"), "{command}: {reply}");
            time.fetch_add(random.below(20), Ordering::SeqCst);
            if step % 100 == 50 {
                engine.remove_expired(&rt);
            }
            if step % 5 == 0 {
                compare(&mut client, &mut random, ordered[selected]);
            }
        }
    });
}

/// The order is made while keys come and go.
#[test]
fn an_order_is_made_beside_writers() {
    on_each(Setting::threads(), |setting| {
        let rt = setting.build();
        let engine = builder().setting("ordered-databases", "").build(&rt);
        let mut setup = engine.client();
        let mut requests = Requests::default();
        (0..2000).for_each(|number| requests.push(["SET", &format!("old:{number}"), "x"]));
        setup.run_all(requests).expect("replies");
        let engine = &engine;
        let writer = |seed: u64| {
            move || {
                let (mut client, mut random) = (engine.client(), Random(seed));
                for _ in 0..1500 {
                    let command = match random.below(3) {
                        0 => format!("SET new:{} x", random.below(2000)),
                        1 => format!("DEL old:{}", random.below(2000)),
                        _ => format!("APPEND old:{} xyz", random.below(2000)),
                    };
                    run(&mut client, &command);
                }
            }
        };
        let switch = || {
            let mut client = engine.client();
            for _ in 0..6 {
                assert_eq!(run(&mut client, "CONFIG SET ordered-databases 0"), "+OK\r\n");
                assert!(run(&mut client, "RANGE - + LIMIT 5").starts_with("*5\r\n"));
                assert_eq!(run(&mut client, "CONFIG SET ordered-databases 1"), "+OK\r\n");
                assert!(run(&mut client, "RANGE - +").starts_with("-ERR the keys of this database"));
            }
            run(&mut client, "CONFIG SET ordered-databases all");
        };
        let tasks: [Box<dyn FnOnce() + Send>; 3] =
            [Box::new(writer(1)), Box::new(writer(2)), Box::new(switch)];
        side_by_side(tasks);
        check(&mut setup);
    });
}
