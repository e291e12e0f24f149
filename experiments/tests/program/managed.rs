//! The experiment `managed`.

use crate::{passes, refused, xtasking};
use serde_json::Value;
use std::fs;

#[test]
fn all_contenders_serve_every_request() {
    let directory = tempfile::tempdir().unwrap();
    let json = directory.path().join("report.json");
    let json = json.to_str().unwrap();
    let arguments = [
        "managed",
        "--quick",
        "--requests",
        "200",
        "--work",
        "5,20",
        "--cores",
        "4,8",
        "--workers",
        "1,2,4",
        "--json",
        json,
    ];
    let output = xtasking(&arguments);
    let stdout = passes(&output);
    for words in [
        "managed: 200 requests of 5µs, 20µs",
        "│ occupancy in %, 5µs each ",
        "│ occupancy in %, 20µs each ",
        "│ between requests, p50 in ns ",
        "│ virtual occupancy in %, 20µs each ",
        "│ until begin, p99 in µs ",
        "every request was served once",
    ] {
        assert!(stdout.contains(words), "'{words}' is not in: {stdout}");
    }
    let report: Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    let results = report["results"].as_array().unwrap();
    let of = |name: &str| results.iter().filter(|result| result["implementation"] == name).count();
    let cases = 12 * 3;
    // Only the runtime's two rank orders run on virtual cores.
    assert_eq!(["xtasking-exact", "xtasking-relaxed"].map(of), [cases + 4; 2]);
    let others =
        ["xtasking-observed", "managed-exact", "managed-relaxed", "mutex-heap", "skiplist", "threads"];
    assert_eq!(others.map(of), [cases; 6]);
    for result in results {
        assert_eq!(result["checked"], true, "{result}");
    }
}

#[test]
fn all_contenders_serve_every_request_in_open_loop() {
    let directory = tempfile::tempdir().unwrap();
    let [json, plot] = ["report.json", "plot.svg"].map(|name| directory.path().join(name));
    let (json, plot) = (json.to_str().unwrap(), plot.to_str().unwrap());
    let arguments =
        ["managed", "open-loop", "--quick", "--time", "5", "--service", "1,20", "--load", "50,90"];
    let output = xtasking(&[&arguments[..], &["--json", json, "--plot", plot]].concat());
    let stdout = passes(&output);
    for words in [
        "managed open-loop: requests of 1 µs at 50%, 1 µs at 90%, 20 µs at 50%",
        "│ 1 µs at 50% ",
        " p99 in µs ",
        " p50 ┆",
        " p99.9 │",
        "every request was served once",
    ] {
        assert!(stdout.contains(words), "'{words}' is not in: {stdout}");
    }
    let report: Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    let results = report["results"].as_array().unwrap();
    let names = ["managed", "managed-stealing", "managed-ranked", "tasks", "tasks-stealing", "tasks-ranked"];
    let peers = ["rayon", "tokio", "tokio-blocking", "threadpool", "ideal"];
    for name in names.into_iter().chain(peers) {
        let results: Vec<_> = results.iter().filter(|result| result["implementation"] == name).collect();
        assert_eq!(results.len(), 2 * 4, "{name}");
        for result in results {
            let [p50, p99, p999] =
                [&result["details"]["p50"], &result["median"], &result["details"]["p99.9"]]
                    .map(|percentile| percentile.as_f64().unwrap());
            assert!(0.0 < p50 && p50 <= p99 && p99 <= p999, "{result}");
        }
    }
    assert!(fs::read_to_string(plot).unwrap().starts_with("<svg"));
}

#[test]
fn clients_wait_by_every_strategy_that_a_pool_has() {
    let directory = tempfile::tempdir().unwrap();
    let json = directory.path().join("report.json");
    let json = json.to_str().unwrap();
    let arguments = [
        "managed",
        "waits",
        "--quick",
        "--service",
        "0,2",
        "--slots",
        "8",
        "--workers",
        "1,2",
        "--json",
        json,
    ];
    let output = xtasking(&arguments);
    let stdout = passes(&output);
    for words in [
        "managed waits: 500 requests of 0, 2 µs; slots and periods 8",
        "│ 0 µs, each at once ",
        "│ 2 µs, any of 8 slots ",
        "│ 2 µs, all, every 8 ",
        "after the last wait each request had run once",
    ] {
        assert!(stdout.contains(words), "'{words}' is not in: {stdout}");
    }
    let report: Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    let results = report["results"].as_array().unwrap();
    let of = |name: &str| results.iter().filter(|result| result["implementation"] == name).count();
    assert_eq!(["managed", "managed-stealing", "managed-ranked", "tasks", "tokio"].map(of), [5 * 2 * 2; 5]);
    // These have no handles, so that they cannot wait for one request of several.
    assert_eq!(["rayon", "threadpool"].map(of), [3 * 2 * 2; 2]);
}

#[test]
fn impossible_options_are_refused_in_one_line() {
    let refused = |arguments: &[&str], reason| refused(&[&["managed"], arguments].concat(), reason);
    refused(&["--requests", "0"], "--requests is 0; choose 1 to 10000000");
    refused(&["--work", "10,0"], "--work is 0; choose 1 to 1000000 µs");
    refused(&["--cores", "2000"], "--cores is 2000; choose 1 to 1024");
    refused(&["open-loop", "--service", "0"], "--service is 0; choose 1 to 10000 µs");
    refused(&["open-loop", "--load", "100"], "--load is 100; choose 1 to 99 %");
    refused(&["open-loop", "--time", "0"], "--time is 0; choose 1 to 60000 ms");
    refused(&["open-loop", "--against", "idea"], "unknown implementation 'idea'; did you mean 'ideal'?");
    refused(&["waits", "--requests", "0"], "--requests is 0; choose 1 to 10000000");
    refused(&["waits", "--slots", "0"], "--slots is 0; choose 1 to 100000");
    refused(&["waits", "--service", "20000"], "--service is 20000; choose 0 to 10000 µs");
    refused(&["--against", "skip"], "unknown implementation 'skip'");
}
