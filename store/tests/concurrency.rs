//! Many sessions at once: commands and transactions are atomic, and a scan misses nothing.

use std::collections::HashSet;
use xtasking_store::Engine;
use xtasking_store::engine::Client;
use xtasking_store::resp::Requests;
use xtasking_testing::{Random, Setting, on_each, side_by_side};

const ACCOUNTS: u64 = 10;
const SESSIONS: u64 = 4;

fn run(client: &mut Client, line: &str) -> String {
    String::from_utf8(client.run(line.split(' ')).expect("a reply")).expect("text")
}

/// The bulk strings of an array.
fn bulks(reply: &str) -> Vec<String> {
    let lines: Vec<&str> = reply.split("\r\n").collect();
    lines[1..].chunks(2).filter(|pair| pair.len() == 2).map(|pair| pair[1].to_owned()).collect()
}

/// Sessions move money; others look at all accounts at once.
#[test]
fn transactions_and_reads_of_many_keys_are_atomic() {
    on_each(Setting::threads(), |setting| {
        let rt = setting.build();
        let engine = Engine::builder().shards(8).build(&rt);
        let mut setup = engine.client();
        (0..ACCOUNTS).for_each(|account| drop(run(&mut setup, &format!("SET {account} 100"))));
        let all: Vec<String> = (0..ACCOUNTS).map(|account| account.to_string()).collect();
        let read = format!("MGET {}", all.join(" "));
        side_by_side((0..SESSIONS).map(|number| {
            let (engine, read) = (&engine, &read);
            move || {
                let mut client = engine.client();
                let mut random = Random(number);
                for _ in 0..100 {
                    let (from, to) = (random.below(ACCOUNTS), random.below(ACCOUNTS));
                    let mut requests = Requests::one(["MULTI"]);
                    requests.push(["DECRBY", &from.to_string(), "7"]);
                    requests.push(["INCRBY", &to.to_string(), "7"]);
                    requests.push(["EXEC"]);
                    client.run_all(requests).expect("a reply");
                    let sum: i64 =
                        bulks(&run(&mut client, read)).iter().map(|b| b.parse::<i64>().unwrap()).sum();
                    assert_eq!(sum, 100 * ACCOUNTS as i64);
                }
            }
        }));
    });
}

/// Each session adds one by WATCH, GET and EXEC, and tries again if another came between.
#[test]
fn no_watched_change_is_lost() {
    on_each(Setting::threads(), |setting| {
        let rt = setting.build();
        let engine = Engine::builder().shards(4).build(&rt);
        let mut setup = engine.client();
        run(&mut setup, "SET count 0");
        side_by_side((0..SESSIONS).map(|_| {
            let engine = &engine;
            move || {
                let mut client = engine.client();
                let mut done = 0;
                while done < 25 {
                    run(&mut client, "WATCH count");
                    let count: i64 =
                        run(&mut client, "GET count").split("\r\n").nth(1).unwrap().parse().unwrap();
                    run(&mut client, "MULTI");
                    run(&mut client, &format!("SET count {}", count + 1));
                    done += i32::from(run(&mut client, "EXEC") != "*-1\r\n");
                }
            }
        }));
        assert_eq!(run(&mut setup, "GET count"), "$3\r\n100\r\n");
    });
}

/// What is there from the first call of SCAN to the last is returned, though keys come and go.
#[test]
fn a_scan_returns_what_is_there_throughout() {
    on_each(Setting::threads(), |setting| {
        let rt = setting.build();
        let engine = Engine::builder().shards(128).build(&rt);
        let mut setup = engine.client();
        let mut requests = Requests::default();
        (0..2000).for_each(|number| requests.push(["SET", &format!("stays:{number}"), "x"]));
        setup.run_all(requests).expect("replies");
        let changes = || {
            let mut client = engine.client();
            for number in 0..3000 {
                run(&mut client, &format!("SET goes:{number} x"));
                run(&mut client, &format!("DEL goes:{}", number / 2));
            }
        };
        let scans = || {
            let mut client = engine.client();
            let (mut cursor, mut seen) = ("0".to_owned(), HashSet::new());
            loop {
                let reply = run(&mut client, &format!("SCAN {cursor} COUNT 50 MATCH stays:*"));
                let (_, rest) = reply.split_once("\r\n").unwrap();
                let mut lines = rest.splitn(3, "\r\n");
                cursor = lines.nth(1).unwrap().to_owned();
                seen.extend(bulks(lines.next().unwrap()));
                if cursor == "0" {
                    break;
                }
            }
            assert_eq!(seen.len(), 2000);
        };
        let tasks: [Box<dyn FnOnce() + Send>; 2] = [Box::new(changes), Box::new(scans)];
        side_by_side(tasks);
    });
}
