//! The experiments `hierarchy` and `stmbench7`.

use crate::{passes, refused, xtasking};
use serde_json::Value;
use std::fs;

#[test]
fn tasks_on_subtrees_leave_the_expected_state() {
    let directory = tempfile::tempdir().unwrap();
    let json = directory.path().join("report.json");
    let json = json.to_str().unwrap();
    let arguments =
        ["hierarchy", "--quick", "--nodes", "2k", "--tasks", "500", "--workers", "1,2", "--json", json];
    let stdout = passes(&xtasking(&arguments));
    for words in [
        "500 tasks · seed 42",
        "a generated treebank · 2000 granules",
        "│ nodes ",
        "4 nodes, 70% read, skew 8",
    ] {
        assert!(stdout.contains(words), "'{words}' is not in: {stdout}");
    }
    let report: Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    let results = report["results"].as_array().unwrap();
    let of = |name: &str| results.iter().filter(|result| result["implementation"] == name).count();
    // Two cases with two numbers of workers each.
    let all = ["lines", "trees", "coarse", "domlock", "numlock", "toggle", "toggle-numlock"];
    assert_eq!(all.map(of), [4; 7]);
    assert_eq!(["coarse-parked", "domlock-parked", "numlock-parked"].map(of), [4; 3]);
    for result in results {
        let detail =
            |name: &str| result["details"][name].as_f64().unwrap_or_else(|| panic!("no {name}: {result}"));
        assert!(detail("p50_us") > 0.0 && detail("p99_us") >= detail("p50_us"));
        assert!(detail("load_max_to_mean") >= 1.0);
        assert!((0.0..=100.0).contains(&detail("blocked_percent")));
        assert_eq!(result["busy_ns"].as_array().unwrap().len() as u64, result["workers"].as_u64().unwrap());
        let met = detail("pairs_that_meet_percent");
        match result["implementation"].as_str().unwrap() {
            "numlock" | "numlock-parked" | "toggle" | "toggle-numlock" => {
                assert!(result["details"]["pairs_that_meet_needlessly_percent"].is_null())
            }
            "trees" => assert_eq!(detail("pairs_that_meet_needlessly_percent"), 0.0),
            "coarse" | "coarse-parked" => {
                assert!((detail("pairs_that_meet_needlessly_percent") - (100.0 - met)).abs() < 1e-9)
            }
            _ => assert!(detail("pairs_that_meet_needlessly_percent") <= 100.0 - met),
        }
    }
}

/// Trees and graphs of several sizes change while tasks panic: all invariants hold, and no claim is
/// left.
#[test]
fn tasks_change_the_hierarchy_and_panic() {
    let directory = tempfile::tempdir().unwrap();
    let json = directory.path().join("report.json");
    let json = json.to_str().unwrap();
    let hierarchies: [&[&str]; 2] =
        [&["--nodes", "200,600"], &["--hierarchy", "random-dag", "--nodes", "300"]];
    for hierarchy in hierarchies {
        let mut arguments = vec!["hierarchy", "--quick", "--tasks", "200", "--workers", "2", "--json", json];
        arguments.extend(["--skew", "2", "--structural", "0,30", "--panics", "4", "--stealing", "on,off"]);
        arguments.extend(hierarchy);
        let stdout = passes(&xtasking(&arguments));
        assert!(
            stdout.contains(" tasks panicked, ") && stdout.contains(", 30% structural, 4% panic"),
            "{stdout}"
        );
        let report: Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
        let sizes = report["parameters"]["nodes"].as_array().unwrap().len();
        // Nine contenders, all but trees; with and without structural changes, and stealing.
        assert_eq!(report["results"].as_array().unwrap().len(), 9 * 4 * sizes);
    }
}

/// Two runs on more virtual cores than there are cores give equal output.
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
        assert!(stdout.contains("waited in tasks") && stdout.contains("load max/mean"), "{stdout}");
        let from = stdout.find("in virtual time").expect("it says so");
        stdout[from..].to_string()
    };
    assert_eq!(once(), once());
}

#[test]
fn a_sweep_is_one_command() {
    let all =
        "hierarchy --sweep sizes --nodes 100,300 --virtual --tasks 100 --against coarse --repetitions 1";
    let stdout = passes(&xtasking(&all.split(' ').collect::<Vec<_>>()));
    for words in ["100 nodes in all: 4 nodes, 70% read, skew 8", "300 nodes in all: 4 nodes", "workers 14 ·"]
    {
        assert!(stdout.contains(words), "'{words}' is not in: {stdout}");
    }
}

/// With more workers there are more tasks; in virtual time the report says how even the load could
/// be, and what Toggle has done.
#[test]
fn each_worker_has_its_tasks() {
    let directory = tempfile::tempdir().unwrap();
    let json = directory.path().join("report.json");
    let json = json.to_str().unwrap();
    let stdout = passes(&xtasking(&[
        "hierarchy",
        "--virtual",
        "--nodes",
        "500",
        "--tasks-per-worker",
        "40",
        "--workers",
        "2,5",
        "--against",
        "toggle",
        "--json",
        json,
    ]));
    assert!(stdout.contains("40 tasks for each worker"), "{stdout}");
    assert!(stdout.contains("hosts ran "), "{stdout}");
    let report: Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    let results = report["results"].as_array().unwrap();
    assert_eq!(results.len(), 2 * 2 * 2);
    for result in results {
        let load = |name: &str| result["details"][name].as_f64().unwrap();
        assert!(load("load_max_to_mean") + 1e-9 >= load("least_load_max_to_mean"), "{result}");
    }
}

#[test]
fn operations_keep_the_invariants_with_all_kinds_of_long_reads() {
    let small = ["stmbench7", "--small", "--repetitions", "1", "--operations", "120", "--workers", "2"];
    for (how, words) in [
        ("claimed", ""),
        ("snapshot", ", long reads from snapshots"),
        ("survey", ", long reads from surveys and snapshots"),
    ] {
        let arguments: Vec<&str> = small.into_iter().chain(["--long-reads", how]).collect();
        let stdout = passes(&xtasking(&arguments));
        let title = format!(
            "STMBench7: 120 operations, 4 at a time for each worker{words} · 20 composite parts of 10 \
                atomic ones"
        );
        for words in [title.as_str(), "write-dominated, long traversals"] {
            assert!(stdout.contains(words), "'{words}' is not in: {stdout}");
        }
        let surveyed = stdout.contains("write-dominated, long traversals · lines with 2: ")
            && stdout.contains(" surveys, of which ");
        assert_eq!(surveyed, how == "survey", "{stdout}");
    }
}

/// Two runs on more virtual cores than there are cores give equal output.
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
    let surveys = ["--long-reads", "survey", "--no-long-writes"];
    for (more, long) in [(&[][..], "long traversals"), (&surveys, "long reads")] {
        let arguments: Vec<&str> = arguments.iter().chain(more).copied().collect();
        let once = || {
            let stdout = passes(&xtasking(&arguments));
            let title = format!("read-write, {long}");
            for words in [
                title.as_str(),
                "read-write · lines with 16: busiest worker ",
                " short writers: median ",
                "1 repetition",
            ] {
                assert!(stdout.contains(words), "'{words}' is not in: {stdout}");
            }
            let from = stdout.find("in virtual time").expect("it says so");
            stdout[from..].to_string()
        };
        assert_eq!(once(), once());
    }
}

#[test]
fn impossible_options_are_refused_in_one_line() {
    refused(&["hierarchy", "--granules", "0", "--nodes", "100"], "--granules is 0");
    let changes = ["hierarchy", "--tasks-per-worker", "9", "--structural", "5"];
    refused(&changes, "--tasks-per-worker is for tasks that neither change the hierarchy nor panic");
    refused(&["hierarchy", "--tasks", "0"], "--tasks is 0; choose 1 to 100M");
    refused(&["hierarchy", "--skew", "17"], "--skew");
    refused(&["hierarchy", "--panics", "101"], "--panics is 101; choose 0 to 100");
    refused(&["hierarchy", "--structural", "200"], "--structural is 200; choose 0 to 100");
    refused(&["hierarchy", "--in-flight", "0"], "--in-flight is 0");
    refused(&["stmbench7", "--operations", "0"], "--operations is 0; choose 1 to 100M");
    refused(&["stmbench7", "--clients", "0"], "--clients is 0; choose 1 to 1000");
}
