//! Commands that wait for a key.

use super::{engine, run, runtime};
use std::thread;
use xtasking_store::Engine;
use xtasking_testing::watchdog;

/// Runs a command that waits on a thread of its own, then `wake` once it waits, and returns its
/// reply.
fn waiting(engine: &Engine, command: &str, wake: &[&str]) -> String {
    let mut client = engine.client();
    let mut waker = engine.client();
    let command = command.to_owned();
    let waiter = thread::spawn(move || run(&mut client, &command));
    while !run(&mut waker, "info clients").contains("blocked_clients:1") {
        thread::yield_now();
    }
    for command in wake {
        run(&mut waker, command);
    }
    waiter.join().expect("a reply")
}

#[test]
fn a_push_serves_what_waits() {
    let rt = runtime();
    let engine = engine(&rt);
    let cases = [
        ("blpop a b 0", "*2\r\n$1\r\nb\r\n$1\r\n1\r\n"),
        ("brpop b a 0", "*2\r\n$1\r\nb\r\n$1\r\n2\r\n"),
        ("blmpop 0 2 a b left count 5", "*2\r\n$1\r\nb\r\n*2\r\n$1\r\n1\r\n$1\r\n2\r\n"),
        ("blmove b c left right 0", "$1\r\n1\r\n"),
        ("brpoplpush b c 0", "$1\r\n2\r\n"),
    ];
    for (command, reply) in cases {
        // A push on a key of another type does not end the wait.
        assert_eq!(waiting(&engine, command, &["set a text", "rpush b 1 2"]), reply, "{command}");
        run(&mut engine.client(), "del a b c");
    }
    assert_eq!(
        waiting(&engine, "bzpopmin z 0", &["zadd z 1 a 2 b"]),
        "*3\r\n$1\r\nz\r\n$1\r\na\r\n$1\r\n1\r\n"
    );
    assert_eq!(
        waiting(&engine, "bzmpop 0 1 y max", &["zadd y 1 a 2 b"]),
        "*2\r\n$1\r\ny\r\n*1\r\n*2\r\n$1\r\nb\r\n$1\r\n2\r\n"
    );
}

#[test]
fn a_move_reaches_keys_of_all_shards() {
    let rt = runtime();
    let engine = engine(&rt);
    for number in 0..8 {
        let command = format!("blmove source target{number} left right 0");
        assert_eq!(waiting(&engine, &command, &["rpush source x"]), "$1\r\nx\r\n");
        assert_eq!(run(&mut engine.client(), &format!("lpop target{number}")), "$1\r\nx\r\n");
    }
}

#[test]
fn a_chain_of_moves_is_served_by_one_push() {
    let rt = runtime();
    let engine = engine(&rt);
    let mut first = engine.client();
    let mover = thread::spawn(move || run(&mut first, "blmove a b left left 0"));
    let reply = {
        let mut waker = engine.client();
        while !run(&mut waker, "info clients").contains("blocked_clients:1") {
            thread::yield_now();
        }
        let mut second = engine.client();
        let popper = thread::spawn(move || run(&mut second, "blpop b 0"));
        while !run(&mut waker, "info clients").contains("blocked_clients:2") {
            thread::yield_now();
        }
        run(&mut waker, "rpush a x");
        popper.join().expect("a reply")
    };
    assert_eq!(reply, "*2\r\n$1\r\nb\r\n$1\r\nx\r\n");
    assert_eq!(mover.join().expect("a reply"), "$1\r\nx\r\n");
}

/// For the first key the command runs again without result, and meanwhile the second one changes.
/// More keys, on which nothing happens, let the run take long.
#[test]
fn no_push_is_lost_beside_a_run_without_result() {
    let _watched = watchdog();
    let rt = runtime();
    let engine = engine(&rt);
    let others: Vec<_> = (0..300).map(|number| format!("other{number}")).collect();
    let command = format!("blpop {} b a 0", others.join(" "));
    let mut waker = engine.client();
    for round in 0..40 {
        let mut client = engine.client();
        let waiter = thread::spawn({
            let command = command.clone();
            move || run(&mut client, &command)
        });
        while !run(&mut waker, "info clients").contains("blocked_clients:1") {
            thread::yield_now();
        }
        let mut other = engine.client();
        let emptied = thread::spawn(move || run(&mut other, "set a text"));
        run(&mut waker, &format!("rpush b {round}"));
        assert!(waiter.join().expect("a reply").starts_with("*2\r\n$1\r\nb"), "round {round}");
        emptied.join().expect("a reply");
        run(&mut waker, "del a");
    }
}
