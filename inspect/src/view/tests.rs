//! Views of two inspections.

use super::*;
use crate::fixture::{inspection, kind, label, object, time, worker};
use serde_json::json;

#[test]
fn rates_are_of_the_time_between() {
    let mut busy = worker(0);
    (busy["busy"], busy["tasks"], busy["activity"]) = (time(1.0), 100.into(), "Running".into());
    let older =
        inspection(10.0, json!({ "kinds": [kind("work", &[(0.1, 100)], 0)], "workers": [busy, worker(1)] }));
    (busy["busy"], busy["tasks"], busy["queue"], busy["inbox"]) = (time(2.5), 400.into(), 6.into(), 1.into());
    busy["running"] = json!([
        {"task": "writes", "running": time(0.5), "is_blocked": true, "objects": []},
        {
            "task": "audit", "running": time(0.25), "is_blocked": false,
            "objects": [label(Some("ledger"), 64), label(None, 128)],
        },
    ]);
    let newer = inspection(
        12.0,
        json!({
            "finished": 900, "spawned": 910, "kinds": [kind("work", &[(0.1, 500)], 0)],
            "workers": [busy, worker(1)],
        }),
    );
    let view = build(&newer, Some(&older));
    assert_eq!((view.window, view.totals.rate, view.totals.open), (2_000_000_000, 200.0, 10));
    assert_eq!((view.totals.load, view.totals.busy, view.totals.asleep), (7, 0.375, 1));
    let first = &view.workers[0];
    assert_eq!((first.busy, first.rate, first.load, &*first.state), (0.75, 150.0, 7, "running"));
    assert_eq!((first.task.as_deref(), first.since), (Some("audit"), Some(250_000_000)));
    assert_eq!(first.objects, ["ledger", "Account at 0x80"]);
    // A task that has begun while its worker was looked at.
    busy["activity"] = "Asleep".into();
    let newer = inspection(12.0, json!({ "workers": [busy, worker(1)] }));
    assert_eq!(build(&newer, None).workers[0].state, "running");
}

#[test]
fn the_first_view_has_no_rates() {
    let view = build(&inspection(3.0, json!({ "finished": 9, "spawned": 9 })), None);
    assert_eq!((view.window, view.totals.rate, view.totals.finished), (0, 0.0, 9));
}

#[test]
fn objects_have_shares_of_the_waiting() {
    let objects = |hot, waited| {
        json!([object(Some("hot"), 64, hot, waited, 12), object(Some("calm"), 128, 50, 0.5, 0)])
    };
    // 2,000 tasks of 1 ms wait meanwhile.
    let ran = |runs| json!([kind("transfer", &[(0.001, runs)], 0)]);
    let older = inspection(10.0, json!({ "objects": objects(100, 1.0), "kinds": ran(500) }));
    let mut all = objects(300, 2.5);
    all[1]["accesses"] = 60.into();
    all[1]["waited"] = time(1.0);
    all.as_array_mut().unwrap().push(object(None, 192, 4, 0.0, 0));
    let view = build(&inspection(12.0, json!({ "objects": all, "kinds": ran(2500) })), Some(&older));
    let [hot, calm, other] = &view.objects[..] else { panic!("{:?}", view.objects) };
    let share = |share: f64| (share * 1e6).round() / 1e6;
    assert_eq!((&*hot.name, share(hot.share), hot.rate, hot.queue), ("hot", 0.75, 100.0, 12));
    assert_eq!(hot.wait, 1_500_000_000 / 200);
    assert_eq!((&*calm.name, share(calm.share), calm.rate), ("calm", 0.25, 5.0));
    assert_eq!((&*other.name, other.rate, &*other.primitive), ("Account at 0xc0", 2.0, "Sequencing"));
    assert_eq!(share(view.totals.waiting), 1.0);
}

#[test]
fn a_new_session_counts_objects_anew() {
    let older =
        inspection(10.0, json!({ "objects": [object(Some("hot"), 64, 100, 4.0, 0)], "session": time(8.0) }));
    let newer =
        inspection(12.0, json!({ "objects": [object(Some("hot"), 64, 30, 1.0, 0)], "session": time(1.0) }));
    let view = build(&newer, Some(&older));
    assert_eq!((view.objects[0].rate, view.objects[0].waited), (15.0, 1_000_000_000));
}

#[test]
fn kinds_are_those_that_ran_longest() {
    let older = inspection(10.0, json!({ "kinds": [kind("short", &[(0.001, 100)], 1)] }));
    let kinds = json!([kind("short", &[(0.001, 200)], 1), kind("long", &[(0.1, 3)], 2)]);
    let view = build(&inspection(12.0, json!({ "kinds": kinds })), Some(&older));
    let [long, short] = &view.kinds[..] else { panic!("{:?}", view.kinds) };
    assert_eq!(
        (&*long.name, (1e6 * long.share).round(), long.rate, long.new_panics),
        ("long", 750_000.0, 1.5, 2)
    );
    assert_eq!((&*short.name, short.rate, short.run50, short.new_panics), ("short", 50.0, 1_000_000, 0));
    assert_eq!((view.running.count, view.running.max, view.waiting.p50), (103, 100_000_000, 1_000_000));
}

#[test]
fn kinds_that_did_nothing_in_the_window_are_left_out() {
    let mut cancelled = kind("cancelled", &[(0.1, 2)], 0);
    let older =
        json!({ "kinds": [kind("past", &[(0.1, 9)], 1), cancelled, kind("present", &[(0.1, 1)], 0)] });
    cancelled["finished"] = 3.into();
    let newer =
        json!({ "kinds": [kind("past", &[(0.1, 9)], 1), cancelled, kind("present", &[(0.1, 2)], 0)] });
    let view = build(&inspection(12.0, newer), Some(&inspection(10.0, older)));
    let names: Vec<_> = view.kinds.iter().map(|kind| &*kind.name).collect();
    assert_eq!(names, ["present", "cancelled"]);
}

#[test]
fn an_older_inspection_may_be_of_an_older_runtime() {
    let view = build(&inspection(1.0, json!({})), Some(&inspection(2.0, json!({}))));
    assert_eq!(view.window, 0);
}

#[test]
fn claims_say_what_they_want() {
    let claim = |task, seconds: f64, ranges| {
        json!({
            "task": task, "data": "shop::Shelf", "address": 64, "ranges": ranges, "is_write": true,
            "holders": ["restock"], "ahead": 0, "waiting": time(seconds),
        })
    };
    let ranges = |ranges: &[(u32, u32)]| {
        ranges.iter().map(|(start, end)| json!({"start": start, "end": end})).collect::<Vec<_>>()
    };
    let few = claim("sell", 0.5, ranges(&[(3, 6), (9, 10)]));
    let many = claim("count", 1.5, ranges(&[(1, 2), (3, 4), (5, 6), (7, 8), (9, 10)]));
    let view = build(&inspection(2.0, json!({ "claims": [few, many] })), None);
    assert_eq!(
        (&*view.claims[0].wants, view.claims[0].since),
        ("write 1, 3, 5 and 2 more of Shelf", 1_500_000_000)
    );
    assert_eq!((&*view.claims[1].wants, &*view.claims[1].holder), ("write 3..6, 9 of Shelf", "restock"));
}
