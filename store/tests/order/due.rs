//! Orders are there when the reply comes to the command that demands them.

use super::{builder, check, run};
use std::sync::atomic::{AtomicBool, Ordering};
use xtasking_store::Engine;
use xtasking_store::engine::{Client, Finished};
use xtasking_store::resp::Requests;
use xtasking_testing::{Setting, eventually, on_each, side_by_side};

fn settings() -> impl Iterator<Item = Setting> {
    Setting::threads().chain(Setting::simulations(&[1, 2, 3]))
}

/// Runs lines as one pipeline.
fn pipeline(client: &mut Client, lines: &[&str]) -> String {
    let mut requests = Requests::default();
    lines.iter().for_each(|line| requests.push(line.split(' ')));
    String::from_utf8(client.run_all(requests).expect("replies")).expect("text")
}

fn fill(engine: &Engine) {
    let mut requests = Requests::default();
    (0..500).for_each(|number| requests.push(["SET", &format!("key:{number}"), "x"]));
    engine.client().run_all(requests).expect("replies");
}

/// Another session that changes settings does not take the visit of the shards for itself.
#[test]
fn each_session_waits_for_its_orders() {
    on_each(settings(), |setting| {
        let rt = setting.build();
        let engine = builder().shards(64).build(&rt);
        fill(&engine);
        let has_ended = AtomicBool::new(false);
        let orders = || {
            let mut client = engine.client();
            // The transaction takes its time after it has set which databases are in order.
            let others = ["INCR number"; 100];
            let lines = [&["MULTI", "CONFIG SET ordered-databases 0"], &others[..], &["EXEC"]].concat();
            for _ in 0..20 {
                assert_eq!(run(&mut client, "CONFIG SET ordered-databases 1"), "+OK\r\n");
                pipeline(&mut client, &lines);
                assert_eq!(run(&mut client, "RANGECOUNT PREFIX key"), ":500\r\n");
            }
            has_ended.store(true, Ordering::SeqCst);
        };
        let others = || {
            let mut client = engine.client();
            // It ends if the other session has failed.
            for _ in 0..10_000 {
                if has_ended.load(Ordering::SeqCst) {
                    break;
                }
                run(&mut client, "CONFIG SET slowlog-max-len 100");
            }
        };
        let bodies: [Box<dyn FnOnce() + Send>; 2] = [Box::new(orders), Box::new(others)];
        side_by_side(bodies);
    });
}

#[test]
fn a_transaction_that_serves_others_waits_for_its_orders() {
    on_each(settings(), |setting| {
        let rt = setting.build();
        let engine = builder().shards(64).setting("ordered-databases", "").build(&rt);
        fill(&engine);
        let mut client = engine.client();
        for round in 0..8 {
            // The other list is mostly in another shard, which EXEC does not hold.
            let session = engine.session("");
            let (id, (promise, moved)) = (session.id(), rt.promise());
            let requests = Requests::one(["BLMOVE", "from", &format!("to:{round}"), "LEFT", "LEFT", "0"]);
            engine.submit(&rt, session, requests, move |finished: Finished, _: &mut _| {
                promise.fulfil(finished)
            });
            eventually("it waits", || {
                rt.task(()).submit(|(), _| ()).join().expect("a task");
                engine.server().clients.get(id).is_some_and(|client| client.is_blocked())
            });
            let set = "CONFIG SET ordered-databases 0";
            let replies =
                pipeline(&mut client, &["MULTI", set, "LPUSH from element", "EXEC", "RANGECOUNT PREFIX key"]);
            assert!(replies.ends_with("*2\r\n+OK\r\n:1\r\n:500\r\n"), "{replies}");
            assert_eq!(moved.join().expect("it is served").replies, b"$7\r\nelement\r\n");
            run(&mut client, "CONFIG SET ordered-databases 1");
        }
    });
}

#[test]
fn swapped_databases_have_their_orders_after_the_transaction() {
    on_each(settings(), |setting| {
        let rt = setting.build();
        let engine = builder().shards(64).build(&rt);
        fill(&engine);
        let mut client = engine.client();
        for _ in 0..4 {
            let replies = pipeline(&mut client, &["SELECT 1", "MULTI", "SWAPDB 0 1", "EXEC", "SELECT 0"]);
            assert!(replies.ends_with("*1\r\n+OK\r\n+OK\r\n"), "{replies}");
            check(&mut client);
            run(&mut client, "SELECT 1");
            assert!(run(&mut client, "RANGE - +").starts_with("-ERR the keys of this database"));
        }
    });
}

/// CONFIG SET is not the only way: a program has the settings too.
#[test]
fn a_timer_makes_the_orders_that_a_program_has_set() {
    let rt = xtasking::Runtime::builder().workers(2).build().unwrap();
    let engine = builder().build(&rt);
    fill(&engine);
    engine.server().settings.set("ordered-databases", "1").unwrap();
    engine.bound_memory(&rt);
    let mut client = engine.client();
    let mut is_ordered = |database: usize| {
        run(&mut client, &format!("SELECT {database}"));
        run(&mut client, "RANGECOUNT - +").starts_with(':')
    };
    eventually("the orders are other ones", || is_ordered(1) && !is_ordered(0) && !is_ordered(2));
}
