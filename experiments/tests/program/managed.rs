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
    let names =
        ["xtasking-exact", "xtasking-relaxed", "xtasking-observed", "mutex-heap", "skiplist", "threads"];
    let cases = 12 * 3;
    // Only the runtime's two rank orders run on virtual cores.
    assert_eq!(names.map(of), [cases + 4, cases + 4, cases, cases, cases, cases]);
    for result in results {
        assert_eq!(result["checked"], true, "{result}");
    }
}

#[test]
fn impossible_options_are_refused_in_one_line() {
    let refused = |arguments: &[&str], reason| refused(&[&["managed"], arguments].concat(), reason);
    refused(&["--requests", "0"], "--requests is 0; choose 1 to 10000000");
    refused(&["--work", "10,0"], "--work is 0; choose 1 to 1000000 µs");
    refused(&["--cores", "2000"], "--cores is 2000; choose 1 to 1024");
    refused(&["--against", "skip"], "unknown implementation 'skip'");
}
