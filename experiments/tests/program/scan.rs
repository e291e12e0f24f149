//! The experiment `scan`.

use crate::{passes, refused, xtasking};
use serde_json::Value;
use std::fs;

#[test]
fn every_answer_is_compared() {
    let directory = tempfile::tempdir().unwrap();
    let json = directory.path().join("report.json");
    let sizes = ["--rows", "5k", "--batch", "1,64", "--batches", "2", "--workers", "1,2"];
    let more = ["--mix", "mixed,points,ranges", "--json", json.to_str().unwrap()];
    let stdout = passes(&xtasking(&[&["scan", "--quick"], &sizes[..], &more].concat()));
    for words in [
        "scan of 5000 rows of 14 columns",
        "│ mixed, 64 with 8 ",
        "│ points, 1 ",
        "indexes",
        "milliseconds of a batch",
        "loading: xtasking 1: ",
        "ranges: indexes is ",
    ] {
        assert!(stdout.contains(words), "'{words}' is not in: {stdout}");
    }
    assert!(stdout.ends_with("was compared with those of the oracle\n"), "{stdout}");
    let report: Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    let results = report["results"].as_array().unwrap();
    // Three mixes in two sizes, by our own with one and two workers, and by who has one alone.
    assert_eq!(results.len(), 3 * 2 * 3);
    for result in results {
        assert_eq!(result["checked"], true);
        assert!(result["details"]["batch_p99_ms"].as_f64() >= result["details"]["batch_p50_ms"].as_f64());
        assert!(result["details"]["load_seconds"].as_f64().unwrap() > 0.0);
    }
}

#[test]
fn what_cannot_work_is_refused_in_one_line() {
    let refused = |arguments: &[&str], reason| refused(&[&["scan"], arguments].concat(), reason);
    refused(&["--rows", "10"], "--rows is 10; choose 1000 to 100000000");
    refused(&["--batch", "0"], "--batch is 0; choose 1 to 65536");
    refused(&["--batches", "0"], "--batches: 0 would measure nothing");
    refused(&["--against", "duckdbs"], "unknown implementation 'duckdbs'; did you mean 'duckdb'?");
}
