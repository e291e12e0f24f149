//! Rights of users, as tasks check them.

use super::{run, text};
use crate::command::resolve;
use crate::engine::batch::Batch;
use crate::engine::turn::Turn;
use crate::engine::{Engine, Finished};
use crate::keyspace::HeldShards;
use crate::resp::Requests;
use crate::session::Session;
use xtasking::{Context, Handle, Runtime};
use xtasking_testing::eventually;

#[test]
fn a_request_that_rights_forbid_takes_no_shards() {
    let rt = Runtime::builder().workers(1).build().unwrap();
    let rules = "limited on nopass ~own:* +@all -flushall -keys -swapdb";
    let engine = Engine::builder().shards(1).user(rules).build(&rt);
    let mut client = engine.client();
    run(&mut client, "RPUSH own:list 1");
    // What runs while the task holds the only shard takes none.
    let run_without_shards = |line: &str| {
        let mut requests = Requests::one(["AUTH", "limited", "any"]);
        requests.push(line.split(' '));
        let (own, session) = (engine.clone(), engine.session(""));
        let task = rt.task(engine.inner.shards[0].write());
        let run = move |cx: &mut Context| own.run(cx, session, requests, |_: Finished, _: &mut Context| {});
        task.submit(move |_, cx| run(cx)).join().unwrap().map(|finished| text(&finished.replies))
    };
    for line in [
        "FLUSHALL",
        "KEYS *",
        "SWAPDB 0 1",
        "GET other",
        "SET other 1",
        "MSET own:a 1 other 2",
        "DEL own:a other",
        "RANGE - + VALUES",
        "RANGEDEL - +",
        "SORT own:list BY w_*",
        "SORT_RO own:list GET w_*",
    ] {
        let replies = run_without_shards(line).unwrap_or_else(|| panic!("{line} waits for the shard"));
        assert!(replies.starts_with("+OK\\r\\n-NOPERM") || replies.contains("of SORT denied"), "{replies}");
    }
    assert_eq!(run_without_shards("GET own:list"), None);
    let log = run(&mut client, "ACL LOG");
    assert!(log.contains("flushall"));
    // Those that reach keys which are not among the arguments are there too.
    assert!(log.contains("$6\\r\\nobject\\r\\n$1\\r\\n*\\r\\n"), "{log}");
}

#[test]
fn a_transaction_takes_no_shards_for_commands_whose_rights_are_gone() {
    let rt = Runtime::builder().workers(1).build().unwrap();
    let engine = Engine::builder().shards(1).user("limited on nopass ~* +@all").build(&rt);
    let queue = || {
        let mut requests = Requests::one(["AUTH", "limited", "any"]);
        for line in ["MULTI", "SET key 1", "FLUSHALL", "SORT list BY other_*", "PING"] {
            requests.push(line.split(' '));
        }
        let (promise, handle) = rt.promise();
        engine.submit(&rt, engine.session(""), requests, move |finished: Finished, _: &mut Context| {
            promise.fulfil(finished.session);
        });
        handle.join().unwrap()
    };
    // What runs while the task holds the only shard takes none.
    let execute_without_shards = |session| {
        let own = engine.clone();
        let task = rt.task(engine.inner.shards[0].write());
        let exec = Requests::one(["EXEC"]);
        let run = move |cx: &mut Context| own.run(cx, session, exec, |_: Finished, _: &mut Context| {});
        task.submit(move |_, cx| run(cx)).join().unwrap().map(|finished| text(&finished.replies))
    };
    let session = queue();
    assert_eq!(execute_without_shards(session), None, "all rights are there");
    let session = queue();
    run(&mut engine.client(), "ACL SETUSER limited resetkeys ~list -flushall");
    let replies = execute_without_shards(session).expect("nothing that runs has a key");
    assert!(replies.starts_with("*4\\r\\n-NOPERM ") && replies.ends_with("+PONG\\r\\n"), "{replies}");
    assert_eq!(
        replies.matches("-NOPERM ").count() + replies.matches("of SORT denied").count(),
        3,
        "{replies}"
    );
    let log = run(&mut engine.client(), "ACL LOG");
    for object in ["key", "flushall", "*"] {
        let entry = format!("object\\r\\n${}\\r\\n{object}\\r\\n", object.len());
        assert!(log.contains(&entry), "{log}");
    }
    // Each is noted once.
    assert!(!log.contains("count\\r\\n:2"), "{log}");
}

#[test]
fn rights_that_change_before_a_request_has_its_shards_count() {
    let rt = Runtime::builder().workers(1).build().unwrap();
    let engine = Engine::builder().shards(1).user("limited on nopass ~own:* +@all -flushall").build(&rt);
    let login = |engine: Engine, session| {
        let own = engine.clone();
        let requests = Requests::one(["AUTH", "limited", "any"]);
        let task = rt
            .task(())
            .submit(move |(), cx| own.run(cx, session, requests, |_: Finished, _: &mut Context| {}));
        task.join().unwrap().expect("it takes no shard").session
    };
    let session = login(engine.clone(), engine.session(""));
    let inner = engine.inner.clone();
    let mut batch = Batch::new(
        inner.clone(),
        session,
        Requests::one(["PING"]),
        Box::new(|_: Finished, _: &mut Context| {}),
    );
    batch.checked = Some(Ok(()));
    run(&mut engine.client(), "ACL SETUSER limited -ping");
    let command = resolve(batch.requests.args(0)).ok();
    let mut batch = Some(batch);
    Turn::new(&inner, 0).run(&inner, HeldShards::None, command, &mut batch);
    let replies = batch.expect("it is done").into_finished().0.replies;
    assert!(replies.starts_with(b"-NOPERM"), "{}", text(&replies));
}

/// Queues commands in a transaction of a user. Returns the session.
fn queued(engine: &Engine, rt: &Runtime, commands: &[&str]) -> Box<Session> {
    let mut requests = Requests::one(["AUTH", "limited", "any"]);
    ["MULTI"].iter().chain(commands).for_each(|line| requests.push(line.split(' ')));
    let (promise, handle) = rt.promise();
    engine.submit(rt, engine.session(""), requests, move |finished: Finished, _: &mut Context| {
        promise.fulfil(finished);
    });
    let Finished { session, replies, .. } = handle.join().unwrap();
    assert!(!text(&replies).contains("-"), "{}", text(&replies));
    session
}

fn exec(engine: &Engine, rt: &Runtime, session: Box<Session>) -> Handle<Finished> {
    let (promise, handle) = rt.promise();
    engine.submit(rt, session, Requests::one(["EXEC"]), move |finished: Finished, _: &mut Context| {
        promise.fulfil(finished);
    });
    handle
}

#[test]
fn rights_that_come_back_while_exec_is_held_count() {
    let rt = Runtime::builder().workers(2).build().unwrap();
    let engine = Engine::builder().shards(4).user("limited on nopass ~* &* +@all").build(&rt);
    let mut root = engine.client();
    let session = queued(&engine, &rt, &["SET key 1"]);
    let id = session.id();
    run(&mut root, "ACL SETUSER limited -set");
    run(&mut root, "CLIENT PAUSE 100000000 WRITE");
    let handle = exec(&engine, &rt, session);
    eventually("EXEC is held", || engine.server().clients.get(id).is_some_and(|client| client.is_blocked()));
    run(&mut root, "ACL SETUSER limited +@all");
    run(&mut root, "CLIENT UNPAUSE");
    assert_eq!(text(&handle.join().unwrap().replies), "*1\\r\\n+OK\\r\\n");
    assert_eq!(run(&mut root, "GET key"), "$1\\r\\n1\\r\\n");
}

#[test]
fn commands_after_a_queued_login_have_the_rights_of_that_user() {
    let rt = Runtime::builder().workers(1).build().unwrap();
    for login in ["AUTH other any", "HELLO 3 AUTH other any"] {
        let builder = Engine::builder().shards(4).user("limited on nopass ~* &* +@all");
        let engine = builder.user("other on nopass ~* +@all -get").build(&rt);
        let session = queued(&engine, &rt, &["SET one 1", login, "SET two 2", "GET two"]);
        run(&mut engine.client(), "ACL SETUSER limited -set");
        let replies = text(&exec(&engine, &rt, session).join().unwrap().replies);
        assert_eq!(replies.matches("-NOPERM").count(), 2, "{login}: {replies}");
        assert_eq!(run(&mut engine.client(), "EXISTS one"), ":0\\r\\n");
        assert_eq!(run(&mut engine.client(), "EXISTS two"), ":1\\r\\n", "{login}");
    }
}
