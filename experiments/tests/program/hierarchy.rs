//! The experiments `hierarchy` and `stmbench7`.

use crate::{passes, refused, xtasking};
use serde_json::Value;
use std::fs;

#[test]
fn tasks_on_sub_trees_leave_what_they_must() {
    let directory = tempfile::tempdir().unwrap();
    let json = directory.path().join("report.json");
    let json = json.to_str().unwrap();
    let arguments =
        ["hierarchy", "--quick", "--nodes", "2k", "--tasks", "500", "--workers", "1,2", "--json", json];
    let stdout = passes(&xtasking(&arguments));
    for words in
        ["a treebank, made up · 500 tasks · 2000 granules · seed 42", "│ nodes ", "4 nodes, 70% read, skew 8"]
    {
        assert!(stdout.contains(words), "'{words}' is not in: {stdout}");
    }
    let report: Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    let results = report["results"].as_array().unwrap();
    let of = |name: &str| results.iter().filter(|result| result["implementation"] == name).count();
    // Two cases with two numbers of workers each.
    assert_eq!(["lines", "coarse", "domlock", "numlock"].map(of), [4; 4]);
}

/// The same on any number of cores, and twice the same.
#[test]
fn virtual_time_can_be_replayed() {
    let arguments = [
        "hierarchy",
        "--virtual",
        "--nodes",
        "2k",
        "--tasks",
        "300",
        "--workers",
        "14",
        "--repetitions",
        "1",
    ];
    let once = || {
        let stdout = passes(&xtasking(&arguments));
        assert!(stdout.contains("lines with 14: the busiest worker had "), "{stdout}");
        let from = stdout.find("in virtual time").expect("it says so");
        stdout[from..].to_string()
    };
    assert_eq!(once(), once());
}

#[test]
fn operations_keep_the_invariants_and_can_be_done_again() {
    let small = ["stmbench7", "--small", "--repetitions", "1", "--operations", "400", "--workers", "2"];
    for (more, words) in [(None, ""), (Some("--snapshots"), ", long reads by snapshots")] {
        let arguments: Vec<&str> = small.into_iter().chain(more).collect();
        let stdout = passes(&xtasking(&arguments));
        let title = format!(
            "STMBench7: 400 operations, 4 a worker at a time{words} · 20 composite parts of 10 atomic ones"
        );
        for words in [title.as_str(), "write-dominated, long traversals"] {
            assert!(stdout.contains(words), "'{words}' is not in: {stdout}");
        }
    }
}

/// The same on any number of cores, and twice the same.
#[test]
fn operations_in_virtual_time_can_be_replayed() {
    let arguments = [
        "stmbench7",
        "--virtual",
        "--small",
        "--operations",
        "300",
        "--workers",
        "16",
        "--workload",
        "read-write",
    ];
    let once = || {
        let stdout = passes(&xtasking(&arguments));
        for words in [
            "read-write, long traversals",
            "read-write · lines with 16: the busiest worker had ",
            "1 repetition",
        ] {
            assert!(stdout.contains(words), "'{words}' is not in: {stdout}");
        }
        let from = stdout.find("in virtual time").expect("it says so");
        stdout[from..].to_string()
    };
    assert_eq!(once(), once());
}

#[test]
fn what_cannot_work_is_refused_in_one_line() {
    refused(&["hierarchy", "--granules", "0", "--nodes", "100"], "--granules is 0");
    refused(&["hierarchy", "--tasks", "0"], "--tasks is 0; choose 1 to 100M");
    refused(&["hierarchy", "--skew", "17"], "--skew");
    refused(&["stmbench7", "--operations", "0"], "--operations is 0; choose 1 to 100M");
    refused(&["stmbench7", "--clients", "0"], "--clients is 0; choose 1 to 1000");
}
