//! The text is checked by a strict reader of OpenMetrics 1.0.

use super::*;
use crate::fixture::{inspection, kind, object, worker};
use serde_json::json;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A sample: name, labels, value.
type Sample = (String, Vec<(String, String)>, f64);

/// Reads a text as the specification says, and fails where it is not kept.
fn read(text: &str) -> Vec<Sample> {
    let body = text.strip_suffix("# EOF\n").expect("the end");
    assert!(body.lines().all(|line| !line.is_empty() && line != "# EOF"));
    let (mut families, mut seen) = (HashSet::new(), HashSet::new());
    let (mut name, mut kind, mut unit) = (String::new(), String::new(), String::new());
    let mut samples = Vec::new();
    for line in body.lines() {
        if let Some(comment) = line.strip_prefix("# ") {
            let mut parts = comment.splitn(3, ' ');
            let (what, family, text) =
                (parts.next().unwrap(), parts.next().unwrap(), parts.next().expect("a text"));
            match what {
                "TYPE" => {
                    assert!(families.insert(family.to_owned()), "{family} comes twice");
                    assert!(["gauge", "counter", "histogram", "stateset"].contains(&text), "{text}");
                    (name, kind, unit) = (family.to_owned(), text.to_owned(), String::new());
                    assert!(family.bytes().all(|c| c.is_ascii_lowercase() || c == b'_'), "{family}");
                    assert!(!["_total", "_count", "_sum", "_bucket"].iter().any(|end| family.ends_with(end)));
                }
                "UNIT" => {
                    assert!(family == name && family.ends_with(&format!("_{text}")), "{line}");
                    unit = text.to_owned();
                }
                "HELP" => assert!(family == name && !text.is_empty()),
                _ => panic!("{line}"),
            }
            continue;
        }
        let sample = sample(line);
        let suffix = sample.0.strip_prefix(&*name).unwrap_or_else(|| panic!("{line} is not of {name}"));
        match &*kind {
            "gauge" => assert_eq!(suffix, ""),
            "counter" => assert!(suffix == "_total" && sample.2 >= 0.0, "{line}"),
            "stateset" => {
                assert!(suffix.is_empty() && unit.is_empty() && [0.0, 1.0].contains(&sample.2));
                assert!(sample.1.iter().any(|(label, _)| *label == name), "{line}");
            }
            _ => assert!(["_bucket", "_count", "_sum"].contains(&suffix), "{line}"),
        }
        assert!(sample.2.is_finite(), "{line}");
        assert!(seen.insert(format!("{}{:?}", sample.0, sample.1)), "{line} comes twice");
        samples.push(sample);
    }
    histograms(&samples);
    samples
}

/// Reads a line with a sample.
fn sample(line: &str) -> Sample {
    let end = line.find(['{', ' ']).expect("a name with an end");
    let (name, mut rest) = line.split_at(end);
    let mut labels = Vec::new();
    if let Some(inner) = rest.strip_prefix('{') {
        rest = inner;
        loop {
            let (label, value) = rest.split_once("=\"").expect("a label and its value");
            assert!(label.bytes().all(|c| c.is_ascii_lowercase() || c == b'_'), "{label}");
            let (mut text, mut characters) = (String::new(), value.char_indices());
            let end = loop {
                match characters.next().expect("the end of the value") {
                    (at, '"') => break at + 1,
                    (_, '\\') => text.push(match characters.next().expect("what is escaped").1 {
                        'n' => '\n',
                        c @ ('\\' | '"') => c,
                        other => panic!("\\{other} is no escape"),
                    }),
                    (_, other) => text.push(other),
                }
            };
            assert!(labels.iter().all(|(other, _)| other != label), "{label} comes twice");
            labels.push((label.to_owned(), text));
            rest = &value[end..];
            if let Some(more) = rest.strip_prefix(',') {
                rest = more;
            } else {
                rest = rest.strip_prefix('}').expect("the end of the labels");
                break;
            }
        }
    }
    let value = rest.strip_prefix(' ').expect("one space").parse().expect("a number, and no more");
    (name.to_owned(), labels, value)
}

/// Checks that buckets are cumulative, in order, and end with the count.
fn histograms(samples: &[Sample]) {
    for (at, (name, labels, value)) in samples.iter().enumerate() {
        let Some(base) = name.strip_suffix("_count") else { continue };
        let buckets: Vec<_> = samples[..at]
            .iter()
            .filter(|(name, of, _)| *name == format!("{base}_bucket") && of[..of.len() - 1] == labels[..])
            .map(|(_, of, count)| {
                let (label, limit) = of.last().expect("a limit");
                assert_eq!(label, "le");
                (limit.replace('+', "").parse::<f64>().expect("a number"), *count)
            })
            .collect();
        assert!(buckets.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1), "{buckets:?}");
        assert_eq!(buckets.last(), Some(&(f64::INFINITY, *value)));
        let sum = samples[at + 1..].first().expect("the sum");
        assert!(sum.0 == format!("{base}_sum") && sum.1 == *labels && sum.2 >= 0.0);
    }
}

/// Returns the text of a runtime that is scraped for the first time.
fn text(inspection: &Inspection) -> String {
    super::text(inspection, &mut Series::default(), &[])
}

fn value(samples: &[Sample], name: &str, labels: &[(&str, &str)]) -> Option<f64> {
    let is_labelled = |of: &[(String, String)]| {
        of.len() == labels.len() && labels.iter().all(|(l, v)| of.iter().any(|(a, b)| a == l && b == v))
    };
    samples.iter().find(|(of, with, _)| of == name && is_labelled(with)).map(|sample| sample.2)
}

#[test]
fn an_empty_inspection_is_valid() {
    let samples = read(&text(&inspection(1.5, json!({}))));
    assert_eq!(value(&samples, "xtasking_age_seconds", &[]), Some(1.5));
    assert_eq!(value(&samples, "xtasking_workers", &[]), Some(2.0));
    let asleep = [("worker", "1"), ("xtasking_worker_activity", "asleep")];
    assert_eq!(value(&samples, "xtasking_worker_activity", &asleep), Some(1.0));
}

#[test]
fn numbers_are_those_of_the_inspection() {
    let mut busy = worker(1);
    (busy["queue"], busy["inbox"], busy["tasks"]) = (5.into(), 2.into(), 70.into());
    let running = [(0.000_002, 10), (0.05, 4), (20.0, 1)];
    let inspection = inspection(
        9.0,
        json!({
            "spawned": 40, "finished": 30, "workers": [worker(0), busy],
            "kinds": [kind("transfer", &running, 3)],
            "objects": [
                object(Some("ledger"), 64, 8, 0.5, 2),
                object(Some("ledger"), 128, 1, 0.25, 0),
                object(None, 192, 9, 1.0, 1),
            ],
        }),
    );
    let samples = read(&text(&inspection));
    let of = |name, labels: &[_]| value(&samples, name, labels).unwrap_or_else(|| panic!("{name}"));
    assert_eq!(of("xtasking_tasks_spawned_total", &[]), 40.0);
    assert_eq!(of("xtasking_tasks_unfinished", &[]), 10.0);
    assert_eq!(of("xtasking_worker_load", &[("worker", "1")]), 7.0);
    assert_eq!(of("xtasking_worker_runs_total", &[("worker", "1")]), 70.0);
    let task = ("task", "transfer");
    assert_eq!(of("xtasking_task_panics_total", &[task]), 3.0);
    for (limit, count) in
        [("1e-6", 0.0), ("3e-6", 10.0), ("0.03", 10.0), ("0.1", 14.0), ("10.0", 14.0), ("+Inf", 15.0)]
    {
        assert_eq!(of("xtasking_task_run_seconds_bucket", &[task, ("le", limit)]), count, "{limit}");
    }
    assert!((of("xtasking_task_run_seconds_sum", &[task]) - 20.200_02).abs() < 1e-6);
    // Objects of one name are one; those without a name are left out.
    assert_eq!(of("xtasking_object_accesses", &[("object", "ledger")]), 9.0);
    assert_eq!(of("xtasking_object_wait_seconds", &[("object", "ledger")]), 0.75);
    assert_eq!(samples.iter().filter(|(name, ..)| name == "xtasking_object_accesses").count(), 1);
}

#[test]
fn names_are_escaped() {
    let odd = "a\"b\\c\nd} 1\n# EOF\n{le=\"é\"";
    let inspection = inspection(
        1.0,
        json!({ "kinds": [kind(odd, &[(0.1, 2)], 0)], "objects": [object(Some(odd), 64, 3, 0.0, 0)] }),
    );
    let samples = read(&text(&inspection));
    assert_eq!(value(&samples, "xtasking_task_runs_total", &[("task", odd)]), Some(2.0));
    assert_eq!(value(&samples, "xtasking_object_accesses", &[("object", odd)]), Some(3.0));
}

#[test]
fn counters_are_there_if_they_are_on() {
    let counters = serde_json::to_value(Counters::default()).unwrap();
    let samples = read(&text(&inspection(1.0, json!({ "counters": counters }))));
    assert_eq!(value(&samples, "xtasking_latch_waits_total", &[]), Some(0.0));
    assert_eq!(value(&read(&text(&inspection(1.0, json!({})))), "xtasking_latch_waits_total", &[]), None);
}

/// The runtime measures its clock's ticks as it goes on: times of the same ticks may shrink.
#[test]
fn what_counts_never_falls() {
    let at = |busy: f64, run: f64| {
        let mut worker = worker(0);
        (worker["busy"], worker["queue"]) = (crate::fixture::time(busy), ((busy * 10.0) as u64).into());
        inspection(9.0, json!({ "workers": [worker], "kinds": [kind("work", &[(run, 4)], 0)] }))
    };
    let mut series = Series::default();
    let mut read = |busy, run| self::read(&super::text(&at(busy, run), &mut series, &[]));
    let (first, second) = (read(2.0, 0.01), read(1.999_999_9, 0.010_000_001));
    let third = read(3.0, 0.009_999_99);
    let of = |samples, name, labels: &[_]| value(samples, name, labels).unwrap_or_else(|| panic!("{name}"));
    let (busy, worker) = ("xtasking_worker_busy_seconds_total", [("worker", "0")]);
    assert_eq!(
        (of(&first, busy, &worker), of(&second, busy, &worker), of(&third, busy, &worker)),
        (2.0, 2.0, 3.0)
    );
    // A gauge falls.
    assert_eq!(
        (of(&second, "xtasking_worker_load", &worker), of(&third, "xtasking_worker_load", &worker)),
        (19.0, 30.0)
    );
    let bucket = [("task", "work"), ("le", "0.01")];
    assert_eq!(of(&second, "xtasking_task_run_seconds_bucket", &bucket), 4.0);
    let sum = |samples| of(samples, "xtasking_task_run_seconds_sum", &[("task", "work")]);
    assert!(sum(&first) <= sum(&second) && sum(&second) <= sum(&third));
}

#[test]
fn names_are_bounded_and_stay() {
    let runs = |name: usize| kind(&format!("{name:03}"), &[(0.1, 1)], 0);
    let all = |names: std::ops::Range<usize>| {
        inspection(1.0, json!({ "kinds": names.map(runs).collect::<Vec<_>>() }))
    };
    let mut series = Series::default();
    let mut read = |names| self::read(&super::text(&all(names), &mut series, &[]));
    let tasks = |samples: &[Sample]| {
        let of = samples.iter().filter(|(name, ..)| name == "xtasking_task_runs_total");
        of.map(|(_, labels, count)| (labels[0].1.clone(), *count)).collect::<Vec<_>>()
    };
    assert_eq!(tasks(&read(100..200)).len(), 100);
    // The first 28 of those that are new are labels, from now on.
    let second = tasks(&read(0..300));
    assert_eq!((second.len(), second.last()), (129, Some(&(Inspection::OTHER_KINDS.to_owned(), 172.0))));
    let names = |tasks: &[(String, f64)]| tasks.iter().map(|(name, _)| name.clone()).collect::<HashSet<_>>();
    assert!(names(&second).contains("027") && !names(&second).contains("028"));
    assert_eq!(names(&tasks(&read(0..400))), names(&second));
}

#[test]
fn metrics_of_the_program_follow_those_of_the_runtime() {
    let reads = Arc::new(AtomicU64::new(9));
    let counter = reads.clone();
    // It falls, as a counter that was reset.
    let falling = move || counter.fetch_sub(1, Ordering::Relaxed) as f64;
    let by_name = || vec![("get".to_owned(), 3.0), ("a \"b\"".to_owned(), 4.0)];
    let own = [
        Metric::gauge("shop_open", "Whether \\ it is open.", || 1.0),
        Metric::counter("shop_orders", "Orders.", falling),
        Metric::counters("shop_calls", "Calls.", "name", by_name),
        Metric::gauge("shop_broken", "Fails.", || panic!("in a test")),
    ];
    let mut series = Series::default();
    let mut text = || super::text(&inspection(1.0, json!({})), &mut series, &own);
    let samples = read(&text());
    assert_eq!(value(&samples, "shop_open", &[]), Some(1.0));
    assert_eq!(value(&samples, "shop_orders_total", &[]), Some(9.0));
    assert_eq!(value(&samples, "shop_broken", &[]), None);
    assert_eq!(value(&samples, "shop_calls_total", &[("name", "get")]), Some(3.0));
    let second = text();
    assert!(second.contains("# HELP shop_open Whether \\\\ it is open.\n"), "{second}");
    assert!(second.contains("shop_calls_total{name=\"a \\\"b\\\"\"} 4\n"), "{second}");
    assert_eq!(value(&read(&second), "shop_orders_total", &[]), Some(8.0));
}

#[test]
#[should_panic = "there is a metric `orders_total` already"]
fn metrics_with_the_same_samples_are_refused() {
    let orders = Metric::counter("orders", "", || 0.0);
    let _ = crate::Builder::new().metric(orders).metric(Metric::gauge("orders_total", "", || 0.0));
}

#[test]
fn names_that_no_metric_can_have_are_refused() {
    for name in ["", "7up", "a-b", "a b", "ä"] {
        let made = std::panic::catch_unwind(|| Metric::gauge(name, "", || 0.0));
        assert!(made.is_err(), "`{name}`");
    }
    assert!(std::panic::catch_unwind(|| Metric::counter("orders_total", "", || 0.0)).is_err());
}
