//! Inspections for the tests, written as JSON.

use serde_json::{Value, json};
use xtasking::metrics::Inspection;

/// Returns a time as the inspections have it.
pub(crate) fn time(seconds: f64) -> Value {
    json!({"secs": seconds as u64, "nanos": (seconds.fract() * 1e9).round() as u32})
}

/// Returns a histogram with buckets of a number of seconds.
pub(crate) fn histogram(buckets: &[(f64, u64)]) -> Value {
    let buckets = buckets.iter().map(|&(up_to, count)| json!({"up_to": time(up_to), "count": count}));
    json!({"buckets": buckets.collect::<Vec<_>>()})
}

/// Returns an object's label.
pub(crate) fn label(name: Option<&str>, address: usize) -> Value {
    json!({"name": name, "data": "bank::Account", "address": address, "primitive": "Sequencing"})
}

/// Returns a worker that does nothing.
pub(crate) fn worker(index: usize) -> Value {
    json!({
        "worker": index, "owner": index, "activity": "Asleep", "running": [], "queue": 0,
        "inbox": 0, "unbound": 0,
        "tasks": 0, "busy": time(0.0), "asleep": time(0.0), "steals": 0, "sleeps": 0,
    })
}

/// Returns an object with its accesses and the seconds that tasks waited for it.
pub(crate) fn object(name: Option<&str>, address: usize, accesses: u64, waited: f64, queued: u64) -> Value {
    json!({
        "object": label(name, address), "accesses": accesses, "error": 0, "waits": accesses / 2,
        "waited": time(waited), "queued": queued,
    })
}

/// Returns a kind of task with times of its runs, in seconds.
pub(crate) fn kind(name: &str, running: &[(f64, u64)], panics: u64) -> Value {
    let runs: u64 = running.iter().map(|&(_, count)| count).sum();
    json!({
        "name": name, "finished": runs, "runs": runs, "panics": panics,
        "waiting": histogram(&[(0.001, runs)]), "running": histogram(running),
    })
}

/// Returns an inspection of two workers with nothing to do, in which the given members are
/// replaced.
pub(crate) fn inspection(elapsed: f64, members: Value) -> Inspection {
    let mut all = serde_json::to_value(Inspection::default()).expect("an inspection is plain data");
    all["elapsed"] = time(elapsed);
    all["session"] = time(elapsed);
    all["is_recording"] = true.into();
    all["size"] = 2.into();
    all["workers"] = json!([worker(0), worker(1)]);
    for (member, value) in members.as_object().expect("members with names") {
        all[member] = value.clone();
    }
    serde_json::from_value(all).expect("the members of an inspection")
}
