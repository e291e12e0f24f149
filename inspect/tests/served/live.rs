//! What the page says of a runtime at work: names, waits, claims and times are those of its tasks.

use crate::client::{get, json};
use serde_json::Value;
use std::sync::mpsc::{self, Receiver, Sender};
use xtasking::Runtime;
use xtasking_inspect::{Server, serve};

fn served(workers: usize) -> (Runtime, Server) {
    let rt = Runtime::builder().workers(workers).inspection(true).build().unwrap();
    let server = serve(&rt, "127.0.0.1:0").unwrap();
    (rt, server)
}

/// Asks for the data until they are as wanted. A test whose wish is never fulfilled does not end.
fn until(server: &Server, mut is_wanted: impl FnMut(&Value) -> bool) -> Value {
    loop {
        let data = json(&get(server, "/data"));
        if is_wanted(&data) {
            return data;
        }
        std::thread::yield_now();
    }
}

/// Returns the row with a name.
fn row<'a>(data: &'a Value, table: &str, member: &str, name: &str) -> Option<&'a Value> {
    data[table].as_array().unwrap().iter().find(|row| row[member] == name)
}

/// A task waits at this until the test has seen it.
fn gate() -> (Sender<()>, Receiver<()>) {
    mpsc::channel()
}

#[test]
fn a_task_that_runs_is_named_with_its_objects() {
    let (rt, server) = served(1);
    // The runtime is recorded before the task begins.
    get(&server, "/data");
    let ledger = rt.plain(0u64).name("ledger").build();
    let (open, closed) = gate();
    let audit = rt.task(ledger.write()).name("audit").submit(move |_ledger, _cx| closed.recv().unwrap());
    let data = until(&server, |data| data["workers"][0]["task"] == "audit");
    assert_eq!(
        (&data["workers"][0]["state"], &data["workers"][0]["objects"][0]),
        (&"running".into(), &"ledger".into())
    );
    let longest = "has been in task `audit` on `ledger` for";
    until(&server, |data| data["findings"][0]["text"].as_str().unwrap().contains(longest));
    open.send(()).unwrap();
    audit.join().unwrap();
    until(&server, |data| row(data, "kinds", "name", "audit").is_some());
    assert!(get(&server, "/metrics").body.contains("xtasking_task_runs_total{task=\"audit\"} 1\n"));
}

#[test]
fn what_tasks_wait_for_is_named() {
    let (rt, server) = served(2);
    get(&server, "/data");
    let hot = rt.plain(0u64).name("hot").build();
    let (open, closed) = gate();
    let first = rt.task(hot.write()).name("first").submit(move |_hot, _cx| closed.recv().unwrap());
    let others: Vec<_> =
        (0..50).map(|_| rt.task(hot.write()).name("other").submit(|hot, _cx| *hot += 1)).collect();
    // They are not started yet: the object is busy, or their worker.
    let data = until(&server, |data| {
        data["workers"].as_array().unwrap().iter().any(|worker| worker["task"] == "first")
    });
    assert!(data["totals"]["open"].as_u64().unwrap() >= 50, "{data}");
    open.send(()).unwrap();
    first.join().unwrap();
    others.into_iter().for_each(|task| task.join().unwrap());
    let is_said = |data: &Value| {
        let findings = data["findings"].as_array().unwrap();
        findings
            .iter()
            .any(|finding| finding["text"].as_str().unwrap().contains("of the waiting is for object `hot`"))
    };
    // One look may come in the midst of it: then the sentence is there, but not all tasks.
    let have_run = |data: &Value| row(data, "kinds", "name", "other").is_some_and(|kind| kind["wait99"] != 0);
    let data = until(&server, |data| is_said(data) && have_run(data));
    let hot = row(&data, "objects", "name", "hot").unwrap();
    assert!(hot["share"].as_f64().unwrap() > 0.9 && hot["type"] == "u64", "{hot}");
    assert_eq!(row(&data, "kinds", "name", "other").unwrap()["panics"], 0);
    assert!(data["waiting"]["count"].as_u64().unwrap() > 0);
}

#[test]
fn a_claim_that_waits_is_shown_with_its_holder() {
    let (rt, server) = served(2);
    get(&server, "/data");
    let shelves = rt.granules_of((0..10).map(|_| 100u32));
    let (open, closed) = gate();
    let (begun, has_begun) = gate();
    let holder = rt.task(()).name("restock").claim(shelves.write(3..6)).submit_with(move |(), _held, _cx| {
        begun.send(()).unwrap();
        closed.recv().unwrap();
    });
    has_begun.recv().unwrap();
    let waiter = rt.task(()).name("sell").claim(shelves.write(4..5)).submit_with(|(), mut held, _cx| {
        *held.get_mut(4) -= 1;
    });
    let data = until(&server, |data| row(data, "claims", "task", "sell").is_some());
    let claim = row(&data, "claims", "task", "sell").unwrap();
    assert_eq!((&claim["wants"], &claim["holder"]), (&"write 4 of u32".into(), &"restock".into()));
    open.send(()).unwrap();
    holder.join().unwrap();
    waiter.join().unwrap();
    until(&server, |data| data["claims"].as_array().unwrap().is_empty());
}

#[test]
fn panics_are_an_alarm() {
    let (rt, server) = served(1);
    until(&server, |data| data["window"].as_u64().unwrap() > 0);
    let odd = "<b>odd\"`name`</b>";
    assert!(rt.task(()).name(odd).submit(|(), _cx| panic!("as the test wants")).join().is_err());
    let data = until(&server, |data| data["findings"][0]["level"] == "alarm");
    assert!(
        data["findings"][0]["text"]
            .as_str()
            .unwrap()
            .starts_with("1 run of task `<b>odd\"'name'</b>` panicked in")
    );
    let metrics = get(&server, "/metrics").body;
    assert!(metrics.contains("xtasking_task_panics_total{task=\"<b>odd\\\"`name`</b>\"} 1\n"), "{metrics}");
}

#[test]
fn memory_and_epochs_are_those_of_the_runtime() {
    let rt =
        Runtime::builder().workers(1).inspection(true).memory_limit(1 << 30).counters(true).build().unwrap();
    let server = serve(&rt, "127.0.0.1:0").unwrap();
    rt.task(()).submit(|(), _cx| ()).join().unwrap();
    let data = json(&get(&server, "/data"));
    assert_eq!(data["memory"]["limit"], 1 << 30);
    assert!(data["memory"]["pages"].as_u64().unwrap() > 0);
    assert!(data["epochs"]["newest"].as_u64() >= data["epochs"]["oldest"].as_u64());
    let metrics = get(&server, "/metrics").body;
    assert!(metrics.contains("\nxtasking_memory_limit_bytes 1073741824\n"));
    assert!(metrics.contains("\nxtasking_external_spawns_total 1\n"), "{metrics}");
}
