//! Each sentence, and that it is not said without a reason.

use super::*;
use crate::view::{Claim, Kind, Memory, Object, Totals};

fn view() -> View {
    View {
        window: 10_000_000_000,
        totals: Totals { workers: 2, open: 3, waiting: 2.0, ..Totals::default() },
        ..View::default()
    }
}

fn object(name: &str, share: f64, queue: u64) -> Object {
    Object { name: name.to_owned(), share, queue, ..Object::default() }
}

fn working(index: usize, task: &str, seconds: f64) -> Worker {
    let (task, since) = (Some(task.to_owned()), Some((seconds * 1e9) as u64));
    Worker { index, state: "running".to_owned(), task, since, ..Worker::default() }
}

/// Returns the sentences about what stands out.
fn texts(view: &View) -> Vec<String> {
    let stands_out = findings(view).into_iter().filter(|finding| finding.level != Level::Calm);
    stands_out.map(|finding| finding.text).collect()
}

/// Returns the sentences about what does not.
fn calm(view: &View) -> Vec<String> {
    let calm = findings(view).into_iter().filter(|finding| finding.level == Level::Calm);
    calm.map(|finding| finding.text).collect()
}

#[test]
fn nothing_stands_out() {
    let (empty, mut view) = (View::default(), view());
    assert!(texts(&empty).is_empty() && texts(&view).is_empty());
    let rest = ["Nothing waits for long.", "No claim waits.", "No epoch lags."];
    assert_eq!(calm(&empty)[..], [&["No task waits or runs."][..], &rest].concat());
    (view.totals.waiting, view.totals.busy) = (FEW_WAITING / 2.0, 0.14);
    let tasks = "3 tasks wait or run; the workers are busy for 14% of their time.";
    assert_eq!(calm(&view)[..], [&[tasks][..], &rest].concat());
}

#[test]
fn one_object_has_most_of_the_waiting() {
    let mut view = View { objects: vec![object("accounts[17]", 0.8, 1204), object("b", 0.2, 0)], ..view() };
    assert_eq!(
        texts(&view),
        ["80% of the waiting is for object `accounts[17]`; 1204 tasks wait for it now."]
    );
    view.totals.waiting = FEW_WAITING / 2.0;
    assert!(texts(&view).is_empty());
    view = View { objects: vec![object("a", 0.3, 9), object("b", 0.3, 9)], ..self::view() };
    assert!(texts(&view).is_empty());
}

#[test]
fn a_task_runs_long() {
    let mut audit = working(3, "audit", 2.1);
    audit.objects = vec!["ledger".to_owned(), "a`b".to_owned()];
    let mut view = View { workers: vec![working(0, "short", 0.9), audit], ..view() };
    assert_eq!(texts(&view), ["Worker 3 has been in task `audit` on `ledger`, `a'b` for 2.1 s."]);
    view.workers[1].state = "blocked".to_owned();
    assert_eq!(
        texts(&view),
        ["Task `audit` on `ledger`, `a'b` has blocked in place for 2.1 s, at worker 3."]
    );
}

#[test]
fn a_claim_waits() {
    let claim = |holder: &str, since| Claim {
        task: "sell".to_owned(),
        wants: "write 3..6 of Shelf".to_owned(),
        holder: holder.to_owned(),
        since,
    };
    let view = |claims| View { claims, ..view() };
    let two = view(vec![claim("restock", 1_400_000_000), claim("restock", 5)]);
    let text = "The claim of task `sell` has waited 1.4 s to write 3..6 of Shelf, held by `restock`; \
                another one waits.";
    assert_eq!(texts(&two), [text]);
    let one = view(vec![claim("", 200_000_000)]);
    assert_eq!(texts(&one), ["The claim of task `sell` has waited 200 ms to write 3..6 of Shelf."]);
    assert!(texts(&view(vec![claim("restock", 1000)])).is_empty());
}

#[test]
fn an_epoch_is_held() {
    let epochs = Epochs { newest: 42, oldest: 41, retired: 12, held: 3_000_000_000 };
    let held = View { epochs, workers: vec![working(1, "scan", 4.0)], ..view() };
    let text = "Epoch 41 has been held for 3.0 s by task `scan`; 12 retired objects are kept.";
    assert!(texts(&held).contains(&text.to_owned()), "{:?}", texts(&held));
    let mut held = View { workers: vec![working(1, "scan", 0.5)], ..held };
    assert_eq!(
        texts(&held),
        ["Epoch 41 has been held for 3.0 s by a task that waits or a reader; 12 retired objects are kept."]
    );
    held.epochs.retired = 0;
    assert!(texts(&held).is_empty() && calm(&held).contains(&"No epoch lags.".to_owned()));
    held.epochs.retired = 1;
    held.epochs.held = 1000;
    assert!(calm(&held).contains(&"No epoch lags; 1 retired object is to be freed.".to_owned()));
}

#[test]
fn queues_are_loaded() {
    let mut busy = view();
    (busy.totals.busy, busy.totals.load) = (0.97, 1300);
    assert_eq!(texts(&busy), ["All 2 workers are busy, and a load of 1300 waits in run queues."]);
    let mut uneven = view();
    uneven.totals.load = 1300;
    uneven.workers = [("running", 1290), ("asleep", 10)]
        .into_iter()
        .enumerate()
        .map(|(index, (state, load))| Worker { index, state: state.to_owned(), load, ..Worker::default() })
        .collect();
    assert_eq!(texts(&uneven), ["Worker 0 has a load of 1290 in its run queue while 1 worker sleeps."]);
    uneven.workers[1].state = "running".to_owned();
    assert!(texts(&uneven).is_empty());
}

#[test]
fn alarms_come_first_and_sentences_are_few() {
    let kind = |name: &str, new_panics| Kind { name: name.to_owned(), new_panics, ..Kind::default() };
    let memory = Memory { pages: 95, limit: Some(100), newly_refused: 7, ..Memory::default() };
    let mut all = View { memory, kinds: vec![kind("a", 1), kind("b", 4), kind("c", 0)], ..view() };
    all.objects = vec![object("hot", 0.9, 0)];
    all.workers = vec![working(0, "audit", 9.0)];
    assert_eq!(
        texts(&all),
        [
            "7 spawns were refused for lack of memory in 10.0 s.",
            "1 run of task `a` panicked in 10.0 s.",
            "4 runs of task `b` panicked in 10.0 s.",
            "Worker 0 has been in task `audit` for 9.0 s.",
            "95% of the memory limit is taken.",
        ]
    );
}
