//! What the page says of a runtime at work: names, waits, claims and times are those of its tasks.

use crate::client::{get, json};
use serde_json::Value;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;
use xtasking::metrics::Recording;
use xtasking::{Object, Plain, Runtime};
use xtasking_inspect::{Server, serve};
use xtasking_testing::watchdog;

/// Serves a runtime that is recorded from now on. The page alone would end its recording if this
/// process did not run for some seconds.
fn served(workers: usize) -> (Runtime, Server, Recording) {
    let rt = Runtime::builder().workers(workers).inspection(true).build().unwrap();
    let server = serve(&rt, "127.0.0.1:0").unwrap();
    let recording = rt.inspector().unwrap().record();
    (rt, server, recording)
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
    let _watched = watchdog();
    let (rt, server, _recording) = served(1);
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

/// Lets tasks wait for an object. Returns what the page says when all of them have run.
fn crowd(rt: &Runtime, server: &Server, hot: &Object<Plain<u64>>) -> Value {
    let (open, closed) = gate();
    let first = rt.task(hot.write()).name("first").submit(move |_hot, _cx| closed.recv().unwrap());
    let others: Vec<_> =
        (0..50).map(|_| rt.task(hot.write()).name("other").submit(|hot, _cx| *hot += 1)).collect();
    // They are not started yet: the object is busy, or their worker.
    let elapsed = |data: &Value| Duration::from_nanos(data["elapsed"].as_u64().unwrap());
    let waiting = until(server, |data| {
        let mut workers = data["workers"].as_array().unwrap().iter();
        workers.any(|worker| worker["task"] == "first") && data["totals"]["open"].as_u64().unwrap() >= 50
    });
    // Below a share of the window the waiting would not be worth a sentence.
    let long = elapsed(&waiting) + Duration::from_millis(200);
    until(server, |data| elapsed(data) > long);
    open.send(()).unwrap();
    first.join().unwrap();
    others.into_iter().for_each(|task| task.join().unwrap());
    let end = rt.inspector().unwrap().snapshot().unwrap().elapsed;
    until(server, |data| elapsed(data) >= end)
}

#[test]
fn what_tasks_wait_for_is_named() {
    let _watched = watchdog();
    let (rt, server, _recording) = served(2);
    let hot = rt.plain(0u64).name("hot").build();
    let is_said = |data: &Value| {
        let mut findings = data["findings"].as_array().unwrap().iter();
        let said = "of the waiting is for object `hot`";
        findings.any(|finding| finding["text"].as_str().unwrap().contains(said))
    };
    // If this process does not run for some seconds, the page begins anew, and has not seen tasks
    // that ran before.
    let mut crowds = std::iter::repeat_with(|| crowd(&rt, &server, &hot));
    let data = crowds.find(|data| data["window"] != 0).unwrap();
    assert!(is_said(&data), "{data}");
    let hot = row(&data, "objects", "name", "hot").unwrap();
    assert!(hot["share"].as_f64().unwrap() > 0.9 && hot["type"] == "u64", "{hot}");
    let other = row(&data, "kinds", "name", "other").unwrap();
    assert!(other["wait99"] != 0 && other["panics"] == 0, "{other}");
    assert!(data["waiting"]["count"].as_u64().unwrap() > 0);
}

#[test]
fn a_claim_that_waits_is_shown_with_its_holder() {
    let _watched = watchdog();
    let (rt, server, _recording) = served(2);
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
    let _watched = watchdog();
    let (rt, server, _recording) = served(1);
    until(&server, |data| data["window"].as_u64().unwrap() > 0);
    let odd = "<b>odd\"`name`</b>";
    assert!(rt.task(()).name(odd).submit(|(), _cx| panic!("as the test wants")).join().is_err());
    let is_said = |finding: &Value| {
        let text = finding["text"].as_str().unwrap();
        finding["level"] == "alarm" && text.starts_with("1 run of task `<b>odd\"'name'</b>` panicked in")
    };
    until(&server, |data| data["findings"].as_array().unwrap().iter().any(is_said));
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
